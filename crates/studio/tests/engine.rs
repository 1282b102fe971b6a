//! A page's way through the engine: mistakes, a run in slices, series, packets, results.

#![allow(clippy::float_cmp, reason = "numbers of nodes, links and kinds are whole")]

use ackclock_scenario::Scenario;
use ackclock_sim::{Simulation, write_summary};
use ackclock_studio::protocol::{Operation, answer};
use ackclock_studio::{Engine, NUMBERS_OF_FLOW, NUMBERS_OF_LINK, NUMBERS_OF_PACKET, PacketKind};
use serde_json::{Value, json};

const DUMBBELL: &str = r#"
    duration = "5 s"
    [topology]
    kind = "dumbbell"
    access = { rate = "1 Gbit/s", delay = "1 ms" }
    bottleneck = { rate = "10 Mbit/s", delay = "18 ms", queue = { kind = "drop_tail", limit = "30 packets" } }
    [[flow]]
    name = "one"
    controller = "reno"
    [[flow]]
    name = "two"
    controller = "cubic"
    start = "1 s"
"#;

fn ask(engine: &mut Engine, operation: Operation, question: &[u8]) -> Vec<u8> {
    let mut output = Vec::new();
    answer(engine, operation as u32, question, &mut output);
    output
}

fn ask_json(engine: &mut Engine, operation: Operation, question: &Value) -> Value {
    serde_json::from_slice(&ask(engine, operation, question.to_string().as_bytes())).expect("JSON")
}

fn ask_numbers(engine: &mut Engine, operation: Operation) -> Vec<f64> {
    let octets = ask(engine, operation, b"");
    octets.chunks_exact(8).map(|eight| f64::from_le_bytes(eight.try_into().expect("eight octets"))).collect()
}

/// Output of `ackclock run`: the whole run in one go.
fn summary_of(text: &str) -> Vec<u8> {
    let scenario = Scenario::parse(text, "scenario.toml", &[]).expect("a right scenario");
    let mut summary = Vec::new();
    write_summary(&Simulation::of(scenario.shared_config()).finish().summary, &mut summary).expect("a Vec takes all");
    summary
}

#[test]
fn a_run_in_slices_that_is_looked_at_has_the_bytes_of_one_that_is_not() {
    for packets in [false, true] {
        let mut engine = Engine::default();
        let load = json!({ "text": DUMBBELL, "sample_s": 0.013, "packets": packets });
        let loaded = ask_json(&mut engine, Operation::Load, &load);
        assert_eq!(loaded["scenario"]["flows"][1]["controller"], "cubic");
        for slice in 1..=50 {
            let progress = ask_json(&mut engine, Operation::Advance, &json!({ "until_s": f64::from(slice) * 0.1 }));
            assert_eq!(progress["is_finished"], slice == 50);
            ask_numbers(&mut engine, Operation::Rows);
            ask_numbers(&mut engine, Operation::Packets);
        }
        assert_eq!(ask(&mut engine, Operation::Summary, b""), summary_of(DUMBBELL), "packets: {packets}");
    }
}

#[test]
fn every_mistake_comes_with_its_place_and_remedy() {
    let text = DUMBBELL.replace("\"reno\"", "\"renno\"").replace("10 Mbit/s", "10 Mbit");
    let answer = ask_json(&mut Engine::default(), Operation::Check, &json!({ "text": text, "file": "mine.toml" }));
    let said = |index: usize, field: &str| answer["diagnostics"][index][field].clone();
    assert_eq!(
        (said(0, "file"), said(0, "line"), said(0, "field")),
        ("mine.toml".into(), 6.into(), "topology.bottleneck.rate".into())
    );
    assert_eq!((said(1, "line"), said(1, "field")), (9.into(), "flow[0].controller".into()));
    assert!(said(1, "remedy").as_str().is_some_and(|remedy| remedy.contains("\"reno\"")), "{answer}");
    assert_eq!(answer["diagnostics"].as_array().map(Vec::len), Some(2));
}

#[test]
fn rows_come_at_multiples_of_the_interval_and_have_every_flow_and_link() {
    let mut engine = Engine::default();
    let loaded = ask_json(&mut engine, Operation::Load, &json!({ "text": DUMBBELL, "sample_s": 0.5 }));
    let links = loaded["scenario"]["links"].as_array().map_or(0, Vec::len);
    let width = 1 + 2 * NUMBERS_OF_FLOW + links * NUMBERS_OF_LINK;
    assert_eq!(loaded["row"], json!({ "numbers": width, "flows": 2, "links": links }));
    ask_json(&mut engine, Operation::Advance, &json!({ "until_s": 2.2 }));
    let rows = ask_numbers(&mut engine, Operation::Rows);
    let times: Vec<f64> = rows.chunks_exact(width).map(|row| row[0]).collect();
    assert_eq!(times, [0.0, 0.5, 1.0, 1.5, 2.0]);
    assert!(rows[width + 1 + NUMBERS_OF_FLOW + 3].is_nan(), "the second flow has no round trip before it begins");
    // A queue of 30 packets, and 40 ms of the path itself; the first flow alone fills it within two seconds.
    let srtt = rows[2 * width + 4];
    assert!((0.04..=0.04 + 32.0 * 0.0012).contains(&srtt), "{srtt}");
    ask_json(&mut engine, Operation::Advance, &json!({ "until_s": 2.5 }));
    assert_eq!(ask_numbers(&mut engine, Operation::Rows).len(), width);
}

/// The first segment of 1448 octets is at 1, on the bottleneck's wire it is a packet of 1500.
#[test]
fn packets_are_told_of_with_their_flow_and_size() {
    let mut engine = Engine::default();
    let loaded = ask_json(&mut engine, Operation::Load, &json!({ "text": DUMBBELL, "packets": true }));
    let links = loaded["scenario"]["links"].as_array().expect("links");
    let bottleneck = links.iter().position(|link| link["rate_bps"] == 10_000_000).expect("the bottleneck") as f64;
    ask_json(&mut engine, Operation::Advance, &json!({ "until_s": 0.1 }));
    let packets = ask_numbers(&mut engine, Operation::Packets);
    let events: Vec<&[f64]> = packets.chunks_exact(NUMBERS_OF_PACKET).collect();
    let of_kind = |kind: PacketKind| events.iter().filter(move |event| event[1] == f64::from(kind as u8));
    let first = of_kind(PacketKind::Segment).next().expect("a segment");
    // The handshake takes a round trip: 2 (1 + 18 + 1) ms, and 40 octets at 10 Mbit/s twice.
    assert!((0.04..0.0402).contains(&first[0]), "{first:?}");
    assert_eq!(first[2..], [0.0, 1.0, 1448.0, 0.0]);
    let data = of_kind(PacketKind::Sent).find(|event| event[2] == bottleneck && event[4] > 0.0).expect("data");
    assert_eq!((data[3], data[4]), (0.0, 1500.0));
}

/// RFC 2018: of ten segments of 1448 octets the third is lost, so each of the seven behind it is reported by a block that begins
/// where the lost one ended, at 1 + 3 * 1448, and ends one segment further on than the block before.
#[test]
fn blocks_of_sacks_are_told_of() {
    let link = "rate = \"10 Mbit/s\"";
    let text =
        DUMBBELL.replace(link, &format!("{link}, discard = [{{ kind = \"list\", positions = [3], of = \"data\" }}]"));
    let mut engine = Engine::default();
    ask_json(&mut engine, Operation::Load, &json!({ "text": text, "packets": true }));
    ask_json(&mut engine, Operation::Advance, &json!({ "until_s": 0.095 }));
    let packets = ask_numbers(&mut engine, Operation::Packets);
    let sacked =
        packets.chunks_exact(NUMBERS_OF_PACKET).filter(|event| event[1] == f64::from(PacketKind::Sacked as u8));
    let blocks: Vec<&[f64]> = sacked.map(|event| &event[3..]).collect();
    let end = |segments: u32| f64::from(1 + segments * 1448);
    let wanted: Vec<[f64; 3]> = (4..=10).map(|last| [end(3), end(last), 0.0]).collect();
    assert_eq!(blocks, wanted);
}

#[test]
fn a_file_that_a_scenario_names_is_handed_over() {
    let text = DUMBBELL.replace("rate = \"10 Mbit/s\"", "rate = { trace = \"traces/mine.down\" }");
    let mut engine = Engine::default();
    let answer = ask_json(&mut engine, Operation::Check, &json!({ "text": text }));
    let message = answer["diagnostics"][0]["message"].as_str().unwrap_or_default();
    assert!(message.contains("traces/mine.down") && message.contains("not passed"), "{answer}");
    ask(&mut engine, Operation::Attach, b"traces/mine.down\x001\n2\n3\n4\n");
    let answer = ask_json(&mut engine, Operation::Check, &json!({ "text": text }));
    // A packet of 1500 octets a millisecond.
    let rates: Vec<u64> = answer["scenario"]["links"]
        .as_array()
        .map(|links| links.iter().filter_map(|link| link["rate_bps"].as_u64()).collect())
        .unwrap_or_default();
    assert!(rates.contains(&12_000_000), "{answer}");
}

#[test]
fn what_is_no_question_is_answered_by_an_error() {
    let mut engine = Engine::default();
    let mut output = Vec::new();
    answer(&mut engine, 99, b"", &mut output);
    assert_eq!(output, br#"{"error":"unknown operation 99"}"#);
    assert_eq!(ask(&mut engine, Operation::Rows, b""), br#"{"error":"no scenario is loaded"}"#);
    let wrong = ask_json(&mut engine, Operation::Load, &json!({ "text": 3 }));
    assert!(wrong["error"].as_str().is_some_and(|error| error.contains("expected a string")), "{wrong}");
}

/// Links are changed by hand in the middle of a run; the text that it leaves, run from the beginning by others, has the same bytes.
#[test]
fn a_run_that_was_changed_is_the_run_of_the_scenario_that_it_leaves() {
    for (packets, queue) in [(false, "drop_tail"), (true, "fq_codel"), (false, "pie")] {
        let text = DUMBBELL.replace("drop_tail", queue);
        let mut engine = Engine::default();
        let loaded = ask_json(&mut engine, Operation::Load, &json!({ "text": text, "packets": packets }));
        let link =
            &loaded["scenario"]["links"].as_array().expect("links").iter().find(|link| link["rate_bps"] == 10_000_000);
        let link = &link.expect("the bottleneck")["name"];
        let steps = [
            (0.7, json!({ "rate": "3 Mbit/s" }), true),
            (1.1, json!({ "limit": "5 packets" }), false),
            (1.101_000_1, json!({ "rate": "40 Mbit/s", "loss": 0.02 }), false),
            (2.345, json!({ "delay": "60 ms", "limit": "200 packets" }), false),
            (3.0, json!({ "rate": "0 bit/s" }), false),
            (3.4, json!({ "rate": "8 Mbit/s", "loss": 0.0, "delay": "5 ms" }), false),
        ];
        for (until_s, mut change, anew) in steps {
            ask_json(&mut engine, Operation::Advance, &json!({ "until_s": until_s }));
            change["link"] = link.clone();
            let changed = ask_json(&mut engine, Operation::Change, &json!({ "changes": [change] }));
            assert_eq!(changed["anew"], anew, "{changed}");
        }
        ask_json(&mut engine, Operation::Advance, &json!({ "until_s": 5 }));
        let text = String::from_utf8(ask(&mut engine, Operation::Text, b"")).expect("text");
        assert_eq!(text.matches("[[change]]").count(), 6);
        let [summary, of_text] = [ask(&mut engine, Operation::Summary, b""), summary_of(&text)];
        assert_eq!(String::from_utf8(summary), String::from_utf8(of_text), "{queue}");
    }
}

/// Later values replace earlier ones of the same instant, and leave those of other sliders.
#[test]
fn of_an_instant_one_change_of_a_link_is_left() {
    for text in [DUMBBELL.to_owned(), Scenario::parse(DUMBBELL, "scenario.toml", &[]).expect("right").to_json()] {
        let mut engine = Engine::default();
        ask_json(&mut engine, Operation::Load, &json!({ "text": text }));
        ask_json(&mut engine, Operation::Advance, &json!({ "until_s": 2.345_6 }));
        let mut answers = Vec::new();
        for values in [json!({ "rate": "9 Mbit/s" }), json!({ "rate": "5 Mbit/s" }), json!({ "loss": 0.02 })] {
            let mut change = values;
            change["link"] = "bottleneck".into();
            answers.push(ask_json(&mut engine, Operation::Change, &json!({ "changes": [change] })));
        }
        let wanted = json!([{ "at_s": 2.346, "link": answers[2]["scenario"]["changes"][0]["link"], "rate_bps": 5_000_000,
            "delay_s": null, "loss": 0.02, "limit": null }]);
        assert_eq!(answers[2]["scenario"]["changes"], wanted);
        ask_json(&mut engine, Operation::Advance, &json!({ "until_s": 3 }));
        ask_json(&mut engine, Operation::Change, &json!({ "changes": [{ "link": "bottleneck", "rate": "7 Mbit/s" }] }));
        ask_json(&mut engine, Operation::Advance, &json!({ "until_s": 5 }));
        let text = String::from_utf8(ask(&mut engine, Operation::Text, b"")).expect("text");
        assert!(text.contains("\"2.346 s\"") && text.contains("\"3.001 s\"") && !text.contains(" ns\""), "{text}");
        let [summary, of_text] = [ask(&mut engine, Operation::Summary, b""), summary_of(&text)];
        assert_eq!(String::from_utf8(summary), String::from_utf8(of_text));
    }
}

/// A change has to come before the end of the run, though less than a millisecond may be left.
#[test]
fn a_change_just_before_the_end_is_one() {
    let mut engine = Engine::default();
    ask_json(&mut engine, Operation::Load, &json!({ "text": DUMBBELL }));
    ask_json(&mut engine, Operation::Advance, &json!({ "until_s": 4.999_5 }));
    let change = json!({ "changes": [{ "link": "bottleneck", "rate": "7 Mbit/s" }] });
    let changed = ask_json(&mut engine, Operation::Change, &change);
    assert!(changed["diagnostics"].is_null(), "{changed}");
    assert!(changed["text"].as_str().is_some_and(|text| text.contains("4999500001 ns")), "{changed}");
}

/// A list in brackets and JSON take changes where they have them.
#[test]
fn changes_go_into_a_text_of_any_form() {
    let listed = format!("change = [{{ at = \"1 s\", link = \"bottleneck\", rate = \"4 Mbit/s\" }}]\n{DUMBBELL}");
    let json = Scenario::parse(&listed, "scenario.toml", &[]).expect("a right scenario").to_json();
    for text in [listed, format!("change = []\n{DUMBBELL}"), json] {
        let mut engine = Engine::default();
        ask_json(&mut engine, Operation::Load, &json!({ "text": text }));
        for (until_s, rate) in [(2.0, "3 Mbit/s"), (2.5, "6 Mbit/s")] {
            ask_json(&mut engine, Operation::Advance, &json!({ "until_s": until_s }));
            let change = json!({ "link": "bottleneck", "rate": rate });
            let changed = ask_json(&mut engine, Operation::Change, &json!({ "changes": [change] }));
            assert!(changed["diagnostics"].is_null(), "{changed}");
        }
        ask_json(&mut engine, Operation::Advance, &json!({ "until_s": 5 }));
        let text = String::from_utf8(ask(&mut engine, Operation::Text, b"")).expect("text");
        let [summary, of_text] = [ask(&mut engine, Operation::Summary, b""), summary_of(&text)];
        assert_eq!(String::from_utf8(summary), String::from_utf8(of_text), "{text}");
    }
}

/// Slowdowns are held to the path at its best, which a change may make better: of the second change no flow before it had heard.
#[test]
fn a_change_for_the_better_is_known_to_completions_from_the_beginning() {
    let short = "[[flow]]\n    name = \"short\"\n    arrivals = { rate = \"20 /s\", size = \"20 kB\" }\n";
    let text = format!("{DUMBBELL}\n{short}");
    for (change, anew) in [
        (json!({ "rate": "20 Mbit/s" }), true),
        (json!({ "delay": "2 ms" }), true),
        (json!({ "rate": "4 Mbit/s" }), false),
    ] {
        let mut engine = Engine::default();
        ask_json(&mut engine, Operation::Load, &json!({ "text": text }));
        for (until_s, mut change, anew) in [(1.0, json!({ "loss": 0.0 }), true), (2.0, change.clone(), anew)] {
            ask_json(&mut engine, Operation::Advance, &json!({ "until_s": until_s }));
            change["link"] = "bottleneck".into();
            let changed = ask_json(&mut engine, Operation::Change, &json!({ "changes": [change] }));
            assert_eq!(changed["anew"], anew, "{changed}");
        }
        ask_json(&mut engine, Operation::Advance, &json!({ "until_s": 5 }));
        let text = String::from_utf8(ask(&mut engine, Operation::Text, b"")).expect("text");
        let [summary, of_text] = [ask(&mut engine, Operation::Summary, b""), summary_of(&text)];
        assert_eq!(String::from_utf8(summary), String::from_utf8(of_text), "{change}");
    }
}

/// Datagrams of 1 Mbit/s have sent 1 Mbit/s after two of five seconds, too.
#[test]
fn rates_before_the_end_are_of_the_time_so_far() {
    let datagrams =
        "[[flow]]\n    name = \"udp\"\n    protocol = \"udp\"\n    app = { kind = \"cbr\", rate = \"1 Mbit/s\" }\n";
    let mut engine = Engine::default();
    ask_json(&mut engine, Operation::Load, &json!({ "text": format!("{DUMBBELL}\n{datagrams}") }));
    ask_json(&mut engine, Operation::Advance, &json!({ "until_s": 2 }));
    let early: Value = serde_json::from_slice(&ask(&mut engine, Operation::Summary, b"")).expect("JSON");
    let sent = early["datagrams"][0]["sent_bps"].as_f64().expect("a number");
    assert!((sent / 1e6 - 1.0).abs() < 0.01, "{sent}");
}

/// One bulk flow through 10 Mbit/s, from 2 s on 2 Mbit/s: a window of 1448 octets of each packet of 1500 is all that passes.
#[test]
fn what_passes_follows_the_rate() {
    let mut engine = Engine::default();
    let text = DUMBBELL.replace("[[flow]]\n    name = \"two\"\n    controller = \"cubic\"\n    start = \"1 s\"\n", "");
    let loaded = ask_json(&mut engine, Operation::Load, &json!({ "text": text, "sample_s": 0.5 }));
    let width = loaded["row"]["numbers"].as_u64().expect("a number") as usize;
    ask_json(&mut engine, Operation::Advance, &json!({ "until_s": 2 }));
    let link =
        loaded["scenario"]["links"].as_array().expect("links").iter().find(|link| link["rate_bps"] == 10_000_000);
    let change = json!({ "link": link.expect("the bottleneck")["name"], "rate": "2 Mbit/s" });
    ask_json(&mut engine, Operation::Change, &json!({ "changes": [change] }));
    ask_json(&mut engine, Operation::Advance, &json!({ "until_s": 5 }));
    let rows = ask_numbers(&mut engine, Operation::Rows);
    let last = &rows[rows.len() - width..];
    let goodput = last[6];
    assert!((goodput / (2e6 * 1448.0 / 1500.0) - 1.0).abs() < 0.05, "{goodput}");
}

/// A link is described with its values in the text: a page draws each link as it is at the time that it shows.
#[test]
fn a_link_is_told_of_as_it_begins_and_its_changes_in_the_order_of_time() {
    let changes = "
        [[change]]
        at = \"3 s\"
        link = \"bottleneck\"
        rate = \"2 Mbit/s\"
        limit = \"9 packets\"
        [[change]]
        at = \"1 s\"
        link = \"bottleneck\"
        delay = \"40 ms\"
        loss = 0.25
    ";
    let text =
        DUMBBELL.replace("rate = \"10 Mbit/s\"", "rate = \"10 Mbit/s\", loss = { kind = \"random\", p = 0.125 }");
    let checked = ask_json(&mut Engine::default(), Operation::Check, &json!({ "text": text + changes }));
    let links = checked["scenario"]["links"].as_array().expect("links");
    let at = links.iter().position(|link| link["name"] == "bottleneck").expect("the bottleneck");
    let of = |name: &str| links[at][name].clone();
    assert_eq!([of("rate_bps"), of("delay_s"), of("loss")], [json!(10_000_000), json!(0.018), json!(0.125)]);
    assert_eq!(of("limit"), "30 packets");
    let wanted = json!([
        { "at_s": 1.0, "link": at, "rate_bps": null, "delay_s": 0.04, "loss": 0.25, "limit": null },
        { "at_s": 3.0, "link": at, "rate_bps": 2_000_000, "delay_s": null, "loss": null, "limit": "9 packets" },
    ]);
    assert_eq!(checked["scenario"]["changes"], wanted);
}

#[test]
fn a_change_that_cannot_be_is_told_of_and_changes_nothing() {
    let mut engine = Engine::default();
    ask_json(&mut engine, Operation::Load, &json!({ "text": DUMBBELL }));
    ask_json(&mut engine, Operation::Advance, &json!({ "until_s": 1 }));
    let wrong = json!([{ "link": "bottelneck", "rate": "3 Mbit/s" }, { "link": "bottleneck", "loss": 1.5 }]);
    let answer = ask_json(&mut engine, Operation::Change, &json!({ "changes": wrong }));
    let fields: Vec<&str> =
        answer["diagnostics"].as_array().expect("mistakes").iter().filter_map(|said| said["field"].as_str()).collect();
    assert_eq!(fields, ["change[0].link", "change[1].loss"], "{answer}");
    ask_json(&mut engine, Operation::Advance, &json!({ "until_s": 5 }));
    assert_eq!(ask(&mut engine, Operation::Summary, b""), summary_of(DUMBBELL));
}

#[test]
fn results_can_be_had_before_the_end_and_the_run_goes_on() {
    let mut engine = Engine::default();
    ask_json(&mut engine, Operation::Load, &json!({ "text": DUMBBELL }));
    ask_json(&mut engine, Operation::Advance, &json!({ "until_s": 2 }));
    let early: Value = serde_json::from_slice(&ask(&mut engine, Operation::Summary, b"")).expect("JSON");
    assert!(early["flows"][0]["goodput_bps"].as_f64().is_some_and(|goodput| goodput > 1e6), "{early}");
    ask_json(&mut engine, Operation::Advance, &json!({ "until_s": 5 }));
    assert_eq!(ask(&mut engine, Operation::Summary, b""), summary_of(DUMBBELL));
}

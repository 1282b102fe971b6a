//! Interactive media over whole runs: laws of GCC's and SCReAM's sources, and the test cases of RFC 8867, which the
//! RMCAT working group wrote for both. Bottleneck rates are those of github.com/cisco/ns3-rmcat; the path has 50 ms
//! each way, a buffer of 300 ms, and an encoder of 150 kbit/s to 1.5 Mbit/s.

use ackclock_sim::{ColumnData, DatagramSummary, Outcome};

use crate::common::simulate;

/// Payload of a full packet as a share of its IP packet.
const PAYLOAD: f64 = 1_000.0 / 1_028.0;
/// One-way delay of an empty path, less than a packet at 600 kbit/s: milliseconds.
const BASE_MS: f64 = 50.0;

fn path(seconds: u32, rate: &str, more: &str) -> String {
    format!(
        "duration = \"{seconds} s\"\n[topology]\nkind = \"dumbbell\"\naccess = {{ rate = \"100 Mbit/s\", delay = \"0 ms\" }}\n\
         bottleneck = {{ rate = {rate}, delay = \"50 ms\", queue = {{ kind = \"drop_tail\", limit = \"300 ms\" }}{more} }}\n"
    )
}

/// A schedule of rates, each from a second on, in kbit/s.
fn schedule(steps: &[(u32, u32)]) -> String {
    let steps = steps.iter().map(|(at, rate)| format!("{{ at = \"{at} s\", rate = \"{rate} kbit/s\" }}"));
    format!("{{ schedule = [{}] }}", steps.collect::<Vec<_>>().join(", "))
}

fn media(name: &str, controller: &str, more: &str) -> String {
    format!(
        "[[flow]]\nname = \"{name}\"\nprotocol = {{ kind = \"udp\", payload = \"1000 B\" }}\n\
         app = {{ kind = \"media\", controller = {controller} }}\n{more}\n"
    )
}

/// Mean of a column of a flow's series over a part of the run, in seconds.
fn mean(outcome: &Outcome, flow: usize, column: &str, (from, until): (f64, f64)) -> f64 {
    let values = |name: &str| {
        let found = outcome.media.columns.iter().find(|column| column.name == name).expect("it is recorded");
        let ColumnData::F64(values) = &found.data else { panic!("{name} is a number") };
        values.clone()
    };
    let ColumnData::Name { codes, .. } = &outcome.media.columns[1].data else { panic!("names") };
    let rows = values("time_s").into_iter().zip(codes).zip(values(column));
    let chosen: Vec<f64> = rows
        .filter(|((time, code), value)| **code as usize == flow && *time > from && *time <= until && value.is_finite())
        .map(|(_, value)| value)
        .collect();
    chosen.iter().sum::<f64>() / chosen.len() as f64
}

fn flow(outcome: &Outcome, index: usize) -> &DatagramSummary {
    &outcome.summary.datagrams[index]
}

/// Evidence for the media controller `gcc`: draft-ietf-rmcat-gcc-02 section 5.5: 8 % a second while nothing stops it,
/// 1.5 Mbit/s after 20.9 s; section 6: with 1 % lost it rises, with 5 % it stays, with 20 % it falls to the least;
/// 0.85 of what arrives on overuse: 0.78 to 0.95 of 1 Mbit/s in the mean, the queue below 30 of 300 ms.
#[test]
fn gcc_rises_by_8_percent_a_second_while_nothing_stops_it() {
    // draft-ietf-rmcat-gcc-02 section 5.5. From 300 kbit/s, once reports come: 0.1 s; and to 1.5 Mbit/s, 20.9 s later.
    let outcome = simulate(&(path(30, "\"100 Mbit/s\"", "") + &media("call", "\"gcc\"", "")));
    for second in [5, 10, 15, 20] {
        let target = mean(&outcome, 0, "target_bps", (f64::from(second) - 0.06, f64::from(second) + 0.06));
        let law = 3e5 * ackclock_units::math::pow(1.08, f64::from(second) - 0.1);
        assert!((target / law - 1.0).abs() < 0.03, "{second}: {target} against {law}");
    }
    let target = mean(&outcome, 0, "target_bps", (22.5, 30.0));
    assert!((target - 1.5e6).abs() < 1.0, "{target}");
    assert_eq!(flow(&outcome, 0).lost, 0);
}

/// Evidence for the media controller `gcc`.
#[test]
fn gcc_rises_with_a_hundredth_lost_keeps_its_rate_with_a_twentieth_and_falls_with_a_fifth() {
    // draft-ietf-rmcat-gcc-02 section 6: below 2 %, between that and 10 %, and above.
    let target = |every: u32| {
        let lost = format!(", discard = [{{ kind = \"every\", k = {every}, of = \"data\" }}]");
        let outcome = simulate(&(path(40, "\"100 Mbit/s\"", &lost) + &media("call", "\"gcc\"", "")));
        mean(&outcome, 0, "target_bps", (30.0, 40.0))
    };
    assert!((target(100) - 1.5e6).abs() < 0.02 * 1.5e6, "{}", target(100));
    assert!((target(20) - 3e5).abs() < 0.05 * 3e5, "{}", target(20));
    assert!((target(5) - 1.5e5).abs() < 1.0, "{}", target(5));
}

/// Evidence for the media controller `gcc`.
#[test]
fn gcc_keeps_between_most_and_all_of_a_link_and_a_short_queue() {
    // Overuse leaves 0.85 of what arrives: of 973 kbit/s of payload, from 827 on; a little less where what arrived had already been
    // below that. The buffer is 300 ms long.
    let outcome = simulate(&(path(120, "\"1 Mbit/s\"", "") + &media("call", "\"gcc\"", "")));
    let rate = mean(&outcome, 0, "received_bps", (30.0, 120.0)) / (1e6 * PAYLOAD);
    assert!((0.78..0.95).contains(&rate), "{rate}");
    let delay = flow(&outcome, 0).one_way_delay_ms.expect("packets arrive");
    assert!(delay.mean - BASE_MS < 30.0 && delay.p99 - BASE_MS < 100.0, "{delay:?}");
    assert_eq!(flow(&outcome, 0).lost, 0);
}

/// Evidence for the media controller `scream`: the draft: reactions from half of the target of 60 ms on: a mean queue
/// of 15 to 60 ms, above 0.83 of the link (window / round trip / 1.2); L4S: paced at 1.5 times the rate, so that
/// marks come at two thirds of the link; no reports: 50 kbit/s.
#[test]
fn scream_keeps_the_link_busy_within_its_delay_target() {
    // The draft: reactions begin at half of the target of 60 ms, and the rate is window / round trip / 1.2 or less, which is 0.83 of
    // what a window that fills the link gives, and more where the window is larger.
    let outcome = simulate(&(path(120, "\"1 Mbit/s\"", "") + &media("call", "\"scream\"", "")));
    let rate = mean(&outcome, 0, "received_bps", (20.0, 120.0)) / (1e6 * PAYLOAD);
    assert!((0.83..1.0).contains(&rate), "{rate}");
    let delay = flow(&outcome, 0).one_way_delay_ms.expect("packets arrive");
    assert!((15.0..60.0).contains(&(delay.mean - BASE_MS)), "{delay:?}");
    assert!(delay.p95 - BASE_MS < 120.0, "{delay:?}");
    assert_eq!(flow(&outcome, 0).lost, 0);
}

/// Evidence for the media controller `scream_v1`: RFC 8298: a queueing delay of 100 ms within 15 %; beside TCP nearly
/// nothing without compensation, three times that with it.
#[test]
fn scream_v1_holds_its_delay_target() {
    // RFC 8298 section 4.1.2.2: LEDBAT's rule towards 100 ms, where nothing raises the target.
    let controller = "{ kind = \"scream_v1\", competing = false }";
    let outcome = simulate(&(path(120, "\"1 Mbit/s\"", "") + &media("call", controller, "")));
    let delay = mean(&outcome, 0, "one_way_delay_s", (20.0, 120.0)) * 1e3 - BASE_MS;
    assert!((delay / 100.0 - 1.0).abs() < 0.15, "{delay}");
    let rate = mean(&outcome, 0, "received_bps", (20.0, 120.0)) / (1e6 * PAYLOAD);
    assert!(rate > 0.95, "{rate}");
}

/// Evidence for the media controller `scream`.
#[test]
fn with_l4s_scream_paces_at_the_links_rate_and_keeps_no_queue() {
    // DualPI2 marks what waits for more than a millisecond. Packets are paced at 1.5 times the rate, so that a queue begins where
    // that is the link's: the rate is two thirds of it, and a little more, as some marks a round trip are taken.
    let rate = "\"4 Mbit/s\"";
    let text = path(60, rate, "").replace("{ kind = \"drop_tail\", limit = \"300 ms\" }", "\"dualpi2\"")
        + "[[flow]]\nname = \"call\"\nprotocol = { kind = \"udp\", payload = \"1000 B\", ecn = \"ect1\" }\n\
           app = { kind = \"media\", controller = \"scream\", max_rate = \"10 Mbit/s\" }\n";
    let outcome = simulate(&text);
    let rate = mean(&outcome, 0, "received_bps", (10.0, 60.0)) / (4e6 * PAYLOAD);
    assert!((2.0 / 3.0..0.78).contains(&rate), "{rate}");
    let flow = flow(&outcome, 0);
    let delay = flow.one_way_delay_ms.expect("packets arrive");
    assert!(delay.p99 - BASE_MS < 10.0 && flow.marked > 500 && flow.lost == 0, "{flow:?}");
}

/// Evidence for the media controller `gcc`.
/// Evidence for the media controller `scream`.
/// Evidence for the media controller `scream_v1`.
#[test]
fn rfc_8867_section_5_1_one_flow_follows_a_capacity_that_changes() {
    let steps = [(0, 1_000), (40, 2_500), (60, 600), (80, 1_000)];
    for (controller, least) in [("\"gcc\"", 0.65), ("\"scream\"", 0.83), ("\"scream_v1\"", 0.83)] {
        // A buffer of memory: 300 ms at the highest rate, whatever the rate is.
        let path = path(100, &schedule(&steps), "").replacen("300 ms", "93750 bytes", 1);
        let outcome = simulate(&(path + &media("call", controller, "")));
        for (from, until, kbps) in [(25.0, 40.0, 1_000.0), (70.0, 80.0, 600.0), (85.0, 100.0, 1_000.0)] {
            let rate = mean(&outcome, 0, "received_bps", (from, until)) / (kbps * 1e3 * PAYLOAD);
            assert!((least..1.01).contains(&rate), "{controller} from {from}: {rate}");
        }
        // More than the encoder makes: its largest rate.
        let rate = mean(&outcome, 0, "target_bps", (55.0, 60.0));
        assert!((rate - 1.5e6).abs() < 1.0, "{controller}: {rate}");
        // The queue of 94 kB, 1.25 s at 600 kbit/s, that the fall fills is empty again ten seconds later.
        let delay = mean(&outcome, 0, "one_way_delay_s", (70.0, 80.0)) * 1e3 - BASE_MS;
        assert!(delay < 200.0, "{controller}: {delay}");
    }
}

/// Evidence for the media controller `gcc`.
/// Evidence for the media controller `scream`.
#[test]
fn rfc_8867_section_5_2_two_flows_share_a_capacity_that_changes() {
    let steps = [(0, 4_000), (25, 2_000), (50, 3_500), (75, 1_000), (100, 2_000)];
    for (controller, least) in [("\"gcc\"", 0.7), ("\"scream\"", 0.83)] {
        let flows = media("a", controller, "") + &media("b", controller, "");
        let outcome = simulate(&(path(125, &schedule(&steps), "") + &flows));
        for (from, until, kbps) in [(35.0, 50.0, 2_000.0), (85.0, 100.0, 1_000.0), (110.0, 125.0, 2_000.0)] {
            let [a, b] = [0, 1].map(|flow| mean(&outcome, flow, "received_bps", (from, until)));
            let both = (a + b) / (kbps * 1e3 * PAYLOAD);
            assert!((least..1.01).contains(&both), "{controller} from {from}: {both}");
            let jain = (a + b) * (a + b) / (2.0 * (a * a + b * b));
            assert!(jain > 0.9, "{controller} from {from}: {a} and {b}");
        }
        // Both have what their encoders make at most.
        for flow in 0..2 {
            let target = mean(&outcome, flow, "target_bps", (70.0, 75.0));
            assert!(target > 0.9 * 1.5e6, "{controller}: {target}");
        }
    }
}

/// Evidence for the media controller `gcc`.
/// Evidence for the media controller `scream`.
#[test]
fn rfc_8867_section_5_3_a_congested_way_back_does_not_stop_a_flow() {
    let forward = schedule(&[(0, 2_000), (20, 1_000), (40, 500), (60, 2_000)]);
    let backward = schedule(&[(0, 2_000), (35, 800), (70, 2_000)]);
    let more = format!(", reverse = {{ rate = {backward}, queue = {{ kind = \"drop_tail\", limit = \"300 ms\" }} }}");
    for (controller, least) in [("\"gcc\"", 0.7), ("\"scream\"", 0.75)] {
        let flows = media("forth", controller, "") + &media("back", controller, "reverse = true");
        let outcome = simulate(&(path(100, &forward, &more) + &flows));
        for (flow, from, until, kbps) in [(0, 30.0, 40.0, 1_000.0), (0, 50.0, 60.0, 500.0), (1, 50.0, 70.0, 800.0)] {
            let rate = mean(&outcome, flow, "received_bps", (from, until)) / (kbps * 1e3 * PAYLOAD);
            assert!((least..1.01).contains(&rate), "{controller}, flow {flow} from {from}: {rate}");
        }
        // With room both ways, both come to their largest rate again.
        for flow in 0..2 {
            let target = mean(&outcome, flow, "target_bps", (95.0, 100.0));
            assert!(target > 0.9 * 1.5e6, "{controller}: {target}");
        }
    }
}

/// Evidence for the media controller `scream_v1`.
#[test]
fn rfc_8867_section_5_6_beside_tcp_the_rising_target_keeps_scream_v1_alive() {
    // RFC 8298 section 4.1.2.3: without compensation the media has "basically zero throughput" beside a flow that fills the queue.
    let run = |controller: &str| {
        let tcp = "[[flow]]\nname = \"tcp\"\ncontroller = \"newreno\"\n";
        let text = path(120, "\"2 Mbit/s\"", "") + &media("call", controller, "start = \"5 s\"") + tcp;
        let outcome = simulate(&text);
        (mean(&outcome, 0, "received_bps", (60.0, 120.0)), outcome.summary.flows[0].goodput_bps)
    };
    let (without, _) = run("{ kind = \"scream_v1\", competing = false }");
    let (with, tcp) = run("\"scream_v1\"");
    assert!(without < 1.5e5 && with > 3.0 * without, "{without} and {with}");
    assert!(tcp > 1e6, "{tcp}");
    // The others hold their encoder's least rate, and leave TCP its share.
    for controller in ["\"gcc\"", "\"scream\""] {
        let (rate, tcp) = run(controller);
        assert!(rate > 0.95 * 1.5e5 && tcp > 1.5e6, "{controller}: {rate}, {tcp}");
    }
}

/// Evidence for the media controller `scream`.
#[test]
fn a_way_back_that_is_dead_leaves_the_least_that_is_sent() {
    // No report ever comes. SCReAM's window is full: packets leave at 50 kbit/s, which counts full packets, and these are smaller.
    // GCC goes on at its start rate, as the draft has no rule for it.
    let more = ", reverse = { loss = { kind = \"random\", p = 1.0 } }";
    for (controller, low, high) in [("\"scream\"", 3e4, 5e4), ("\"scream_v1\"", 3e4, 5e4), ("\"gcc\"", 2.8e5, 3.2e5)] {
        let outcome = simulate(&(path(60, "\"10 Mbit/s\"", more) + &media("call", controller, "")));
        let rate = mean(&outcome, 0, "received_bps", (30.0, 60.0));
        assert!((low..high).contains(&rate), "{controller}: {rate}");
        let media = flow(&outcome, 0).media.as_ref().expect("it is media");
        assert!(media.reports > 200, "{media:?}");
    }
}

#[test]
fn from_until_on_none_leaves_and_what_waits_is_thrown_away() {
    // An encoder of 600 kbit/s at least on a link of 200 kbit/s: a backlog of packets waits at a sender with a window. The reference
    // says of `until`: none leaves from this time on. The link carries for those 5 s, and for the 300 ms of its buffer, no more than it can.
    for controller in ["scream", "scream_v1"] {
        let flow_text = format!(
            "[[flow]]\nname = \"call\"\nprotocol = {{ kind = \"udp\", payload = \"1000 B\", until = \"5 s\" }}\n\
             app = {{ kind = \"media\", controller = \"{controller}\", min_rate = \"600 kbit/s\" }}\n"
        );
        let outcome = simulate(&(path(20, "\"200 kbit/s\"", "") + &flow_text));
        assert!(mean(&outcome, 0, "queued_bytes", (4.8, 5.0)) > 5e4);
        assert!(mean(&outcome, 0, "sent_bps", (5.1, 20.0)).abs() < 1e-9, "{controller}");
        assert!(mean(&outcome, 0, "queued_bytes", (6.0, 20.0)).abs() < 1e-9, "{controller}");
        let goodput = flow(&outcome, 0).goodput_bps;
        assert!(goodput <= 2e5 * PAYLOAD * 5.35 / 5.0, "{controller}: {goodput}");
    }
}

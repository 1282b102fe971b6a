//! Links with changes and effects: their options, their effect on packets, and the messages of mistakes.

use ackclock_scenario::{Diagnostic, Scenario};
use ackclock_sim::{FlowSummary, LinkSummary, Simulation, SimulationConfig, Summary};
use ackclock_units::{Bandwidth, Bytes, SimDuration};

/// Two nodes with one link each way that has these fields, and a flow whose window is never the limit.
fn chain(link: &str, rest: &str) -> String {
    format!(
        "duration = \"20 s\"\ntrace = false\n[topology]\nkind = \"chain\"\nnodes = [\"A\", \"B\"]\nlink = {{ {link} }}\n\
         [tcp]\nprofile = \"rfc\"\nmss = 1460\ntimestamps = false\n{rest}\n"
    )
}

const BULK: &str = "[[flow]]\ncontroller = { kind = \"fixed\", window = \"2000 segments\" }\n";

fn parse(text: &str) -> SimulationConfig {
    Scenario::parse(text, "test.toml", &[]).unwrap_or_else(|error| panic!("{error}")).config().clone()
}

fn run(text: &str) -> Summary {
    Simulation::new(&parse(text)).finish().summary
}

fn forward(summary: &Summary) -> &LinkSummary {
    &summary.links[0]
}

fn flow(summary: &Summary) -> &FlowSummary {
    &summary.flows[0]
}

fn mistakes(link: &str) -> Vec<Diagnostic> {
    let text = chain(link, BULK);
    let error = Scenario::parse(&text, "test.toml", &[]).expect_err("the scenario is wrong");
    error.diagnostics
}

#[test]
fn a_schedule_delivers_what_its_rates_allow() {
    let schedule =
        "rate = { schedule = [{ rate = \"12 Mbit/s\" }, { at = \"10 s\", rate = \"3 Mbit/s\" }] }, delay = \"5 ms\"";
    let delivered = |window: &str| {
        let summary = run(&chain(schedule, BULK).replacen("trace", &format!("measure = {window}\ntrace"), 1));
        assert!((forward(&summary).utilization - 1.0).abs() < 0.001, "{}", forward(&summary).utilization);
        forward(&summary).delivered_packets
    };
    // 1500 octets a packet: 1000 packets a second, then 250
    assert!(delivered("{ from = \"2 s\", to = \"9 s\" }").abs_diff(7_000) <= 1);
    assert!(delivered("{ from = \"11 s\", to = \"20 s\" }").abs_diff(2_250) <= 1);
    assert!(delivered("{ from = \"9.005 s\", to = \"11.005 s\" }").abs_diff(1_250) <= 1);
}

#[test]
fn a_trace_delivers_a_packet_an_opportunity() {
    // 5 opportunities in 20 ms: 250 a second
    let link = "rate = { instants = \"3 3 7 19 20\" }, delay = \"5 ms\"";
    let config = parse(&chain(link, BULK));
    assert_eq!(config.network.links[0].rate, Bandwidth(3_000_000)); // 5 * 1500 * 8 bit in 20 ms
    let summary = run(&chain(link, BULK).replacen("trace", "measure = { from = \"2 s\", to = \"18 s\" }\ntrace", 1));
    assert_eq!(forward(&summary).delivered_packets, 4_000);
    assert!((forward(&summary).utilization - 1.0).abs() < 1e-12);
}

#[test]
fn what_leaves_at_an_opportunity_may_arrive_at_once() {
    // As above, over no distance.
    let link = "rate = { instants = \"3 3 7 19 20\" }, delay = \"0 ms\"";
    let summary = run(&chain(link, BULK).replacen("trace", "measure = { from = \"2 s\", to = \"18 s\" }\ntrace", 1));
    assert_eq!(forward(&summary).delivered_packets, 4_000);
}

#[test]
fn a_trace_is_read_from_a_file_beside_the_scenario() {
    let folder = tempfile();
    std::fs::write(folder.join("cell.down"), "3\n3\n7\n19\n20\n").expect("a writable folder");
    let text = chain("rate = { trace = \"cell.down\", opportunity = \"1504 bytes\" }, delay = \"5 ms\"", BULK);
    let file = folder.join("test.toml").display().to_string();
    let scenario = Scenario::parse(&text, &file, &[]).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(scenario.config().network.links[0].rate, Bandwidth(3_008_000)); // 5 * 1504 * 8 bit in 20 ms
    // the scenario is whole without the file
    std::fs::remove_file(folder.join("cell.down")).expect("it is there");
    let again = Scenario::from_json(&scenario.to_json(), &[]).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(again.hash(), scenario.hash());
    assert_eq!(again.config(), scenario.config());
    std::fs::write(folder.join("cell.down"), "3\nx\n").expect("a writable folder");
    let error = Scenario::parse(&text, &file, &[]).expect_err("line 2 is not a number");
    assert_eq!(error.diagnostics[0].field, "topology.link.rate.trace");
    assert!(error.diagnostics[0].message.contains("line 2"), "{error}");
}

/// Lists of sizes have comments, and so have traces; lines keep their numbers.
#[test]
fn comments_of_a_trace_are_passed_over_and_times_with_rates_are_sent_to_a_schedule() {
    let folder = tempfile();
    let text = chain("rate = { trace = \"noted.down\" }, delay = \"5 ms\"", BULK);
    let read = |content: &str| {
        std::fs::write(folder.join("noted.down"), content).expect("a writable folder");
        Scenario::parse(&text, &folder.join("test.toml").display().to_string(), &[]).map_err(|error| error.to_string())
    };
    let plain = read("1\n2\n3\n").expect("a trace");
    let noted = read("\u{feff}# a drive\n1\n  # at 2 ms\n2\n3\n").expect("the same trace");
    assert_eq!(noted.config(), plain.config());
    assert!(read("# a drive\n1\nx\n").expect_err("no number").contains("line 3"));
    for content in ["0.0 3.2\n1.0 4.1\n", "0,3.2\n0.5,4.1\n"] {
        let error = read(content).expect_err("two columns");
        assert!(error.contains("not of times and rates") && error.contains("schedule = ["), "{error}");
    }
}

/// A folder of this test's own.
fn tempfile() -> std::path::PathBuf {
    let folder = std::env::temp_dir().join(format!("ackclock-links-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a writable folder for temporary files");
    folder
}

#[test]
fn a_handover_shows_in_the_round_trip() {
    // One segment at a time: its round trip is 2 * 20 ms and two services, unless a handover lies in it. Then what
    // arrives at the link in the outage waits for its end, which is at most 100 ms away.
    let link = "rate = \"100 Mbit/s\", delay = \"20 ms\", handover = { period = \"1 s\", outage = \"100 ms\" }";
    let one = "[[flow]]\ncontroller = { kind = \"fixed\", window = \"1 segment\" }\n";
    let text = chain(link, one).replace("trace = false\n", "trace = { per = \"event\", flows = [\"rtt_sample\"] }\n");
    let outcome = Simulation::new(&parse(&text)).finish();
    let rtt = flow(&outcome.summary).rtt_ms.expect("samples");
    // 1500 and 40 octets at 100 Mbit/s: 123.2 us; the receiver acknowledges a lone segment after 40 ms
    assert!((rtt.p50 - 80.0).abs() < 1.0, "{rtt:?}");
    assert!(rtt.p99 > 150.0 && rtt.p99 < 181.0, "{rtt:?}"); // 80 and at most 100
}

#[test]
fn delays_by_turns_are_those_of_the_periods() {
    let link = "rate = \"100 Mbit/s\", handover = { period = \"5 s\", delay = [\"20 ms\", \"30 ms\"] }";
    let one = "[[flow]]\ncontroller = { kind = \"fixed\", window = \"2 segments\" }\n";
    let rtt = |window: &str| {
        let text = chain(link, one).replacen("trace", &format!("measure = {window}\ntrace"), 1);
        flow(&run(&text)).rtt_ms.expect("samples").p50
    };
    // both ways change together; two segments are acknowledged at once
    assert!((rtt("{ from = \"6 s\", to = \"9.9 s\" }") - 60.0).abs() < 1.0);
    assert!((rtt("{ from = \"11 s\", to = \"14.9 s\" }") - 40.0).abs() < 1.0);
}

#[test]
fn nothing_is_made_or_lost_unnoticed() {
    let link = "rate = \"20 Mbit/s\", delay = \"5 ms\", keep_order = false, capture = true, duplicate = 0.02, \
                loss = { kind = \"gilbert_elliott\", p = 0.005, r = 0.3 }, jitter = { kind = \"exponential\", mean = \"1 ms\" }, \
                reorder = { kind = \"probability\", p = 0.02, extra = \"4 ms\" }, \
                policer = { rate = \"6 Mbit/s\", burst = \"6 kB\" }, aggregate = { every = \"2 ms\", packets = 8 }, \
                reverse = { loss = { kind = \"random\", p = 0.01 } }";
    let file = "[[flow]]\ncontroller = \"newreno\"\napp = { kind = \"file\", size = \"2 MB\" }\n";
    let outcome = Simulation::new(&parse(&chain(link, file).replace("20 s", "300 s"))).finish();
    let link = forward(&outcome.summary);
    assert_eq!(flow(&outcome.summary).delivered_bytes, 2_000_000);
    assert!(link.losses > 0 && link.duplicates > 0 && link.reordered > 0 && link.drops > 0, "{link:?}");
    // captured as they entered the wire
    let seen = outcome.captures[0].packets().map(|packet| packet.expect("the disk is there"));
    let sent = seen.filter(|packet| packet.interface == 0).count() as u64;
    assert_eq!(sent + link.duplicates, link.delivered_packets + link.losses);
    assert!(outcome.summary.links[1].losses > 0);
    assert_eq!(outcome.summary.links[1].duplicates, 0); // what hurts packets is not inherited
}

#[test]
fn a_policer_lets_its_rate_and_burst_pass() {
    let link = "rate = \"100 Mbit/s\", delay = \"10 ms\", policer = { rate = \"12 Mbit/s\", burst = \"30 kB\" }";
    let summary = run(&chain(link, "[[flow]]\ncontroller = \"newreno\"\n"));
    // 12 Mbit/s for 20 s and the bucket: no more than 20 020 packets of 1500 octets
    let link = forward(&summary);
    assert!(link.drops > 0 && link.delivered_packets <= 20_020, "{link:?}");
    assert!(link.delivered_packets > 10_000, "{link:?}");
    assert!((link.queue_packets.max - 20.0) < 0.5, "{link:?}"); // no more than the burst waits at 100 Mbit/s
}

#[test]
fn a_plain_link_stays_plain() {
    let config = parse(&chain("rate = \"12 Mbit/s\", delay = \"5 ms\", keep_order = true, duplicate = 0.0", BULK));
    assert!(config.network.links.iter().all(|link| link.channel.is_none()));
    // of a rate that changes, the highest; of a delay, the longest
    let changing = parse(&chain(
        "rate = { schedule = [{ at = \"0 s\", rate = \"2 Mbit/s\" }, { at = \"1 s\", rate = \"9 Mbit/s\" }], repeat = \"2 s\" }, \
         delay = { schedule = [{ delay = \"5 ms\" }, { at = \"3 s\", delay = \"25 ms\" }] }, \
         queue = { kind = \"drop_tail\", limit = \"1 bdp\" }",
        BULK,
    ));
    let link = &changing.network.links[1];
    assert_eq!((link.rate, link.delay), (Bandwidth(9_000_000), SimDuration::from_millis(25)));
    // 9 Mbit/s * 50 ms / 8 = 56 250 octets
    let limit = ackclock_net::DropTailConfig { limit: ackclock_net::QueueLimit::Bytes(Bytes(56_250)) };
    assert_eq!(link.queue, ackclock_net::QueueConfig::DropTail(limit));
}

#[test]
fn each_direction_may_have_a_rate_of_its_own() {
    // the ACKs of 100 Mbit/s of data, 40 octets for two segments, need 1.3 Mbit/s; the reverse path has a tenth of that
    let link =
        "rate = \"100 Mbit/s\", delay = \"5 ms\", reverse = { rate = { schedule = [{ rate = \"130 kbit/s\" }] } }";
    let summary = run(&chain(link, BULK));
    assert!((summary.links[1].utilization - 1.0).abs() < 0.01, "{:?}", summary.links[1]);
    // an ACK takes 320 bit / 130 kbit/s = 2.46 ms: 406 a second, each for two segments once the window has its ACKs
    assert!(summary.links[1].delivered_packets.abs_diff(406 * 20) < 50, "{:?}", summary.links[1]);
}

#[test]
fn mistakes_are_named() {
    let rest = ", delay = \"5 ms\"";
    for (link, field) in [
        ("rate = { schedule = [] }", "rate.schedule"),
        ("rate = {}", "rate.schedule"),
        ("rate = { schedule = [{ at = \"1 s\", rate = \"1 Mbit/s\" }] }", "rate.schedule[0].at"),
        ("rate = { schedule = [{ at = \"0 s\" }] }", "rate.schedule[0].rate"),
        ("rate = { schedule = [{ rate = \"1 Mbit/s\" }, { rate = \"2 Mbit/s\" }] }", "rate.schedule[1].at"),
        (
            "rate = { schedule = [{ rate = \"1 Mbit/s\" }, { at = \"0 s\", rate = \"2 Mbit/s\" }] }",
            "rate.schedule[1].at",
        ),
        ("rate = { schedule = [{ rate = \"0 bit/s\" }] }", "rate.schedule"),
        ("rate = { schedule = [{ rate = \"200 Tbit/s\" }] }", "rate.schedule[0].rate"),
        (
            "rate = { schedule = [{ rate = \"1 Mbit/s\" }, { at = \"3 s\", rate = \"2 Mbit/s\" }], repeat = \"3 s\" }",
            "rate.repeat",
        ),
        ("rate = { schedule = [{ rate = \"1 Mbit/s\" }], instants = \"1\" }", "rate.schedule"),
        ("rate = { schedule = [{ rate = \"1 Mbit/s\" }], once = true }", "rate.once"),
        ("rate = { instants = \"1 2\", repeat = \"3 s\" }", "rate.repeat"),
        ("rate = { schedule = [{ rate = \"1 Mbit/s\" }], repeat = \"3 s\" }", "rate.repeat"),
        ("rate = { instants = \"2 1\" }", "rate.instants"),
        ("rate = { instants = \"1\", opportunity = \"0 bytes\" }", "rate.opportunity"),
        ("rate = { trace = \"no-such-file\" }", "rate.trace"),
    ] {
        assert_blamed(&format!("{link}{rest}"), field);
    }
    let rest = "rate = \"1 Mbit/s\", ";
    for (link, field) in [
        ("delay = {}", "delay.schedule"),
        ("delay = { schedule = [{ delay = \"25 h\" }] }", "delay.schedule[0].delay"),
        ("delay = { schedule = [{ delay = \"1 ms\" }], repeat = \"3 s\" }", "delay.repeat"),
        ("handover = { outage = \"1 s\" }, delay = \"1 ms\"", "handover.period"),
        ("handover = { period = \"1 s\" }, delay = \"1 ms\"", "handover.outage"),
        ("handover = { period = \"1 s\", outage = \"1 s\" }, delay = \"1 ms\"", "handover.outage"),
        ("handover = { period = \"0 s\", outage = \"1 ms\" }, delay = \"1 ms\"", "handover.period"),
        ("handover = { period = \"1 s\", delay = [\"1 ms\"] }, delay = \"1 ms\"", "handover.delay"),
        ("handover = { period = \"1 s\", delay = [] }", "handover.delay"),
    ] {
        assert_blamed(&format!("{rest}{link}"), field);
    }
}

#[test]
fn mistakes_in_what_hurts_are_named() {
    for (link, field) in [
        ("loss = { kind = \"random\" }", "loss.p"),
        ("loss = { kind = \"random\", p = 1.5 }", "loss.p"),
        ("loss = { kind = \"gilbert_elliott\", p = 0.1 }", "loss.r"),
        ("loss = { kind = \"gilbert_elliott\", p = 0.1, r = 0.1, loss_bad = -1.0 }", "loss.loss_bad"),
        ("loss = { kind = \"bursts\", share = 1.0, length = 5 }", "loss.share"),
        ("loss = { kind = \"bursts\", share = 0.1, length = 0.5 }", "loss.length"),
        ("loss = { kind = \"bursts\", share = 0.9, length = 5 }", "loss.length"), // 0.9 / 0.1 = 9
        ("loss = { kind = \"bit_errors\", rate = 2.0 }", "loss.rate"),
        ("loss = \"cosmic_rays\"", "loss"),
        ("jitter = { kind = \"uniform\" }", "jitter.max"),
        ("jitter = { kind = \"uniform\", min = \"2 ms\", max = \"1 ms\" }", "jitter.min"),
        ("jitter = { kind = \"normal\", mean = \"2 ms\" }", "jitter.deviation"),
        ("jitter = { kind = \"exponential\", mean = \"25 h\" }", "jitter.mean"),
        ("reorder = { kind = \"every\", k = 1, extra = \"1 ms\" }", "reorder.k"),
        ("reorder = { kind = \"probability\", p = 0.1 }", "reorder.extra"),
        ("duplicate = 2.0", "duplicate"),
        ("policer = { rate = \"1 Mbit/s\" }", "policer.burst"),
        ("policer = { rate = \"0 bit/s\", burst = \"10 kB\" }", "policer.rate"),
        ("policer = { rate = \"1 Mbit/s\", burst = \"1499 bytes\" }", "policer.burst"),
        ("aggregate = { packets = 4 }", "aggregate.every"),
        ("aggregate = { every = \"1 ms\", wait = \"1 ms\" }", "aggregate.wait"),
        ("aggregate = { every = \"0 s\" }", "aggregate.every"),
        ("aggregate = { wait = \"1 ms\", packets = 1 }", "aggregate.packets"),
    ] {
        assert_blamed(&format!("rate = \"1 Mbit/s\", delay = \"1 ms\", {link}"), field);
    }
}

fn assert_blamed(link: &str, field: &str) {
    let found = mistakes(link);
    let [mistake] = &found[..] else { panic!("{link}: {found:?}") };
    assert_eq!(mistake.field, format!("topology.link.{field}"), "{link}: {mistake}");
    assert!(!mistake.remedy.is_empty(), "{mistake}");
}

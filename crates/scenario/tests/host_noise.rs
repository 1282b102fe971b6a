//! Phase effects: flows in step with a queue, and the effect of hosts' noise on them.

use ackclock_scenario::Scenario;
use ackclock_sim::{Simulation, Summary};

/// Two flows, of which the second begins at another moment with each seed. Every link has 100 Mbit/s.
const EQUAL_RATES: &str = r#"
name = "equal rates"
duration = "40 s"

[topology]
kind = "dumbbell"
access = { rate = "100 Mbit/s", delay = "10 us" }
bottleneck = { rate = "100 Mbit/s", delay = "10 ms", queue = { kind = "drop_tail", limit = "1 bdp" } }

[[flow]]
name = "a"
controller = "reno"
[[flow]]
name = "b"
controller = "reno"
"#;

fn scenario(seed: u32, set: &[&str]) -> Scenario {
    let start = format!("flow.b.start=\"{} us\"", 100_000 + 13_700 * seed);
    let seed = format!("seed={seed}");
    let all: Vec<String> = [start.as_str(), seed.as_str()].iter().chain(set).map(ToString::to_string).collect();
    Scenario::parse(EQUAL_RATES, "equal.toml", &all).unwrap_or_else(|error| panic!("{error}"))
}

fn run(seed: u32, set: &[&str]) -> Summary {
    Simulation::new(scenario(seed, set).config()).finish().summary
}

/// The number of runs, of six, in which one flow has less than a tenth of both flows' goodput.
fn starved(set: &[&str]) -> usize {
    let is_starved = |seed| {
        let goodput: Vec<f64> = run(seed, set).flows.iter().map(|flow| flow.goodput_bps).collect();
        goodput.iter().any(|own| *own < goodput.iter().sum::<f64>() / 10.0)
    };
    (1..=6).filter(|seed| is_starved(*seed)).count()
}

#[test]
fn without_noise_a_flow_is_locked_out_at_equal_rates_and_with_it_hardly_one_is() {
    // Floyd and Jacobson 1991, section 3: the bias is total where it is, and a random time in the hosts removes it. Which phase two
    // flows come to rest in hangs on their start and on their ACKs: where receivers acknowledge every other segment from the
    // beginning, whatever their window does, one is locked out in five of six runs or all. With noise it is two of thirty runs, whose
    // first great loss left one of them to its timer.
    let plain = [
        "tcp.host_noise=\"0 s\"",
        "tcp.small_queues=false",
        "tcp.delayed_ack.quickacks=0",
        "tcp.receive_autotuning=false",
        "tcp.sack_compression=false",
    ];
    assert!(starved(&plain) >= 5);
    assert!(starved(&plain[1..]) <= 1);
    assert!(starved(&[]) <= 1);
}

#[test]
fn rates_in_step_are_known_beforehand() {
    let in_step = |set: &[&str]| scenario(1, set).config().link_in_step().map(|link| link.name.clone());
    assert_eq!(in_step(&["tcp.profile=\"rfc\""]).as_deref(), Some("bottleneck"));
    assert_eq!(in_step(&[]), None); // the default has noise
    assert_eq!(in_step(&["tcp.profile=\"rfc\"", "tcp.host_noise=\"10 us\""]), None);
    assert_eq!(in_step(&["tcp.profile=\"rfc\"", "topology.access.rate=\"1 Gbit/s\""]), None);
    let is_marked = "topology.bottleneck.queue={kind=\"fq_codel\"}"; // a queue for each flow
    assert_eq!(in_step(&["tcp.profile=\"rfc\"", is_marked]), None);
}

#[test]
fn a_senders_own_link_holds_no_more_than_two_bursts_or_a_millisecond() {
    // The host's own link is the bottleneck: 20 Mbit/s and 20 ms hold 34.5 segments of 1448 octets. Slow start stops at twice what
    // is outstanding, some 55 segments, so that pacing would be at 2 * 110 segments in 25 ms: 102 Mbit/s, of which 1/1024 s is 12.4 kB,
    // a burst of 8 segments. A burst goes as long as no more than two wait: three of them, and some of what is on the wire. Without
    // the limit the queue is as long as the receive buffer.
    let slow = ["topology.access.rate=\"20 Mbit/s\"", "tcp.receive_buffer=\"2 MB\"", "flow.b.start=\"39 s\""];
    let largest = |set: &[&str]| {
        let summary = run(1, &[&slow[..], set].concat());
        let own = summary.links.iter().find(|link| link.name == "a.left").expect("it has a link");
        own.queue_packets.max as u64
    };
    assert!(largest(&[]) <= 26, "{}", largest(&[]));
    assert!(largest(&["tcp.small_queues=false"]) > 1000);
}

#[test]
fn what_waits_at_the_senders_own_link_is_known_whatever_its_discipline() {
    // As above, with links that are served packet by packet, of which nobody knows when a packet will leave: 20 Mbit/s by way of a rate
    // that changes, too.
    let slow = ["topology.access.rate=\"20 Mbit/s\"", "tcp.receive_buffer=\"2 MB\"", "flow.b.start=\"39 s\""];
    let largest = |set: &[&str]| {
        let summary = run(1, &[&slow[..], set].concat());
        let own = summary.links.iter().find(|link| link.name == "a.left").expect("it has a link");
        own.queue_packets.max as u64
    };
    let steps = "topology.access.rate={ schedule = [{ at = \"0 s\", rate = \"20 Mbit/s\" }, { at = \"30 s\", rate = \"21 Mbit/s\" }] }";
    for discipline in [
        "topology.access.queue={ kind = \"codel\", target = \"1 s\" }",
        "topology.access.queue={ kind = \"fq_codel\", target = \"1 s\", flows = 16 }",
        "topology.access.device_queue=10",
        steps,
    ] {
        assert!(largest(&[discipline]) <= 26, "{discipline}: {}", largest(&[discipline]));
        assert!(largest(&[discipline, "tcp.small_queues=false"]) > 900, "{discipline}");
    }
}

#[test]
fn a_queue_that_tells_what_has_left_is_as_one_of_which_it_is_known() {
    // DropTail of 500 packets, and DropTail of 490 behind a device of 10, which is served packet by packet: the same to the packet.
    let hosts = ["topology.access.rate=\"20 Mbit/s\"", "topology.access.delay=\"1 ms\"", "duration=\"20 s\""];
    let flows = |set: &[&str]| {
        let summary = run(3, &[&hosts[..], set].concat());
        let flows = summary.flows.iter();
        flows.map(|flow| (flow.delivered_bytes, flow.retransmitted_segments, flow.timeouts)).collect::<Vec<_>>()
    };
    let known = "topology.access.queue={ kind = \"drop_tail\", limit = \"500 packets\" }";
    let told =
        ["topology.access.queue={ kind = \"drop_tail\", limit = \"490 packets\" }", "topology.access.device_queue=10"];
    for more in ["tcp.pacing=true", "tcp.pacing=\"fq\"", "tcp.pacing=false"] {
        assert_eq!(flows(&[known, more]), flows(&[told[0], told[1], more]), "{more}");
    }
    assert_ne!(flows(&[known]), flows(&[known, "tcp.small_queues=false"]), "the limit matters");
}

#[test]
fn what_is_dropped_at_the_senders_own_link_no_longer_waits_there() {
    // A sender who went on counting what a queue, a policer or a discarder at its own link dropped would stand still in the end.
    let path = [
        "topology.access.rate=\"20 Mbit/s\"",
        "flow.a.app={ kind = \"file\", size = \"15 MB\" }",
        "flow.b.app={ kind = \"file\", size = \"15 MB\" }",
    ];
    for drops in [
        &["topology.access.queue={ kind = \"drop_tail\", limit = \"3 packets\" }", "topology.access.device_queue=2"][..],
        &["topology.access.queue={ kind = \"fq_codel\", limit = \"8 packets\" }"],
        &["topology.access.queue={ kind = \"codel\", target = \"1 ms\", interval = \"10 ms\" }"],
        &["topology.access.policer={ rate = \"18 Mbit/s\", burst = \"20 kB\" }"],
        &[
            "topology.access.queue={ kind = \"fq_codel\" }",
            "topology.access.discard=[{ kind = \"probability\", p = 1e-2 }]",
        ],
    ] {
        let summary = run(1, &[&path[..], drops].concat());
        for flow in &summary.flows {
            assert_eq!(flow.delivered_bytes, 15_000_000, "{}: {drops:?}", flow.name);
            assert!(flow.retransmitted_segments > 0, "{}: {drops:?}", flow.name);
        }
    }
}

#[test]
fn connections_that_take_anothers_place_begin_with_nothing_at_the_host() {
    // Files of ten segments that come and go behind a queue of four packets; what an earlier one still had there is not told to the next.
    let many = [
        "duration=\"5 s\"",
        "topology.access={ rate = \"20 Mbit/s\", delay = \"1 ms\", queue = { kind = \"fq_codel\", limit = \"4 packets\" } }",
        "flow.a={ name = \"a\", arrivals = { rate = \"100 /s\", size = \"15 kB\" }, controller = \"reno\" }",
    ];
    let summary = run(1, &many);
    assert!(summary.groups[0].completed > 300, "{:?}", summary.groups[0].completed);
}

#[test]
fn a_full_device_keeps_the_segment_and_halves_the_rate() {
    // As above, by Linux 2.4 with room for 20 packets at the device: cwnd goes from some 55 segments to 27 and back, so that nothing is
    // lost, and the link idles for (34.5 - 27)^2 / 2 = 28 of the (27 + 55) / 2 * 28 = 1148 segments of a cycle.
    let hosts = ["tcp.profile=\"linux-2.4\"", "tcp.device_queue={ limit = 20 }", "tcp.receive_buffer=\"2 MB\""];
    let path = ["topology.access.rate=\"20 Mbit/s\"", "flow.b.start=\"39.9 s\""];
    let summary = run(1, &[&hosts[..], &path].concat());
    let flow = summary.flows.iter().find(|flow| flow.name == "a").expect("it is there");
    assert_eq!((flow.retransmitted_segments, flow.fast_recoveries, flow.timeouts), (0, 0, 0));
    let own = summary.links.iter().find(|link| link.name == "a.left").expect("it has a link");
    assert!((20..=21).contains(&(own.queue_packets.max as u64)), "{}", own.queue_packets.max);
    let share = flow.goodput_bps / (20e6 * 1448.0 / 1500.0);
    assert!((0.94..0.99).contains(&share), "{share}");
}

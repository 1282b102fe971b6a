//! QUIC over whole runs, compared with RFC 9000 and RFC 9002, by hand.

use ackclock_cc::controllers;
use ackclock_scenario::Scenario;
use ackclock_sim::{Outcome, Simulation};

use crate::common::{numbers, run, simulate};

/// Data of a full packet: 1472 octets of UDP payload, less a short header with an identifier of 8 octets and a number
/// of two, the tag of 16, and type, stream and offset (of four octets) of a STREAM frame.
const PAYLOAD: f64 = 1472.0 - 11.0 - 16.0 - 6.0;

/// One flow on a path of 100 ms that never queues; `discard` loses packets.
fn without_queue(flow: &str, seconds: u32, discard: &str) -> Outcome {
    simulate(&format!(
        "duration = \"{seconds} s\"\nmeasure = {{ from = \"{} s\" }}\n[topology]\nkind = \"dumbbell\"\n\
         access = {{ rate = \"100 Gbit/s\", delay = \"0 ns\" }}\n\
         bottleneck = {{ rate = \"100 Gbit/s\", delay = \"50 ms\", discard = [{discard}] }}\n[[flow]]\n{flow}\n",
        seconds / 4
    ))
}

/// A bottleneck of 10 Mbit/s and 20 ms.
fn bottleneck(flows: &str) -> String {
    format!(
        "duration = \"30 s\"\nmeasure = {{ from = \"5 s\" }}\n[topology]\nkind = \"dumbbell\"\n\
         access = {{ rate = \"1 Gbit/s\", delay = \"0 ns\" }}\n\
         bottleneck = {{ rate = \"10 Mbit/s\", delay = \"10 ms\", queue = {{ kind = \"drop_tail\", limit = \"40 packets\" }} }}\n{flows}"
    )
}

#[test]
fn a_full_link_carries_its_rate_less_the_headers() {
    let summary = run(&bottleneck("[[flow]]\nprotocol = \"quic\"\n"));
    let law = 10e6 * PAYLOAD / 1500.0;
    let goodput = summary.flows[0].goodput_bps;
    assert!((goodput / law - 1.0).abs() < 0.002, "{goodput} against {law}");
    assert_eq!((summary.flows[0].profile, summary.flows[0].timeouts), ("quic", 0));
}

#[test]
fn reno_over_quic_follows_the_square_root_law() {
    // One loss in 1000, and windows from W/2 to W: 3/8 W^2 packets in W/2 round trips, as over TCP, and W/2 more in the round trip
    // of recovery, in which nothing grows: W = 50.98, and 1000 packets in 26.49 round trips are 37.75 in the mean. What is left of
    // a window below a packet is not used: half a packet in the mean.
    let flow = "controller = \"reno\"\nprotocol = { kind = \"quic\", ack_every = 1 }";
    let outcome = without_queue(flow, 400, "{ kind = \"every\", k = 1000, of = \"data\" }");
    let flow = &outcome.summary.flows[0];
    let window = flow.goodput_bps * 0.1 / (8.0 * PAYLOAD);
    assert!((window / 37.25 - 1.0).abs() < 0.03, "{window}");
    assert_eq!(flow.timeouts, 0);
}

#[test]
fn a_lost_tail_is_repaired_after_the_probe_timeout() {
    // 14 000 octets are ten packets, which leave after the handshake, at 100 ms. The last is lost. Five ACKs bring samples of
    // 100 ms (the fifth, of the ninth packet alone, without its delay of 25 ms): rttvar 50 * (3/4)^5 = 11.865 ms after that of
    // the handshake. PTO: 100 + 4 * 11.865 + 25 = 172.46 ms; the probe takes 50 ms.
    let flow = "app = { kind = \"file\", size = \"14 kB\" }\nprotocol = \"quic\"";
    let outcome = without_queue(flow, 2, "{ kind = \"list\", positions = [10], of = \"data\" }");
    let flow = &outcome.summary.flows[0];
    let completion = flow.completion_s.expect("the probe arrives");
    assert!((completion - (0.1 + 0.17246 + 0.05)).abs() < 1e-4, "{completion}");
    assert_eq!((flow.timeouts, flow.retransmitted_segments, flow.sent_segments), (1, 1, 11));
}

#[test]
fn packets_that_five_overtake_are_sent_again_by_the_packet_threshold_and_not_by_time() {
    // RFC 9002 section 6.1.1: a packet held back for 10 ms is overtaken by six, 50 being spread over 80 ms (1.25 windows a round
    // trip), and is taken for lost though it is not; a threshold of 20 leaves it to the time threshold of 112.5 ms.
    let flow = |threshold: u32| {
        let summary = run(&format!(
            "duration = \"20 s\"\n[topology]\nkind = \"dumbbell\"\naccess = {{ rate = \"1 Gbit/s\", delay = \"0 ns\" }}\n\
             bottleneck = {{ rate = \"1 Gbit/s\", delay = \"50 ms\", reorder = {{ kind = \"every\", k = 100, extra = \"10 ms\" }} }}\n\
             [[flow]]\ncontroller = {{ kind = \"fixed\", window = \"50 segments\" }}\n\
             protocol = {{ kind = \"quic\", packet_threshold = {threshold} }}\n"
        ));
        let reordered = summary.links.iter().map(|link| link.reordered).max();
        (summary.flows[0].retransmitted_segments as f64, reordered.expect("there are links") as f64)
    };
    let (sent_again, reordered) = flow(3);
    assert!(reordered > 80.0 && (sent_again / reordered - 1.0).abs() < 0.05, "{sent_again} of {reordered}");
    let (sent_again, reordered) = flow(20);
    assert!(reordered > 80.0 && sent_again < 0.5, "{sent_again} of {reordered}");
}

#[test]
fn two_hundred_holes_in_a_flight_are_known_at_once() {
    // RFC 9000 section 19.3 has no limit as SACK's three blocks are one: each loss is known when three packets later have arrived,
    // and all are of one recovery period.
    let lost: Vec<String> = (700..1_100).step_by(2).map(|position| position.to_string()).collect();
    let discard = format!("{{ kind = \"list\", positions = [{}], of = \"data\" }}", lost.join(", "));
    let flow = "controller = \"reno\"\napp = { kind = \"file\", size = \"4 MB\" }\nprotocol = \"quic\"";
    let outcome = without_queue(flow, 10, &discard);
    let flow = &outcome.summary.flows[0];
    // Data that leaves again beside an ACK frame does not fit as it did, and takes another packet: of each twenty ACKs, which are
    // some 200 while all is sent again, one is answered.
    assert_eq!(flow.lost_segments, 200);
    assert!((200..=212).contains(&flow.retransmitted_segments), "{}", flow.retransmitted_segments);
    assert_eq!((flow.fast_recoveries, flow.timeouts), (1, 0));
    assert!(flow.completion_s.is_some());
    // The first packet of the period leaves at once or with the next ACK, and ends it when it is acknowledged.
    let duration = numbers(&outcome.episodes, "duration_s")[0];
    assert!((0.1..0.21).contains(&duration), "{duration}");
}

#[test]
fn beside_cubic_over_tcp_quic_has_about_half() {
    let summary =
        run(&bottleneck("[tcp]\nhost_noise = \"1 ms\"\n[[flow]]\nprotocol = \"quic\"\n[[flow]]\nstart = \"100 ms\"\n")
            .replace("30 s", "120 s")
            .replace("5 s", "20 s"));
    let [quic, tcp] = [0, 1].map(|flow: usize| summary.flows[flow].goodput_bps);
    assert!((0.6..1.67).contains(&(quic / tcp)), "{quic} beside {tcp}");
    assert!(quic + tcp > 0.95 * 10e6 * PAYLOAD / 1500.0);
}

#[test]
fn fewer_acks_come_where_the_sender_asks_for_fewer() {
    let acks = |protocol: &str| {
        let summary = run(&bottleneck(&format!("[[flow]]\nprotocol = {protocol}\n")));
        let names: Vec<&str> = summary.links.iter().map(|link| link.name.as_str()).collect();
        let of = |name: &str| {
            let link = summary.links.iter().find(|link| link.name == name).unwrap_or_else(|| panic!("{names:?}"));
            link.delivered_packets as f64
        };
        of("bottleneck") / of("bottleneck.reverse")
    };
    // Of a full link a packet comes each 1.2 ms: ten in 12 ms, within the delay of 25 ms.
    let (two, ten) = (acks("\"quic\""), acks("{ kind = \"quic\", ack_frequency = { packets = 10 } }"));
    assert!((1.9..=2.0).contains(&two), "{two}");
    assert!((9.0..=10.0).contains(&ten), "{ten}");
    // The receivers of Swift's paper delay no ACK (Kumar et al., SIGCOMM 2020, section 3.1), unless the flow says otherwise.
    let swift = "controller = { kind = \"swift\", base_target = \"60 ms\" }";
    let (each, two) =
        (acks(&format!("\"quic\"\n{swift}")), acks(&format!("{{ kind = \"quic\", ack_every = 2 }}\n{swift}")));
    // The first packet of the handshake is one more.
    assert!((0.95..1.01).contains(&each), "{each}");
    assert!((1.9..2.01).contains(&two), "{two}");
}

#[test]
fn every_controller_that_can_gets_over_quic_what_it_gets_over_tcp() {
    let mut refused = Vec::new();
    for &name in controllers().names() {
        // By an exact clock, as QUIC's is.
        // CDG reduces a window again while the queue of before is among its gradients. QUIC reduces at once, without RFC 9937, and so
        // more often.
        let tcp = if name == "cdg" { "[tcp]\nprr = false\n" } else { "" };
        let over = |protocol: &str| {
            format!(
                "{tcp}[tcp.rto]\nestimator = \"rfc6298\"\n[[flow]]\ncontroller = {name:?}\nprotocol = \"{protocol}\"\n"
            )
        };
        let Ok(scenario) = Scenario::parse(&bottleneck(&over("quic")), "test.toml", &[]) else {
            refused.push(name);
            continue;
        };
        let goodput = Simulation::new(scenario.config()).finish().summary.flows[0].goodput_bps;
        let tcp = run(&bottleneck(&over("tcp"))).flows[0].goodput_bps;
        let ratio = goodput / tcp;
        assert!((0.93..1.07).contains(&ratio), "{name}: {goodput} over QUIC, {tcp} over TCP");
    }
    refused.sort_unstable();
    assert!(controllers().names().len() >= refused.len() + 20, "{refused:?}");
    assert!(refused.contains(&"tahoe") && refused.contains(&"newreno") && refused.contains(&"hpcc"), "{refused:?}");
}

/// Above a seventh of a BDP the threshold keeps the link full (Alizadeh et al., SIGCOMM 2010, section 3.3): 15 ms of 50 Mbit/s are 62
/// packets. A window that was halved at each mark would leave a fifth of it empty.
#[test]
fn either_dctcp_over_quic_keeps_a_link_full() {
    for variant in ["paper", "linux"] {
        let summary = run(&format!(
            "duration = \"6 s\"\nmeasure = {{ from = \"1 s\" }}\n[topology]\nkind = \"dumbbell\"\n\
             access = {{ rate = \"1 Gbit/s\", delay = \"0 ns\" }}\n\
             bottleneck = {{ rate = \"50 Mbit/s\", delay = \"7.5 ms\", queue = {{ kind = \"threshold\", threshold = \"12 packets\" }} }}\n\
             [[flow]]\ncontroller = {{ kind = \"dctcp\", variant = \"{variant}\" }}\nprotocol = \"quic\"\n"
        ));
        let share = summary.flows[0].goodput_bps / (50e6 * PAYLOAD / 1500.0);
        assert!(share > 0.9, "{variant}: {share}");
    }
}

#[test]
fn what_is_tcps_alone_is_refused_with_a_remedy() {
    let said = |flow: &str| {
        let text = bottleneck(&format!("[[flow]]\nprotocol = \"quic\"\n{flow}\n"));
        Scenario::parse(&text, "test.toml", &[]).expect_err(flow).to_string()
    };
    for (flow, place, remedy) in [
        ("tcp = { sack = false }", "flow[0].tcp", "protocol = { kind = \"quic\""),
        ("read_rate = \"1 Mbit/s\"", "flow[0].read_rate", "protocol = \"tcp\""),
        ("reply = \"bulk\"", "flow[0].reply", "protocol = \"tcp\""),
        ("app = { kind = \"on_off\", on = \"1 s\", off = \"1 s\" }", "flow[0].app", "\"bulk\", \"file\" or \"files\""),
        ("controller = \"tahoe\"", "flow[0].controller", "\"reno\""),
        ("abort_at = \"3 s\"", "flow[0].abort_at", "remove it"),
    ] {
        let said = said(flow);
        assert!(said.contains(place) && said.contains(remedy), "{flow}: {said}");
    }
}

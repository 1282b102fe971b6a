//! Short flows, exchanges, video and datagrams against numbers by hand and against queueing theory.

use crate::common::Dumbbell;
use ackclock_cc::{ControllerConfig, FixedConfig};
use ackclock_net::QueueLimit;
use ackclock_sim::{
    AppConfig, Arrivals, ArrivalsConfig, ColumnData, DatagramConfig, FlowConfig, Gaps, ListedFlow, Outcome, Sending,
    Simulation, SimulationConfig, SizeDistribution, Span, Table, VideoChoice, VideoConfig,
};
use ackclock_units::{Amount, Bandwidth, Bytes, SimDuration, SimTime};
use ackclock_wire::Ecn;

const MS: f64 = 1e-3;

/// A dumbbell of 12 Mbit/s (a full packet takes 1 ms) and 10 ms each way, with access links a hundred times faster. Its
/// only connection is taken out, and given to the test's group or datagrams.
fn path() -> (Dumbbell, SimulationConfig, FlowConfig) {
    let second = SimDuration::from_secs(10);
    let mut dumbbell =
        Dumbbell::new(Bandwidth(12_000_000), SimDuration::from_millis(10), QueueLimit::Unlimited, second);
    dumbbell.access = Bandwidth(1_200_000_000);
    let mut config = dumbbell.config();
    let flow = config.flows.pop().expect("one flow");
    (dumbbell, config, flow)
}

fn group(flow: FlowConfig, arrivals: Arrivals) -> ArrivalsConfig {
    ArrivalsConfig {
        flow,
        arrivals,
        until: SimTime::NEVER,
        count: u64::MAX,
        buckets: vec![Bytes(10_000)],
        splits: Vec::new(),
    }
}

fn listed(flows: &[(u64, u64, u64)]) -> Arrivals {
    let flow = |&(ms, size, reply): &(u64, u64, u64)| ListedFlow {
        after: SimDuration::from_millis(ms),
        size: Bytes(size),
        reply: Bytes(reply),
    };
    Arrivals::Listed(flows.iter().map(flow).collect())
}

fn numbers<'a>(table: &'a Table, name: &str) -> &'a [f64] {
    let column = table.columns.iter().find(|column| column.name == name).expect("the column is there");
    let ColumnData::F64(values) = &column.data else { panic!("{name} holds no numbers") };
    values
}

fn run_listed(flows: &[(u64, u64, u64)]) -> Outcome {
    let (_, mut config, flow) = path();
    config.traffic.arrivals.push(group(flow, listed(flows)));
    Simulation::new(&config).finish()
}

/// Time that a packet of `octets` takes on the bottleneck and on the two access links.
fn one_packet(octets: f64) -> f64 {
    octets * 8.0 / 12e6 + 2.0 * octets * 8.0 / 1.2e9
}

/// Time from the departure of an opener's ACK (52 octets) until it is through the bottleneck.
fn ack_passes() -> f64 {
    52.0 * 8.0 / 1.2e9 + 52.0 * 8.0 / 12e6
}

#[test]
fn a_short_flow_takes_its_handshake_and_one_flight() {
    // 10 segments of 1448 octets fill the initial window: SYN and SYN-ACK (60 octets each with their options), the ACK
    // (52 octets) and right behind it, at the bottleneck without a gap, ten packets of 1500 octets in one flight; the
    // last crosses one more access link. Three times 10 ms of propagation.
    let (_, _, flow) = path();
    assert_eq!(flow.sender.mss, 1448, "the sums below are for this segment");
    let outcome = run_listed(&[(0, 14_480, 0)]);
    let expected = 2.0 * one_packet(60.0) + ack_passes() + 10.0 * MS + 1500.0 * 8.0 / 1.2e9 + 30.0 * MS;
    let fct = numbers(&outcome.completions, "fct_s")[0];
    assert!((fct - expected).abs() < 100e-9, "{fct} is not {expected}"); // a few roundings up to a nanosecond
    // In one flight nothing could be faster, so the slowdown is 1.
    let slowdown = numbers(&outcome.completions, "slowdown")[0];
    assert!((slowdown - 1.0).abs() < 1e-5, "{slowdown}");
}

#[test]
fn slow_start_takes_the_rounds_that_it_must() {
    // 40 segments: 10 in the first flight, the rest as ACKs of every second segment arrive. The first flight is at the
    // receiver from 1 to 10 ms after its first bit; ACKs of segments 2, 4, ..., 10 leave then, and each lets four
    // segments go: two for what it acknowledges and two that slow start adds. So the second flight has 20 segments,
    // sent from one ACK after another, and the third has the last 10.
    //
    // Flight 2 begins one round trip after segment 2 passed the bottleneck: 2 ms + passage + 20 ms. Its bursts of 4 take
    // 4 ms each at the bottleneck and come every 2 ms, so its 20 packets are sent back to back: 20 ms. Flight 3 begins
    // when the ACK of its second segment is back, which is after 2 ms + 20 ms, later than the 20 ms that flight 2 takes:
    // so the third flight's packets find an empty queue, and there are 10 of them, back to back, again 10 ms.
    let outcome = run_listed(&[(0, 40 * 1448, 0)]);
    let open = 2.0 * one_packet(60.0) + 20.0 * MS + ack_passes();
    // Time from a flight's start until the ACK of its second segment is back, and the last flight's own time.
    let access = 1500.0 * 8.0 / 1.2e9;
    let round = 2.0 * MS + access + 10.0 * MS + one_packet(52.0) + 10.0 * MS + access;
    let last = 10.0 * MS + access + 10.0 * MS;
    let expected = open + 2.0 * round + last;
    let fct = numbers(&outcome.completions, "fct_s")[0];
    assert!((fct - expected).abs() < 0.001 * MS, "{fct} is not {expected}");
    // On an empty path without windows the 40 packets follow each other.
    let ideal = open + 40.0 * MS + access + 10.0 * MS;
    let slowdown = numbers(&outcome.completions, "slowdown")[0];
    assert!((slowdown - expected / ideal).abs() < 1e-4, "{slowdown}");
}

#[test]
fn a_reply_follows_when_the_request_has_been_read() {
    // A request of one full segment and a reply of one: handshake, then a packet each way.
    let outcome = run_listed(&[(5, 1448, 1448)]);
    let there = ack_passes() + 1.0 * MS + 1500.0 * 8.0 / 1.2e9;
    let expected = 2.0 * one_packet(60.0) + there + one_packet(1500.0) + 40.0 * MS;
    let fct = numbers(&outcome.completions, "fct_s")[0];
    assert!((fct - expected).abs() < 1e-6, "{fct} is not {expected}");
    assert_eq!(numbers(&outcome.completions, "start_s"), [0.005]);
    assert_eq!(outcome.summary.groups[0].completed, 1);
}

#[test]
fn slots_are_used_again_and_every_flow_completes() {
    // 500 flows, one every 15 ms: each takes some 50 ms, so at most 6 are there at once.
    let flows: Vec<(u64, u64, u64)> = (0..500).map(|number| (15 * number, 2_000 + number, number % 3 * 500)).collect();
    let outcome = run_listed(&flows);
    let group = &outcome.summary.groups[0];
    assert_eq!((group.started, group.completed, group.aborted), (500, 500, 0));
    assert!(group.max_concurrent <= 6, "{}", group.max_concurrent);
    let expected: u64 = flows.iter().map(|(_, size, reply)| size + reply).sum();
    assert!((group.mean_bytes.expect("flows") - expected as f64 / 500.0).abs() < 1e-9);
}

#[test]
fn flows_survive_loss_and_are_counted_in_their_classes() {
    let (mut dumbbell, _, _) = path();
    dumbbell.discard = Some((ackclock_net::PacketClass::Any, ackclock_net::Selection::Probability(0.05)));
    dumbbell.duration = SimDuration::from_secs(60);
    let mut config = dumbbell.config();
    let flow = config.flows.pop().expect("one flow");
    let flows: Vec<(u64, u64, u64)> = (0..400).map(|number| (50 * number, 5_000 + 10_000 * (number % 2), 0)).collect();
    config.traffic.arrivals.push(group(flow, listed(&flows)));
    let outcome = Simulation::new(&config).finish();
    let group = &outcome.summary.groups[0];
    assert_eq!((group.started, group.completed), (400, 400));
    let classes: Vec<(u64, Option<u64>, u64)> =
        group.buckets.iter().map(|bucket| (bucket.above_bytes, bucket.up_to_bytes, bucket.completed)).collect();
    assert_eq!(classes, [(0, Some(10_000), 200), (10_000, None, 200)]);
    assert!(group.retransmitted_segments > 0 && group.timeouts > 0);
    assert!(group.slowdown.expect("flows").max_exceeds_one());
}

trait Exceeds {
    fn max_exceeds_one(&self) -> bool;
}

impl Exceeds for ackclock_sim::Distribution {
    fn max_exceeds_one(&self) -> bool {
        self.min >= 0.999 && self.p99 > 1.5
    }
}

/// The mean slowdown of flows of a few packets that share a link by Poisson arrivals.
fn load(rho: f64) -> f64 {
    // The propagation delay is zero, so that a flow in the system always has packets at the bottleneck.
    let mut dumbbell =
        Dumbbell::new(Bandwidth(12_000_000), SimDuration::ZERO, QueueLimit::Unlimited, SimDuration::from_secs(2_400));
    dumbbell.access = Bandwidth(12_000_000_000);
    dumbbell.tcp.delayed_ack.segments = 1;
    let mut config = dumbbell.config();
    let mut flow = config.flows.pop().expect("one flow");
    // Two segments of each flow, always: the flows take turns, as processor sharing does.
    flow.controller = ControllerConfig::Fixed(FixedConfig { window: Amount::Bytes(Bytes(2 * 1448)) });
    let size = SizeDistribution::Exponential { mean: Bytes(240_000) };
    // On the wire a flow of B octets takes B + 52 ceil(B / 1448) octets, on average 240,000 + 52 * (240,000/1448 + 1/2),
    // and a SYN and an ACK.
    let octets = 240_000.0 + 52.0 * (240_000.0 / 1448.0 + 0.5) + 112.0;
    let mean_gap = octets * 8.0 / 12e6 / rho * 1e9;
    let arrivals = Arrivals::Drawn { gaps: Gaps::Exponential, mean_gap, size, reply: None };
    config.traffic.arrivals.push(group(flow, arrivals));
    let outcome = Simulation::new(&config).finish();
    let group = &outcome.summary.groups[0];
    assert!(group.completed as f64 > 0.99 * group.started as f64);
    // Over time the link is busy for the offered fraction of it.
    let busy = outcome.summary.links[0].utilization;
    assert!((busy / rho - 1.0).abs() < 0.06, "{busy}");
    // Processor sharing: E[T] = E[S] / (1 - rho), whatever the distribution (Kleinrock 1976, volume 2, section 4.4).
    group.fct_ms.expect("flows").mean / (octets * 8.0 / 12e6 * 1e3)
}

#[test]
fn flows_that_share_a_link_take_turns_as_processor_sharing_says() {
    for rho in [0.3, 0.6] {
        let slowdown = load(rho);
        let expected = 1.0 / (1.0 - rho);
        assert!((slowdown / expected - 1.0).abs() < 0.08, "at {rho}: {slowdown}, not {expected}");
    }
}

fn exchanging(app: AppConfig) -> Outcome {
    let (dumbbell, _, _) = path();
    let mut config = dumbbell.config();
    config.flows[0].app = app;
    Simulation::new(&config).finish()
}

#[test]
fn a_response_takes_a_packet_each_way() {
    let outcome = exchanging(AppConfig::RequestResponse {
        request: SizeDistribution::Constant(Bytes(200)),
        response: SizeDistribution::Constant(Bytes(1448)),
        think: Span::Constant(SimDuration::from_millis(100)),
        count: 20,
    });
    let flow = &outcome.summary.flows[0];
    let exchanges = flow.exchanges.as_ref().expect("it makes requests");
    assert_eq!((flow.name.as_str(), exchanges.completed), ("flow1", 20));
    // 252 octets there, 1500 back, 10 ms each way; the acceptor's ACK of the request may leave first (52 octets).
    let expected = (one_packet(252.0) + one_packet(1500.0) + 20.0 * MS) * 1e3;
    let found = exchanges.time_ms.expect("twenty responses");
    assert!((found.mean - expected).abs() < 0.05, "{} is not {expected}", found.mean);
    assert!((exchanges.slowdown.expect("twenty responses").mean - 1.0).abs() < 0.002);
    // Twenty exchanges and nineteen pauses, after a handshake; then both ends are done.
    let done = flow.completion_s.expect("it ends");
    let all = 20.0 * expected * MS + 19.0 * 0.1 + 2.0 * one_packet(60.0) + 20.0 * MS;
    assert!((done - all).abs() < 2.0 * MS, "{done} is not {all}");
    assert_eq!(outcome.summary.flows[1].delivered_bytes, 20 * 1448);
    assert_eq!(numbers(&outcome.completions, "fct_s").len(), 20);
}

#[test]
fn a_video_over_a_fixed_rate_has_the_bitrate_that_fits() {
    // 12 Mbit/s: of 2, 5 and 20 Mbit/s, 5 is the highest that fits. Segments of 2 s, 1.25 MB at 5 Mbit/s.
    let outcome = exchanging(AppConfig::Video(VideoConfig {
        ladder: [2, 5, 20].map(|rate| Bandwidth(rate * 1_000_000)).to_vec(),
        segment: SimDuration::from_secs(2),
        length: Some(SimDuration::from_secs(2_000)),
        request: Bytes(200),
        buffer: SimDuration::from_secs(6),
        playback: SimDuration::from_secs(2),
        choice: VideoChoice::Rate { window: 5, safety: 1.0 },
    }));
    let video = outcome.summary.flows[0].video.as_ref().expect("a video client");
    assert_eq!((video.switches, video.rebufferings), (1, 0));
    // One segment of 2 Mbit/s and the others of 5.
    let count = video.segments as f64;
    assert!((video.mean_bitrate_bps.expect("segments") - (2e6 + 5e6 * (count - 1.0)) / count).abs() < 1.0);
    // The buffer holds 6 s and is filled by then: in 10 s, less the startup, the client has 10 + 6 s of video at most.
    assert!((6..=8).contains(&video.segments), "{}", video.segments);
    let startup = video.startup_s.expect("it plays");
    // 0.5 MB at 12 Mbit/s take 0.35 s, in slow start some 20 ms a round more.
    assert!((0.35..0.6).contains(&startup), "{startup}");
}

/// A run of datagrams alone, for 9 s, with room for `limit` packets.
fn datagrams(limit: QueueLimit, rate: u64, payload: u32) -> Outcome {
    let (mut dumbbell, _, flow) = path();
    dumbbell.limit = limit;
    let mut config = dumbbell.config();
    config.flows.clear();
    config.traffic.datagrams.push(DatagramConfig {
        name: "udp".to_owned(),
        capture: false,
        from: flow.from,
        to: flow.to,
        start: SimTime::ZERO,
        until: SimTime(9_000_000_000),
        payload,
        sending: Sending::Constant(Bandwidth(rate)),
        ecn: Ecn::NotEct,
    });
    Simulation::new(&config).finish()
}

#[test]
fn datagrams_are_delivered_at_their_rate() {
    // 6 Mbit/s of 750-byte payloads: one a millisecond, for 9 s.
    let outcome = datagrams(QueueLimit::Unlimited, 6_000_000, 750);
    let udp = &outcome.summary.datagrams[0];
    assert_eq!((udp.sent, udp.received, udp.lost, udp.out_of_order), (9_000, 9_000, 0, 0));
    assert!((udp.goodput_bps - 6e6).abs() < 1e-6);
    // 778 octets on an empty path: each has the same delay, so there is no jitter.
    let delay = udp.one_way_delay_ms.expect("they arrive");
    let expected = (one_packet(778.0) + 10.0 * MS) * 1e3;
    assert!((delay.mean - expected).abs() < 1e-4, "{} is not {expected}", delay.mean);
    assert!(udp.jitter_ms.expect("they arrive") < 1e-6);
}

#[test]
fn what_exceeds_the_link_is_lost() {
    // 24 Mbit/s of 1472-byte payloads (packets of 1500) into 12 Mbit/s with room for 12 packets: of 24,000/11,776
    // datagrams a millisecond one passes.
    let outcome = datagrams(QueueLimit::Packets(12), 23_552_000, 1_472); // exactly two a millisecond
    let udp = &outcome.summary.datagrams[0];
    assert_eq!(udp.sent, 18_000);
    // One a millisecond for 9 s, and what was in the queue and in service at the end: 13.
    assert!((9_000..=9_014).contains(&udp.received), "{}", udp.received);
    // All that arrive are in order; what was lost after the last of them is not known to be.
    assert!(udp.sent - udp.received - udp.lost <= 1, "{udp:?}");
    // A full queue: 12 ms of waiting and the packet in service.
    let delay = udp.one_way_delay_ms.expect("they arrive");
    assert!((delay.p95 - 23.0).abs() < 1.1, "{}", delay.p95);
}

#[test]
fn poisson_arrivals_follow_the_seed_and_nothing_else() {
    let (_, mut config, flow) = path();
    let arrivals = Arrivals::Drawn {
        gaps: Gaps::Exponential,
        mean_gap: 5e6,
        size: SizeDistribution::Exponential { mean: Bytes(5_000) },
        reply: None,
    };
    config.traffic.arrivals.push(group(flow, arrivals));
    let whole = Simulation::new(&config).finish();
    let mut pieces = Simulation::new(&config);
    for step in 1..50 {
        pieces.run_until(SimTime(step * 100_000_007));
    }
    let copy = pieces.clone();
    assert_eq!(pieces.finish().completions, whole.completions);
    assert_eq!(copy.finish().summary, whole.summary);
    config.seed = 2;
    assert_ne!(Simulation::new(&config).finish().completions, whole.completions);
}

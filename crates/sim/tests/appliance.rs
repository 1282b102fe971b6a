//! The split-connection appliance: every octet comes through once and in order, whatever is lost; the handshake, FIN,
//! RST and back-pressure are carried through; latency and copying agree with arithmetic.

use std::sync::Arc;

use crate::common::{DISCIPLINES, Dumbbell, captured, disciplines};
use ackclock_cc::{ControllerConfig, RenoConfig};
use ackclock_net::{DropTailConfig, NodeId, PacketClass, QueueConfig, QueueLimit, Selection};
use ackclock_relay::DisciplineConfig;
use ackclock_sim::{
    AppConfig, ApplianceConfig, ColumnData, Copying, FlowId, FlowSeries, HandshakeOrder, NO_NAME, Outcome, SideConfig,
    Simulation, SimulationConfig, SplitConfig,
};
use ackclock_tcp::{ConnectionError, State, TcpConfig};
use ackclock_units::{Bandwidth, Bytes, SimDuration, SimTime};
use proptest::prelude::*;

/// Node 0 of the dumbbell: the router on the openers' side.
const LEFT: NodeId = NodeId::new(0);
const RIGHT: NodeId = NodeId::new(1);

fn mbps(rate: u64) -> Bandwidth {
    Bandwidth(rate * 1_000_000)
}

fn reno() -> ControllerConfig {
    ControllerConfig::Reno(RenoConfig::default())
}

fn side(tcp: &TcpConfig) -> SideConfig {
    SideConfig { tcp: *tcp, controller: reno(), controller_name: "reno".to_owned() }
}

fn appliance(node: NodeId) -> ApplianceConfig {
    ApplianceConfig {
        name: format!("box{}", node.index()),
        node,
        handshake: HandshakeOrder::AcceptFirst,
        copying: Copying { delay: SimDuration::ZERO, rate: None, chunk: Bytes(65_536) },
        discipline: DisciplineConfig::Socket,
    }
}

/// A dumbbell of 10 Mbit/s, 20 ms one way, and 1 ms between hosts and router.
fn dumbbell(app: AppConfig, duration: u64) -> Dumbbell {
    let mut dumbbell = Dumbbell::new(
        mbps(10),
        SimDuration::from_millis(20),
        QueueLimit::Packets(100),
        SimDuration::from_secs(duration),
    );
    dumbbell.controllers = vec![reno()];
    dumbbell.extra_one_way = vec![SimDuration::from_millis(1)];
    dumbbell.app = app;
    dumbbell
}

/// The scenario `config` with every flow split by appliances at `nodes`.
fn split(mut config: SimulationConfig, appliances: Vec<ApplianceConfig>, buffer: Bytes) -> SimulationConfig {
    for flow in 0..config.flows.len() {
        for index in 0..appliances.len() {
            let tcp = TcpConfig { send_buffer: buffer, receive_buffer: buffer, ..*config.flows[flow].sender };
            config.splits.push(SplitConfig { flow, appliance: index, near: side(&tcp), far: side(&tcp) });
        }
    }
    config.appliances = appliances;
    config
}

fn file(octets: u64) -> AppConfig {
    AppConfig::Files { sizes: vec![Bytes(octets)], gap: SimDuration::ZERO }
}

fn run(config: &SimulationConfig) -> Outcome {
    Simulation::new(config).finish()
}

#[test]
fn a_file_arrives_whole_and_both_ends_close() {
    let config = split(dumbbell(file(3_000_000), 20).config(), vec![appliance(LEFT)], Bytes(1_000_000));
    let outcome = run(&config);
    let flow = &outcome.summary.flows[0];
    assert_eq!(flow.delivered_bytes, 3_000_000);
    assert!(flow.completion_s.is_some() && !flow.aborted);
    let forward = &outcome.summary.appliances[0].flows[0].forward;
    assert_eq!((forward.arrived_bytes, forward.acknowledged_bytes), (3_000_000, 3_000_000));
    // The opener hears from the box, 2 ms away, and not from the receiver, 42 ms away.
    let rtt = flow.rtt_ms.expect("there were samples");
    assert!(rtt.min < 4.0, "{rtt:?}");
}

#[test]
fn a_chain_of_two_carries_requests_and_responses() {
    let config = split(
        {
            let mut config = dumbbell(file(200_000), 20).config();
            config.flows[0].reply = Some(file(300_000));
            config
        },
        vec![appliance(LEFT), appliance(RIGHT)],
        Bytes(50_000),
    );
    let outcome = run(&config);
    let delivered: Vec<u64> = outcome.summary.flows.iter().map(|flow| flow.delivered_bytes).collect();
    assert_eq!(delivered, [200_000, 300_000]);
    let backward = outcome.summary.appliances[1].flows[0].backward.as_ref().expect("the reply passed");
    assert_eq!(backward.arrived_bytes, 300_000);
}

#[test]
fn a_file_that_ends_with_the_handshake_is_answered() {
    // Accepting first, the box has the octet and the FIN before the far side is open: all leave with the ACK of the
    // handshake, and the acceptor is never just established.
    let mut config = dumbbell(file(1), 5).config();
    config.flows[0].reply = Some(file(700));
    let outcome = run(&split(config, vec![appliance(LEFT)], Bytes(100_000)));
    let delivered: Vec<u64> = outcome.summary.flows.iter().map(|flow| flow.delivered_bytes).collect();
    assert_eq!(delivered, [1, 700]);
}

#[test]
fn the_handshake_takes_the_order_that_it_is_given() {
    let opened_by = |handshake, at: SimDuration| {
        let config = dumbbell(file(1_000), 5).config();
        let config = split(config, vec![ApplianceConfig { handshake, ..appliance(LEFT) }], Bytes(100_000));
        let mut simulation = Simulation::new(&config);
        simulation.run_until(SimTime::ZERO + at);
        simulation.sender(FlowId::new(0)).state() != State::SynSent
    };
    // 2 ms to the box and back, 40 ms to the receiver and back.
    assert!(opened_by(HandshakeOrder::AcceptFirst, SimDuration::from_millis(3)));
    assert!(!opened_by(HandshakeOrder::ConnectFirst, SimDuration::from_millis(40)));
    assert!(opened_by(HandshakeOrder::ConnectFirst, SimDuration::from_millis(45)));
}

#[test]
fn a_receiver_that_refuses_is_told_of_in_either_order() {
    for (handshake, error) in [
        (HandshakeOrder::AcceptFirst, ConnectionError::Reset),
        (HandshakeOrder::ConnectFirst, ConnectionError::Refused),
    ] {
        let mut config = dumbbell(file(100_000), 5).config();
        config.flows[0].accepts = false;
        let config = split(config, vec![ApplianceConfig { handshake, ..appliance(LEFT) }], Bytes(100_000));
        let mut simulation = Simulation::new(&config);
        simulation.run_until(SimTime::ZERO + SimDuration::from_secs(4));
        assert_eq!(simulation.sender(FlowId::new(0)).error(), Some(error), "{handshake:?}");
        let outcome = simulation.finish();
        assert!(outcome.summary.appliances[0].flows[0].reset);
        assert_eq!(outcome.summary.flows[0].delivered_bytes, 0);
    }
}

#[test]
fn a_reset_by_the_sender_reaches_the_receiver() {
    let mut config = dumbbell(AppConfig::Bulk, 10).config();
    config.flows[0].abort_at = Some(SimTime::ZERO + SimDuration::from_secs(3));
    let config = split(config, vec![appliance(LEFT)], Bytes(100_000));
    let outcome = run(&config);
    assert!(outcome.summary.appliances[0].flows[0].reset);
    // 10 Mbit/s for 3 s and not for 10.
    assert!(outcome.summary.flows[0].delivered_bytes < 3_750_000 + 200_000);
}

#[test]
fn a_receiver_that_stops_reading_stops_the_sender_and_nothing_is_lost() {
    let buffer = Bytes(100_000);
    let mut config = dumbbell(AppConfig::Bulk, 20).config();
    config.flows[0].stops_reading = Some(SimTime::ZERO + SimDuration::from_secs(5));
    Arc::make_mut(&mut config.flows[0].receiver).receive_buffer = buffer;
    let config = split(config, vec![appliance(LEFT)], buffer);
    let mut simulation = Simulation::new(&config);
    simulation.run_until(SimTime::ZERO + SimDuration::from_secs(10));
    let (read, acknowledged) = (simulation.read(FlowId::new(0)), simulation.sender(FlowId::new(0)).acknowledged());
    simulation.run_until(SimTime::ZERO + SimDuration::from_secs(19));
    assert_eq!(
        (simulation.read(FlowId::new(0)), simulation.sender(FlowId::new(0)).acknowledged()),
        (read, acknowledged),
        "all stands still"
    );
    assert!(read > Bytes(1_000_000));
    // What was acknowledged and not read is in three buffers: the receiver's, and either socket's of the box.
    let kept = acknowledged.saturating_sub(read);
    assert!((270_000..=300_000).contains(&kept.0), "{kept:?}");
}

#[test]
fn added_latency_is_what_the_backlog_takes_to_drain() {
    // An unbounded send buffer takes all 2 MB at the 100 Mbit/s of the access link; the far side is ten times slower.
    let mut dumbbell = dumbbell(file(2_000_000), 20);
    dumbbell.trace = vec![FlowSeries::Cwnd];
    let config = split(dumbbell.config(), vec![appliance(LEFT)], Bytes(64_000_000));
    let outcome = run(&config);
    let forward = &outcome.summary.appliances[0].flows[0].forward;
    let latency = forward.added_latency_ms.expect("octets passed");
    // The last octet comes after some 170 ms and leaves after 1.6 s: with 40 octets of headers, 2 MB are 2.055 MB.
    assert!((1_300.0..1_900.0).contains(&latency.p99), "{latency:?}");
    // The first comes when the opener's handshake and the next half round trip are over, after 4 ms; the far side, whose
    // handshake began when the SYN came after 1 ms, is open after 41 ms.
    assert!((36.5..38.0).contains(&latency.min), "{latency:?}");
    let column = |name: &str| outcome.appliances.columns.iter().any(|column| column.name == name);
    assert!(column("in_socket_bytes") && column("added_latency_s"));
}

#[test]
fn a_small_buffer_bounds_the_latency() {
    let run_with = |buffer: u64| {
        let config = split(dumbbell(AppConfig::Bulk, 20).config(), vec![appliance(LEFT)], Bytes(buffer));
        let outcome = run(&config);
        outcome.summary.appliances[0].flows[0].forward.added_latency_ms.expect("octets passed").mean
    };
    let (small, large) = (run_with(200_000), run_with(800_000));
    // Both sockets fill up; of the send buffer, some 50 kB to 150 kB of it is what is in flight. What waits, waits for
    // 1460 of every 1500 octets at 10 Mbit/s: 0.82 ms for each kB.
    assert!((150.0..330.0).contains(&small), "{small}");
    assert!(
        (large - small) / (2.0 * 600.0 * 0.82) > 0.9 && large - small < 2.0 * 600.0 * 0.82 * 1.1,
        "{small} {large}"
    );
}

#[test]
fn copying_has_a_rate_and_a_delay() {
    let goodput = |copying| {
        let config = dumbbell(AppConfig::Bulk, 20).config();
        // With the far side open first, the first octets wait for nothing but the copier.
        let appliance = ApplianceConfig { copying, handshake: HandshakeOrder::ConnectFirst, ..appliance(LEFT) };
        let config = split(config, vec![appliance], Bytes(1_000_000));
        let outcome = run(&config);
        let forward = outcome.summary.appliances[0].flows[0].forward.clone();
        (outcome.summary.flows[0].goodput_bps, forward.added_latency_ms.expect("octets passed").min)
    };
    let chunk = Bytes(1_460);
    let free = Copying { delay: SimDuration::ZERO, rate: None, chunk };
    let slow = Copying { rate: Some(mbps(2)), ..free };
    let late = Copying { delay: SimDuration::from_millis(7), ..free };
    let (unhindered, least) = goodput(free);
    assert!(unhindered > 9.0e6 && least < 0.1);
    let (goodput_bps, _) = goodput(slow);
    assert!((1.9e6..=2.0e6).contains(&goodput_bps), "{goodput_bps}");
    let (goodput_bps, least) = goodput(late);
    assert!((7.0..7.1).contains(&least), "{least}");
    assert!(goodput_bps > 9.0e6);
}

#[test]
fn two_flows_share_a_copier() {
    let mut dumbbell = dumbbell(AppConfig::Bulk, 20);
    dumbbell.controllers = vec![reno(), reno()];
    dumbbell.extra_one_way = vec![SimDuration::from_millis(1); 2];
    let copying = Copying { delay: SimDuration::ZERO, rate: Some(mbps(4)), chunk: Bytes(16_384) };
    let config = split(dumbbell.config(), vec![ApplianceConfig { copying, ..appliance(LEFT) }], Bytes(500_000));
    let outcome = run(&config);
    for flow in &outcome.summary.flows {
        assert!((1.8e6..=2.05e6).contains(&flow.goodput_bps), "{}", flow.goodput_bps);
    }
}

#[test]
fn clones_and_seeds_give_the_same_results() {
    let config = split(dumbbell(AppConfig::Bulk, 5).config(), vec![appliance(LEFT)], Bytes(300_000));
    let mut simulation = Simulation::new(&config);
    simulation.run_until(SimTime::ZERO + SimDuration::from_secs(2));
    let other = simulation.clone().finish();
    assert_eq!(simulation.finish().summary, other.summary);
    assert_eq!(run(&config).summary, other.summary);
}

/// The flow, appliance, direction, cause and lost segments of each row.
fn episodes(outcome: &Outcome) -> Vec<(String, Option<String>, String, String, u64)> {
    let column = |name: &str| &outcome.episodes.columns.iter().find(|column| column.name == name).expect(name).data;
    let text = |name: &str, row: usize| {
        let ColumnData::Name { codes, names } = column(name) else { panic!("{name} holds no names") };
        (codes[row] != NO_NAME).then(|| names[codes[row] as usize].clone())
    };
    let ColumnData::U64(lost) = column("lost_segments") else { panic!("no counts") };
    let known = |name: &str, row| text(name, row).expect(name);
    (0..lost.len())
        .map(|row| {
            (known("flow", row), text("appliance", row), known("direction", row), known("cause", row), lost[row])
        })
        .collect()
}

#[test]
fn an_episode_says_whose_end_it_is_of() {
    // Three packets of the second flow are lost behind the box, two of its reply before it, and one of the first flow's
    // before it: the far end, the near end and the opener have an episode each.
    let mut dumbbell = dumbbell(file(100_000), 20);
    dumbbell.controllers = vec![reno(), reno()];
    dumbbell.extra_one_way = vec![SimDuration::from_millis(1); 2];
    // Nothing else is lost: all packets of both flows fit the queue.
    (dumbbell.rate, dumbbell.limit) = (mbps(100), QueueLimit::Packets(200));
    let mut config = dumbbell.config();
    config.flows[1].reply = Some(file(100_000));
    // Links come in pairs, there and back: the bottleneck, then for each flow its opener's access and its acceptor's.
    for (link, flow, lost) in [(0, 1, vec![25, 26, 27]), (7, 1, vec![30, 31]), (2, 0, vec![20])] {
        let rule = ackclock_net::DiscardRule {
            class: PacketClass::Data,
            flows: Some(vec![flow]),
            from: SimTime::ZERO,
            until: SimTime::NEVER,
            selection: Selection::Positions(lost),
        };
        config.network.discarders.push(ackclock_net::DiscarderConfig { name: format!("d{link}"), rules: vec![rule] });
        config.network.links[link].discarder = Some(config.network.discarders.len() - 1);
    }
    let outcome = run(&split(config, vec![appliance(LEFT)], Bytes(1_000_000)));
    let row = |flow: &str, appliance: Option<&str>, direction: &str, lost| {
        (flow.to_owned(), appliance.map(str::to_owned), direction.to_owned(), "loss".to_owned(), lost)
    };
    let mut found = episodes(&outcome);
    found.sort_unstable();
    let expected = [
        row("flow1", None, "forward", 1),
        row("flow2", Some("box0"), "backward", 2),
        row("flow2", Some("box0"), "forward", 3),
    ];
    assert_eq!(found, expected);
    // In the summary the same are counted.
    let flows = &outcome.summary.appliances[0].flows;
    let backward = flows[1].backward.as_ref().expect("a reply");
    assert_eq!([flows[1].forward.fast_recoveries, backward.fast_recoveries], [1, 1]);
    // Without an appliance there is nothing to tell apart.
    let outcome = run(&dumbbell.config());
    assert!(outcome.episodes.columns.iter().all(|column| column.name != "appliance" && column.name != "direction"));
}

fn bottleneck_queue(packets: u64) -> QueueConfig {
    QueueConfig::DropTail(DropTailConfig { limit: QueueLimit::Packets(packets) })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    /// Over any network and with any loss on either side, in both directions, all written data is delivered once, in
    /// order (a receiver counts octets by their place), and no sooner than it was sent.
    #[test]
    fn every_octet_comes_through(
        seed in 0_u64..1000,
        rate in 1_u64..60,
        delay_ms in 0_u64..80,
        queue in 2_u64..60,
        lost in prop::collection::vec(1_u64..160, 0..14),
        near_lost in prop::collection::vec(1_u64..160, 0..14),
        acks_lost in prop::collection::vec(1_u64..160, 0..14),
        octets in 1_u64..400_000,
        reply in 0_u64..100_000,
        buffer in 3_000_u64..100_000,
        connect_first in any::<bool>(),
        chain in any::<bool>(),
        copying_kbps in prop::option::of(500_u64..50_000),
        discipline in 0..DISCIPLINES,
    ) {
        let mut dumbbell = dumbbell(file(octets), 900);
        dumbbell.rate = mbps(rate);
        dumbbell.one_way = SimDuration::from_millis(delay_ms);
        dumbbell.queue = Some(bottleneck_queue(queue));
        dumbbell.seed = seed;
        dumbbell.discard = Some((PacketClass::Any, Selection::Positions(lost)));
        let mut config = dumbbell.config();
        // The access links of the opener are links 2 and 3: the near side loses, too, there and back.
        for (link, positions) in [(2, near_lost), (3, acks_lost)] {
            let rule = ackclock_net::DiscardRule {
                class: PacketClass::Any,
                flows: None,
                from: SimTime::ZERO,
                until: SimTime::NEVER,
                selection: Selection::Positions(positions),
            };
            config.network.discarders.push(ackclock_net::DiscarderConfig { name: format!("d{link}"), rules: vec![rule] });
            config.network.links[link].discarder = Some(config.network.discarders.len() - 1);
        }
        if reply > 0 {
            config.flows[0].reply = Some(file(reply));
        }
        let handshake = if connect_first { HandshakeOrder::ConnectFirst } else { HandshakeOrder::AcceptFirst };
        let copying = Copying {
            delay: SimDuration::from_micros(if copying_kbps.is_some() { 300 } else { 0 }),
            rate: copying_kbps.map(|kbps| Bandwidth(kbps * 1_000)),
            chunk: Bytes(4_000),
        };
        let nodes: &[NodeId] = if chain { &[LEFT, RIGHT] } else { &[LEFT] };
        let boxes = nodes.iter().map(|&node| {
            let discipline = disciplines()[discipline].clone();
            ApplianceConfig { handshake, copying, discipline, ..appliance(node) }
        });
        let boxes = boxes.collect();
        let outcome = run(&split(config, boxes, Bytes(buffer)));
        let summary = &outcome.summary;
        prop_assert_eq!(summary.flows[0].delivered_bytes, octets);
        prop_assert!(summary.flows[0].completion_s.is_some());
        if reply > 0 {
            prop_assert_eq!(summary.flows[1].delivered_bytes, reply);
        }
        for split in summary.appliances.iter().flat_map(|appliance| &appliance.flows) {
            prop_assert!(!split.reset);
            prop_assert_eq!(split.forward.arrived_bytes, octets);
            prop_assert_eq!(split.forward.acknowledged_bytes, octets);
        }
    }
}

#[test]
fn rules_and_captures_know_the_flow_on_both_sides_of_an_appliance() {
    let mut dumbbell = dumbbell(file(300_000), 20);
    dumbbell.controllers = vec![reno(), reno()];
    dumbbell.extra_one_way = vec![SimDuration::from_millis(1); 2];
    dumbbell.discard = Some((PacketClass::Data, Selection::Positions(vec![5, 6, 7])));
    let mut config = dumbbell.config();
    config.network.discarders[0].rules[0].flows = Some(vec![1]);
    config.network.links[0].capture = true;
    let outcome = run(&split(config, vec![appliance(LEFT)], Bytes(100_000)));
    let retransmitted = |flow: usize| outcome.summary.appliances[0].flows[flow].forward.retransmitted_segments;
    // Three data packets of the second flow are dropped behind the box, and sent again there.
    assert_eq!((retransmitted(0), retransmitted(1)), (0, 3));
    let flows: std::collections::BTreeSet<u32> = captured(&outcome, 0).iter().map(|packet| packet.flow).collect();
    assert_eq!(flows.into_iter().collect::<Vec<_>>(), [0, 1]);
}

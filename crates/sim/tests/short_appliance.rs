//! Short flows at appliances: every octet arrives, completion times agree with arithmetic, a group is counted as one,
//! and a finished flow leaves no state.

use std::collections::BTreeSet;

use crate::common::{DISCIPLINES, Dumbbell, captured, disciplines};
use ackclock_net::{DropTailConfig, NodeId, PacketClass, QueueConfig, QueueLimit, Selection};
use ackclock_relay::DisciplineConfig;
use ackclock_sim::{
    AppConfig, ApplianceConfig, Arrivals, ArrivalsConfig, ColumnData, Copying, HandshakeOrder, ListedFlow, Outcome,
    SideConfig, Simulation, SimulationConfig, SplitConfig, SplitSummary, Table,
};
use ackclock_tcp::{EcnMode, TcpConfig};
use ackclock_units::{Bandwidth, Bytes, SimDuration, SimTime};
use proptest::prelude::*;

/// The router on the openers' side, and the one on the acceptors'.
const LEFT: NodeId = NodeId::new(0);
const RIGHT: NodeId = NodeId::new(1);
const MS: f64 = 1e-3;
const ACCESS: f64 = 1.2e9;
const BOTTLENECK: f64 = 12e6;

/// A dumbbell of 12 Mbit/s (a full packet takes 1 ms) and 10 ms each way, behind an access link a hundred times faster
/// and 5 ms long.
fn dumbbell(duration: u64) -> Dumbbell {
    let duration = SimDuration::from_secs(duration);
    let mut dumbbell =
        Dumbbell::new(Bandwidth(12_000_000), SimDuration::from_millis(10), QueueLimit::Unlimited, duration);
    dumbbell.access = Bandwidth(1_200_000_000);
    dumbbell.extra_one_way = vec![SimDuration::from_millis(5)];
    dumbbell
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

/// The time (in ms), size and reply of a flow.
type Listed = (u64, u64, u64);

fn listed(flows: &[Listed]) -> Arrivals {
    let flow = |&(ms, size, reply): &Listed| ListedFlow {
        after: SimDuration::from_millis(ms),
        size: Bytes(size),
        reply: Bytes(reply),
    };
    Arrivals::Listed(flows.iter().map(flow).collect())
}

fn split(flow: usize, appliance: usize, tcp: &TcpConfig) -> SplitConfig {
    let side = || SideConfig { tcp: *tcp, controller: crate::common::cubic(), controller_name: "cubic".to_owned() };
    SplitConfig { flow, appliance, near: side(), far: side() }
}

/// The scenario with its first flow as a group of short ones, which every one of `appliances` splits.
fn short(
    mut config: SimulationConfig,
    flows: &[Listed],
    appliances: &[ApplianceConfig],
    tcp: &TcpConfig,
) -> SimulationConfig {
    let flow = config.flows.remove(0);
    let splits = (0..appliances.len()).map(|index| split(0, index, tcp)).collect();
    let arrivals = listed(flows);
    config.traffic.arrivals.push(ArrivalsConfig {
        flow,
        arrivals,
        until: SimTime::NEVER,
        count: u64::MAX,
        buckets: Vec::new(),
        splits,
    });
    config.appliances = appliances.to_vec();
    config
}

fn run_with(flows: &[Listed], appliances: &[ApplianceConfig]) -> Outcome {
    Simulation::new(&short(dumbbell(20).config(), flows, appliances, &TcpConfig::default())).finish()
}

fn numbers<'a>(table: &'a Table, name: &str) -> &'a [f64] {
    let column = table.columns.iter().find(|column| column.name == name).expect("the column is there");
    let ColumnData::F64(values) = &column.data else { panic!("{name} holds no numbers") };
    values
}

fn of_group(outcome: &Outcome, appliance: usize) -> &SplitSummary {
    let flows = &outcome.summary.appliances[appliance].flows;
    flows.iter().find(|flow| flow.short_flows.is_some()).expect("the group is there")
}

fn on(rate: f64, octets: f64) -> f64 {
    octets * 8.0 / rate
}

/// The time from the departure of a SYN at the left router until the SYN-ACK is back: the bottleneck and one access
/// link each way.
fn far_round_trip() -> f64 {
    2.0 * (on(BOTTLENECK, 60.0) + on(ACCESS, 60.0)) + 20.0 * MS
}

#[test]
fn a_short_flow_takes_what_its_two_handshakes_take() {
    assert_eq!(TcpConfig::default().mss, 1448, "the sums below are for this segment");
    // SYN to the box. There, accepting first, the far handshake begins at once and takes longer than the opener's, whose
    // data waits and leaves as what acknowledges the SYN-ACK: it crosses the bottleneck and one more access link.
    let syn = 5.0 * MS + on(ACCESS, 60.0);
    let cross = on(BOTTLENECK, 1500.0) + on(ACCESS, 1500.0) + 10.0 * MS;
    let accept_first = syn + far_round_trip() + cross;
    // Connecting first, the SYN-ACK leaves the box when the far side is open; then it, the ACK and the data take the access
    // link once each. The far side's ACK is long gone.
    let near = 2.0 * 5.0 * MS + on(ACCESS, 60.0) + on(ACCESS, 52.0 + 1500.0);
    let connect_first = syn + far_round_trip() + near + cross;
    // Accepting first, the data is at the box after three times the access link, and leaves when the far side is open.
    let waits = far_round_trip() - near;
    for (handshake, expected, added) in
        [(HandshakeOrder::AcceptFirst, accept_first, waits), (HandshakeOrder::ConnectFirst, connect_first, 0.0)]
    {
        let outcome = run_with(&[(0, 1448, 0)], &[ApplianceConfig { handshake, ..appliance(LEFT) }]);
        let fct = numbers(&outcome.completions, "fct_s")[0];
        assert!((fct - expected).abs() < 100e-9, "{handshake:?}: {fct} is not {expected}"); // roundings up to a ns
        let latency = of_group(&outcome, 0).forward.added_latency_ms.expect("octets passed");
        // A histogram's bucket is within 1 %.
        assert!((latency.mean - added / MS).abs() < 0.001, "{handshake:?}: {latency:?}, not {added}");
    }
}

#[test]
fn connecting_first_costs_a_far_round_trip_before_the_first_octet() {
    // The first data packet enters the access link after a near
    // round trip, or after that and one to the far end.
    let first_data = |handshake| {
        let mut config = short(
            dumbbell(20).config(),
            &[(0, 1448, 0)],
            &[ApplianceConfig { handshake, ..appliance(LEFT) }],
            &TcpConfig::default(),
        );
        config.network.links[2].capture = true; // from the opener to the box
        let outcome = Simulation::new(&config).finish();
        let data = captured(&outcome, 0).into_iter().filter(|packet| packet.payload > 0).map(|packet| packet.time);
        data.min().expect("the opener sent").as_secs_f64()
    };
    let extra = first_data(HandshakeOrder::ConnectFirst) - first_data(HandshakeOrder::AcceptFirst);
    assert!((extra - far_round_trip()).abs() < 10e-9, "{extra} is not {}", far_round_trip());
}

#[test]
fn a_group_is_one_entry_with_its_sums_at_each_appliance() {
    // 300 flows, a tenth of the link; some have replies.
    let flows: Vec<Listed> = (0..300).map(|number| (50 * number, 1_000 + 37 * number, number % 3 * 700)).collect();
    let sizes: u64 = flows.iter().map(|flow| flow.1).sum();
    let replies: u64 = flows.iter().map(|flow| flow.2).sum();
    let outcome = run_with(&flows, &[appliance(LEFT), appliance(RIGHT)]);
    let group = &outcome.summary.groups[0];
    assert_eq!((group.started, group.completed, group.aborted), (300, 300, 0));
    for (index, appliance) in outcome.summary.appliances.iter().enumerate() {
        assert_eq!(appliance.flows.len(), 1);
        let split = of_group(&outcome, index);
        let counts = split.short_flows.expect("it is a group");
        assert_eq!((split.flow.as_str(), counts.started, counts.reset, split.reset), ("flow1", 300, 0, false));
        assert_eq!((split.forward.arrived_bytes, split.forward.acknowledged_bytes), (sizes, sizes));
        let backward = split.backward.as_ref().expect("replies passed");
        assert_eq!((backward.arrived_bytes, backward.acknowledged_bytes), (replies, replies));
        assert_eq!(split.forward.timeouts + backward.timeouts, 0);
        // Nothing is kept that has been acknowledged: less than a flow's octets, most of the time nothing.
        assert!(split.forward.in_socket_bytes.max <= 2.0 * 12_100.0, "{:?}", split.forward.in_socket_bytes);
    }
    // Rows are of flows that are there from the beginning.
    assert!(outcome.appliances.columns.is_empty());
}

#[test]
fn what_short_flows_keep_is_their_sum() {
    // Ten flows of a packet each arrive at once: accepting first, all ten packets wait in the box for the far handshakes,
    // which began when the SYNs came.
    let outcome = run_with(&[(0, 1448, 0); 10], &[appliance(LEFT)]);
    let forward = &of_group(&outcome, 0).forward;
    assert!((forward.backlog_bytes.max - 14_480.0).abs() < 0.5, "{:?}", forward.backlog_bytes);
    assert!((forward.in_socket_bytes.max - 14_480.0).abs() < 0.5, "{:?}", forward.in_socket_bytes);
}

#[test]
fn what_a_group_keeps_is_its_rate_times_its_latency() {
    // Little's law over a run that begins and ends with nothing kept: octets not sent on, averaged over time, are octets
    // a second times how long each stayed. Flows of several windows, at half the link's rate, with pauses.
    let flows: Vec<Listed> = (0..300).map(|number| (40 * number, 10_000 + 150 * (number % 300), 0)).collect();
    let outcome = run_with(&flows, &[appliance(LEFT)]);
    let forward = &of_group(&outcome, 0).forward;
    assert_eq!(forward.arrived_bytes, forward.acknowledged_bytes);
    let latency = forward.added_latency_ms.expect("octets passed");
    let expected = forward.arrived_bytes as f64 / outcome.summary.duration_s * latency.mean * MS;
    let ratio = forward.backlog_bytes.mean / expected;
    assert!(latency.mean > 5.0 && (ratio - 1.0).abs() < 0.01, "{ratio} {latency:?} {:?}", forward.backlog_bytes);
}

#[test]
fn latency_of_a_long_flow_beside_is_pooled_apart() {
    // The short flows are over before the long one begins, which fills the box.
    let mut dumbbell = dumbbell(20);
    dumbbell.controllers = vec![crate::common::cubic(), crate::common::cubic()];
    dumbbell.extra_one_way = vec![SimDuration::from_millis(5); 2];
    dumbbell.app = AppConfig::Files { sizes: vec![Bytes(5_000_000)], gap: SimDuration::ZERO };
    let flows: Vec<Listed> = (0..20).map(|number| (100 * number, 1448, 0)).collect();
    let mut config = short(dumbbell.config(), &flows, &[appliance(LEFT)], &TcpConfig::default());
    config.flows[0].start = SimTime(5_000_000_000);
    let tcp = TcpConfig { send_buffer: Bytes(64_000_000), ..TcpConfig::default() };
    config.splits.push(split(0, 0, &tcp));
    let outcome = Simulation::new(&config).finish();
    let [long, group] = &outcome.summary.appliances[0].flows[..] else { panic!("a flow and a group") };
    assert_eq!((long.flow.as_str(), group.flow.as_str()), ("flow2", "flow1"));
    assert_eq!((long.forward.arrived_bytes, group.forward.arrived_bytes), (5_000_000, 20 * 1448));
    // Each of the group waits for the rest of the far handshake, 20.08 - 10.01 ms, as alone.
    let latency = group.forward.added_latency_ms.expect("octets passed");
    assert!(latency.min > 10.0 && latency.p99 < 10.2, "{latency:?}");
    // 5 MB take 3.45 s, and come in at the rate of the near side's window: seconds.
    let latency = long.forward.added_latency_ms.expect("octets passed");
    assert!(latency.p99 > 1_000.0, "{latency:?}");
}

#[test]
fn a_flow_that_is_over_leaves_its_place_to_the_next() {
    let state_after = |count: u64| {
        let flows: Vec<Listed> = (0..count).map(|number| (2 * number, 600 + number % 300, number % 2 * 900)).collect();
        let copying =
            Copying { delay: SimDuration::from_micros(50), rate: Some(Bandwidth(1_000_000_000)), chunk: Bytes(500) };
        let boxes = [ApplianceConfig { copying, ..appliance(LEFT) }, appliance(RIGHT)];
        let mut simulation = Simulation::new(&short(dumbbell(60).config(), &flows, &boxes, &TcpConfig::default()));
        simulation.run_until(SimTime(59_000_000_000));
        let state = format!("{simulation:?}");
        let places = ["Endpoint {", "Relay {", "Way {", "Slot {"].map(|name| state.matches(name).count());
        (places, simulation.finish().summary.groups[0].completed)
    };
    let (few, completed) = state_after(200);
    assert_eq!(completed, 200);
    let (many, completed) = state_after(4_000);
    assert_eq!(completed, 4_000);
    // Some 30 are there at once, of three connections each, in either case: within a few.
    assert!(few[0] > 60 && many.iter().zip(few).all(|(many, few)| *many <= few + few / 3), "{few:?} {many:?}");
}

#[test]
fn flows_through_an_appliance_and_flows_past_it_share_nothing() {
    // The same group twice, one past the box: either has all its flows and octets.
    let mut dumbbell = dumbbell(20);
    dumbbell.controllers = vec![crate::common::cubic(), crate::common::cubic()];
    dumbbell.extra_one_way = vec![SimDuration::from_millis(5); 2];
    let flows: Vec<Listed> = (0..200).map(|number| (20 * number, 2_000, 0)).collect();
    let config = short(dumbbell.config(), &flows, &[appliance(LEFT)], &TcpConfig::default());
    let mut config = short(config, &flows, &[appliance(LEFT)], &TcpConfig::default());
    config.traffic.arrivals[1].splits.clear();
    let outcome = Simulation::new(&config).finish();
    for group in &outcome.summary.groups {
        assert_eq!((group.started, group.completed, group.aborted), (200, 200, 0));
    }
    assert_eq!(outcome.summary.appliances[0].flows.len(), 1);
    assert_eq!(of_group(&outcome, 0).forward.arrived_bytes, 200 * 2_000);
}

#[test]
fn a_far_side_that_gives_up_resets_the_flow_and_frees_it() {
    // From 1 s on nothing passes the bottleneck. Retries are few, so that the far side gives up: the opener is reset.
    let mut dumbbell = dumbbell(200);
    dumbbell.discard = Some((PacketClass::Any, Selection::Probability(1.0)));
    dumbbell.discard_from = SimTime(1_000_000_000);
    let tcp = TcpConfig { max_retries: 3, ..TcpConfig::default() };
    let copying =
        Copying { delay: SimDuration::from_millis(3), rate: Some(Bandwidth(10_000_000)), chunk: Bytes(1_000) };
    let boxes = [ApplianceConfig { copying, ..appliance(LEFT) }];
    let flows: Vec<Listed> = (0..40).map(|number| (50 * number, 50_000, 0)).collect();
    let mut config = short(dumbbell.config(), &flows, &boxes, &tcp);
    config.traffic.arrivals[0].flow.sender = tcp.into();
    let outcome = Simulation::new(&config).finish();
    let group = &outcome.summary.groups[0];
    // A flow takes less than 0.2 s. What has no far side by 1 s gives up after 1 + 2 + 4 + ... + 64 = 127 s of SYNs.
    assert_eq!(group.started, 40);
    assert!(group.completed >= 16 && group.completed + group.aborted == 40, "{group:?}");
    let split = of_group(&outcome, 0);
    assert!(split.reset);
    assert_eq!(split.short_flows.expect("a group").reset, group.aborted);
    // What it had acknowledged is gone: 20 flows were taken in whole, or as far as the buffers go.
    assert!(split.forward.arrived_bytes > split.forward.acknowledged_bytes, "{:?}", split.forward);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    /// Whatever is lost before or behind the appliance, every flow completes, and all its octets pass every appliance
    /// once.
    #[test]
    fn every_octet_of_every_short_flow_comes_through(
        seed in 0_u64..1000,
        rate in 1_u64..60,
        delay_ms in 0_u64..60,
        queue in 2_u64..60,
        loss in 0.0_f64..0.08,
        sizes in prop::collection::vec((0_u64..3_000, 1_u64..60_000, prop::option::of(1_u64..30_000)), 1..30),
        buffer in 3_000_u64..100_000,
        connect_first in any::<bool>(),
        chain in any::<bool>(),
        copying_kbps in prop::option::of(500_u64..50_000),
        discipline in 0..DISCIPLINES,
    ) {
        let mut dumbbell = dumbbell(900);
        (dumbbell.rate, dumbbell.seed) = (Bandwidth(rate * 1_000_000), seed);
        dumbbell.one_way = SimDuration::from_millis(delay_ms);
        dumbbell.queue = Some(QueueConfig::DropTail(DropTailConfig { limit: QueueLimit::Packets(queue) }));
        dumbbell.discard = Some((PacketClass::Any, Selection::Probability(loss)));
        let mut tcp = TcpConfig { send_buffer: Bytes(buffer), receive_buffer: Bytes(buffer), ..TcpConfig::default() };
        tcp.ecn.mode = EcnMode::Request;
        dumbbell.tcp.ecn.mode = EcnMode::Request;
        let handshake = if connect_first { HandshakeOrder::ConnectFirst } else { HandshakeOrder::AcceptFirst };
        let copying = Copying {
            delay: SimDuration::from_micros(if copying_kbps.is_some() { 300 } else { 0 }),
            rate: copying_kbps.map(|kbps| Bandwidth(kbps * 1_000)),
            chunk: Bytes(4_000),
        };
        let nodes: &[NodeId] = if chain { &[LEFT, RIGHT] } else { &[LEFT] };
        let discipline = &disciplines()[discipline];
        let boxes = nodes.iter().map(|&node| {
            ApplianceConfig { handshake, copying, discipline: discipline.clone(), ..appliance(node) }
        });
        let mut flows: Vec<Listed> = sizes.iter().map(|&(ms, size, reply)| (ms, size, reply.unwrap_or(0))).collect();
        flows.sort_unstable();
        let config = short(dumbbell.config(), &flows, &boxes.collect::<Vec<_>>(), &tcp);
        let outcome = Simulation::new(&config).finish();
        let group = &outcome.summary.groups[0];
        let count = flows.len() as u64;
        prop_assert_eq!((group.started, group.completed, group.aborted), (count, count, 0));
        let sizes: u64 = flows.iter().map(|flow| flow.1).sum();
        let replies: u64 = flows.iter().map(|flow| flow.2).sum();
        for appliance in &outcome.summary.appliances {
            let split = &appliance.flows[0];
            prop_assert_eq!((split.forward.arrived_bytes, split.forward.acknowledged_bytes), (sizes, sizes));
            let backward = split.backward.as_ref().map_or((0, 0), |way| (way.arrived_bytes, way.acknowledged_bytes));
            prop_assert_eq!(backward, (replies, replies));
        }
        prop_assert_eq!(&Simulation::new(&config).finish().summary, &outcome.summary);
    }
}

#[test]
fn captures_show_a_flow_and_its_port_on_both_sides_of_an_appliance() {
    let mut dumbbell = dumbbell(20);
    dumbbell.controllers = vec![crate::common::cubic(), crate::common::cubic()];
    dumbbell.extra_one_way = vec![SimDuration::from_millis(5); 2];
    dumbbell.app = AppConfig::Files { sizes: vec![Bytes(3_000)], gap: SimDuration::ZERO };
    let flows: Vec<Listed> = (0..6).map(|number| (200 * (number / 2), 1448, 500)).collect();
    let mut config = short(dumbbell.config(), &flows, &[appliance(LEFT)], &TcpConfig::default());
    config.traffic.arrivals[0].flow.port = 8_080;
    config.flows[0].port = 80;
    config.splits.push(split(0, 0, &TcpConfig::default()));
    for link in [0, 2] {
        config.network.links[link].capture = true; // behind the box; the short flows' access before it
    }
    let outcome = Simulation::new(&config).finish();
    let seen = |link: usize| {
        let packets = captured(&outcome, link);
        let seen: BTreeSet<_> = packets.iter().map(|packet| (packet.flow, packet.generation, packet.port)).collect();
        seen.into_iter().collect::<Vec<_>>()
    };
    // Two short flows at a time, each of two connections: 2 and 3, 4 and 5, after the long one's 0 and 1.
    let short: Vec<(u32, u32, u16)> =
        [2, 4].into_iter().flat_map(|flow| (0..3).map(move |turn| (flow, turn, 8_080))).collect();
    assert_eq!(seen(1), short);
    assert_eq!(seen(0), [vec![(0, 0, 80)], short].concat());
}

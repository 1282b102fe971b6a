use ackclock_units::{Bandwidth, Bytes};
use proptest::prelude::*;

use super::*;
use crate::config::{QueueConfig, QueueLimit, SgpqConfig};
use crate::link::tests::config;
use crate::link::{Link, LinkKind};
use crate::packets::UnderWay;
use crate::queue::RedConfig;
use crate::queue::tests::{every_discipline, packet as packet_of};
use crate::rate::{Outage, RateConfig, Trace};
use crate::schedule::Schedule;

/// A served DropTail link.
fn served(config: &LinkConfig) -> Link {
    Link::packet_by_packet(config, 1)
}

fn packet(size: u32) -> Packet {
    Packet { size, ..Packet::default() }
}

/// Serves the link like the run loop, at the times that it requests, up to `until`.
fn serve_until(link: &mut Link, wake: &mut SimTime, until: SimTime) {
    while *wake <= until {
        let now = *wake;
        *wake = SimTime::NEVER;
        let mut served = link.served().expect("it is served");
        assert!(served.take_wake(now));
        served.settle(now);
        served.depart(now, &mut Packets::default(), |arrival| arrival, |_| ());
        serve(link, wake, now);
        link.check_invariants();
    }
}

/// Serves the link at `now`.
fn serve(link: &mut Link, wake: &mut SimTime, now: SimTime) {
    let mut served = link.served().expect("it is served");
    let service = served.serve(now);
    *wake = service.wake.map_or(*wake, |(_, time)| time);
    let ahead = if service.begins { served.send_ahead(&mut Packets::default()) } else { None };
    if let Some((arrival, packet)) = ahead {
        link.carry(arrival, packet);
    }
}

/// Offers a packet to a served link.
fn offer(link: &mut Link, wake: &mut SimTime, now: SimTime, size: u32) {
    offer_packet(link, wake, now, &packet(size));
}

fn offer_packet(link: &mut Link, wake: &mut SimTime, now: SimTime, packet: &Packet) {
    let mut served = link.served().expect("it is served");
    served.settle(now);
    served.offer(now, packet);
    serve(link, wake, now);
}

/// Lets a packet come to a link of any kind.
fn come(link: &mut Link, wake: &mut SimTime, now: SimTime, size: u32) {
    let passage = match link.kind() {
        LinkKind::Clocked(mut link) => link.admit(now, size),
        LinkKind::Planned(mut link) => link.admit(now, size),
        LinkKind::Served(_) => {
            serve_until(link, wake, now);
            offer(link, wake, now, size);
            None
        }
    };
    if let Some(passage) = passage {
        link.carry(passage.arrival, UnderWay { size, ..UnderWay::default() });
    }
    link.check_invariants();
}

/// Sends packets of the given sizes at the given times; returns their arrivals, and the statistics at the end.
fn send(mut link: Link, packets: &[(u64, u32)], end: SimTime) -> (Vec<(SimTime, u32)>, crate::LinkStats) {
    let mut wake = SimTime::NEVER;
    let mut arrivals = Vec::new();
    for &(now, size) in packets {
        come(&mut link, &mut wake, SimTime(now), size);
    }
    serve_until(&mut link, &mut wake, end);
    link.check_at_end(end);
    let stats = link.end_measurement(end);
    while let Some(first) = link.transit.front().map(|first| first.arrival).filter(|first| *first < SimTime::NEVER) {
        arrivals.push((first, link.deliver().packet.size));
    }
    (arrivals, stats)
}

#[test]
fn the_long_run_rate_is_exact_whatever_the_rounding() {
    // 7 Gbit/s: 1500 B take 1714.2857 ns. After 7000 packets: 12 000 000 ns.
    let packets = vec![(0, 1500); 7_000];
    let (arrivals, stats) = send(served(&config(7_000_000_000, QueueLimit::Unlimited)), &packets, SimTime(12_000_000));
    assert_eq!(arrivals.last(), Some(&(SimTime(12_000_000 + 1_000_000), 1500)));
    assert!((stats.utilization() - 1.0).abs() < 1e-12);
}

#[test]
fn octets_are_counted_as_they_leave() {
    // 12 Mbit/s: 1500 B take 1 ms; after 1.5 ms of two packets, 2250 octets have left
    let mut link = served(&config(12_000_000, QueueLimit::Unlimited));
    let mut wake = SimTime::NEVER;
    for _ in 0..2 {
        offer(&mut link, &mut wake, SimTime(0), 1500);
    }
    serve_until(&mut link, &mut wake, SimTime(1_500_000));
    assert_eq!(link.sent_octets(SimTime(1_500_000)), Some(2_250));
    assert_eq!(link.busy_time(SimTime(1_500_000)), SimDuration(1_500_000));
    assert_eq!(link.current_wait(), SimDuration::ZERO); // none waits any more
}

/// Used share of a link's capacity between two milliseconds; ten packets wait for it from `start_ms`.
fn used(channel: ChannelConfig, start_ms: u64, (from_ms, until_ms): (u64, u64)) -> f64 {
    let ms = |ms: u64| SimTime(ms * 1_000_000);
    let config = LinkConfig { channel: Some(Box::new(channel)), ..config(12_000_000, QueueLimit::Unlimited) };
    let share_of = |mut link: Link| {
        let mut wake = SimTime::NEVER;
        for _ in 0..10 {
            come(&mut link, &mut wake, ms(start_ms), 1500);
        }
        serve_until(&mut link, &mut wake, ms(from_ms));
        link.begin_measurement(ms(from_ms));
        serve_until(&mut link, &mut wake, ms(until_ms));
        link.check_at_end(ms(until_ms));
        link.end_measurement(ms(until_ms)).utilization()
    };
    let (share, of_served) = (share_of(Link::new(&config, 1)), share_of(served(&config)));
    assert_eq!(share.to_bits(), of_served.to_bits());
    share
}

#[test]
fn a_packet_that_an_outage_cuts_has_sent_what_was_sent_before_it() {
    // 12 Mbit/s: 1500 B take 1 ms. Packets wait from 8 ms on; the third begins at 10 ms, and 500 B of it leave until an outage of
    // 4 ms begins at 10 1/3 ms.
    let rate = Bandwidth(12_000_000);
    let (period, outage) = (SimDuration(10_333_333), SimDuration::from_millis(4));
    let channel =
        ChannelConfig { outage: Some(Outage::new(period, outage)), ..ChannelConfig::constant(rate, SimDuration::ZERO) };
    // From 11 ms, within the outage, to 16 ms the link could send for 1 2/3 ms, and does: 2500 B, of which the 1000 B that are
    // left of the third packet are the first.
    let share = used(channel, 8, (11, 16));
    assert!((share - 1.0).abs() < 1e-9, "{share}");
}

#[test]
fn a_packet_over_two_opportunities_has_sent_a_part_at_each() {
    // Opportunities of 1000 B at 10, 20, 30 ... ms: the first packet of 1500 B takes that at 10 ms and half of that at 20 ms.
    let text = "10\n20\n30\n40\n";
    let trace = Trace::parse(text, Bytes(1000), true).expect("a trace");
    let rate = RateConfig::Trace(std::sync::Arc::new(trace));
    let channel = ChannelConfig { rate, ..ChannelConfig::constant(Bandwidth(12_000_000), SimDuration::ZERO) };
    // from 12 ms to 45 ms: three opportunities, all used
    assert!((used(channel, 0, (12, 45)) - 1.0).abs() < 1e-12);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// A served DropTail link treats the same packets like one whose times are known ahead: at a fixed rate, with outages, and by a trace,
    /// which may end.
    #[test]
    fn a_served_drop_tail_link_is_the_clocked_one(
        gaps in proptest::collection::vec((0_u64..3_000_000, 40_u32..1501), 1..200),
        limit in 1_u64..20,
        unit in 0..4,
        rate in prop_oneof![
            Just(None),
            Just(Some(None)),
            (proptest::collection::vec(0_u64..4, 1..40), 600_u64..2_000, proptest::bool::ANY).prop_map(Some).prop_map(Some),
        ],
        window_us in (0_u64..100_000, 0_u64..900_000),
    ) {
        let limit = match unit {
            0 => QueueLimit::Packets(limit),
            1 => QueueLimit::Bytes(Bytes(1500 * limit)),
            2 => QueueLimit::Time(SimDuration::from_millis(limit)),
            _ => QueueLimit::Unlimited,
        };
        let mut now = 0;
        let packets: Vec<(u64, u32)> = gaps
            .iter()
            .map(|&(gap, size)| {
                now += gap / 1_000 * 1_000;
                (now, size)
            })
            .collect();
        // 8 Mbit/s: an octet takes 1000 ns, so that services end on the instants at which packets arrive
        let plain = config(8_000_000, limit);
        let channel = rate.map(|trace| match trace {
            None => {
                let outage = Some(Outage::new(SimDuration::from_millis(17), SimDuration::from_millis(5)));
                ChannelConfig { outage, ..ChannelConfig::constant(plain.rate, plain.delay) }
            }
            Some((steps, octets, repeats)) => {
                let instants = steps.iter().scan(0, |at, step| { *at += step; Some(*at) }).chain([200]);
                let text = instants.map(|at| at.to_string()).collect::<Vec<_>>().join("\n");
                let trace = Trace::parse(&text, Bytes(octets), repeats).expect("a trace");
                ChannelConfig { rate: RateConfig::Trace(trace.into()), ..ChannelConfig::constant(plain.rate, plain.delay) }
            }
        });
        let config = LinkConfig { channel: channel.map(Box::new), ..plain };
        prop_assert_eq!(config.is_planned(), config.channel.is_some());
        let from = window_us.0 * 1_000;
        let end = SimTime(now.max(from) + 1_000 + window_us.1 * 1_000);
        let (early, late): (Vec<_>, Vec<_>) = packets.iter().partition(|(time, _)| *time < from);
        let both = [served(&config), Link::new(&config, 1)].map(|mut link| {
            let mut wake = SimTime::NEVER;
            for &(now, size) in &early {
                come(&mut link, &mut wake, SimTime(now), size);
            }
            serve_until(&mut link, &mut wake, SimTime(from.saturating_sub(1)));
            link.begin_measurement(SimTime(from));
            for &(now, size) in &late {
                come(&mut link, &mut wake, SimTime(now), size);
            }
            serve_until(&mut link, &mut wake, end);
            link.advance(end);
            let seen = (link.waiting(), link.waiting_octets(), link.current_wait(), link.busy_time(end), link.total_drops());
            let sent = link.sent_octets(end);
            link.check_at_end(end);
            let stats = link.end_measurement(end);
            let left = link.transit.iter().map(|on_way| (on_way.arrival, on_way.packet.size));
            let left: Vec<_> = left.filter(|(arrival, _)| arrival.0 <= end.0 + 1_000_000).collect();
            (left, seen, sent, stats)
        });
        let [(arrivals, seen, sent, stats), (expected, clocked_seen, clocked_sent, clocked)] = both;
        prop_assert_eq!(arrivals, expected);
        prop_assert_eq!(seen, clocked_seen);
        if config.channel.is_some() {
            prop_assert_eq!(sent, clocked_sent);
        }
        prop_assert_eq!(stats.drops(), clocked.drops());
        prop_assert_eq!(stats.utilization().to_bits(), clocked.utilization().to_bits());
        prop_assert_eq!(stats.queue_packets().mean().to_bits(), clocked.queue_packets().mean().to_bits());
        prop_assert_eq!(stats.queue_packets().max(), clocked.queue_packets().max());
        prop_assert_eq!(stats.queueing_delay().mean().to_bits(), clocked.queueing_delay().mean().to_bits());
        prop_assert_eq!(stats.queueing_delay().weight(), clocked.queueing_delay().weight());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    /// No discipline can tell whether the end of a service behind which no packet waits was an event: its state is the same whenever
    /// somebody looks, and so are departures, drops and statistics.
    #[test]
    fn an_end_of_service_that_is_no_event_is_none_that_counts(
        steps in proptest::collection::vec((0_u64..2_000_000, 0_u64..2_000_000, 0_u32..4, proptest::bool::ANY), 1..60),
    ) {
        for queue in every_discipline() {
            // 8 Mbit/s: an octet takes 1000 ns
            let config = LinkConfig { queue, ..config(8_000_000, QueueLimit::Unlimited) };
            let mut both = [served(&config), served(&config)].map(|link| (link, SimTime::NEVER));
            both[1].0.served().expect("it is served").tell_ends();
            let mut now = SimTime::ZERO;
            for (number, &(gap, look, flow, is_ack)) in (1..).zip(&steps) {
                now += SimDuration(gap);
                let arrival = packet_of(flow, if is_ack { 0 } else { 100 + 350 * flow }, number, now).packet;
                let seen = both.each_mut().map(|(link, wake)| {
                    serve_until(link, wake, now);
                    offer_packet(link, wake, now, &arrival);
                    let looked_at = now + SimDuration(look);
                    serve_until(link, wake, looked_at);
                    link.advance(looked_at);
                    let served = link.rest.served.as_ref().expect("it is served");
                    // what ends just now counts with the next packet
                    let ends_now = served.current.is_some_and(|current| current.end == looked_at);
                    (!ends_now).then(|| (format!("{:?}", served.queue), served.sent, served.carried, served.latest_wait))
                });
                if seen.iter().all(Option::is_some) {
                    prop_assert_eq!(&seen[0], &seen[1]);
                }
                now += SimDuration(look);
            }
            let end = now + SimDuration::from_millis(1_000);
            let [first, second] = both.map(|(mut link, mut wake)| {
                serve_until(&mut link, &mut wake, end);
                link.check_at_end(end);
                let stats = link.end_measurement(end);
                let arrivals: Vec<_> = link.transit.iter().map(|on_way| (on_way.arrival, on_way.packet.size)).collect();
                (arrivals, stats.drops(), stats.marks(), format!("{:?} {:?}", stats.queue_packets(), stats.queueing_delay()))
            });
            prop_assert_eq!(first, second, "{:?}", config.queue);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// An ACK waits for at most one data packet, and for the ACKs that came before it, as SGPQ promises.
    #[test]
    fn an_ack_never_waits_behind_more_than_one_data_packet(
        gaps in proptest::collection::vec((0_u64..3_000_000, proptest::bool::ANY), 1..300),
    ) {
        let queue = QueueConfig::Sgpq(SgpqConfig {
            threshold: Bytes(80),
            small_limit: QueueLimit::Unlimited,
            limit: QueueLimit::Unlimited,
        });
        // 8 Mbit/s: 1500 octets take 1.5 ms, 40 take 40 us
        let config = LinkConfig { queue, ..config(8_000_000, QueueLimit::Unlimited) };
        let mut now = 0;
        let packets: Vec<(u64, u32)> = gaps.iter().map(|&(gap, is_ack)| {
            now += gap;
            (now, if is_ack { 40 } else { 1500 })
        }).collect();
        let (arrivals, _) = send(Link::new(&config, 1), &packets, SimTime(now + 1_000_000_000));
        let acks = || packets.iter().filter(|(_, size)| *size == 40).map(|(time, _)| SimTime(*time));
        let mut previous = SimTime::ZERO;
        for (sent, (arrival, _)) in acks().zip(arrivals.iter().filter(|(_, size)| *size == 40)) {
            // behind the ACK before it if that is still there, and one data packet
            let latest = sent.max(previous) + SimDuration(1_500_000 + 40_000);
            let left = SimTime(arrival.0 - 1_000_000);
            prop_assert!(left <= latest, "sent {sent:?}, left {left:?}");
            previous = left;
        }
        prop_assert_eq!(arrivals.len(), packets.len());
    }
}

/// Changes a link as the run loop does.
fn change(link: &mut Link, wake: &mut SimTime, change: &LinkChange) {
    serve_until(link, wake, change.at);
    let mut served = link.served().expect("it is served");
    served.change(change.at, change);
    serve(link, wake, change.at);
}

/// A change without effect, at `ms`.
fn at(ms: u64) -> LinkChange {
    let at = SimTime(ms * 1_000_000);
    LinkChange { at, link: crate::ids::LinkId::new(0), rate: None, delay: None, loss: None, limit: None }
}

/// A packet of 1500 octets takes 1 ms at 12 Mbit/s, and 4 ms at 3 Mbit/s; the link's delay is 1 ms.
#[test]
fn a_packet_that_is_being_sent_ends_at_the_rate_at_which_it_began() {
    let mut config = config(12_000_000, QueueLimit::Unlimited);
    config.expect_changes();
    let mut link = served(&config);
    let mut wake = SimTime::NEVER;
    for now in [0, 0, 0, 100_000] {
        offer(&mut link, &mut wake, SimTime(now), 1500);
    }
    // The second packet lasts from 1 ms to 2 ms. From then on 3 Mbit/s, and a delay of 5 ms from 6 ms on.
    let slower = LinkChange { rate: Some(Bandwidth(3_000_000)), ..at(0) };
    change(&mut link, &mut wake, &LinkChange { at: SimTime(1_500_000), ..slower });
    let longer = LinkChange { delay: Some(SimDuration::from_millis(5)), ..at(6) };
    change(&mut link, &mut wake, &longer);
    let end = SimTime(20_000_000);
    serve_until(&mut link, &mut wake, end);
    let mut arrivals = Vec::new();
    while let Some(first) = link.transit.front().map(|first| first.arrival.0 / 1_000) {
        arrivals.push(first);
        link.deliver();
    }
    // The third ends at 6 ms, when the change of the delay has not come yet: what ends at an instant has left by then.
    assert_eq!(arrivals, [2_000, 3_000, 7_000, 15_000]);
    link.check_at_end(end);
}

#[test]
fn an_outage_by_hand_ends_when_it_is_told_to() {
    let mut config = config(12_000_000, QueueLimit::Unlimited);
    config.expect_changes();
    let mut link = served(&config);
    let mut wake = SimTime::NEVER;
    change(&mut link, &mut wake, &LinkChange { rate: Some(Bandwidth(0)), ..at(1) });
    offer(&mut link, &mut wake, SimTime(2_000_000), 1500);
    assert_eq!((link.waiting(), wake), (1, SimTime::NEVER));
    change(&mut link, &mut wake, &LinkChange { rate: Some(Bandwidth(12_000_000)), ..at(7) });
    serve_until(&mut link, &mut wake, SimTime(20_000_000));
    assert_eq!(link.transit.front().map(|first| first.arrival), Some(SimTime(9_000_000)));
}

#[test]
fn a_smaller_limit_holds_for_what_comes_and_a_loss_of_one_takes_all() {
    let mut config = config(12_000_000, QueueLimit::Packets(10));
    config.expect_changes();
    assert!(config.takes_limit());
    let mut link = served(&config);
    let mut wake = SimTime::NEVER;
    (0..6).for_each(|_| offer(&mut link, &mut wake, SimTime(0), 1500));
    let change_now = LinkChange { limit: Some(QueueLimit::Packets(3)), loss: Some(1.0), ..at(0) };
    change(&mut link, &mut wake, &LinkChange { at: SimTime(1), ..change_now });
    offer(&mut link, &mut wake, SimTime(2), 1500);
    assert_eq!((link.waiting(), link.total_drops()), (5, 1)); // one of six is being sent
    let end = SimTime(20_000_000);
    serve_until(&mut link, &mut wake, end);
    assert_eq!(link.in_transit(), 0);
    assert_eq!(link.end_measurement(end).lost(), 6);
}

/// The average falls as if packets had come while the link was idle, as many as it could have sent (Floyd and Jacobson
/// 1993, section 4). A packet of 1500 B takes 1 ms at 12 Mbit/s, and 10 ms at 1.2 Mbit/s. Idle from 4 ms to 30 ms, with
/// the change at 10 ms, the link could have sent 6 and 2 of them.
#[test]
fn red_counts_idle_time_at_the_rate_of_each_part_of_a_schedule() {
    let step = |ms, rate| (SimDuration::from_millis(ms), Bandwidth(rate));
    let rate = RateConfig::Schedule(Schedule::new(vec![step(0, 12_000_000), step(10, 1_200_000)], None));
    let red = RedConfig { weight: Some(0.5), ..RedConfig::default() };
    let channel = ChannelConfig { rate, ..ChannelConfig::constant(Bandwidth(12_000_000), SimDuration::ZERO) };
    let config = LinkConfig {
        queue: QueueConfig::Red(red),
        channel: Some(Box::new(channel)),
        ..config(12_000_000, QueueLimit::Unlimited)
    };
    let (mut link, mut wake) = (Link::new(&config, 1), SimTime::NEVER);
    for _ in 0..4 {
        offer(&mut link, &mut wake, SimTime(0), 1500);
    }
    let average = |link: &Link, ms: u64| link.inspect(SimTime(ms * 1_000_000), "average_packets").expect("RED's");
    serve_until(&mut link, &mut wake, SimTime(4_000_000));
    assert!((average(&link, 4) - 1.25).abs() < 1e-12); // 0, 0, 1 and 2 were found waiting: (0 + 1/2 + 2) / 2
    offer(&mut link, &mut wake, SimTime(30_000_000), 1500);
    let expected = 1.25 * 0.5_f64.powi(6 + 2) / 2.0; // and the packet has found nothing
    assert!((average(&link, 30) - expected).abs() < 1e-12, "{} is not {expected}", average(&link, 30));
}

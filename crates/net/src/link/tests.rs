use super::*;
use crate::config::{DropTailConfig, QueueConfig, QueueLimit};
use crate::ids::NodeId;
use proptest::prelude::*;

/// A link of 1 ms with such a queue.
pub(super) fn config(rate: u64, limit: QueueLimit) -> LinkConfig {
    let ends = (NodeId::new(0), NodeId::new(1));
    let plain = LinkConfig::plain("test", ends, Bandwidth(rate), SimDuration::from_millis(1));
    LinkConfig { queue: QueueConfig::DropTail(DropTailConfig { limit }), ..plain }
}

fn link(rate: u64, limit: QueueLimit) -> Link {
    Link::new(&config(rate, limit), 1)
}

/// Admits a full packet; returns its arrival at the far end.
fn enter(link: &mut Link, now: u64) -> Option<u64> {
    let mut clocked = link.clocked().expect("DropTail before a plain wire");
    let passage = clocked.admit(SimTime(now), 1500)?;
    link.carry(passage.arrival, UnderWay { size: 1500, ..UnderWay::default() });
    link.check_invariants();
    Some(passage.arrival.0)
}

#[test]
fn packets_arrive_after_service_and_delay() {
    // 1500 B at 12 Mbit/s take 1 ms.
    let mut link = link(12_000_000, QueueLimit::Unlimited);
    assert_eq!(enter(&mut link, 0), Some(2_000_000));
    assert_eq!(enter(&mut link, 0), Some(3_000_000));
    assert_eq!(link.waiting(), 1);
    assert_eq!(link.deliver().next, Some(SimTime(3_000_000)));
    assert_eq!(link.deliver().next, None);
    assert_eq!(link.busy_time(SimTime(5_000_000)), SimDuration(2_000_000));
}

#[test]
fn a_limit_counts_what_waits_and_not_what_is_in_service() {
    let mut link = link(12_000_000, QueueLimit::Packets(2));
    let drops = (0..5).filter(|_| enter(&mut link, 0).is_none()).count();
    assert_eq!(drops, 2); // one in service, two waiting
    // at 1 ms the first has left and the second is in service: room for one more
    assert!(enter(&mut link, 1_000_000).is_some());
    assert!(enter(&mut link, 1_000_000).is_none());
}

#[test]
fn limits_in_bytes_and_time() {
    let accepted = |limit| {
        let mut link = link(12_000_000, limit);
        (0..10).filter(|_| enter(&mut link, 0).is_some()).count()
    };
    assert_eq!(accepted(QueueLimit::Bytes(Bytes(4_500))), 4);
    assert_eq!(accepted(QueueLimit::Bytes(Bytes(4_499))), 3);
    // one in service; the first that waits has nothing before it, the fourth three packets, which take 3 ms
    assert_eq!(accepted(QueueLimit::Time(SimDuration::from_millis(3))), 5);
}

#[test]
fn the_long_run_rate_is_exact_whatever_the_rounding() {
    // 7 Gbit/s: 1500 B take 1714.2857 ns. After 7000 packets: 12 000 000 ns.
    let mut link = link(7_000_000_000, QueueLimit::Unlimited);
    let last = (0..7_000).filter_map(|_| enter(&mut link, 0)).last();
    assert_eq!(last, Some(12_000_000 + 1_000_000));
}

#[test]
fn queue_statistics_by_hand() {
    let mut link = link(12_000_000, QueueLimit::Unlimited);
    for _ in 0..3 {
        enter(&mut link, 0);
    }
    // waiting: 2 for the first ms, 1 for the second, 0 for the third and fourth: mean 3/4
    let stats = link.end_measurement(SimTime(4_000_000));
    assert!((stats.queue_packets().mean() - 0.75).abs() < 1e-12);
    assert_eq!(stats.queue_packets().max(), 2);
    assert!((stats.queueing_delay().mean() - 1e6).abs() < 1e-6); // (0 + 1 + 2) / 3 ms
    assert!((stats.utilization() - 0.75).abs() < 1e-12);
}

/// Admits a packet of `size` octets ahead, which arrives at the near end at `time`.
fn enter_ahead(link: &mut Link, time: u64, size: u32) {
    let mut clocked = link.clocked().expect("DropTail before a plain wire");
    let passage = clocked.admit_ahead(SimTime::ZERO, SimTime(time), size).expect("it has room without a limit");
    link.carry(passage.arrival, UnderWay { size, ..UnderWay::default() });
    link.check_invariants();
}

#[test]
fn a_link_entered_ahead_of_time_is_busy_when_it_sends() {
    // 1500 octets take 1 ms: from 0 to 1 ms, from 10 to 11 ms, and on to 11.5 ms
    let mut link = link(12_000_000, QueueLimit::Unlimited);
    link.enter_ahead(false);
    for (enters, size) in [(0, 1500), (10_000_000, 1500), (10_250_000, 750)] {
        enter_ahead(&mut link, enters, size);
    }
    for (at, busy) in [(500, 500), (1_000, 1_000), (9_000, 1_000), (10_500, 1_500), (11_250, 2_250), (12_000, 2_500)] {
        assert_eq!(link.busy_time(SimTime(1_000 * at)), SimDuration(1_000 * busy), "{at} us");
    }
}

#[test]
fn what_enters_ahead_of_time_waits_when_its_time_has_come() {
    // A full packet comes at 10 ms, a half at 10.5 ms and one at 10.75 ms: they wait until 11 ms and 11.5 ms.
    let mut link = link(12_000_000, QueueLimit::Unlimited);
    link.enter_ahead(false);
    for (enters, size) in [(10_000_000, 1500), (10_500_000, 750), (10_750_000, 750)] {
        enter_ahead(&mut link, enters, size);
    }
    for (at, waiting) in [(10_000, 0), (10_500, 1), (10_900, 2), (11_000, 1), (11_499, 1), (11_500, 0)] {
        link.advance(SimTime(1_000 * at));
        assert_eq!(link.waiting(), waiting, "{at} us");
    }
    let stats = link.end_measurement(SimTime(12_000_000));
    // (0 + 0.5 + 0.75) / 3 ms; 1.25 ms of one waiting in 12 ms
    assert!((stats.queueing_delay().mean() - 1.25e6 / 3.0).abs() < 1.0, "{}", stats.queueing_delay().mean());
    assert!((stats.queue_packets().mean() - 1.25 / 12.0).abs() < 1e-9);
}

#[test]
fn a_wait_counts_when_it_is_over() {
    // Three packets at once: at 1.5 ms the third, which will have waited 2 ms, still waits.
    let mut link = link(12_000_000, QueueLimit::Unlimited);
    for _ in 0..3 {
        enter(&mut link, 0);
    }
    link.advance(SimTime(1_500_000));
    assert_eq!(link.current_wait(), SimDuration::from_millis(1)); // of the packet in service
    let stats = link.end_measurement(SimTime(1_500_000));
    assert_eq!((stats.queueing_delay().weight(), stats.queueing_delay().max()), (2, 1_000_000));
}

#[test]
fn what_is_passed_on_counts_as_delivered_when_it_arrives() {
    let mut link = link(12_000_000, QueueLimit::Unlimited);
    let mut clocked = link.clocked().expect("DropTail before a plain wire");
    let passage = clocked.admit(SimTime(0), 1500).expect("room");
    link.pass_on(SimTime(0), passage.arrival, 1500);
    assert_eq!(link.end_measurement(SimTime(1_999_999)).delivered_packets(), 0);
    assert_eq!(link.end_measurement(SimTime(2_000_000)).delivered_packets(), 1);
}

#[test]
#[cfg(debug_assertions)]
#[should_panic(expected = "packets of a link")]
fn a_packet_that_vanishes_is_noticed() {
    let mut link = link(12_000_000, QueueLimit::Unlimited);
    link.clocked().expect("DropTail before a plain wire").admit(SimTime(0), 1500);
    link.check_invariants(); // it was admitted, and travels nowhere
}

#[test]
#[cfg(debug_assertions)]
#[should_panic(expected = "overtakes")]
fn a_packet_that_overtakes_where_order_is_kept_is_noticed() {
    let mut link = link(12_000_000, QueueLimit::Unlimited);
    link.carry(SimTime(2), UnderWay { size: 1500, ..UnderWay::default() });
    link.carry(SimTime(1), UnderWay { size: 1500, ..UnderWay::default() });
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Packets that enter ahead of time pass, wait and are dropped as those that come in time, whenever somebody looks.
    #[test]
    fn entering_ahead_of_time_changes_nothing(
        limit in prop_oneof![
            Just(QueueLimit::Unlimited),
            (0_u64..6).prop_map(QueueLimit::Packets),
            (0_u64..6_000).prop_map(|octets| QueueLimit::Bytes(Bytes(octets))),
            (0_u64..4).prop_map(|ms| QueueLimit::Time(SimDuration::from_millis(ms))),
        ],
        packets in proptest::collection::vec((0_u64..1_500_000, 40_u32..1500), 1..60),
        looks in proptest::collection::vec((0_u64..3_000_000, 0_u64..5_000_000), 0..30),
        window in (0_u64..20_000_000, 0_u64..60_000_000),
    ) {
        let came = packets.iter().scan(0, |at, &(gap, size)| { *at += 2 * gap; Some((*at, size)) });
        let came: Vec<(u64, u32)> = came.collect();
        // The moments at which somebody looks, at which no packet comes, and how far ahead of each packets have entered.
        let looks = looks.iter().scan(1, |at, &(gap, lead)| { *at += 2 * gap; Some((*at, lead)) });
        let mut looks: Vec<(u64, u64)> = looks.collect();
        let [from, to] = [1 + 2 * window.0, 1 + 2 * (window.0 + window.1)];
        looks.extend([(from, 0), (to, 0)]);
        looks.sort_unstable();
        let [in_time, ahead] = [false, true].map(|is_ahead| {
            let mut link = link(12_000_000, limit);
            if is_ahead {
                link.enter_ahead(false);
            }
            let (mut entered, mut passages, mut seen) = (came.iter().peekable(), Vec::new(), Vec::new());
            let (mut before, mut window_begins) = (0, false);
            for &(now, lead) in looks.iter().chain([&(1 << 50, 0)]) {
                let until = if is_ahead { now + lead } else { now };
                while let Some((time, size)) = entered.next_if(|(time, _)| *time <= until) {
                    let mut clocked = link.clocked().expect("DropTail before a plain wire");
                    let passage = if is_ahead {
                        clocked.admit_ahead(SimTime(before.min(*time)), SimTime(*time), *size)
                    } else {
                        clocked.admit(SimTime(*time), *size)
                    };
                    if let Some(passage) = passage {
                        link.carry(passage.arrival, UnderWay { size: *size, ..UnderWay::default() });
                    }
                    link.check_invariants();
                    passages.push(passage);
                }
                before = now;
                if now == from && !window_begins {
                    window_begins = true;
                    link.begin_measurement(SimTime(now));
                }
                let at = SimTime(now);
                link.advance(at);
                seen.push((link.waiting(), link.waiting_octets(), link.current_wait(), link.busy_time(at), link.total_drops()));
                if now == to {
                    let stats = link.clone().end_measurement(at);
                    let mean = |histogram: &ackclock_units::Histogram| (histogram.weight(), histogram.mean().to_bits(), histogram.max());
                    seen.push((0, Bytes(stats.drops()), SimDuration(stats.utilization().to_bits()), SimDuration(0), 0));
                    for (weight, mean, max) in [mean(stats.queue_packets()), mean(stats.queueing_delay())] {
                        seen.push((weight as usize, Bytes(mean), SimDuration(max), SimDuration(0), 0));
                    }
                }
            }
            link.check_at_end(SimTime(1 << 50));
            (passages, seen)
        });
        prop_assert_eq!(in_time.0, ahead.0);
        prop_assert_eq!(in_time.1, ahead.1);
    }
}

use ackclock_units::Bandwidth;
use ackclock_wire::Segment;
use proptest::prelude::*;

use super::*;
use crate::config::PacketClass;
use crate::ids::EndpointId;
use crate::impairment::{
    ExponentialJitter, ImpairmentConfig, Jitter, LossConfig, RandomLoss, Reorder, ReorderEvery, ReorderProbability,
    UniformJitter,
};

fn ms(time: u64) -> SimDuration {
    SimDuration::from_millis(time)
}

fn channel() -> ChannelConfig {
    ChannelConfig::constant(Bandwidth(1_000_000), ms(10))
}

fn propagation(config: &ChannelConfig) -> Propagation {
    Propagation::new(config, "link", Bandwidth(1_000_000), 1)
}

/// A packet whose size encodes its number.
fn packet(number: u32, payload: u32) -> Packet {
    Packet { size: number, ..Packet::tcp(Segment { payload, ..Segment::default() }, EndpointId::default()) }
}

/// Sends data packets at these microseconds; returns (number, arrival in microseconds) in order of arrival, and the
/// numbers of lost and copied ones.
fn send(config: &ChannelConfig, times: impl IntoIterator<Item = u64>) -> (Vec<(u32, u64)>, usize, usize) {
    let mut propagation = propagation(config);
    let mut arrivals = Vec::new();
    let mut lost = 0;
    for (number, time) in (0..).zip(times) {
        let now = SimTime(time * 1000);
        while propagation.release_at() < now {
            let due = propagation.release_at();
            propagation.release(due, &mut arrivals);
        }
        lost += usize::from(!propagation.depart(now, &packet(number, 100), 1500, &mut arrivals));
    }
    let due = propagation.release_at();
    propagation.release(due, &mut arrivals);
    let copied = arrivals.iter().filter(|arrival| arrival.place.is_none()).count();
    arrivals.sort_by_key(|arrival| arrival.time);
    (arrivals.iter().map(|arrival| (arrival.packet.size, arrival.time.0 / 1000)).collect(), lost, copied)
}

/// RFC 4737 section 3.3: a packet is reordered if one that was sent later has arrived before.
fn reordered(arrivals: &[(u32, u64)]) -> usize {
    let mut next_expected = 0;
    let late = |number: u32| {
        let is_late = number < next_expected;
        next_expected = next_expected.max(number + 1);
        is_late
    };
    arrivals.iter().map(|(number, _)| *number).map(late).filter(|late| *late).count()
}

#[test]
fn a_delay_is_that_of_the_departure() {
    let delay = Schedule::new(vec![(ms(0), ms(10)), (ms(100), ms(40))], None);
    let config = ChannelConfig { delay, ..channel() };
    assert_eq!(send(&config, [0, 99_999, 100_000]).0, [(0, 10_000), (1, 109_999), (2, 140_000)]);
}

#[test]
fn a_shorter_delay_waits_or_overtakes() {
    let delay = Schedule::new(vec![(ms(0), ms(40)), (ms(100), ms(10))], None);
    let kept = ChannelConfig { delay, ..channel() };
    // left at 99 ms with 40 ms to go, and at 100 ms with 10
    assert_eq!(send(&kept, [99_000, 100_000, 140_000]).0, [(0, 139_000), (1, 139_000), (2, 150_000)]);
    let free = ChannelConfig { keeps_order: false, ..kept };
    assert_eq!(send(&free, [99_000, 100_000]).0, [(1, 110_000), (0, 139_000)]);
}

#[test]
fn every_kth_packet_is_overtaken() {
    let reorder = Some(Reorder::Every(ReorderEvery { k: 5, extra: ms(3) }));
    let config = ChannelConfig { impairments: ImpairmentConfig { reorder, ..Default::default() }, ..channel() };
    // one a millisecond: the fifth (number 4) arrives with the eighth (7), before it as it left earlier
    let (arrivals, ..) = send(&config, (0..10).map(|index| index * 1000));
    let order: Vec<u32> = arrivals.iter().map(|(number, _)| *number).collect();
    assert_eq!(order, [0, 1, 2, 3, 5, 6, 4, 7, 8, 9]);
    let (arrivals, ..) = send(&config, (0..10_000).map(|index| index * 1000));
    assert_eq!(reordered(&arrivals), 1_999); // 10 000 / 5, and nothing is behind the last
}

#[test]
fn random_reordering_has_its_rate() {
    // held back 1.5 packet times: overtaken unless the next one is held too, so p (1 - p) = 0.1 * 0.9
    let reorder = Some(Reorder::Probability(ReorderProbability { p: 0.1, extra: SimDuration::from_micros(1500) }));
    let config = ChannelConfig { impairments: ImpairmentConfig { reorder, ..Default::default() }, ..channel() };
    let (arrivals, ..) = send(&config, (0..100_000).map(|index| index * 1000));
    let count = reordered(&arrivals);
    assert!(count.abs_diff(9_000) < 300, "{count}"); // the standard error is below 95
}

#[test]
fn jitter_keeps_order_or_breaks_it() {
    let jitter = Some(Jitter::Uniform(UniformJitter { min: ms(0), max: ms(4) }));
    let kept = ChannelConfig { impairments: ImpairmentConfig { jitter, ..Default::default() }, ..channel() };
    let times = || (0..50_000).map(|index| index * 1000);
    assert_eq!(reordered(&send(&kept, times()).0), 0);
    let free = ChannelConfig { keeps_order: false, ..kept };
    let (arrivals, ..) = send(&free, times());
    let delay = |&(number, time): &(u32, u64)| time as f64 / 1e3 - f64::from(number);
    let mean = arrivals.iter().map(delay).sum::<f64>() / arrivals.len() as f64;
    assert!((mean - 12.0).abs() < 0.016, "{mean}"); // 10 + 4 / 2; deviation 4 / sqrt(12); three standard errors
    // A packet with jitter x is overtaken by the k-th behind it if that one's jitter is below x - k. It is not by any with
    // probability 1 for x in 0..1, (4 - u) / 4 for x = 1 + u, (3 - u)(4 - u) / 16 for 2 + u, (2 - u)(3 - u)(4 - u) / 64
    // for 3 + u; the complements integrate to 0.125, 0.447917, 0.785156, a quarter of their sum is 0.339518
    let share = reordered(&arrivals) as f64 / arrivals.len() as f64;
    assert!((share - 0.339_518).abs() < 0.007, "{share}");
}

#[test]
fn nothing_is_made_or_lost_unnoticed() {
    let impairments = ImpairmentConfig {
        loss: Some(LossConfig::Random(RandomLoss { p: 0.1 })),
        jitter: Some(Jitter::Exponential(ExponentialJitter { mean: ms(2) })),
        reorder: Some(Reorder::Probability(ReorderProbability { p: 0.1, extra: ms(5) })),
        duplicate: 0.05,
        ..ImpairmentConfig::default()
    };
    let aggregate = Some(AggregateConfig { every: Some(ms(7)), packets: Some(5), ..AggregateConfig::default() });
    let config = ChannelConfig { impairments, aggregate, keeps_order: false, ..channel() };
    let (arrivals, lost, copied) = send(&config, (0..20_000).map(|index| index * 700));
    assert_eq!(20_000 + copied, arrivals.len() + lost);
    let mut numbers: Vec<u32> = arrivals.iter().map(|(number, _)| *number).collect();
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.len(), 20_000 - lost);
}

#[test]
fn bursts_leave_at_multiples_of_an_interval() {
    let aggregate = AggregateConfig { every: Some(ms(4)), ..AggregateConfig::default() };
    let config = ChannelConfig { aggregate: Some(aggregate), ..channel() };
    let (arrivals, ..) = send(&config, [500, 1_000, 3_900, 4_000, 4_001, 21_000]);
    // what comes at a multiple leaves with it
    assert_eq!(arrivals, [(0, 14_000), (1, 14_000), (2, 14_000), (3, 14_000), (4, 18_000), (5, 34_000)]);
}

#[test]
fn bursts_leave_when_they_are_full_or_late() {
    let aggregate = AggregateConfig { wait: Some(ms(4)), packets: Some(3), ..AggregateConfig::default() };
    let config = ChannelConfig { aggregate: Some(aggregate), ..channel() };
    let (arrivals, ..) = send(&config, [500, 1_000, 2_000, 6_000, 7_000]);
    assert_eq!(arrivals, [(0, 12_000), (1, 12_000), (2, 12_000), (3, 20_000), (4, 20_000)]);
}

#[test]
fn only_its_class_is_gathered() {
    let aggregate = AggregateConfig { wait: Some(ms(4)), class: PacketClass::Acks, ..AggregateConfig::default() };
    let config = ChannelConfig { aggregate: Some(aggregate), ..channel() };
    assert!(config.lets_overtake());
    let mut propagation = propagation(&config);
    let mut arrivals = Vec::new();
    assert!(propagation.depart(SimTime(0), &packet(1, 0), 40, &mut arrivals));
    assert!(propagation.depart(SimTime(0), &packet(2, 1000), 1040, &mut arrivals));
    assert_eq!(arrivals.iter().map(|arrival| arrival.packet.size).collect::<Vec<_>>(), [2]);
    assert_eq!(propagation.release_at(), SimTime(4_000_000));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Where order is kept and nothing is held back, packets arrive as they left; and none arrives before its delay.
    #[test]
    fn order_is_kept_where_it_is_promised(
        gaps in proptest::collection::vec(0_u64..3_000, 1..200),
        delays in proptest::collection::vec(0_u64..50, 1..6),
        jitter in 0_u64..20,
        burst in proptest::option::of((1_u64..10, 2_u64..6)),
    ) {
        let steps = (0..).zip(&delays).map(|(index, delay)| (ms(index * 20), ms(*delay))).collect();
        let impairments = ImpairmentConfig {
            jitter: Some(Jitter::Uniform(UniformJitter { min: ms(0), max: ms(jitter) })),
            duplicate: 0.1,
            ..Default::default()
        };
        let aggregate = burst.map(|(wait, packets)| {
            AggregateConfig { wait: Some(ms(wait)), packets: Some(packets), ..AggregateConfig::default() }
        });
        let config = ChannelConfig { delay: Schedule::new(steps, None), impairments, aggregate, ..channel() };
        prop_assert!(!config.lets_overtake());
        let times: Vec<u64> = gaps.iter().scan(0, |now, gap| { *now += gap; Some(*now) }).collect();
        let (arrivals, lost, copied) = send(&config, times.iter().copied());
        prop_assert_eq!((lost, arrivals.len()), (0, times.len() + copied));
        prop_assert!(arrivals.is_sorted(), "{arrivals:?}");
        let least = delays.iter().min().unwrap_or(&0) * 1000;
        prop_assert!(arrivals.iter().all(|(number, time)| *time >= times[*number as usize] + least));
    }
}

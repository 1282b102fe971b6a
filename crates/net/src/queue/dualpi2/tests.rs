use super::*;
use crate::queue::QueueCounters;
use crate::queue::testing::{PLACE, arrival_with};

fn dualpi2(config: DualPi2Config, base: f64) -> DualPi2 {
    let mut queue = DualPi2::new(&DualPi2Config { limit: QueueLimit::Unlimited, ..config }, &PLACE);
    queue.controller.base = base;
    queue
}

/// The drops and marks of 10 000 packets that pass an otherwise empty queue.
fn pass(queue: &mut DualPi2, ecn: Ecn) -> QueueCounters {
    let before = queue.counters();
    for _ in 0..10_000 {
        queue.enqueue(SimTime(1), arrival_with(SimTime(1), 0, 1500, ecn));
        queue.dequeue(SimTime(1));
    }
    QueueCounters { drops: queue.counters().drops - before.drops, marks: queue.counters().marks - before.marks }
}

#[test]
fn an_update_by_hand() {
    // RTT_max 100 ms, Tupdate 15 ms: alpha = 0.1 * 0.015 / 0.1^2 = 0.15 Hz, beta = 0.3 / 0.1 = 3 Hz.
    // From 0 to 30 ms: 0.15 * 0.015 + 3 * 0.030 = 0.09225; staying there: + 0.00225.
    let mut queue = dualpi2(DualPi2Config::default(), 0.0);
    queue.controller.update(0.030);
    assert!((queue.controller.base - 0.092_25).abs() < 1e-12);
    queue.controller.update(0.030);
    assert!((queue.controller.base - 0.094_5).abs() < 1e-12);
    assert!((queue.controller.p_coupled(queue.config.coupling) - 0.189).abs() < 1e-12); // k p'
    assert!((queue.controller.p_classic() - 0.008_930_25).abs() < 1e-12); // p'^2
}

#[test]
fn signals_are_squared_for_classic_and_doubled_for_l4s() {
    // p' = 0.1: a hundredth of the classic packets, a fifth of the L4S packets
    let mut queue = dualpi2(DualPi2Config::default(), 0.1);
    let near = |value: u64, expected: u64| assert!(value.abs_diff(expected) <= 1, "{value}, expected {expected}");
    near(pass(&mut queue, Ecn::NotEct).drops, 100);
    let classic_ecn = pass(&mut queue, Ecn::Ect0);
    near(classic_ecn.marks, 100);
    assert_eq!(classic_ecn.drops, 0);
    let l4s = pass(&mut queue, Ecn::Ect1);
    near(l4s.marks, 2_000);
    assert_eq!(l4s.drops, 0);
}

#[test]
fn in_overload_l4s_packets_are_dropped_as_classic_ones() {
    // p' = 0.6: marks saturate (k p' = 1.2) and p'^2 = 0.36 of each kind is dropped, ECN-capable or not
    let mut queue = dualpi2(DualPi2Config::default(), 0.6);
    for ecn in [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1] {
        let drops = pass(&mut queue, ecn).drops;
        assert!(drops.abs_diff(3_600) <= 1, "{ecn:?}: {drops}");
    }
}

#[test]
fn just_below_overload_l4s_packets_are_only_marked() {
    let mut queue = dualpi2(DualPi2Config::default(), 0.499);
    let l4s = pass(&mut queue, Ecn::Ect1);
    assert_eq!(l4s.drops, 0);
    assert!(l4s.marks.abs_diff(9_980) <= 1);
}

/// The marks among ten L4S packets that waited for `waited`, with ten more behind them.
fn native_marks(config: DualPi2Config, waited: SimDuration) -> u64 {
    let mut queue = dualpi2(config, 0.0);
    for _ in 0..20 {
        queue.enqueue(SimTime::ZERO, arrival_with(SimTime::ZERO, 0, 1500, Ecn::Ect1));
    }
    for _ in 0..10 {
        queue.dequeue(SimTime::ZERO + waited);
    }
    queue.counters().marks
}

#[test]
fn the_step_marks_what_waited_longer() {
    let config = DualPi2Config::default();
    assert_eq!(native_marks(config, SimDuration::from_millis(1)), 0);
    // probability 1 from the second packet on: a signal is due when more than one has come up
    assert_eq!(native_marks(config, SimDuration::from_micros(1_001)), 9);
}

#[test]
fn the_ramp_of_the_rfc_marks_half_in_its_middle() {
    let config = DualPi2Config {
        threshold: SimDuration::from_micros(800),
        ramp: SimDuration::from_micros(400),
        ..DualPi2Config::default()
    };
    assert_eq!(native_marks(config, SimDuration::from_micros(800)), 0);
    assert_eq!(native_marks(config, SimDuration::from_micros(1_000)), 4); // 0.5 each: after the third, fifth, seventh, ninth
    assert_eq!(native_marks(config, SimDuration::from_micros(1_200)), 9);
}

#[test]
fn a_single_packet_is_not_marked_for_a_slow_link() {
    let mut queue = dualpi2(DualPi2Config::default(), 0.0);
    for second in 1..20 {
        let now = SimTime(second * 1_000_000_000);
        queue.enqueue(now, arrival_with(now, 0, 1500, Ecn::Ect1));
        queue.dequeue(now + SimDuration::from_millis(12)); // what 1500 octets take at 1 Mbit/s
    }
    assert_eq!(queue.counters().marks, 0);
}

fn backlogged(classic_share: f64) -> DualPi2 {
    let mut queue = dualpi2(DualPi2Config { classic_share, ..DualPi2Config::default() }, 0.0);
    for _ in 0..2_000 {
        queue.enqueue(SimTime::ZERO, arrival_with(SimTime::ZERO, 0, 1500, Ecn::NotEct));
        queue.enqueue(SimTime::ZERO, arrival_with(SimTime::ZERO, 1, 1500, Ecn::Ect1));
    }
    queue
}

#[test]
fn the_classic_queue_gets_its_share_against_an_l4s_backlog() {
    let mut queue = backlogged(1.0 / 16.0);
    let classic = (0..1_600)
        .filter(|_| queue.dequeue(SimTime(1)).is_some_and(|packet| packet.packet.connection().index() == 0))
        .count();
    assert!(classic.abs_diff(100) <= 1, "{classic} of 1600"); // a sixteenth
}

#[test]
fn what_the_classic_queue_sent_alone_is_not_held_against_it() {
    let mut queue = dualpi2(DualPi2Config::default(), 0.0);
    let fill = |queue: &mut DualPi2, flow, ecn| {
        for _ in 0..1_000 {
            queue.enqueue(SimTime::ZERO, arrival_with(SimTime::ZERO, flow, 1500, ecn));
        }
    };
    fill(&mut queue, 0, Ecn::NotEct);
    for _ in 0..900 {
        queue.dequeue(SimTime(1));
    }
    fill(&mut queue, 1, Ecn::Ect1);
    let classic = (0..160)
        .filter(|_| queue.dequeue(SimTime(1)).is_some_and(|packet| packet.packet.connection().index() == 0))
        .count();
    assert!(classic.abs_diff(10) <= 1, "{classic} of 160"); // a sixteenth
}

#[test]
fn time_shifted_fifo_lets_classic_packets_wait_longer_by_the_shift() {
    let shift = SimDuration::from_millis(30);
    let mut queue =
        dualpi2(DualPi2Config { scheduler: DualScheduler::TimeShifted, shift, ..DualPi2Config::default() }, 0.0);
    let mut enqueue = |ms: u64, flow, ecn| {
        let now = SimTime(ms * 1_000_000);
        queue.enqueue(now, arrival_with(now, flow, 1500, ecn));
    };
    enqueue(0, 0, Ecn::NotEct);
    enqueue(30, 1, Ecn::Ect1); // within the shift: before the classic packet
    enqueue(31, 2, Ecn::Ect1); // beyond: after it
    let order: Vec<usize> = std::iter::from_fn(|| queue.dequeue(SimTime(32_000_000)))
        .map(|packet| packet.packet.connection().index())
        .collect();
    assert_eq!(order, [1, 0, 2]);
}

#[test]
fn updates_made_up_for_see_the_delay_of_their_time() {
    // A classic packet waits from 0 on. Updates at 15, 30, 45 ms see delays of 15, 30, 45 ms:
    // 0.15 * 0 + 3 * 0.015; + 0.15 * 0.015 + 3 * 0.015; + 0.15 * 0.030 + 3 * 0.015: 0.14175
    let mut queue = dualpi2(DualPi2Config::default(), 0.0);
    queue.enqueue(SimTime::ZERO, arrival_with(SimTime::ZERO, 0, 1500, Ecn::NotEct));
    queue.catch_up(SimTime(59_999_999));
    assert!((queue.controller.base - 0.141_75).abs() < 1e-12, "{}", queue.controller.base);
}

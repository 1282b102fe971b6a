use super::*;
use crate::queue::QueueCounters;
use crate::queue::testing::{PLACE, arrival, arrival_with};

const STEP: SimDuration = SimDuration::from_micros(100);

fn queue(packets: usize, ecn: Ecn) -> Codel {
    let config = CodelConfig { limit: QueueLimit::Unlimited, ..CodelConfig::default() };
    let mut queue = Codel::new(&config, &PLACE);
    for _ in 0..packets {
        queue.enqueue(SimTime::ZERO, arrival_with(SimTime::ZERO, 0, 1500, ecn));
    }
    queue
}

/// Takes a packet every 0.1 ms from `from` to `until` (in ms); returns the times (in ms) of drops and marks.
fn signals(queue: &mut Codel, from: u64, until: u64) -> Vec<f64> {
    let mut times = Vec::new();
    let mut now = SimTime(from * 1_000_000);
    while now.0 < until * 1_000_000 {
        let before = queue.counters();
        queue.dequeue(now);
        if queue.counters() != before {
            times.push(now.0 as f64 / 1e6);
        }
        now += STEP;
    }
    times
}

fn assert_times(times: &[f64], expected: &[f64]) {
    assert_eq!(times.len(), expected.len(), "{times:?}");
    for (time, expected) in times.iter().zip(expected) {
        // a queue that is looked at every 0.1 ms acts up to 0.1 ms late
        assert!((0.0..=0.1001).contains(&(time - expected)), "{times:?}, expected {expected}");
    }
}

#[test]
fn drops_come_closer_as_the_square_root_of_their_count() {
    // First looked at, and found above target, at 10 ms; an interval later the first drop, at 110 ms. Then 100/sqrt(1),
    // 100/sqrt(2), 100/sqrt(3), 100/sqrt(4) ms: 100, 170.71, 228.45, 278.45 ms after it.
    let mut queue = queue(10_000, Ecn::NotEct);
    let times = signals(&mut queue, 10, 400);
    assert_times(&times, &[110.0, 210.0, 280.71, 338.45, 388.45]);
    assert_eq!(queue.counters(), QueueCounters { drops: 5, marks: 0 });
}

/// ns-3 3.37's `FqCoDelQueueDisc` drops of one flow at 0.603939, 0.704033, 0.754019, 0.810254 and 0.859039 s.
#[test]
fn by_newtons_steps_the_first_drops_come_closer() {
    let mut queue = queue(10_000, Ecn::NotEct);
    queue.parameters.inverse_sqrt = InverseSqrt::Newton;
    let times = signals(&mut queue, 10, 320);
    // 1, 1 (3 - 2) / 2 = 0.5, 0.5 (3 - 3 / 4) / 2 = 0.562 5 and 0.562 5 (3 - 4 * 0.316 4) / 2 = 0.487 8 of 100 ms.
    assert_times(&times, &[110.0, 209.998, 259.99, 316.24]);
    assert_times(&signals(&mut queue, 320, 380), &[365.02]);
}

#[test]
fn marks_come_when_drops_would() {
    let mut queue = queue(10_000, Ecn::Ect0);
    let times = signals(&mut queue, 10, 400);
    assert_times(&times, &[110.0, 210.0, 280.71, 338.45, 388.45]);
    assert_eq!(queue.counters(), QueueCounters { drops: 0, marks: 5 });
}

#[test]
fn a_second_episode_soon_after_goes_on_at_the_rate_of_the_first() {
    let mut queue = queue(10_000, Ecn::NotEct);
    signals(&mut queue, 10, 350); // four drops: the count went from 1 to 4
    while queue.dequeue(SimTime(350_000_000)).is_some() {} // the next to go, and all that wait, leave at once
    for _ in 0..5_000 {
        queue.enqueue(SimTime(350_000_000), arrival(SimTime(350_000_000), 0, 1500));
    }
    // above target from 360 ms, dropping from 460 ms, with count 4 - 1 = 3: 100/sqrt(3) = 57.74 ms, then 50 ms
    assert_times(&signals(&mut queue, 360, 580), &[460.0, 517.74, 567.74]);
}

#[test]
fn an_episode_long_after_begins_anew() {
    let mut queue = queue(10_000, Ecn::NotEct);
    signals(&mut queue, 10, 350);
    while queue.dequeue(SimTime(350_000_000)).is_some() {}
    let later = SimTime(2_500_000_000); // more than 16 intervals after the next drop was due, at 388 ms
    for _ in 0..5_000 {
        queue.enqueue(later, arrival(later, 0, 1500));
    }
    assert_times(&signals(&mut queue, 2_510, 2_730), &[2_610.0, 2_710.0]);
}

#[test]
fn a_backlog_of_one_packet_is_never_reduced_however_long_it_waits() {
    let mut queue = queue(1, Ecn::NotEct);
    for second in 1..10 {
        queue.enqueue(SimTime::ZERO, arrival(SimTime::ZERO, 0, 1500));
        assert!(queue.dequeue(SimTime(second * 1_000_000_000)).is_some(), "one leaves, one stays");
    }
    assert_eq!((queue.counters().drops, queue.len()), (0, 1));
}

#[test]
fn less_than_an_interval_above_target_is_a_good_queue() {
    let mut queue = queue(10_000, Ecn::NotEct);
    assert_eq!(signals(&mut queue, 10, 110), Vec::<f64>::new()); // 99.9 ms
}

#[test]
fn the_threshold_marks_what_waited_longer() {
    let control = CodelParameters { ce_threshold: Some(SimDuration::from_millis(1)), ..CodelParameters::default() };
    let mut queue = Codel::new(&CodelConfig { control, ..CodelConfig::default() }, &PLACE);
    for _ in 0..2 {
        queue.enqueue(SimTime::ZERO, arrival_with(SimTime::ZERO, 0, 1500, Ecn::Ect1));
    }
    let at_the_threshold = queue.dequeue(SimTime(1_000_000)).expect("two wait");
    assert_eq!(at_the_threshold.packet.ecn(), Ecn::Ect1);
    let beyond = queue.dequeue(SimTime(1_000_001)).expect("one waits");
    assert_eq!(beyond.packet.ecn(), Ecn::Ce);
}

//! Tests of the estimator with synthetic clocks.

use ackclock_units::SimDuration;

use super::*;
use crate::event::SegmentTimestamps;
use crate::testing::ack;

/// Feeds ACKs every 10 ms for `seconds`; the queueing delays and the lead of the receiver's clock, in ms, are functions
/// of the second.
fn through(
    delay: &mut SkewTolerantDelay,
    seconds: std::ops::Range<u64>,
    queues: impl Fn(f64) -> (u64, u64),
    ahead: impl Fn(f64) -> f64,
) -> Vec<(f64, Sample)> {
    let mut samples = Vec::new();
    for at_ms in (seconds.start * 1_000..seconds.end * 1_000).step_by(10) {
        let second = at_ms as f64 / 1e3;
        let (there, back) = queues(second);
        let arrived = 80 + at_ms + there + back;
        // in ticks of 1 ms, rounded down as a clock does; the receiver's began long before
        let received = 5_000_000.0 + (at_ms + 40 + there) as f64 + ahead(second);
        let timestamps = Some(SegmentTimestamps {
            tsval: received as u32,
            tsecr: at_ms as u32,
            arrival: arrived as u32,
            tick: SimDuration::from_millis(1),
        });
        let rtt_sample = Some(SimDuration::from_millis(arrived - at_ms));
        let sample = delay.on_ack(&AckEvent { rtt_sample, timestamps, round: at_ms / 100, ..ack(1_000) });
        samples.extend(sample.map(|sample| (second, sample)));
    }
    samples
}

fn tolerant() -> SkewTolerantDelay {
    SkewTolerantDelay::new(Some(SimDuration::from_millis(1)))
}

/// Asserts that there are samples up to `until` seconds. Every one from `from` on must have a `BaseRTT` of 80 ms and
/// this forward queue, to within the rounding of ticks.
fn assert_forward_queue(samples: &[(f64, Sample)], from: f64, until: f64, queue: impl Fn(f64) -> u64) {
    let last = samples.last().expect("samples").0;
    assert!(last > until - 0.1, "no sample after {last} s");
    for (second, sample) in samples.iter().filter(|(second, _)| *second >= from) {
        let (base, queued) = (sample.base_rtt as f64 / 1e6, (sample.rtt - sample.base_rtt) as f64 / 1e6);
        assert!((base - 80.0).abs() <= 2.0, "{second} s: BaseRTT {base} ms");
        assert!((queued - queue(*second) as f64).abs() <= 2.0, "{second} s: {queued} ms queued");
    }
}

/// The queues there and back, ms: five there from the first second on; back, from the fourth, up to 90 in 3 s and down
/// in one.
fn congested(second: f64) -> (u64, u64) {
    let phase = second % 4.0;
    let back = if phase < 3.0 { phase * 30.0 } else { (4.0 - phase) * 90.0 };
    (if second < 1.0 { 0 } else { 5 }, if second < 4.0 { 0 } else { back as u64 })
}

#[test]
fn skew_of_1_to_500_ppm_is_taken_off() {
    for ppm in [-500.0, -100.0, -1.0, 1.0, 20.0, 100.0, 500.0] {
        // 500 ppm come to 150 ms in five minutes
        let samples = through(&mut tolerant(), 0..300, congested, |second| ppm * second / 1e3);
        assert_forward_queue(&samples, 10.0, 300.0, |_| 5);
    }
}

#[test]
fn a_clock_that_is_set_is_found_and_followed() {
    // 100 ppm apart; 1 s is more than the round trip. The queue there empties for 100 ms of each second.
    let queues = |second: f64| (if second % 1.0 < 0.1 { 0 } else { congested(second).0 }, congested(second).1);
    for step in [-1_000.0, -400.0, -40.0, 40.0, 400.0, 1_000.0] {
        let ahead = |second: f64| 0.1 * second + if second < 20.5 { 0.0 } else { step };
        let mut delay = tolerant();
        let samples = through(&mut delay, 0..60, queues, ahead);
        // Two seconds are given for what is undecided.
        let settled = |second: &f64| !(20.4..22.5).contains(second);
        let samples: Vec<_> = samples.into_iter().filter(|(second, _)| settled(second)).collect();
        assert_forward_queue(&samples, 10.0, 60.0, |second| queues(second).0);
        assert!((delay.steps / 1e6 - step).abs() <= 2.0, "{} for {step}", delay.steps / 1e6);
    }
}

#[test]
fn delays_that_fall_by_less_than_half_of_the_round_trip_after_a_step_back_stay_out_of_the_history() {
    // After 50 ms back the first delays there wait behind a burst of 40, 30, 20 ms that ends: 10, 20, 30 ms below the least.
    let mut delay = tolerant();
    through(&mut delay, 0..20, |second| (0, if second < 1.0 { 0 } else { 20 }), |_| 0.0);
    let burst = |second: f64| ([40, 30, 20][((second - 20.0) * 10.0).min(2.0) as usize], 20);
    let ahead = |_| -50.0;
    through(&mut delay, 20..21, burst, ahead);
    let samples = through(&mut delay, 21..40, |_| (0, 20), ahead);
    assert_forward_queue(&samples, 23.0, 40.0, |_| 0);
    assert!((delay.steps / 1e6 + 50.0).abs() <= 2.0, "{}", delay.steps / 1e6);
}

#[test]
fn a_direction_that_is_first_seen_empty_late_is_no_step() {
    // The connection begins behind 30 ms of queue back, which is gone for a tenth of each second from the eighth on.
    let queues = |second: f64| (0, if second > 8.0 && second % 1.0 < 0.1 { 0 } else { 30 });
    let mut delay = tolerant();
    let samples = through(&mut delay, 0..30, queues, |_| 0.0);
    assert_forward_queue(&samples, 9.0, 30.0, |_| 0);
    assert!(delay.steps.abs() < 1e6, "{}", delay.steps);
}

#[test]
fn a_queue_that_changes_sides_at_once_is_no_step() {
    // From 20 s to 21 s 40 ms of queue are there instead of back, and the round trip is the same.
    let queues =
        |second: f64| if (20.0..21.0).contains(&second) { (45, 0) } else { (5, 40 * u64::from(second > 10.0)) };
    let mut delay = tolerant();
    let early = |second: f64| if second < 1.0 { (0, 0) } else { queues(second) };
    let samples = through(&mut delay, 0..40, early, |_| 0.0);
    assert_forward_queue(&samples, 22.0, 40.0, |second| early(second).0);
    assert!(delay.steps.abs() < 1e6, "{}", delay.steps);
}

#[test]
fn a_step_that_hides_in_a_change_of_the_round_trip_is_found_later() {
    // While nothing is measured, from 20 s to 21 s, the clock is set back by 300 ms and the queue on the reverse path ends.
    let mut delay = tolerant();
    let queues = |second: f64| (if second < 1.0 { 0 } else { 5 }, if (4.0..20.5).contains(&second) { 50 } else { 0 });
    let ahead = |second: f64| if second < 20.5 { 0.0 } else { -300.0 };
    through(&mut delay, 0..20, queues, ahead);
    let samples = through(&mut delay, 21..40, queues, ahead);
    let (second, last) = samples.last().expect("samples");
    assert!(*second > 39.9 && (last.base_rtt as f64 / 1e6 - 80.0).abs() <= 2.0, "{second} s: {last:?}");
    // Between -300 ms, had the queue of 5 ms stayed, and -295, had it gone: the two cannot be told apart.
    assert!((-302.0..=-293.0).contains(&(delay.steps / 1e6)), "{}", delay.steps / 1e6);
}

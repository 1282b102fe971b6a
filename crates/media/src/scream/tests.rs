use super::*;
use crate::control::PacketResult;
use ackclock_units::SimTime;

const EPSILON: f64 = 1e-6;

fn limits(is_l4s: bool) -> Limits {
    Limits {
        least: Bandwidth(150_000),
        most: Bandwidth(10_000_000),
        start: Bandwidth(800_000),
        frame_interval: SimDuration::from_millis(20),
        is_l4s,
    }
}

fn packet(sent: u64, arrived: Option<u64>, is_marked: bool) -> PacketResult {
    PacketResult { number: 0, size: Bytes(1_000), sent: seconds(sent), arrived: arrived.map(seconds), is_marked }
}

fn acks(now: u64, packets: &[PacketResult]) -> Feedback<'_> {
    Feedback {
        now: seconds(now),
        packets,
        advanced: Bytes(1_000 * packets.len() as u64),
        in_flight: Bytes(10_000),
        rtt: Some(SimDuration::from_millis(100)),
        held: SimDuration::ZERO,
    }
}

fn seconds(ms: u64) -> SimTime {
    SimTime(ms * 1_000_000)
}

/// A controller with a window of 10000 and a round trip of 100 ms, after its first report at 10 s.
fn scream(is_l4s: bool) -> Scream {
    let config = ScreamConfig { competing: false, ..ScreamConfig::default() };
    let mut scream = Scream::new(config, limits(is_l4s));
    scream.on_sent(&SentEvent { now: seconds(9_990), size: Bytes(1_000), in_flight: Bytes(20_000) });
    scream.on_feedback(&acks(10_000, &[packet(9_900, Some(9_950), false)]));
    scream
}

#[test]
fn a_segment_a_round_trip_and_a_fiftieth_of_the_window_long_after_congestion() {
    let scream = scream(false);
    // The first report acknowledges 1000 octets of a window of 800000 / 8 * 0.1 = 10000: 1000 * 1000 / 10000 = 100 octets, times
    // 1 + 0.02 * 10000 / 1000 since the last congestion lies 10 s back, a hundred round trips: 120.
    assert!((scream.ref_wnd - 10_120.0).abs() < EPSILON, "{}", scream.ref_wnd);
    // The rate: 8 * 10120 / 0.1 = 809600, times 1 - 0 (1000 / 10120 < 0.1), 1000 / 1020, 1 / 1.2.
    assert_eq!(scream.target_rate(), Bandwidth(661_437)); // 809600 / 1.224 = 661437.9
    assert_eq!(scream.pacing_rate(), Bandwidth(992_156)); // 1.5 times
    assert_eq!(scream.window(), Some(Bytes(30_360))); // three times
}

#[test]
fn a_loss_leaves_seven_tenths_and_a_classic_mark_four_fifths() {
    let mut lossy = scream(false);
    let window = lossy.ref_wnd;
    lossy.on_feedback(&acks(10_050, &[packet(9_950, Some(10_000), false), packet(9_951, None, false)]));
    // Then growth: 2000 acknowledged, a segment in proportion; where the window was 10120 it is now near 0.7 of it: far enough.
    let kept = window * 0.7;
    let distance = 1.0; // of before the reaction: the inflection point was not set
    let grown = 2_000.0 * 1_000.0 / kept * distance;
    assert!((lossy.ref_wnd - (kept + grown)).abs() < EPSILON, "{}", lossy.ref_wnd);
    let mut marked = scream(false);
    marked.on_feedback(&acks(10_050, &[packet(9_950, Some(10_000), true)]));
    assert!((marked.ref_wnd - window * 0.8).abs() < EPSILON); // what is marked does not let it grow
}

#[test]
fn reactions_come_at_most_once_in_25_milliseconds() {
    let mut lossy = scream(false);
    lossy.on_feedback(&acks(10_050, &[packet(9_950, None, false)]));
    let window = lossy.ref_wnd;
    lossy.on_feedback(&acks(10_074, &[packet(9_974, None, false)]));
    assert!(lossy.ref_wnd >= window);
    lossy.on_feedback(&acks(10_076, &[packet(9_976, Some(10_026), false)])); // the loss of before counts now
    assert!(lossy.ref_wnd < 0.75 * window);
}

#[test]
fn marks_of_l4s_reduce_in_proportion() {
    let mut scream = scream(true);
    let window = scream.ref_wnd;
    // Half of what is delivered is marked: alpha = 1/8 * 1/2 = 1/16, and the reaction is alpha / 2 = 1/32, over 100 / 25 ms = 1/128.
    // The queue delay is zero, and the distance one: nothing lessens it. Growth: 1000 of 2000 octets, not marked.
    scream.on_feedback(&acks(10_050, &[packet(9_950, Some(10_000), true), packet(9_951, Some(10_001), false)]));
    let kept = window * (1.0 - 1.0 / 128.0);
    // But the last reaction was more than a hundred round trips of 100 ms ago, at zero: the window is at first at most what was
    // under way the round before, which is nothing known here.
    let grown = 1_000.0 * 1_000.0 / kept;
    assert!((scream.ref_wnd - (kept + grown)).abs() < EPSILON, "{} {}", scream.ref_wnd, kept + grown);
}

#[test]
fn a_delay_above_half_of_the_target_acts_like_marks() {
    let mut scream = scream(false);
    // Packets with 60 ms more of delay: averages of 15, 26.25, 34.7 ms: the third is above 30 ms, by 0.156 of that half; the
    // reaction is half of it, over 4.
    let mut before = 0.0;
    for (step, now) in [10_050, 10_080, 10_110].into_iter().enumerate() {
        before = scream.ref_wnd;
        scream.on_feedback(&acks(now, &[packet(now - 110, Some(now), false)]));
        assert_eq!(scream.ref_wnd < before, step == 2, "{step}");
    }
    let average = 0.06 * (1.0 - 0.75_f64 * 0.75 * 0.75);
    let backoff = (average - 0.03) / 0.03 / 2.0 / 4.0;
    let kept = before * (1.0 - backoff);
    let since = (10.11 - 0.0) / 10.0_f64;
    let grown = 1_000.0 * 1_000.0 / kept * (1.0 + 0.02 * kept / 1_000.0 * since.min(1.0));
    assert!((scream.ref_wnd - (kept + grown)).abs() < EPSILON, "{} {}", scream.ref_wnd, kept + grown);
}

#[test]
fn what_waits_at_the_sender_lowers_the_rate() {
    let mut scream = scream(false);
    let before = scream.target_rate;
    // A queue of a frame's period is 3/4 of a period too long: 3/64 more in the divisor each frame.
    for _ in 0..2 {
        let waited = SimDuration::from_millis(20);
        scream.on_frame(&FrameEvent { now: seconds(10_020), size: Bytes(1), waited, queued: Bytes(1_000) });
    }
    assert!((scream.rate_adjust_factor - 2.0 * 0.75 / 16.0).abs() < EPSILON);
    scream.set_target_rate();
    assert!((scream.target_rate - before * 1.2 / (1.2 + 0.09375)).abs() < 1.0);
}

#[test]
fn pacing_is_relaxed_near_the_largest_rate() {
    let mut scream = scream(false);
    scream.target_rate = 9e6; // nine tenths: half of the way from 0.8; 1.5 / 0.5
    assert_eq!(scream.pacing_rate(), Bandwidth(27_000_000));
    scream.target_rate = 1e7; // 1.5 * 4
    assert_eq!(scream.pacing_rate(), Bandwidth(60_000_000));
}

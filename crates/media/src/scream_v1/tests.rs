use super::*;
use crate::control::PacketResult;
use ackclock_units::SimTime;

const MS: u64 = 1_000_000;

fn limits() -> Limits {
    Limits {
        least: Bandwidth(150_000),
        most: Bandwidth(1_500_000),
        start: Bandwidth(400_000),
        frame_interval: SimDuration::from_millis(40),
        is_l4s: false,
    }
}

fn packet(sent: u64, arrived: Option<u64>) -> PacketResult {
    let arrived = arrived.map(|ms| SimTime(ms * MS));
    PacketResult { number: 0, size: Bytes(1_000), sent: SimTime(sent * MS), arrived, is_marked: false }
}

/// A report of a packet that left 100 ms ago.
fn acks(now: u64, packets: &[PacketResult], advanced: u64, in_flight: u64) -> Feedback<'_> {
    Feedback {
        now: SimTime(now * MS),
        packets,
        advanced: Bytes(advanced),
        in_flight: Bytes(in_flight),
        rtt: Some(SimDuration::from_millis(100)),
        held: SimDuration::ZERO,
    }
}

#[test]
fn in_fast_increase_the_window_grows_by_what_is_acknowledged_if_it_is_used() {
    let mut scream = ScreamV1::new(ScreamV1Config::default(), limits());
    // 400 kbit/s in 100 ms: 5000 octets. 4000 * 1.5 + 1000 > 5000: it grows by 1000.
    scream.on_feedback(&acks(1_000, &[packet(900, Some(950))], 1_000, 4_000));
    assert!((scream.cwnd - 6_000.0).abs() < 1e-9);
    // 3000 * 1.5 + 1000 < 6000: it does not.
    scream.on_feedback(&acks(1_010, &[packet(910, Some(960))], 1_000, 3_000));
    assert!((scream.cwnd - 6_000.0).abs() < 1e-9);
    assert_eq!(scream.window(), Some(Bytes(7_000))); // below the target: a segment of slack
}

#[test]
fn a_loss_leaves_four_fifths_of_the_window_and_nine_tenths_of_the_rate_once_a_round_trip() {
    let mut scream = ScreamV1::new(ScreamV1Config::default(), limits());
    scream.on_feedback(&acks(1_000, &[packet(900, Some(950)), packet(901, None)], 2_000, 4_000));
    assert!((scream.cwnd - 4_000.0).abs() < 1e-9); // 0.8 * 5000
    assert_eq!(scream.target_rate(), Bandwidth(360_000));
    scream.on_feedback(&acks(1_099, &[packet(999, Some(1_049)), packet(1_001, None)], 2_000, 4_000));
    assert!((scream.cwnd - 4_000.0).abs() < 1e-9);
}

#[test]
fn beyond_fast_increase_the_window_moves_towards_the_target() {
    let config = ScreamV1Config { competing: false, ..ScreamV1Config::default() };
    let mut scream = ScreamV1::new(config, limits());
    scream.on_feedback(&acks(1_000, &[packet(900, Some(950))], 1_000, 4_000));
    scream.in_fast_increase = false;
    let window = scream.cwnd;
    scream.on_sent(&SentEvent { now: SimTime(1_001 * MS), size: Bytes(1_000), in_flight: Bytes(9_000) });
    // A queueing delay of 150 ms is 1.5 targets: -0.5 * 1000 * 1000 / 6000 = -83.3 octets.
    scream.on_feedback(&acks(1_010, &[packet(810, Some(1_010))], 1_000, 6_000));
    assert!((scream.cwnd - (window - 5e5 / 6e3)).abs() < 1e-6, "{}", scream.cwnd);
    assert_eq!(scream.window(), Some(Bytes(scream.cwnd as u64))); // above it: no slack
}

#[test]
fn the_rate_ramps_up_by_its_speed() {
    let mut scream = ScreamV1::new(ScreamV1Config::default(), limits());
    scream.rates.transmit = 1e6;
    scream.rates.measured = 2.0;
    // min(200000, 400000 / 2) a second, in 200 ms: 40000.
    scream.on_feedback(&acks(2_000, &[packet(1_900, Some(1_950))], 1_000, 4_000));
    assert_eq!(scream.target_rate(), Bandwidth(440_000));
}

#[test]
fn the_trend_is_the_average_where_delays_hang_together() {
    // Of 1, 2, 3, 4: the mean is 2.5; R(0) = 2.25 + 0.25 + 0.25 + 2.25 = 5, R(1) = 0.75 - 0.25 + 0.75 = 1.25.
    assert!((autocorrelation(&VecDeque::from([1.0, 2.0, 3.0, 4.0])) - 0.25).abs() < 1e-12);
    assert_eq!(autocorrelation(&VecDeque::from([2.0, 2.0])).to_bits(), 0.0_f64.to_bits());
}

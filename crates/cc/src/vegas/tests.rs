use ackclock_units::SimDuration;

use super::*;
use crate::event::SegmentTimestamps;
use crate::testing::{ack, loss, sent, timeout};

fn start(window: u64, ssthresh: Option<u64>) -> Start {
    Start::of(1_000, window, ssthresh)
}

/// Simulates a round trip with an ACK for every segment of the window, `rtt_ms` each; returns the window.
fn round_trip(vegas: &mut Vegas, number: u64, rtt_ms: u64) -> u64 {
    for _ in 0..vegas.cwnd / 1_000 {
        let rtt_sample = Some(SimDuration::from_millis(rtt_ms));
        vegas.on_ack(&AckEvent { round: number, rtt_sample, ..ack(1_000) });
    }
    vegas.cwnd
}

fn avoiding(variant: VegasVariant, window: u64) -> Vegas {
    let mut vegas = Vegas::new(&VegasConfig::of(variant), start(window, Some(window)));
    vegas.least_rtt = 100_000_000;
    vegas
}

/// The window after the round trip that follows one of `rtt_ms`.
fn after(vegas: &mut Vegas, rtt_ms: u64) -> u64 {
    round_trip(vegas, 0, rtt_ms);
    round_trip(vegas, 1, rtt_ms)
}

#[test]
fn the_window_moves_by_a_segment_outside_alpha_and_beta() {
    // W = 20, BaseRTT = 100 ms: Diff = 20 * (1 - 100/RTT)
    let window = |rtt_ms| after(&mut avoiding(VegasVariant::Brakmo, 20_000), rtt_ms);
    let grown = window(108); // 1.48 < alpha = 2: 20 ACKs at 1000 * 1000 / cwnd, cwnd growing
    assert!((20_970..=21_000).contains(&grown), "{grown}");
    assert_eq!(window(115), 20_000); // 2.6
    assert_eq!(window(124), 20_000); // 3.87
    assert_eq!(window(130), 19_000); // 4.6 > beta = 4
}

#[test]
fn linux_measures_base_rtt_anew_after_idle_time() {
    // `tcp_vegas_cwnd_event` (CA_EVENT_TX_START): the path is longer by 100 ms, and Diff is 0. The paper keeps the least.
    let after_idle = |variant| {
        let mut vegas = avoiding(variant, 20_000);
        vegas.on_send(&SendEvent { idle_for: SimDuration::from_secs(3), ..sent(1_000) });
        after(&mut vegas, 200)
    };
    assert_eq!(after_idle(VegasVariant::Linux), 21_000);
    assert_eq!(after_idle(VegasVariant::Brakmo), 19_000);
}

/// `tcp_vegas.c`, `vegas_enable`: after a recovery a round trip begins, at whose end, and not before, the window moves. ns-2 ends the round
/// trip that was under way.
#[test]
fn linux_begins_a_round_trip_after_a_recovery() {
    let mut vegas = avoiding(VegasVariant::Linux, 20_000);
    round_trip(&mut vegas, 0, 100);
    vegas.on_congestion(&loss(20_000));
    assert_eq!(round_trip(&mut vegas, 3, 100), 10_000);
    assert_eq!(round_trip(&mut vegas, 4, 100), 11_000); // Diff = 0 < alpha = 2
}

#[test]
fn linux_divides_by_the_base_rtt_and_ns2_rounds() {
    // W = 20, RTT = 124 ms: Linux has 20 * 24/100 = 4.8, down to 4, not above beta = 4
    assert_eq!(after(&mut avoiding(VegasVariant::Linux, 20_000), 124), 20_000);
    // 126 ms: 5.2, down to 5
    assert_eq!(after(&mut avoiding(VegasVariant::Linux, 20_000), 126), 19_000);
    assert_eq!(after(&mut avoiding(VegasVariant::Linux, 20_000), 105), 21_000); // 1 < alpha = 2: at once
    // ns-2, 120 ms: 20 * 20/120 = 3.33, rounded to 3, not above beta = 3; 122 ms: 3.6, rounded to 4
    assert_eq!(after(&mut avoiding(VegasVariant::Ns2, 20_000), 120), 20_000);
    assert_eq!(after(&mut avoiding(VegasVariant::Ns2, 20_000), 122), 19_000);
}

#[test]
fn slow_start_doubles_every_other_round_trip_until_gamma() {
    let mut vegas = Vegas::new(&VegasConfig::default(), start(4_000, None));
    // The ACK that begins round 1 ends round 0, which grew; so round 1 holds, round 2 grows, round 3 holds.
    assert_eq!(round_trip(&mut vegas, 0, 100), 8_000);
    assert_eq!(round_trip(&mut vegas, 1, 100), 8_000);
    assert_eq!(round_trip(&mut vegas, 2, 100), 16_000);
    // 16 segments at 110 ms: Diff = 16 * 10/110 = 1.45 > gamma = 1
    assert_eq!(round_trip(&mut vegas, 3, 110), 16_000);
    assert_eq!(vegas.ssthresh(), None);
    round_trip(&mut vegas, 4, 110);
    assert_eq!(vegas.ssthresh(), Some(Bytes(16_000)));
}

#[test]
fn the_variants_leave_slow_start_in_ways_of_their_own() {
    let after_slow_start = |variant| {
        let mut vegas = Vegas::new(&VegasConfig::of(variant), start(16_000, None));
        vegas.least_rtt = 100_000_000;
        vegas.grows = false;
        for _ in 0..4 {
            vegas.on_ack(&AckEvent { rtt_sample: Some(SimDuration::from_millis(125)), ..ack(0) });
        }
        vegas.on_ack(&AckEvent { round: 1, rtt_sample: Some(SimDuration::from_millis(125)), ..ack(0) });
        vegas.cwnd
    };
    assert_eq!(after_slow_start(VegasVariant::Brakmo), 16_000);
    assert_eq!(after_slow_start(VegasVariant::Ns2), 14_000); // 16 * 7/8
    assert_eq!(after_slow_start(VegasVariant::Linux), 13_000); // 16 * 100/125 = 12.8, down, plus 1
}

#[test]
fn duplicate_acks_take_a_quarter_and_a_timeout_all_but_one_segment() {
    let mut vegas = avoiding(VegasVariant::Brakmo, 20_000);
    vegas.on_congestion(&loss(20_000));
    assert_eq!(vegas.cwnd(), Bytes(15_000));
    vegas.on_congestion(&timeout(15_000, false));
    assert_eq!((vegas.cwnd(), vegas.ssthresh()), (Bytes(1_000), Some(Bytes(7_500))));
    let mut linux = avoiding(VegasVariant::Linux, 20_000);
    linux.on_congestion(&loss(20_000));
    assert_eq!(linux.cwnd(), Bytes(10_000));
}

/// An ACK on a path of 40 ms each way, with queues of these lengths and clocks `offset` ticks apart.
fn stamped(at_ms: u64, forward_queue: u64, backward_queue: u64, offset: u32) -> AckEvent {
    let (received, arrived) = (at_ms + 40 + forward_queue, at_ms + 80 + forward_queue + backward_queue);
    let timestamps = Some(SegmentTimestamps {
        tsval: (received as u32).wrapping_add(offset),
        tsecr: at_ms as u32,
        arrival: arrived as u32,
        tick: SimDuration::from_millis(1),
    });
    AckEvent { timestamps, rtt_sample: Some(SimDuration::from_millis(arrived - at_ms)), ..ack(1_000) }
}

fn forward() -> ForwardDelay {
    ForwardDelay::new(Some(SimDuration::from_millis(1)), 1_000)
}

const MS: i64 = 1_000_000;

#[test]
fn a_backward_queue_leaves_the_forward_delay_alone() {
    for offset in [0, 1, 123_456, u32::MAX - 50, 1 << 31] {
        let mut delay = forward();
        delay.on_ack(&stamped(0, 0, 0, offset));
        assert_eq!(delay.on_ack(&stamped(10, 0, 60, offset)), Some(Sample { rtt: 80 * MS, base_rtt: 80 * MS }));
        assert_eq!(delay.on_ack(&stamped(20, 25, 60, offset)), Some(Sample { rtt: 105 * MS, base_rtt: 80 * MS }));
    }
}

#[test]
fn least_delays_need_not_come_together() {
    let mut delay = forward();
    delay.on_ack(&stamped(0, 30, 0, 5)); // an empty backward path
    // an empty forward path: BaseRTT is 40 + 40 although no round trip was
    assert_eq!(delay.on_ack(&stamped(10, 0, 20, 5)), Some(Sample { rtt: 80 * MS, base_rtt: 80 * MS }));
}

#[test]
fn a_delayed_ack_is_measured_by_its_last_segment() {
    let mut delay = forward();
    delay.on_ack(&stamped(0, 0, 0, 9));
    // Two segments, the first sent at 10 and echoed, the second at 17 on its heels: the ACK leaves 40 ms after that.
    let second = stamped(17, 0, 0, 9);
    let timestamps = second.timestamps.map(|stamps| SegmentTimestamps { tsecr: 10, ..stamps });
    let both = AckEvent { timestamps, newly_acked: Bytes(2_000), ..second };
    assert_eq!(delay.on_ack(&both), Some(Sample { rtt: 80 * MS, base_rtt: 80 * MS }));
}

#[test]
fn a_fast_receiver_clock_pulls_the_base_rtt_down() {
    // 500 ppm fast for 100 s: t_r - t_s grows by 50 ms on an empty path, t_a - t_r falls by as much.
    let mut delay = forward();
    delay.on_ack(&stamped(0, 0, 0, 0));
    let sample = delay.on_ack(&stamped(100_000, 0, 0, 50)).expect("known clocks");
    // T_b0 falls with it: BaseRTT comes out at 40 + (40 - 50) = 30, F_Actual's delay at 90 - 10 = 80
    assert_eq!(sample, Sample { rtt: 80 * MS, base_rtt: 30 * MS });
}

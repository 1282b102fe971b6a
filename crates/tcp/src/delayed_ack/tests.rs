//! Delays and counts worked by hand, and what was measured on Linux.

use super::*;
use crate::config::{RtoConfig, RtoEstimator};

const MS: u64 = 1_000_000;

fn acks(quickacks: u32, adaptive: bool) -> DelayedAcks {
    let timeout = SimDuration::from_millis(40);
    let config = DelayedAck {
        segments: 2,
        timeout,
        quickacks,
        adaptive,
        count_octets: adaptive,
        interactive: adaptive,
        delay_fin: adaptive,
        once_read: adaptive,
    };
    DelayedAcks::new(config, Ticks::default(), SimDuration::ZERO)
}

fn arrive(acks: &mut DelayedAcks, ms: u64, octets: u64) -> bool {
    arrive_over(acks, ms, octets, SimDuration::ZERO)
}

fn arrive_over(acks: &mut DelayedAcks, ms: u64, octets: u64, srtt: SimDuration) -> bool {
    let mut rto = RtoTimer::new(RtoConfig::of(RtoEstimator::Rfc6298)); // one second, also with a short sample
    if !srtt.is_zero() {
        rto.on_sample(SimTime::ZERO, SimTime::ZERO + srtt, 1, 2);
    }
    let data = Data { octets, mss: 1_000, rto: &rto, window: 64_000, opens: false };
    acks.on_data(SimTime(ms * MS), &data);
    acks.is_due()
}

//= rfc9293-3.8.6.3-delayed-ack
#[test]
fn the_second_segment_is_acknowledged_at_once_the_first_after_the_timeout() {
    let mut acks = acks(0, false);
    assert!(!arrive(&mut acks, 10, 1_000));
    assert_eq!(acks.deadline(), SimTime(50 * MS));
    assert!(arrive(&mut acks, 11, 1_000));
    acks.on_ack_sent();
    assert_eq!(acks.deadline(), SimTime::NEVER);
}

/// Linux 6.12: above a hole an ACK left 0.56 ms after a segment, and not after 1.1 ms, with the timer of an ACK of 40 ms before.
#[test]
fn the_timer_of_an_ack_that_has_left_sends_what_is_gathered() {
    let mut acks = acks(0, true);
    acks.ticks = Ticks::of(&RtoConfig { granularity: SimDuration(MS), ..RtoConfig::of(RtoEstimator::Linux) });
    assert!(!arrive(&mut acks, 10, 1_000) && arrive(&mut acks, 11, 1_000));
    acks.on_ack_sent();
    let mut waits_until = |now: u64| {
        acks.gather_until(SimTime(now), SimTime(now + 1_100_000));
        let deadline = acks.deadline();
        acks.on_ack_sent();
        deadline.0
    };
    assert_eq!(waits_until(49_200_000), 50_300_000);
    assert_eq!(waits_until(50_400_000), 51 * MS); // the tick after 40 that have begun at 10 ms
    assert_eq!(waits_until(51 * MS), 52_100_000);
}

#[test]
fn behind_receive_offload_one_ack_stands_for_a_train() {
    let mut acks = acks(0, false);
    acks.gro = SimDuration::from_millis(2);
    for ms in [10, 11, 12] {
        assert!(!arrive(&mut acks, ms, 1_000));
    }
    assert_eq!(acks.deadline(), SimTime(14 * MS)); // 2 ms after the last
}

#[test]
fn what_offload_hands_over_is_no_delayed_ack_that_expired() {
    let mut acks = acks(0, true);
    acks.gro = SimDuration::from_millis(3);
    for train in 0..4 {
        for ms in [10, 10, 10] {
            arrive(&mut acks, 100 * train + ms, 1_000);
        }
        acks.on_timer(SimTime((100 * train + 13) * MS));
        assert!(acks.is_due());
        acks.on_ack_sent();
    }
    let delay = acks.delay;
    assert!(delay <= SimDuration::from_millis(40), "{delay:?}"); // twice as much for each, if it had expired
}

#[test]
fn octets_count_apart_from_the_adaptive_delay() {
    for (count_octets, due) in [(false, false), (true, true)] {
        let mut acks = acks(0, false);
        acks.ratio = 4;
        acks.counts_octets = count_octets;
        assert!(!arrive(&mut acks, 10, 1_000));
        assert_eq!(arrive(&mut acks, 11, 1_000), due); // 2000 octets are more than a segment
    }
}

#[test]
fn a_reply_within_the_delay_ends_the_quick_acks() {
    for (interactive, due) in [(false, true), (true, false)] {
        let mut acks = acks(16, false);
        acks.config.interactive = interactive;
        assert!(arrive(&mut acks, 10, 1_000));
        acks.on_reply(SimTime(20 * MS)); // 10 ms after, of 40
        acks.on_ack_sent();
        assert_eq!(arrive(&mut acks, 30, 1_000), due);
    }
}

#[test]
fn the_ack_of_a_fin_leaves_at_once_or_waits() {
    for (delay_fin, due) in [(false, true), (true, false)] {
        let mut acks = acks(0, false);
        acks.config.delay_fin = delay_fin;
        acks.on_fin(SimTime(10 * MS), &RtoTimer::new(RtoConfig::of(RtoEstimator::Rfc6298)), false);
        assert_eq!(acks.is_due(), due);
    }
}

//= rfc5690-4.3-receiver
#[test]
fn the_senders_ratio_takes_the_place_of_the_count_the_octets_and_the_quickacks() {
    let mut acks = acks(2, true);
    acks.set_ratio(4);
    for ms in [1, 2, 3] {
        assert!(!arrive(&mut acks, ms, 1_000));
    }
    assert!(arrive(&mut acks, 4, 1_000));
    acks.on_ack_sent();
    assert!(!arrive(&mut acks, 5, 1_000));
    assert_eq!(acks.deadline(), SimTime(45 * MS)); // the delayed ACK stays
}

//= rfc5690-4.6-above-a-hole
#[test]
fn above_a_hole_three_are_acknowledged_at_once_then_one_in_r_until_order_is_restored() {
    let mut acks = acks(0, false);
    acks.set_ratio(4);
    let mut above = |ms: u64| {
        acks.on_out_of_order(SimTime(ms * MS));
        let due = acks.is_due();
        if due {
            acks.on_ack_sent();
        }
        due
    };
    let due: Vec<bool> = (1..=8).map(&mut above).collect();
    assert_eq!(due, [true, true, true, false, false, false, true, false]);
    assert_eq!(acks.deadline(), SimTime(48 * MS));
    acks.on_order_restored();
    acks.on_out_of_order(SimTime(9 * MS));
    assert!(acks.is_due());
}

#[test]
fn an_ack_of_the_handshake_or_of_nothing_new_is_no_quick_ack_less() {
    let mut acks = acks(2, false);
    acks.on_ack_sent(); // of the SYN
    for ms in [10, 20] {
        assert!(arrive(&mut acks, ms, 1_000));
        acks.on_ack_sent();
        acks.on_ack_sent();
    }
    assert!(!arrive(&mut acks, 30, 1_000));
}

/// Measured of Linux 6.18, a packet script with reads: a lone full segment is acknowledged after 40 ms, a pushed one at the
/// read, and so is one of 300 octets.
#[test]
fn a_pushed_segment_is_acknowledged_once_read_and_a_full_one_waits() {
    for (octets, is_pushed, is_interactive, due) in
        [(1_000, false, false, false), (1_000, true, false, true), (300, true, false, true), (300, true, true, false)]
    {
        let mut acks = acks(0, true);
        acks.is_interactive = is_interactive;
        assert!(!arrive(&mut acks, 10, octets));
        if is_pushed {
            acks.on_push(octets == 1_000);
        }
        acks.on_all_read(SimTime(10 * MS));
        assert_eq!(acks.is_due(), due, "{octets} {is_pushed} {is_interactive}");
    }
}

#[test]
fn quickacks_come_first() {
    let mut acks = acks(2, true);
    for ms in [10, 20] {
        assert!(arrive(&mut acks, ms, 500));
        acks.on_ack_sent();
    }
    assert!(!arrive(&mut acks, 30, 500));
}

/// Linux 7.3, a link of 100 kbit/s: segments came 122 ms apart over a path of 40.3 ms, and each was acknowledged after 40 to 44 ms,
/// though the adaptive delay doubles with each timer.
#[test]
fn an_ack_waits_no_longer_than_a_round_trip() {
    let rtt = SimDuration::from_micros(40_300);
    let waits_over = |srtt: SimDuration| {
        let mut acks = acks(0, true);
        let mut longest = SimDuration::ZERO;
        for ms in (0..8).map(|segment| 122 * segment) {
            assert!(!arrive_over(&mut acks, ms, 1_000, srtt));
            let deadline = acks.deadline();
            longest = longest.max(deadline - SimTime(ms * MS));
            acks.on_timer(deadline);
            assert!(acks.is_due());
            acks.on_ack_sent();
        }
        longest
    };
    assert_eq!(waits_over(rtt), rtt);
    assert_eq!(waits_over(SimDuration::from_millis(10)), SimDuration::from_millis(40)); // never less than the least delay
    assert!(waits_over(SimDuration::from_millis(500)) > SimDuration::from_millis(80));
}

#[test]
fn the_delay_follows_the_spacing_of_segments() {
    let mut acks = acks(0, true);
    arrive(&mut acks, 0, 100); // the first: 40 ms
    acks.on_ack_sent();
    arrive(&mut acks, 30, 100); // 30 ms is between 20 and 40: 40/2 + 30 = 50
    assert_eq!(acks.deadline(), SimTime(80 * MS));
    acks.on_ack_sent();
    arrive(&mut acks, 35, 100); // 5 ms: 50/2 + 40/2 = 45
    assert_eq!(acks.deadline(), SimTime(80 * MS));
}

/// Linux 7.3: `tcp_data_queue` schedules the ACK of a duplicate, which then counts among the quick ACKs; `tcp_send_dupack`, to
/// which `tcp_sequence` leads that of a segment below the last ACK, does not.
#[test]
fn the_ack_of_a_duplicate_counts_if_that_ends_where_the_last_ack_does() {
    for (ends_below, left) in [(false, 15), (true, 16)] {
        let mut acks = acks(16, true);
        acks.on_useless(64_000, 1_000, ends_below);
        acks.on_ack_sent();
        assert_eq!(acks.quick, left);
    }
}

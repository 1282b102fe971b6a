//! The window after a loss where the queue was full, compared with the rule of each source.
//!
//! One flow runs over 10 Mbit/s and 100 ms: 833.3 segments a second, and a path of 84.4 segments; the buffer varies.

use crate::common::{MSS, numbers, simulate};

/// The least round trip, s: propagation, two segments' service (1.2 ms, 24 us) and that of the ACKs.
const RTT_MIN_S: f64 = 0.1013;
/// Packets on path and in queue for each bandwidth-delay product of 83.3 packets in the buffer.
const BDP: f64 = 10e6 * 0.1 / 12_000.0;
const PATH: f64 = 10e6 * RTT_MIN_S / 12_000.0;

/// The window at each loss of the second half, well after slow start and its losses, and the window after it; segments.
fn losses(controller: &str, buffer: &str, seconds: u32) -> Vec<(f64, f64)> {
    let outcome = simulate(&format!(
        "duration = \"{seconds} s\"\n[topology]\nkind = \"dumbbell\"\naccess = {{ rate = \"1 Gbit/s\", delay = \"0 ns\" }}\n\
         bottleneck = {{ rate = \"10 Mbit/s\", delay = \"50 ms\", queue = {{ kind = \"drop_tail\", limit = \"{buffer}\" }} }}\n\
         [tcp]\nprofile = \"rfc\"\ndelayed_ack = false\n[[flow]]\ncontroller = {controller}\n"
    ));
    let before = numbers(&outcome.episodes, "cwnd_before_bytes");
    let after = numbers(&outcome.episodes, "ssthresh_after_bytes");
    let times = numbers(&outcome.episodes, "time_s");
    let late = times.iter().filter(|time| **time < f64::from(seconds) / 2.0).count();
    let pairs: Vec<(f64, f64)> = before.iter().zip(after).map(|(from, to)| (from / MSS, to / MSS)).skip(late).collect();
    assert!(pairs.len() >= 2, "{controller}, {buffer}: {} losses", pairs.len());
    pairs
}

#[track_caller]
fn assert_keeps(controller: &str, buffer: &str, seconds: u32, share: f64, tolerance: f64) {
    for (from, to) in losses(controller, buffer, seconds) {
        assert!((to / from - share).abs() < tolerance, "{controller}, {buffer}: {to} of {from}, not {share}");
    }
}

/// Evidence for the controller `westwood`: ssthresh = BWE `RTT_min`, what the path holds, whatever the buffer.
#[test]
fn westwood_falls_to_what_the_path_holds_whatever_the_buffer() {
    // Grieco and Mascolo: ssthresh = BWE RTT_min; the link is busy, so BWE is its rate.
    for buffer in ["0.5 bdp", "1 bdp", "2 bdp"] {
        for (from, to) in losses("\"westwood\"", buffer, 400) {
            assert!((to / PATH - 1.0).abs() < 0.03, "{buffer}: {to} of {from} against {PATH}");
        }
    }
}

/// Evidence for the controller `htcp`.
#[test]
fn htcp_keeps_the_ratio_of_the_round_trips_between_a_half_and_four_fifths() {
    // draft-leith-tcp-htcp: beta = RTT_min / RTT_max: 1 / (1 + buffer in bandwidth-delay products), within its bounds.
    for (buffer, bdps) in [("0.1 bdp", 0.1), ("0.4 bdp", 0.4), ("0.7 bdp", 0.7), ("2 bdp", 2.0)] {
        let ratio = PATH / (PATH + bdps * BDP);
        assert_keeps("\"htcp\"", buffer, 200, ratio.clamp(0.5, 0.8), 0.02);
    }
}

/// Evidence for the controller `illinois`.
#[test]
fn illinois_halves_where_the_queue_was_long() {
    // Liu, Basar, Srikant: d_a beyond eta_3 d_m = 0.8 d_m gives beta_max = 1/2.
    assert_keeps("\"illinois\"", "1 bdp", 400, 0.5, 0.02);
}

/// Evidence for the controller `veno`.
#[test]
fn veno_halves_where_three_segments_were_queued() {
    // Fu and Liew: N >= beta = 3 is congestion, whatever buffer the loss finds full.
    assert_keeps("\"veno\"", "0.2 bdp", 400, 0.5, 0.02);
    assert_keeps("\"veno\"", "1 bdp", 400, 0.5, 0.02);
}

/// Evidence for the controller `yeah`.
#[test]
fn yeah_takes_the_queue_but_an_eighth_at_least() {
    // Baiocchi et al.: min(max(W/8, Q), W/2) goes. A buffer of 5 packets is below an eighth of the 89 that path and buffer
    // hold, and below 1/phi = 1/8 of the path: fast, and 7/8 is kept.
    assert_keeps("\"yeah\"", "5 packets", 200, 0.875, 0.02);
}

#[test]
fn scalable_and_bic_keep_seven_eighths_and_reno_a_half() {
    // Kelly: b = 0.125; Xu et al.: beta = 0.125; RFC 5681: a half.
    for (controller, share) in [("\"scalable\"", 0.875), ("\"bic\"", 0.875), ("\"reno\"", 0.5), ("\"newreno\"", 0.5)] {
        assert_keeps(controller, "0.5 bdp", 200, share, 0.02);
    }
}

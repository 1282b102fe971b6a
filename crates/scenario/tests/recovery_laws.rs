//! Tahoe, `NewReno` and the fixed window on a path of 100 ms that never queues.

use crate::common::{MSS, mean_window, numbers, simulate, without_queue};

/// Evidence for the controller `tahoe`: Jacobson 1988: each loss costs a slow start of log2(W/2) round trips: 33.1
/// segments in the mean at p = 1e-3, 114.1 at 1e-4 (Reno's 38.7, 122.5).
#[test]
fn tahoe_pays_for_each_loss_with_a_slow_start() {
    // Jacobson 1988: after a loss at W one segment, doubling up to W/2 and then one more in each round trip. In the log2(W/2)
    // round trips of slow start W/2 segments leave, in the W/2 of congestion avoidance 3/8 W^2. For 1000 between losses
    // W = 51.0, in 30.2 round trips: 33.1 in the mean; for 10 000 W = 162.6 and 114.1. (Reno: 38.7 and 122.5.)
    for (k, seconds, law) in [(1_000, 400, 33.1), (10_000, 1_000, 114.1)] {
        let window = mean_window("\"tahoe\"", seconds, k);
        assert!((window / law - 1.0).abs() < 0.05, "every {k}: {window} against {law}");
    }
}

/// Evidence for the controller `newreno`.
#[test]
fn newreno_follows_the_square_root_law() {
    // RFC 5681 and 6582 for one loss at a time: sqrt(1.5 / p), the law of Mathis et al.
    let window = mean_window("\"newreno\"", 400, 10_000);
    assert!((window / 122.5 - 1.0).abs() < 0.05, "{window}");
}

/// Duration of the first recovery, in round trips, with these packets of one window lost.
fn recovery_rtts(controller: &str, lost: &str) -> f64 {
    let outcome = simulate(&format!(
        "duration = \"20 s\"\n[topology]\nkind = \"dumbbell\"\naccess = {{ rate = \"100 Gbit/s\", delay = \"0 ns\" }}\n\
         bottleneck = {{ rate = \"100 Gbit/s\", delay = \"50 ms\", discard = [{lost}] }}\n\
         [tcp]\ndelayed_ack = false\ninitial_ssthresh = \"30 segments\"\n[[flow]]\ncontroller = {controller}\n"
    ));
    assert_eq!(outcome.summary.flows[0].timeouts, 0, "{controller}");
    numbers(&outcome.episodes, "duration_s")[0] / 0.1
}

/// Evidence for the controller `newreno`: RFC 6582: one loss repaired in each round trip; the square-root law.
#[test]
fn newreno_repairs_one_loss_in_each_round_trip_and_sack_all_in_one() {
    // RFC 6582 section 1: without SACK a partial ACK tells of the next hole only.
    let lost = "{ kind = \"list\", positions = [1000, 1003, 1006, 1009, 1012], of = \"data\" }";
    let (newreno, sack) = (recovery_rtts("\"newreno\"", lost), recovery_rtts("\"reno\"", lost));
    assert!((newreno - 5.0).abs() < 0.05, "{newreno} round trips for five losses");
    assert!((sack - 1.0).abs() < 0.05, "{sack} round trips");
}

/// Evidence for the controller `fixed`: window / RTT.
#[test]
fn a_fixed_window_gets_itself_in_a_round_trip() {
    for segments in [10_u32, 100] {
        let goodput =
            without_queue(&format!("{{ kind = \"fixed\", window = \"{segments} segments\" }}"), "50 ms", 20, "");
        let law = f64::from(segments) * MSS * 8.0 / 0.1;
        assert!((goodput / law - 1.0).abs() < 0.01, "{segments}: {goodput} against {law}");
    }
}

/// RFC 6675 section 4, `NextSeg`: a hole not known to be lost is sent only without new data, or without a receiver's
/// window for it. New data that waits for its pacer counts as available.
#[test]
fn a_paced_sender_resends_what_was_lost_and_no_more() {
    for controller in ["{ kind = \"fixed\", window = \"200 segments\" }", "\"cubic\"", "\"bbr3\"", "\"copa\""] {
        let outcome = simulate(&format!(
            "duration = \"6 s\"\ntcp = {{ profile = \"rfc\", pacing = true }}\n[topology]\nkind = \"dumbbell\"\n\
             access = {{ rate = \"10 Gbit/s\", delay = \"0 ms\" }}\n[topology.bottleneck]\nrate = \"100 Mbit/s\"\ndelay = \"20 ms\"\n\
             queue = {{ kind = \"drop_tail\", limit = \"4 bdp\" }}\n\
             discard = [{{ kind = \"list\", positions = [100, 300, 301, 700], of = \"data\" }}]\n[[flow]]\ncontroller = {controller}\n"
        ));
        let flow = &outcome.summary.flows[0];
        let drops: u64 = outcome.summary.links.iter().map(|link| link.drops).sum();
        assert_eq!((drops, flow.retransmitted_segments, flow.timeouts), (4, 4, 0), "{controller}");
    }
}

//! `HighSpeed`, Scalable and AIMD on a path that never queues, compared with the laws of their sources.

use crate::common::{MSS, mean_window, simulate};

//= rfc3649-5-response
/// Evidence for the controller `highspeed`: RFC 3649 section 5: 1795 segments at p = 1e-5, 4.74 times Reno's.
#[test]
fn highspeed_gets_what_its_table_says_it_gets_beside_reno() {
    // RFC 3649 section 5 has 1795 segments at p = 1e-5 and 379 for Reno: 4.74 times
    let ratio = mean_window("\"highspeed\"", 120, 100_000) / mean_window("\"reno\"", 400, 100_000);
    assert!((ratio / 4.74 - 1.0).abs() < 0.1, "{ratio}");
}

/// Evidence for the controller `scalable`: ln(1 / (1 - b)) / ln(1 + a) = 13.4 round trips from loss to loss at any
/// window.
#[test]
fn scalable_recovers_in_as_many_round_trips_from_any_window() {
    // Kelly: log(1 / (1 - b)) / log(1 + a) = ln(8/7) / ln(1.01) = 13.4 round trips. A cycle has one more, the recovery's,
    // in which the window does not grow; k segments a cycle at a mean window of W take k / W round trips.
    for k in [3_000, 30_000] {
        let round_trips = f64::from(k) / mean_window("\"scalable\"", 200, k);
        assert!((round_trips / 14.4 - 1.0).abs() < 0.05, "every {k}: {round_trips}");
    }
}

/// Evidence for the controller `aimd`: sqrt(a (2 - b) / (2 b p)).
#[test]
fn aimd_follows_the_law_of_its_two_numbers() {
    // sqrt(a (2 - b) / (2 b p)) = sqrt(0.2 * 1.875 / 0.25 * 1e4) = 122.5
    let window = mean_window("{ kind = \"aimd\", a = 0.2, b = 0.125 }", 400, 10_000);
    assert!((window / 122.5 - 1.0).abs() < 0.05, "{window}");
}

/// Evidence for the controller `bic`: `S_max` = 32 segments a round trip, then half of what is left; beta = 1/8.
#[test]
fn bic_adds_s_max_until_it_is_near_its_maximum() {
    // Xu et al.: from 7/8 of W_max, here about 2770, by 32 segments a round trip until 64 are left, then by half of what is
    // left: 346 segments, 282 of them in nine round trips, and within 32 of W_max in three more.
    let text = "duration = \"8 s\"\n[topology]\nkind = \"dumbbell\"\naccess = { rate = \"100 Gbit/s\", delay = \"0 ns\" }\n\
         bottleneck = { rate = \"100 Gbit/s\", delay = \"50 ms\", discard = [{ kind = \"nth\", n = 60000, of = \"data\" }] }\n\
         [tcp]\nprofile = \"rfc\"\ndelayed_ack = false\ninitial_ssthresh = \"2000 segments\"\n\
         [[flow]]\ncontroller = { kind = \"bic\", max_increment = 32 }\n[trace]\ninterval = \"100 ms\"\nflows = [\"cwnd\"]\n";
    let flows = simulate(text).flows;
    let ackclock_sim::ColumnData::F64(cwnd) = &flows.columns[2].data else { panic!("cwnd is a number") };
    let windows: Vec<f64> = cwnd.iter().map(|bytes| bytes / MSS).collect();
    let fall = windows.windows(2).position(|pair| pair[1] < 0.95 * pair[0]).expect("a loss");
    // The lowest window is that of the recovery; growth begins after it.
    let low = (fall + 1..fall + 5).min_by(|a, b| windows[*a].total_cmp(&windows[*b])).expect("four of them");
    let after = &windows[low..];
    for pair in after[..4].windows(2) {
        assert!((pair[1] - pair[0] - 32.0).abs() < 1.5, "{after:?}");
    }
    let maximum = windows[fall];
    assert!(after[12] > maximum - 32.0 && after[12] <= maximum + 32.0, "{after:?}");
}

/// Evidence for the controller `htcp`: alpha(D) over a cycle: 1866 segments; beta = `RTT_min` / `RTT_max` from 0.5 to
/// 0.8.
#[test]
fn htcp_grows_by_the_time_since_the_last_loss() {
    // A round trip that never changes makes beta 0.8 and alpha = 0.4 (1 + 10 (D - 1) + 0.25 (D - 1)^2) beyond 1 s. Over a
    // cycle of 5.36 s: growth 10 * (1 + 0.4 * (4.36 + 95.05 + 6.91)) = 435 segments, a fifth of the window at its end: from
    // 1740 to 2175, and 1866 in the mean, as most of the growth comes late: 1866 * 53.6 = 1e5 segments.
    let window = mean_window("\"htcp\"", 150, 100_000);
    assert!((window / 1866.0 - 1.0).abs() < 0.05, "{window}");
}

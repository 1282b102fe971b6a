//! Reno's relatives on a network, compared with laws of their papers.

use crate::common::{mean_window, numbers, run, simulate, without_queue};
use ackclock_sim::Summary;

/// Evidence for the controller `illinois`: without a queue AIMD(10, 1/8): 866 segments at p = 1e-4; with a long one
/// 1/2 is kept.
#[test]
fn illinois_without_a_queue_is_aimd_of_ten_and_an_eighth() {
    // Liu, Basar, Srikant: d_a = 0 gives alpha = 10, beta = 1/8: W = sqrt(a (2 - b) / (2 b p)) = sqrt(75e4) = 866
    let window = mean_window("\"illinois\"", 60, 10_000);
    assert!((window / 866.0 - 1.0).abs() < 0.1, "{window}");
}

/// Evidence for the controller `veno`: 4/5 kept while N < 3: 212 segments at p = 1e-4; 1/2 else.
#[test]
fn veno_without_a_queue_keeps_four_fifths() {
    // Fu and Liew: N < 3 takes every loss for random: AIMD(1, 1/5): sqrt(1.8 / 0.4 * 1e4) = 212; Reno's is 122
    let window = mean_window("\"veno\"", 200, 10_000);
    assert!((window / 212.0 - 1.0).abs() < 0.05, "{window}");
}

/// Evidence for the controller `hybla`: a rate that does not depend on the round trip (Reno's: a quarter at four
/// times 25 ms).
#[test]
fn hybla_gets_as_much_over_100_ms_as_over_25() {
    // Caini and Firrincieli: the rate does not depend on the round trip; Reno's is a quarter at four times the RTT.
    let discard = "{ kind = \"every\", k = 3000, of = \"data\" }";
    let ratio = |controller: &str| {
        without_queue(controller, "50 ms", 60, discard) / without_queue(controller, "12.5 ms", 60, discard)
    };
    let (hybla, reno) = (ratio("\"hybla\""), ratio("\"reno\""));
    assert!((hybla - 1.0).abs() < 0.15, "{hybla}");
    assert!((reno - 0.25).abs() < 0.03, "{reno}");
}

/// A bottleneck with a round trip of 100 ms.
fn bottleneck(controller: &str, rate: &str, queue: &str, discard: &str) -> Summary {
    run(&format!(
        "duration = \"60 s\"\nmeasure = {{ from = \"10 s\" }}\n[topology]\nkind = \"dumbbell\"\n\
         access = {{ rate = \"1 Gbit/s\", delay = \"0 ns\" }}\n\
         bottleneck = {{ rate = \"{rate}\", delay = \"50 ms\", queue = {{ kind = \"drop_tail\", limit = \"{queue}\" }}, \
         discard = [{discard}] }}\n[tcp]\ninitial_ssthresh = \"850 segments\"\n[[flow]]\ncontroller = {controller}\n"
    ))
}

#[test]
fn westwood_fills_a_link_that_loses_at_random() {
    // Grieco and Mascolo: ssthresh is the bandwidth times the least round trip, so a loss without a queue costs nothing.
    // Under 0.2 % Reno's window is sqrt(1.5 / 0.002) = 27 segments of the path's 83.
    let discard = "{ kind = \"probability\", p = 0.002, of = \"data\" }";
    let goodput = |controller: &str| bottleneck(controller, "10 Mbit/s", "1 bdp", discard).flows[0].goodput_bps;
    let (westwood, reno) = (goodput("\"westwood\""), goodput("\"reno\""));
    assert!(reno < 0.45 * 1e7, "{reno}");
    assert!(westwood > 2.0 * reno && westwood > 0.8 * 1e7, "{westwood} against {reno}");
}

#[test]
fn yeah_fills_the_link_and_empties_its_queue_in_time() {
    // Baiocchi et al.: no more than Q_max = 80 segments are let queue, however deep the buffer: a tenth of this path's 863.
    // Slow start ends below that; what it leaves in a queue without end is half a window, which counts as Reno's.
    let summary = bottleneck("\"yeah\"", "100 Mbit/s", "unlimited", "");
    let link = summary.links.iter().find(|link| link.name == "bottleneck").expect("there is one");
    assert_eq!(summary.flows[0].retransmitted_segments, 0);
    assert!(link.queue_packets.mean < 80.0 && link.queue_packets.mean > 0.0, "{}", link.queue_packets.mean);
    assert!(link.utilization > 0.95, "{}", link.utilization);
}

/// Evidence for the controller `yeah`: at most `Q_max` = 80 segments queued and two round trips' growth; 7/8 kept on a
/// short queue.
#[test]
fn yeahs_queue_goes_up_to_q_max_and_no_further() {
    // Fast, the window grows by a hundredth in a round trip, 9 of some 900 segments; a whole round trip with Q beyond
    // Q_max = 80 lets Q go. So the queue is at its longest between 80 and 80 + 2 * 9.2 segments, and one in service.
    let text = "duration = \"120 s\"\nmeasure = { from = \"60 s\" }\n[topology]\nkind = \"dumbbell\"\n\
         access = { rate = \"1 Gbit/s\", delay = \"0 ns\" }\n\
         bottleneck = { rate = \"100 Mbit/s\", delay = \"50 ms\", \
         queue = { kind = \"drop_tail\", limit = \"unlimited\" } }\n\
         [tcp]\nprofile = \"rfc\"\ndelayed_ack = false\ninitial_ssthresh = \"800 segments\"\n[[flow]]\ncontroller = \"yeah\"\n";
    let summary = run(text);
    let most = summary.links[0].queue_packets.max;
    assert!((80.0..=100.0).contains(&most), "{most}");
    assert!(summary.links[0].utilization > 0.97, "{}", summary.links[0].utilization);
}

/// RFC 5681 section 3.1, equation (3): beyond ssthresh a window grows by a segment in a round trip. It does so however
/// small the part of an octet for one ACK is, and whatever part of an octet ssthresh has.
#[test]
fn a_large_window_of_parts_of_segments_grows_beyond_its_ssthresh() {
    for controller in ["{ kind = \"aimd\", b = 0.3 }", "\"westwood\"", "{ kind = \"cubic\", variant = \"rfc9438\" }"] {
        let outcome = simulate(&format!(
            "duration = \"8 s\"\n[topology]\nkind = \"dumbbell\"\naccess = {{ rate = \"1 Gbit/s\", delay = \"10 us\" }}\n\
             [topology.bottleneck]\nrate = \"100 Mbit/s\"\ndelay = \"50 ms\"\nqueue = {{ kind = \"drop_tail\", limit = \"20000 packets\" }}\n\
             discard = [{{ kind = \"probability\", p = 1.0, of = \"data\", from = \"1.2 s\", until = \"1.8 s\" }}]\n\
             [tcp]\nprofile = \"rfc\"\nmss = 536\n[trace]\ninterval = \"500 ms\"\nflows = [\"cwnd\"]\n[[flow]]\ncontroller = {controller}\n"
        ));
        let cwnd = numbers(&outcome.flows, "cwnd_bytes");
        let last = &cwnd[cwnd.len() - 4..];
        assert!(last.windows(2).all(|pair| pair[1] > pair[0]), "{controller}: {last:?}");
    }
}

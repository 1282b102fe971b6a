//! Recovery after an outage: repairs withhold round trips and RTT samples, and marks take the place of losses.

use crate::common::run;
use ackclock_sim::Summary;

/// One flow over a bottleneck of `rate` Mbit/s and `delay` ms, on which all data is lost for a while.
fn after_outage(controller: &str, path: (u32, u32), tcp: &str, outage: (f64, f64), measured: (f64, f64)) -> f64 {
    let ((rate, delay), (from, until), (begin, end)) = (path, outage, measured);
    let summary = run(&format!(
        "duration = \"{end} s\"\nmeasure = {{ from = \"{begin} s\" }}\n[topology]\nkind = \"dumbbell\"\n\
         access = {{ rate = \"1 Gbit/s\", delay = \"10 us\" }}\n[topology.bottleneck]\nrate = \"{rate} Mbit/s\"\n\
         delay = \"{delay} ms\"\nqueue = {{ kind = \"drop_tail\", limit = \"400 packets\" }}\ntelemetry = {}\n\
         discard = [{{ kind = \"probability\", p = 1.0, of = \"data\", from = \"{from} s\", until = \"{until} s\" }}]\n\
         [tcp]\n{tcp}\n[[flow]]\ncontroller = {controller}\n",
        controller.contains("hpcc") || controller.contains("powertcp\"")
    ));
    summary.flows[0].goodput_bps / (f64::from(rate) * 1e6)
}

/// A window that doubles in every second round trip of 50 ms repairs the earlier flight, some 600 segments, within 20
/// of them. PowerTCP and HPCC take as many of their own.
#[test]
fn a_window_that_moves_once_in_a_round_trip_moves_while_a_timeout_is_repaired() {
    for controller in
        ["\"fast\"", "\"hpcc\"", "\"powertcp\"", "{ kind = \"powertcp_theta\", line_rate = \"20 Mbit/s\" }"]
    {
        let share = |outage| after_outage(controller, (20, 25), "", outage, (5.0, 8.0));
        let (after, without) = (share((2.0, 2.5)), share((9.0, 9.1)));
        assert!(after > 0.9 * without && without > 0.5, "{controller}: {after}, without an outage {without}");
    }
}

/// Without timestamps, Karn's rule leaves no sample while all outstanding data is sent again.
///
/// A segment more in each round trip of 80 ms, from the timeout at some 6.1 s on, fills the path of 69 segments
/// after 5.6 s (LEDBAT, Swift). Slow start takes less than a second (Copa).
#[test]
fn windows_grow_without_samples() {
    let cases = [("\"copa\"", 9.0), ("\"ledbat\"", 12.5), ("{ kind = \"swift\", base_target = \"200 ms\" }", 12.5)];
    for (controller, from) in cases {
        let tcp = "profile = \"rfc\"\ntimestamps = false";
        let share = after_outage(controller, (10, 40), tcp, (5.0, 5.2), (from, from + 1.5));
        assert!(share > 0.8, "{controller}: {share}");
    }
}

/// RFC 9002 section 7.8: data held back by pacing does not mean an unused window; ABC paces by the earlier round trip.
#[test]
fn a_window_grows_that_the_pace_of_before_an_outage_holds_back() {
    let share = after_outage("\"abc\"", (10, 40), "profile = \"windows-11\"", (5.0, 6.5), (15.0, 18.0));
    assert!(share > 0.8, "{share}");
}

/// The path holds a segment and a half, 10 Mbit/s for the 2 ms of the handshake.
///
/// One segment leaves in each round trip of 2 ms and the 1.2 ms that it takes, if each is acknowledged, as in the
/// papers: 3.6 Mbit/s. A delayed ACK would make that 42 ms.
#[test]
fn paths_of_few_segments_are_used_by_default() {
    for controller in ["\"hpcc\"", "\"powertcp\""] {
        let share = after_outage(controller, (10, 1), "", (9.0, 9.1), (1.0, 4.0));
        assert!(share > 0.3, "{controller}: {share}");
    }
}

fn over_codel(controller: &str, more: &str) -> Summary {
    run(&format!(
        "duration = \"10 s\"\n[topology]\nkind = \"dumbbell\"\naccess = {{ rate = \"1 Gbit/s\", delay = \"10 us\" }}\n\
         bottleneck = {{ rate = \"20 Mbit/s\", delay = \"20 ms\", queue = {{ kind = \"codel\", limit = \"2000 packets\" }} }}\n\
         [tcp]\necn = \"request\"\n[[flow]]\ncontroller = \"{controller}\"\n{more}\n"
    ))
}

/// RFC 3168 section 5: data is ECN-capable only where a mark is answered as a loss is.
//= rfc3168-5-as-a-loss
#[test]
fn data_of_controllers_without_an_answer_to_marks_is_not_ecn_capable() {
    for controller in ["copa", "verus", "sprout", "timely", "pcc_allegro", "pcc_vivace", "bbr3"] {
        let summary = over_codel(controller, "");
        assert_eq!(summary.links[0].marks, 0, "{controller}");
    }
    assert_eq!(over_codel("copa", "protocol = { kind = \"quic\", ecn = true }").links[0].marks, 0);
    assert!(over_codel("reno", "").links[0].marks > 0);
}

/// Nimbus answers a mark as CUBIC does while it is CUBIC, in its first 15 s at least.
///
/// RFC 8289 section 4.4 has the queue back at its target of 5 ms after some intervals of 100 ms.
#[test]
fn nimbus_answers_marks_while_it_competes() {
    let summary = over_codel("nimbus", "[[flow]]\ncontroller = \"reno\"");
    assert!(summary.links[0].marks > 0);
    let waits = summary.links[0].queueing_delay_ms.mean;
    assert!(waits < 50.0, "{waits} ms");
}

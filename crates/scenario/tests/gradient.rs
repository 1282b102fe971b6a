//! Linux's modules that answer delay, compared with their rules: CDG, TCP-LP and TCP-NV.

use ackclock_sim::Outcome;

use crate::common::{MSS, numbers, simulate};

/// Flows over 20 Mbit/s and 40 ms, with an ACK for every segment: a segment takes 0.6 ms, the path holds 67.
fn dumbbell(seconds: u32, queue: &str, flows: &str) -> Outcome {
    simulate(&format!(
        "duration = \"{seconds} s\"\nmeasure = {{ from = \"10 s\" }}\n[topology]\nkind = \"dumbbell\"\n\
         access = {{ rate = \"1 Gbit/s\", delay = \"10 us\" }}\n\
         bottleneck = {{ rate = \"20 Mbit/s\", delay = \"19.98 ms\", queue = {{ kind = \"drop_tail\", limit = \"{queue}\" }} }}\n\
         [tcp]\ndelayed_ack = false\n{flows}\n"
    ))
}

fn alone(controller: &str) -> Outcome {
    dumbbell(60, "unlimited", &format!("[[flow]]\ncontroller = {controller}"))
}

/// The share of a flow beside a Reno flow, on a queue of 100 ms.
fn share_beside_reno(controller: &str) -> f64 {
    let flows = format!("[[flow]]\ncontroller = {controller}\n[[flow]]\ncontroller = \"reno\"\nstart = \"1 s\"");
    let summary = dumbbell(60, "100 ms", &flows).summary;
    let [own, reno] = [summary.flows[0].goodput_bps, summary.flows[1].goodput_bps];
    own / (own + reno)
}

/// Evidence for the controller `cdg`: 0.7071 of the window kept where the delay grows; fewer than 7.9 segments queued.
#[test]
fn cdg_keeps_seven_tenths_where_the_delay_grows() {
    let outcome = alone("\"cdg\"");
    let before = numbers(&outcome.episodes, "cwnd_before_bytes");
    let after = numbers(&outcome.episodes, "ssthresh_after_bytes");
    assert!(before.len() > 20, "{} reductions", before.len());
    for (before, after) in before.iter().zip(after) {
        let (before, after) = ((before / MSS) as u64, (after / MSS) as u64);
        assert_eq!(after, (before * 724 / 1_024).max(2), "of {before}"); // 0.7071 in 1024ths
    }
    // The window grows by a segment, and the round trip by 0.6 ms, in a round trip. The k-th with a queue is the last with the
    // probability 1 - exp(-600 k * 42e-6), which is 7.9 round trips in the mean; then the queue empties. On the way there is half of that.
    let link = &outcome.summary.links[0];
    assert_eq!(link.drops, 0);
    assert!((2.0..7.9).contains(&link.queue_packets.mean), "{}", link.queue_packets.mean);
}

/// Evidence for the controller `lp`: a tenth of the link at most beside Reno.
#[test]
fn lp_gives_way_to_reno() {
    let alone = alone("\"lp\"").summary.flows[0].goodput_bps / 20e6;
    let beside = share_beside_reno("\"lp\"");
    assert!(0.05 < alone && 0.01 < beside && beside < 0.1 && beside < alone, "{alone} alone, {beside} beside Reno");
}

/// Evidence for the controller `nv`: between `pad` - 2 and `pad` segments queued while the minimum RTT is that of an empty queue.
#[test]
fn nv_keeps_its_pad_queued() {
    for pad in [10.0, 20.0, 40.0] {
        let outcome = alone(&format!("{{ kind = \"nv\", pad = {pad}, reset_period = \"1000 s\" }}"));
        let queue = outcome.summary.links[0].queue_packets.mean;
        assert!((pad - 2.0..=pad).contains(&queue), "{queue} segments for {pad}");
    }
}

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

/// Evidence for the controller `cdg`: 0.7071 of the window is kept where the delay grows, before a queue is long.
#[test]
fn cdg_keeps_seven_tenths_where_the_delay_grows() {
    let outcome = alone("\"cdg\"");
    let before = numbers(&outcome.episodes, "cwnd_before_bytes");
    let after = numbers(&outcome.episodes, "ssthresh_after_bytes");
    assert!(before.len() > 20, "{} reductions", before.len());
    for (before, after) in before.iter().zip(after) {
        let (before, after) = (before / MSS, after / MSS);
        assert_eq!(after, (before * 724.0 / 1_024.0).floor().max(2.0), "of {before}"); // 0.7071 in 1024ths
    }
    let link = &outcome.summary.links[0];
    assert_eq!(link.drops, 0);
    println!("queue {} max {} util {}", link.queue_packets.mean, link.queue_packets.max, link.utilization);
}

/// Evidence for the controller `lp`: all of an idle path, and a tenth of it at most beside Reno.
#[test]
fn lp_fills_an_idle_path_and_gives_way_to_reno() {
    let link = &alone("\"lp\"").summary.links[0];
    println!("lp queue {} max {} util {}", link.queue_packets.mean, link.queue_packets.max, link.utilization);
    let share = share_beside_reno("\"lp\"");
    assert!(share < 0.1, "{share}");
}

/// Evidence for the controller `nv`: between `pad` - 2 and `pad` segments queued.
#[test]
fn nv_keeps_its_pad_queued() {
    for pad in [10, 20, 40] {
        let link = &alone(&format!("{{ kind = \"nv\", pad = {pad} }}")).summary.links[0];
        println!(
            "nv {pad}: queue {} max {} util {}",
            link.queue_packets.mean, link.queue_packets.max, link.utilization
        );
    }
}

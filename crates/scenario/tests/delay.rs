//! Controllers based on delay, compared with their papers' queues.

use crate::common::run;
use ackclock_scenario::Scenario;
use ackclock_sim::Summary;

/// A dumbbell of 20 Mbit/s, 40 ms of propagation and an ACK for every segment: a segment takes 0.6 ms, a BDP is 67.
fn dumbbell(from_s: u32, queue: &str, flows: &str) -> Summary {
    run(&format!(
        "duration = \"{} s\"\nmeasure = {{ from = \"{from_s} s\" }}\n[topology]\nkind = \"dumbbell\"\n\
         access = {{ rate = \"1 Gbit/s\", delay = \"10 us\" }}\n\
         bottleneck = {{ rate = \"20 Mbit/s\", delay = \"19.98 ms\", queue = {{ kind = \"drop_tail\", limit = \"{queue}\" }} }}\n\
         [tcp]\nprofile = \"rfc\"\ndelayed_ack = false\n{flows}\n",
        from_s + 60
    ))
}

/// Runs `count` flows, two seconds apart, on an unlimited queue.
fn alone(controller: &str, count: u32, from_s: u32) -> Summary {
    let flows = format!("[[flow]]\ncount = {count}\ncontroller = {controller}\nstart = {{ spacing = \"2 s\" }}");
    dumbbell(from_s, "unlimited", &flows)
}

/// Goodputs of one flow and of a Reno flow beside it, on a queue of 250 ms.
fn beside_reno(controller: &str) -> [f64; 2] {
    let flows = format!("[[flow]]\ncontroller = {controller}\n[[flow]]\ncontroller = \"reno\"\nstart = \"1 s\"");
    let summary = dumbbell(30, "250 ms", &flows);
    [summary.flows[0].goodput_bps, summary.flows[1].goodput_bps]
}

fn queue_packets(summary: &Summary) -> f64 {
    summary.links[0].queue_packets.mean
}

fn queueing_delay_ms(summary: &Summary) -> f64 {
    summary.links[0].queueing_delay_ms.mean
}

fn jain(summary: &Summary) -> f64 {
    summary.jain_index.expect("flows that sent")
}

#[track_caller]
fn assert_near(value: f64, law: f64, tolerance: f64) {
    assert!((value / law - 1.0).abs() < tolerance, "{value} against {law}");
}

/// Evidence for the controller `fast`: alpha packets queued; of two flows the second takes the first one's for the
/// path: 52.4 packets, shares 0.382 and 0.618.
#[test]
fn fast_keeps_alpha_packets_queued() {
    assert_near(queue_packets(&alone("{ kind = \"fast\", alpha = 20 }", 1, 30)), 20.0, 0.05);
    // The second flow takes the first one's 20 packets for the path. Q: queue, x: share of the first.
    // x Q = 20 and (1 - x)(Q - 20) = 20, so Q^2 - 60 Q + 400 = 0: Q = 30 + sqrt(500) = 52.4, x = 0.382
    let two = alone("{ kind = \"fast\", alpha = 20 }", 2, 30);
    assert_near(queue_packets(&two), 52.4, 0.05);
    assert_near(two.flows[0].goodput_bps / (two.flows[0].goodput_bps + two.flows[1].goodput_bps), 0.382, 0.05);
}

//= rfc6817-2.4.2-off-target
/// Evidence for the controller `ledbat`: RFC 6817: a queueing delay of TARGET; gives way to Reno.
#[test]
fn ledbat_holds_its_target_and_gives_way_to_reno() {
    // The window nears its end by exp(-t / 23 s): 166 packets of 0.6 ms make 100 ms, one per round trip of 140 ms
    for (target_ms, delay) in [(100.0, "forward"), (50.0, "forward"), (100.0, "round_trip")] {
        let controller = format!("{{ kind = \"ledbat\", target = \"{target_ms} ms\", delay = \"{delay}\" }}");
        assert_near(queueing_delay_ms(&alone(&controller, 1, 120)), target_ms, 0.03);
    }
    let [ledbat, reno] = beside_reno("\"ledbat\"");
    assert!(ledbat < 0.1 * reno, "{ledbat} beside {reno}");
}

/// Evidence for the controller `ledbat_plus_plus`: 60 ms; slowdowns cost a tenth at most; latecomers get no more.
#[test]
fn ledbat_plus_plus_stays_at_60_ms_and_lets_a_latecomer_have_no_more() {
    let steady = alone("{ kind = \"ledbat_plus_plus\", slowdown = false }", 1, 30);
    assert_near(queueing_delay_ms(&steady), 60.0, 0.03);
    // Section 4.4: slowdowns cost at most a tenth
    let one = alone("\"ledbat_plus_plus\"", 1, 30);
    assert!(one.links[0].utilization > 0.9, "{}", one.links[0].utilization);
    let two = alone("\"ledbat_plus_plus\"", 2, 30);
    assert!(jain(&two) > 0.98, "{}", jain(&two));
    // Without them the second takes the first one's queue for the path.
    let late = alone("{ kind = \"ledbat_plus_plus\", slowdown = false }", 2, 30);
    assert!(late.flows[1].goodput_bps > 10.0 * late.flows[0].goodput_bps, "{}", jain(&late));
    let [background, reno] = beside_reno("\"ledbat_plus_plus\"");
    assert!(background < 0.1 * reno, "{background} beside {reno}");
}

/// Evidence for the controller `copa`: 1.25 / delta packets queued for each flow, at most 2.5 / delta.
#[test]
fn copa_keeps_five_quarters_of_one_over_delta_packets_for_each_flow() {
    // Section 3: the queue goes up and down between nothing and 2.5 / delta packets a flow.
    for (delta, count) in [(0.5, 1), (0.5, 2), (0.5, 4), (0.25, 1), (0.25, 2), (0.25, 4)] {
        let controller = format!("{{ kind = \"copa\", delta = {delta}, mode_switch = false }}");
        let summary = alone(&controller, count, 30);
        let packets = f64::from(count) / delta;
        assert_near(queue_packets(&summary), 1.25 * packets, 0.2);
        // 2.5 / delta at a speed of one; while the speed doubles a flow goes a little beyond that, and several that turn together
        // farther.
        if count == 1 {
            assert!(
                summary.links[0].queue_packets.max <= 3.0 * packets + 1.0,
                "{}",
                summary.links[0].queue_packets.max
            );
        }
        // The queue is empty once in five round trips; how long, if several turn together, hangs on when they began.
        let utilization = summary.links[0].utilization;
        assert!(jain(&summary) > 0.98 && utilization > 0.85, "{}, {utilization}", jain(&summary));
    }
    let default = alone("\"copa\"", 1, 30);
    assert_near(queue_packets(&default), 2.5, 0.15);
}

/// Evidence for the controller `copa`: ten flows keep some 24 packets and lose none, as the authors' steps do.
#[test]
fn ten_flows_of_copa_keep_a_low_queue_without_losses_and_take_each_other_for_what_they_are() {
    // The set-up of the paper's figure of ten flows that begin a second apart: 100 Mbit/s, 20 ms, one path full of buffer
    // (167 packets). The authors' steps, written in another language on the same stack, keep 24 packets and lose none.
    let begins = |second| format!("[[flow]]\ncontroller = \"copa\"\nstart = \"{second} s\"\n");
    let flows = (0..10).map(begins).collect::<Vec<_>>().concat();
    let summary = run(&format!(
        "duration = \"30 s\"\nmeasure = {{ from = \"12 s\" }}\n[topology]\nkind = \"dumbbell\"\n\
         access = {{ rate = \"1 Gbit/s\", delay = \"0 ns\" }}\n\
         bottleneck = {{ rate = \"100 Mbit/s\", delay = \"10 ms\", queue = {{ kind = \"drop_tail\", limit = \"1 bdp\" }} }}\n\
         [tcp]\nprofile = \"rfc\"\ndelayed_ack = false\n{flows}"
    ));
    assert_eq!(summary.links[0].drops, 0);
    let queue = queue_packets(&summary);
    assert!((15.0..35.0).contains(&queue), "{queue} packets");
    assert!(summary.links[0].utilization > 0.9, "{}", summary.links[0].utilization);
}

#[test]
fn copa_competes_with_reno_only_where_it_may() {
    let ([copa, reno], [meek, other]) =
        (beside_reno("\"copa\""), beside_reno("{ kind = \"copa\", mode_switch = false }"));
    assert!(copa > 0.3 * reno, "{copa} beside {reno}");
    assert!(meek < 0.1 * other, "{meek} beside {other}");
}

/// Evidence for the controller `swift`: the round trip at its target for 1, 2 and 4 flows; windows below one segment.
#[test]
fn swift_holds_the_delay_at_its_target() {
    // 60 ms less 40 ms of propagation, 0.6 ms on the bottleneck and 0.03 ms of access links and ACK
    for count in [1, 2, 4] {
        let summary = alone("{ kind = \"swift\", base_target = \"60 ms\" }", count, 30);
        assert_near(queueing_delay_ms(&summary), 19.4, 0.03);
    }
}

/// Evidence for the controller `swift`.
#[test]
fn a_hundred_swift_flows_share_a_window_of_thirty_segments() {
    let summary = run("duration = \"30 s\"\nmeasure = { from = \"10 s\" }\n[topology]\nkind = \"dumbbell\"\n\
         access = { rate = \"1 Gbit/s\", delay = \"10 us\" }\n\
         bottleneck = { rate = \"20 Mbit/s\", delay = \"1 ms\", queue = { kind = \"drop_tail\", limit = \"unlimited\" } }\n\
         [tcp]\ndelayed_ack = false\n[[flow]]\ncount = 100\ncontroller = { kind = \"swift\", base_target = \"20 ms\" }\n\
         start = { spacing = \"10 ms\" }\n");
    // 20 Mbit/s * 20 ms are 33 segments; were no window below one, a hundred would wait 60 ms.
    let delay = queueing_delay_ms(&summary);
    assert!((10.0..25.0).contains(&delay), "{delay}");
    assert!(summary.links[0].utilization > 0.9, "{}", summary.links[0].utilization);
}

//= rfc6817-2.4.2-gain
//= rfc6817-2.4.2-target
#[test]
fn parameters_out_of_range_are_named() {
    let wrong = [
        ("{ kind = \"fast\", gamma = 2.0 }", "gamma"),
        ("{ kind = \"ledbat\", target = \"200 ms\" }", "target"),
        ("{ kind = \"ledbat\", current_filter = 0 }", "current_filter"),
        ("{ kind = \"ledbat_plus_plus\", constant = 0 }", "constant"),
        ("{ kind = \"copa\", delta = 0.0 }", "delta"),
        ("\"swift\"", "base_target"),
        ("{ kind = \"swift\", base_target = \"1 ms\", flow_scaling_min_window = 200.0 }", "flow_scaling_min_window"),
    ];
    for (controller, field) in wrong {
        let text = format!(
            "duration = \"1 s\"\n[topology]\nkind = \"dumbbell\"\naccess = {{ rate = \"1 Gbit/s\", delay = \"1 ms\" }}\n\
             bottleneck = {{ rate = \"10 Mbit/s\", delay = \"8 ms\" }}\n[[flow]]\ncontroller = {controller}\n"
        );
        let found = Scenario::parse(&text, "test.toml", &[]).expect_err("the scenario is wrong").diagnostics;
        let fields: Vec<&str> = found.iter().map(|diagnostic| diagnostic.field.as_str()).collect();
        assert_eq!(fields, [format!("flow[0].controller.{field}")], "{controller}");
    }
}

//! Controllers of datacentres on a fabric of theirs, compared with their papers' queues and rates.

use crate::common::{run, simulate};
use ackclock_scenario::Scenario;
use ackclock_sim::Summary;

/// A switch with 20 us of propagation and an unlimited queue; hosts' links have the same rate. `more` sets the switch's
/// link.
fn fabric(gbit_s: u32, controller: &str, count: u32, more: &str) -> Summary {
    run(&format!(
        "duration = \"{} ms\"\nmeasure = {{ from = \"{} ms\" }}\n[topology]\nkind = \"dumbbell\"\n\
         access = {{ rate = \"{gbit_s} Gbit/s\", delay = \"1 us\" }}\n\
         bottleneck = {{ rate = \"{gbit_s} Gbit/s\", delay = \"8 us\", queue = {{ kind = \"drop_tail\", limit = \"unlimited\" }}{more} }}\n\
         [tcp]\nprofile = \"rfc\"\ndelayed_ack = false\nreceive_buffer = \"16 MB\"\n\
         [[flow]]\ncount = {count}\ncontroller = {controller}\nstart = {{ spacing = \"10 us\" }}\n",
        1_200 / gbit_s,
        400 / gbit_s
    ))
}

/// Evidence for the controller `timely`: algorithm 1 by hand; two and ten flows bring the RTT up to `T_low`, 50 and 100
/// us, and no further than 1.3 times that.
#[test]
fn timely_brings_the_round_trip_up_to_its_lower_threshold_and_not_near_the_upper() {
    // Below T_low it always grows, and from there on the gradient, of 23.7 us, ends it; a packet waits 1.2 us for each before it.
    for (t_low_us, count) in [(50.0, 2), (50.0, 10), (100.0, 2), (100.0, 10)] {
        let controller = format!("{{ kind = \"timely\", line_rate = \"10 Gbit/s\", t_low = \"{t_low_us} us\" }}");
        let summary = fabric(10, &controller, count, "");
        let link = &summary.links[0];
        let longest_us = 23.7 + 1.2 * link.queue_packets.max;
        assert!((t_low_us..1.3 * t_low_us).contains(&longest_us), "{t_low_us}, {count} flows: {longest_us} us");
        assert!(link.utilization > 0.8, "{t_low_us}, {count} flows: {}", link.utilization);
    }
}

/// Octets on a path of 100 Gbit/s: 20 us, three times 120 ns for a packet and three times 4.2 ns for an ACK.
const PATH_FULL: f64 = 20.373e-6 * 100e9 / 8.0;

/// Evidence for the controller `hpcc`: algorithm 1 by hand; U = eta + N `W_AI` / BDP with next to no queue, for 1 to 16
/// flows; of two links the busier one counts.
#[test]
fn hpcc_uses_95_percent_and_queues_next_to_nothing() {
    // Where W stays, W (1 - eta / U) = W_AI: U = eta + N W_AI / BDP, in which octets of payload are 1500 / 1448 of the wire.
    for (count, increase) in [(1, 80.0), (2, 80.0), (8, 80.0), (16, 80.0), (8, 400.0)] {
        let controller =
            format!("{{ kind = \"hpcc\", line_rate = \"100 Gbit/s\", additive_increase = \"{increase} B\" }}");
        let summary = fabric(100, &controller, count, ", telemetry = true");
        let link = &summary.links[0];
        let law = 0.95 + f64::from(count) * increase * 1500.0 / 1448.0 / PATH_FULL;
        assert!((link.utilization - law).abs() < 0.007, "{count} flows: {} for {law}", link.utilization);
        assert!(link.queue_packets.mean < 1.5, "{count} flows: {} packets", link.queue_packets.mean);
    }
}

/// A parking lot: a flow over both links, and one over the second alone.
fn parking_lot(controller: &str) -> Summary {
    run(&format!(
        "duration = \"12 ms\"\nmeasure = {{ from = \"4 ms\" }}\n[topology]\nkind = \"parking_lot\"\nhops = 2\n\
         access = {{ rate = \"100 Gbit/s\", delay = \"1 us\" }}\n\
         bottleneck = {{ rate = \"100 Gbit/s\", delay = \"4 us\", queue = {{ kind = \"drop_tail\", limit = \"unlimited\" }}, telemetry = true }}\n\
         [tcp]\nprofile = \"rfc\"\ndelayed_ack = false\nreceive_buffer = \"16 MB\"\n\
         [[flow]]\nfrom = \"H1\"\nto = \"H3\"\ncontroller = {controller}\n\
         [[flow]]\nfrom = \"H2\"\nto = \"H3\"\ncontroller = {controller}\nstart = \"1 ms\"\n"
    ))
}

/// Evidence for the controller `hpcc`.
#[test]
fn hpcc_goes_by_the_busiest_of_its_links() {
    let summary = parking_lot("{ kind = \"hpcc\", line_rate = \"100 Gbit/s\", additive_increase = \"400 B\" }");
    let of = |name: &str| summary.links.iter().find(|link| link.name == name).unwrap_or_else(|| panic!("{name}"));
    let (alone, shared) = (of("R1->R2"), of("R2->R3"));
    assert!((shared.utilization - 0.95).abs() < 0.02, "{}", shared.utilization);
    assert!(shared.queue_packets.mean < 1.5, "{}", shared.queue_packets.mean);
    assert!((0.3..0.7).contains(&alone.utilization), "{}", alone.utilization);
}

/// Evidence for the controller `powertcp`: algorithm 1 by hand; appendix A: as much waits as the additive increases
/// of all flows; ten path fulls at once are that much within 200 us.
/// Evidence for the controller `powertcp_theta`: algorithm 2 by hand; the same queue, by the round trip alone.
#[test]
fn powertcp_queues_the_additive_increase_of_all_flows() {
    // Appendix A: the sum of beta, which is a tenth of a path full for each. (Where that sum is less than a third of a path full, the
    // smoothing of line 24 lets the queue swing, with telemetry.)
    for kind in ["powertcp", "powertcp_theta"] {
        for count in [4, 10] {
            let controller = format!("{{ kind = \"{kind}\", line_rate = \"100 Gbit/s\", base_rtt = \"20373 ns\" }}");
            let summary = fabric(100, &controller, count, ", telemetry = true");
            let link = &summary.links[0];
            let law = f64::from(count) * 0.1 * PATH_FULL / 1448.0;
            let packets = link.queue_packets.mean;
            assert!((packets / law - 1.0).abs() < 0.1, "{kind}, {count} flows: {packets} packets for {law}");
            assert!(link.utilization > 0.99, "{kind}, {count} flows: {}", link.utilization);
            assert!(summary.jain_index.expect("flows") > 0.99, "{kind}, {count} flows: {:?}", summary.jain_index);
        }
    }
}

/// Evidence for the controller `powertcp`.
#[test]
fn an_incast_of_powertcp_is_over_soon() {
    // Ten hosts send a path full each at once: nine wait. Section 4.2: within some round trips it is what it is in the end, a tenth of a
    // path full for each, and the link was never idle.
    let outcome = simulate(
        "duration = \"2 ms\"\nmeasure = { from = \"200 us\" }\n[topology]\nkind = \"dumbbell\"\n\
         access = { rate = \"100 Gbit/s\", delay = \"1 us\" }\n\
         bottleneck = { rate = \"100 Gbit/s\", delay = \"8 us\", queue = { kind = \"drop_tail\", limit = \"unlimited\" }, telemetry = true }\n\
         [tcp]\nprofile = \"rfc\"\ndelayed_ack = false\nreceive_buffer = \"16 MB\"\n\
         [trace]\ninterval = \"5 us\"\n\
         [[flow]]\ncount = 10\ncontroller = { kind = \"powertcp\", line_rate = \"100 Gbit/s\", base_rtt = \"20373 ns\" }\n",
    );
    let link = &outcome.summary.links[0];
    let packets = PATH_FULL / 1448.0;
    assert!(link.utilization > 0.99, "{}", link.utilization);
    assert!((link.queue_packets.p95 / packets - 1.0).abs() < 0.3, "{}", link.queue_packets.p95);
}

#[test]
fn records_go_with_their_packets_and_are_gone_with_them() {
    // What holds of every packet's records is asserted by the network at the end of the run.
    let hurt = "loss = { kind = \"random\", p = 0.02 }, duplicate = 0.02, \
                jitter = { kind = \"uniform\", max = \"2 ms\" }, keep_order = false";
    for queue in ["drop_tail", "fq_codel", "codel", "cake"] {
        let limit = if queue == "drop_tail" { ", limit = \"5 packets\"" } else { "" };
        let summary = run(&format!(
            "duration = \"2 s\"\n[topology]\nkind = \"dumbbell\"\n\
             access = {{ rate = \"100 Mbit/s\", delay = \"1 ms\", telemetry = true }}\n\
             bottleneck = {{ rate = \"10 Mbit/s\", delay = \"5 ms\", queue = {{ kind = \"{queue}\"{limit} }}, telemetry = true, {hurt} }}\n\
             [[flow]]\ncontroller = \"hpcc\"\n[[flow]]\ncontroller = \"cubic\"\n\
             [[flow]]\ncontroller = \"powertcp\"\nreverse = true\n\
             [[flow]]\nname = \"short\"\ncontroller = \"hpcc\"\narrivals = {{ rate = \"20 /s\", size = \"20 kB\" }}\n"
        ));
        assert!(summary.flows.iter().all(|flow| flow.goodput_bps > 1e5), "{queue}");
    }
}

#[test]
fn controllers_by_telemetry_ask_for_links_that_write() {
    let text = "duration = \"1 s\"\n[topology]\nkind = \"dumbbell\"\naccess = { rate = \"1 Gbit/s\", delay = \"1 ms\" }\n\
                bottleneck = { rate = \"10 Mbit/s\", delay = \"8 ms\" }\n[[flow]]\ncontroller = \"hpcc\"\n";
    let found = Scenario::parse(text, "test.toml", &[]).expect_err("nothing writes").diagnostics;
    assert_eq!(found.len(), 1);
    assert_eq!(
        (found[0].field.as_str(), found[0].remedy.as_str()),
        ("flow[0].controller", "set telemetry = true on the links")
    );
}

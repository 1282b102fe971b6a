//! Controllers of datacentres on a fabric of theirs: what their papers say of queues and rates.

use crate::common::run;
use ackclock_sim::Summary;

/// A switch with 20 us of propagation and a queue that takes all; hosts with links as fast, in Gbit/s. `more` is of the switch's link.
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

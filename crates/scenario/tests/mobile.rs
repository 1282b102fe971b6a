//! Controllers for links of mobile networks, whose rate changes fast and whose buffers are deep: what their papers say of delay.

use crate::common::run;
use ackclock_sim::Summary;

/// A link of 50 ms round trip whose rate changes every 2 s between 4 and 16 Mbit/s (a mean of 10), with a buffer of a megabyte.
fn changing(controller: &str) -> Summary {
    let schedule: Vec<String> = [16, 8, 4, 12, 6, 14, 10, 4, 16, 10]
        .iter()
        .cycle()
        .take(30)
        .enumerate()
        .map(|(step, mbit_s)| format!("{{ at = \"{} s\", rate = \"{mbit_s} Mbit/s\" }}", 2 * step))
        .collect();
    run(&format!(
        "duration = \"60 s\"\nmeasure = {{ from = \"4 s\" }}\n[topology]\nkind = \"dumbbell\"\n\
         access = {{ rate = \"1 Gbit/s\", delay = \"0 ns\" }}\n\
         bottleneck = {{ rate = {{ schedule = [{}] }}, delay = \"25 ms\", queue = {{ kind = \"drop_tail\", limit = \"1 MB\" }} }}\n\
         [tcp]\nprofile = \"linux-6.x\"\n[[flow]]\ncontroller = {controller}\n",
        schedule.join(", ")
    ))
}

#[test]
fn c2tcp_holds_the_mean_round_trip_under_its_setpoint_on_a_link_that_changes() {
    let cubic = changing("\"cubic\"");
    let cubic_ms = 50.0 + cubic.links[0].queueing_delay_ms.mean;
    for setpoint_ms in [100.0, 150.0] {
        let held = changing(&format!("{{ kind = \"c2tcp\", setpoint = \"{setpoint_ms} ms\" }}"));
        let mean_ms = 50.0 + held.links[0].queueing_delay_ms.mean;
        assert!(mean_ms < setpoint_ms, "{mean_ms} ms");
        assert!(held.links[0].utilization > 0.8, "{}", held.links[0].utilization);
        assert!(cubic_ms > 3.0 * mean_ms, "{cubic_ms} ms beside {mean_ms}");
    }
}

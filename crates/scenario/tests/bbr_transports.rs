//! BBR's three kinds over TCP and QUIC: detection of idleness, and losses that they are to ignore.

use crate::common::run;

const BBRS: [&str; 3] = ["\"bbr\"", "{ kind = \"bbr\", variant = \"draft\" }", "\"bbr3\""];

/// draft-ietf-ccwg-bbr, `HandleRestartFromIdle`: nothing in flight, and the application has nothing to send.
#[test]
fn gaps_of_its_own_pacing_are_no_idle_time() {
    // The round trip is shorter than the gap between two segments at the rate of the time in between.
    let slow = "rate = { schedule = [{ at = \"0 s\", rate = \"10 Mbit/s\" }, { at = \"3 s\", rate = \"1 Mbit/s\" }, \
                { at = \"15 s\", rate = \"10 Mbit/s\" }] }\ndelay = \"1 ms\"";
    let far = "rate = \"10 Mbit/s\"\ndelay = { schedule = [{ at = \"0 s\", delay = \"1 ms\" }, \
               { at = \"5 s\", delay = \"34 ms\" }, { at = \"8 s\", delay = \"1 ms\" }] }";
    for (path, packets, profile) in [(slow, 100, "linux-6.x"), (far, 400, "rfc")] {
        for controller in BBRS {
            let summary = run(&format!(
                "duration = \"30 s\"\nmeasure = {{ from = \"25 s\" }}\n[topology]\nkind = \"dumbbell\"\n\
                 access = {{ rate = \"1 Gbit/s\", delay = \"10 us\" }}\n[topology.bottleneck]\n{path}\n\
                 queue = {{ kind = \"drop_tail\", limit = \"{packets} packets\" }}\n[tcp]\nprofile = \"{profile}\"\n\
                 [[flow]]\ncontroller = {controller}\n"
            ));
            let utilization = summary.links[0].utilization;
            assert!(utilization > 0.95, "{controller}, {profile}: {utilization}");
        }
    }
}

/// ACM Queue 14(5), 2016, figure 8: with random loss the first version delivers what the link does not lose, up to some 15 %.
#[test]
fn random_loss_leaves_the_first_version_its_rate_over_either_transport() {
    for variant in ["linux", "draft"] {
        let mbit_s = |protocol: &str| {
            let summary = run(&format!(
                "duration = \"20 s\"\nmeasure = {{ from = \"5 s\" }}\n[topology]\nkind = \"dumbbell\"\n\
                 access = {{ rate = \"1 Gbit/s\", delay = \"10 us\" }}\n\
                 bottleneck = {{ rate = \"20 Mbit/s\", delay = \"25 ms\", queue = {{ kind = \"drop_tail\", limit = \"1 bdp\" }}, \
                 loss = {{ kind = \"random\", p = 0.1 }} }}\n\
                 [[flow]]\nprotocol = \"{protocol}\"\ncontroller = {{ kind = \"bbr\", variant = \"{variant}\" }}\n"
            ));
            summary.flows[0].goodput_bps / 1e6
        };
        let (tcp, quic) = (mbit_s("tcp"), mbit_s("quic"));
        // 18 of 20 Mbit/s arrive; headers and phases of less than the rate are left out.
        assert!(tcp > 13.0 && quic > 13.0, "{variant}: {tcp} over TCP, {quic} over QUIC");
    }
}

//! PCC from Linux hosts, in the set-ups of its papers.

use crate::common::run;

/// Goodput over 100 Mbit/s and 30 ms, as a share of the link's payload rate, from 20 s to 60 s.
fn used(controller: &str, seed: u64, bottleneck: &str) -> f64 {
    let summary = run(&format!(
        "seed = {seed}\nduration = \"60 s\"\nmeasure = {{ from = \"20 s\" }}\n[topology]\nkind = \"dumbbell\"\n\
         access = {{ rate = \"1 Gbit/s\", delay = \"0 ns\" }}\n\
         bottleneck = {{ rate = \"100 Mbit/s\", delay = \"15 ms\", {bottleneck} }}\n\
         [tcp]\nprofile = \"linux-6.x\"\n[[flow]]\ncontroller = \"{controller}\"\n"
    ));
    summary.flows[0].goodput_bps / (100e6 * 1448.0 / 1500.0)
}

/// Evidence for the controller `pcc_allegro`: more than 95 % of what 1 % of random loss leaves, from the start.
#[test]
fn allegro_keeps_95_percent_under_a_hundredth_of_random_loss() {
    // NSDI 2015, lossy links of 100 Mbit/s and 30 ms: more than 95 % of what can be had up to 1 % of loss.
    let lossy = "queue = { kind = \"drop_tail\", limit = \"1 bdp\" }, loss = { kind = \"random\", p = 0.01 }";
    for seed in 1..=3 {
        let used = used("pcc_allegro", seed, lossy) / 0.99;
        assert!(used > 0.95, "seed {seed}: {used}");
    }
}

/// Evidence for the controller `pcc_vivace`: 90 % with 13.5 kB of buffer.
#[test]
fn vivace_needs_a_buffer_of_nine_packets() {
    // NSDI 2018, figure of shallow buffers: 90 % of 100 Mbit/s over 30 ms with 13.5 kB.
    let used = used("pcc_vivace", 1, "queue = { kind = \"drop_tail\", limit = \"13500 B\" }");
    assert!(used > 0.9, "{used}");
}

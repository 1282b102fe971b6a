//! BBR as Linux's module has it, compared with flows of kernel 6.18.44 through an emulated bottleneck of 20 Mbit/s.

use crate::common::run;

/// Flows of these controllers from Linux hosts over 20 Mbit/s, unless `bottleneck` says otherwise, from 20 s on.
fn flows(controllers: &[&str], rtt_ms: u32, packets: u32, seconds: u32, bottleneck: &str) -> ackclock_sim::Summary {
    let flow = |name| format!("[[flow]]\ncontroller = {name}\n");
    let flows = controllers.iter().map(flow).collect::<Vec<_>>().concat();
    let rate = if bottleneck.contains("rate") { "50 Mbit/s" } else { "20 Mbit/s" };
    run(&format!(
        "duration = \"{seconds} s\"\nmeasure = {{ from = \"{} s\" }}\n[topology]\nkind = \"dumbbell\"\n\
         access = {{ rate = \"1 Gbit/s\", delay = \"0 ns\" }}\n\
         bottleneck = {{ rate = \"{rate}\", delay = \"{} ms\", queue = {{ kind = \"drop_tail\", limit = \"{packets} packets\" }} {bottleneck} }}\n\
         [tcp]\nprofile = \"linux-6.x\"\n{flows}",
        seconds / 6,
        rtt_ms / 2
    ))
}

fn mbit_s(summary: &ackclock_sim::Summary, flow: usize) -> f64 {
    summary.flows[flow].goodput_bps / 1e6
}

/// Evidence for the controller `bbr`: as Linux has it, beside flows of kernel 6.18: ACKs in clumps of 10 to 40 ms, a
/// policer, the share beside CUBIC.
#[test]
fn acks_in_clumps_cost_it_nothing() {
    // 10 ms; the kernel's flow has 19.0, 18.7 and 18.6 Mbit/s where ACKs come every 10, 20 and 40 ms. Without the allowance
    // of 2019 the window of two path fulls is spent long before the next clump comes.
    for (every_ms, kernel) in [(10, 19.0), (20, 18.7), (40, 18.6)] {
        let clumps = format!(", reverse = {{ aggregate = {{ every = \"{every_ms} ms\", of = \"acks\" }} }}");
        let got = mbit_s(&flows(&["\"bbr\""], 10, 1_000, 30, &clumps), 0);
        assert!((got / kernel - 1.0_f64).abs() < 0.05, "{every_ms} ms: {got} of the kernel's {kernel} Mbit/s");
        if every_ms == 40 {
            let draft = mbit_s(&flows(&["{ kind = \"bbr\", variant = \"draft\" }"], 10, 1_000, 30, &clumps), 0);
            assert!(draft < 0.5 * kernel, "{draft} Mbit/s by the rules of 2017");
        }
    }
}

/// Evidence for the controller `bbr`.
#[test]
fn a_policer_is_found_and_its_rate_kept_to() {
    // 10 Mbit/s with a bucket of 100 kB on 50 Mbit/s and 40 ms, 50 s: the kernel's flow has 9.5 Mbit/s and 2,761 packets policed.
    let policer = ", policer = { rate = \"10 Mbit/s\", burst = \"100 kB\" }";
    let summary = flows(&["\"bbr\""], 40, 1_000, 50, policer);
    let got = mbit_s(&summary, 0);
    assert!((9.0..9.8).contains(&got), "{got} Mbit/s");
    let lost = summary.flows[0].lost_segments;
    assert!((1_900..3_600).contains(&lost), "{lost} lost");
}

/// Evidence for the controller `bbr`.
#[test]
fn beside_cubic_it_has_the_kernels_share_of_shallow_and_deep_buffers() {
    // 40 ms: a path full is 67 packets. The kernel's shares of BBR: 17.8 of 18.7 Mbit/s, 16.9 of 18.9, 6.7 of 19.3.
    for (packets, kernel) in [(13, 0.95), (67, 0.89), (536, 0.35)] {
        let summary = flows(&["\"bbr\"", "\"cubic\""], 40, packets, 120, "");
        let (bbr, cubic) = (mbit_s(&summary, 0), mbit_s(&summary, 1));
        let share = bbr / (bbr + cubic);
        assert!((share - kernel).abs() < 0.1, "{packets} packets: {share} against {kernel}");
    }
}

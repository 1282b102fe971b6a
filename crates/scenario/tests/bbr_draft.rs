//! The example test cases of draft-ietf-ccwg-bbr that a whole run decides, for BBR's third version; those of its states are in
//! `crates/cc/src/bbr/v3/tests.rs` and `crates/sim/tests/bbr.rs`.

use ackclock_sim::Summary;

use crate::common::run;

/// One flow of `bbr3` from a Linux host; goodput counts over the last `measured` of `seconds`.
fn flow(rate: &str, rtt_ms: u32, bottleneck: &str, (seconds, measured): (u32, u32)) -> Summary {
    run(&format!(
        "duration = \"{seconds} s\"\nmeasure = {{ from = \"{} s\" }}\n[topology]\nkind = \"dumbbell\"\n\
         access = {{ rate = \"1 Gbit/s\", delay = \"0 ns\" }}\n\
         bottleneck = {{ rate = {rate}, delay = \"{} us\", {bottleneck} }}\n\
         [tcp]\nprofile = \"linux-6.x\"\n[[flow]]\ncontroller = \"bbr3\"\n",
        seconds - measured,
        500 * rtt_ms
    ))
}

fn mbit_s(summary: &Summary) -> f64 {
    summary.flows[0].goodput_bps / 1e6
}

const QUEUE: &str = "queue = { kind = \"drop_tail\", limit = \"1000 packets\" }";

#[test]
fn achieving_expected_cruise_bandwidth_on_a_link_with_aggregation() {
    // extra_acked keeps it from stalling between clumps: all of the 19.3 Mbit/s of payload, but what ProbeRTT costs.
    for every_ms in [20, 40] {
        let clumps = format!("{QUEUE}, reverse = {{ aggregate = {{ every = \"{every_ms} ms\", of = \"acks\" }} }}");
        let got = mbit_s(&flow("\"20 Mbit/s\"", 10, &clumps, (30, 25)));
        assert!(got > 0.95 * 19.3, "{every_ms} ms: {got} Mbit/s");
    }
}

#[test]
fn correctly_managing_sub_packet_bdps() {
    // 1 Mbit/s over 2 ms: 250 octets. Four segments in flight fill it, and no more than those wait.
    let summary = flow("\"1 Mbit/s\"", 2, QUEUE, (30, 20));
    assert!(mbit_s(&summary) > 0.9, "{} Mbit/s", mbit_s(&summary));
    let queue = summary.links[0].queue_packets.mean;
    assert!(queue < 8.0, "{queue} packets"); // three quanta of two segments, where offload asks for that, and two while probing up
}

#[test]
fn increasing_bandwidth_10x_and_ensuring_full_bandwidth_is_reached() {
    // 10 to 100 Mbit/s after 10 s; probing comes within two or three seconds, and doubles its step with each round trip.
    let rate = "{ schedule = [{ at = \"0 s\", rate = \"10 Mbit/s\" }, { at = \"10 s\", rate = \"100 Mbit/s\" }] }";
    let got = mbit_s(&flow(rate, 40, QUEUE, (30, 10)));
    assert!(got > 0.9 * 96.5, "{got} Mbit/s");
}

#[test]
fn handling_token_bucket_policers() {
    // 10 Mbit/s with 100 kB on 50 Mbit/s: it conforms to the token rate without losing much all the time.
    let policer = format!("{QUEUE}, policer = {{ rate = \"10 Mbit/s\", burst = \"100 kB\" }}");
    let summary = flow("\"50 Mbit/s\"", 40, &policer, (50, 40));
    assert!(mbit_s(&summary) > 0.8 * 9.65, "{} Mbit/s", mbit_s(&summary));
    let lost = summary.flows[0].lost_segments as f64 / summary.flows[0].sent_segments as f64;
    assert!(lost < 0.1, "{lost} lost");
}

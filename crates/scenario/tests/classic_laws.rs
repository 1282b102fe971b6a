//! `HighSpeed`, Scalable and AIMD on a path that never queues, held to the laws of their sources.

use ackclock_scenario::Scenario;
use ackclock_sim::Simulation;

/// Mean window, segments, at a round trip of 100 ms under a loss of every `k`-th data packet, after a quarter of the time.
fn mean_window(controller: &str, seconds: u32, k: u32) -> f64 {
    let from = seconds / 4;
    let text = format!(
        "duration = \"{seconds} s\"\nmeasure = {{ from = \"{from} s\" }}\n[topology]\nkind = \"dumbbell\"\n\
         access = {{ rate = \"100 Gbit/s\", delay = \"0 ns\" }}\n\
         bottleneck = {{ rate = \"100 Gbit/s\", delay = \"50 ms\", \
         discard = [{{ kind = \"every\", k = {k}, of = \"data\" }}] }}\n\
         [tcp]\ndelayed_ack = false\n[[flow]]\ncontroller = {controller}\n"
    );
    let scenario = Scenario::parse(&text, "test.toml", &[]).unwrap_or_else(|error| panic!("{error}"));
    let summary = Simulation::new(scenario.config()).finish().summary;
    summary.flows[0].goodput_bps * 0.1 / (8.0 * 1448.0)
}

#[test]
fn highspeed_gets_what_its_table_says_it_gets_beside_reno() {
    // RFC 3649 table 5 has 1795 segments at p = 1e-5, its table 2 has 379 for Reno: 4.74 times
    let ratio = mean_window("\"highspeed\"", 400, 100_000) / mean_window("\"reno\"", 1200, 100_000);
    assert!((ratio / 4.74 - 1.0).abs() < 0.1, "{ratio}");
}

#[test]
fn scalable_recovers_in_as_many_round_trips_from_any_window() {
    // Kelly: log(1 / (1 - b)) / log(1 + a) = ln(8/7) / ln(1.01) = 13.4 round trips. A cycle has one more, the recovery's,
    // in which the window does not grow; k segments a cycle at a mean window of W take k / W round trips.
    for k in [3_000, 30_000] {
        let round_trips = f64::from(k) / mean_window("\"scalable\"", 200, k);
        assert!((round_trips / 14.4 - 1.0).abs() < 0.05, "every {k}: {round_trips}");
    }
}

#[test]
fn aimd_follows_the_law_of_its_two_numbers() {
    // sqrt(a (2 - b) / (2 b p)) = sqrt(0.2 * 1.875 / 0.25 * 1e4) = 122.5
    let window = mean_window("{ kind = \"aimd\", a = 0.2, b = 0.125 }", 400, 10_000);
    assert!((window / 122.5 - 1.0).abs() < 0.05, "{window}");
}

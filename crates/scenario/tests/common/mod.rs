//! Paths for tests: scenarios with one controller to watch.
#![allow(unreachable_pub, missing_docs, reason = "tests are not a library")]

use ackclock_scenario::Scenario;
use ackclock_sim::{ColumnData, Outcome, Simulation, Summary, Table};

/// Payload of a segment of 1500 octets on the wire, octets.
pub const MSS: f64 = 1448.0;

pub fn simulate(text: &str) -> Outcome {
    let scenario = Scenario::parse(text, "test.toml", &[]).unwrap_or_else(|error| panic!("{error}"));
    Simulation::new(scenario.config()).finish()
}

pub fn run(text: &str) -> Summary {
    simulate(text).summary
}

/// Goodput of one flow on a path that never queues, bit/s, after a quarter of the time; `discard` loses packets.
pub fn without_queue(controller: &str, delay: &str, seconds: u32, discard: &str) -> f64 {
    let from = seconds / 4;
    let summary = run(&format!(
        "duration = \"{seconds} s\"\nmeasure = {{ from = \"{from} s\" }}\n[topology]\nkind = \"dumbbell\"\n\
         access = {{ rate = \"100 Gbit/s\", delay = \"0 ns\" }}\n\
         bottleneck = {{ rate = \"100 Gbit/s\", delay = \"{delay}\", discard = [{discard}] }}\n\
         [tcp]\nprofile = \"rfc\"\ndelayed_ack = false\n[[flow]]\ncontroller = {controller}\n"
    ));
    summary.flows[0].goodput_bps
}

/// Mean window, segments, at a round trip of 100 ms under a loss of every `k`-th data packet, after a quarter of the time.
pub fn mean_window(controller: &str, seconds: u32, k: u32) -> f64 {
    let discard = format!("{{ kind = \"every\", k = {k}, of = \"data\" }}");
    without_queue(controller, "50 ms", seconds, &discard) * 0.1 / (8.0 * MSS)
}

/// A column of numbers.
pub fn numbers(table: &Table, name: &str) -> Vec<f64> {
    let column = table.columns.iter().find(|column| column.name == name).expect(name);
    let ColumnData::F64(values) = &column.data else { panic!("{name} holds numbers") };
    values.clone()
}

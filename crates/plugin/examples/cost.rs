//! The cost of the boundary: the same run with parts of this program, and with those of a plug-in.
//!
//! `benches/engine/plugins.py` builds and runs it. By hand: `cargo build --release -p ackclock-plugin --examples`, then
//! `target/release/examples/cost FILE` for times in turn, as a line of JSON for each part; or `cost FILE queue loaded` and
//! `cost FILE queue built-in` for one run under a profiler. FILE is the plug-in, `target/release/examples/libparts.so`.

#[allow(unreachable_pub, reason = "the example is a library of its own")]
#[path = "parts.rs"]
mod parts;

use std::path::Path;
use std::time::Instant;

use ackclock_declare::Library;
use ackclock_plugin::host::load;
use ackclock_scenario::{Extensions, Scenario};
use ackclock_sim::Simulation;

const CONTROLLER: &str = r#"
duration = "100 s"
topology = { kind = "dumbbell", access = { rate = "1 Gbit/s", delay = "1 ms" }, bottleneck = { rate = "400 Mbit/s",
    delay = "18 ms" } }
flow = [{ name = "mine", controller = "fraction" }]
trace = false
"#;

const QUEUE: &str = r#"
duration = "100 s"
topology = { kind = "dumbbell", access = { rate = "1 Gbit/s", delay = "1 ms" }, bottleneck = { rate = "400 Mbit/s",
    delay = "18 ms", queue = { kind = "coin", packets = 1000, p = 0.0001 } } }
flow = [{ name = "mine", controller = "cubic" }]
trace = false
"#;

/// Runs of each side, in turn.
const ROUNDS: usize = 5;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let file = arguments.first().expect("name the plug-in");
    let loaded = load(Path::new(file)).unwrap_or_else(|error| panic!("{error}"));
    let built_in = parts::plugin().library();
    for (name, text) in [("controller", CONTROLLER), ("queue", QUEUE)] {
        match arguments.get(1..).unwrap_or_default() {
            [] => compare(name, text, [&built_in, &loaded]),
            [part, side] if part == name => _ = run(text, if side == "loaded" { &loaded } else { &built_in }),
            _ => {}
        }
    }
}

/// Seconds of a run, and packets that it delivered.
#[allow(clippy::disallowed_methods, reason = "what is measured is the program")]
fn run(text: &str, library: &Library) -> (f64, u64) {
    let extensions = Extensions::default().with_library(library);
    let scenario = Scenario::parse_with(text, "<cost>", &[], &extensions).unwrap_or_else(|error| panic!("{error}"));
    let start = Instant::now();
    let outcome = Simulation::new(scenario.config()).finish();
    (start.elapsed().as_secs_f64(), outcome.engine.packets_delivered)
}

/// Nanoseconds a packet of each run, built in and loaded.
#[allow(clippy::print_stdout, reason = "a program for people")]
fn compare(name: &str, text: &str, libraries: [&Library; 2]) {
    let pairs: Vec<[f64; 2]> = (0..ROUNDS)
        .map(|_| {
            libraries.map(|library| {
                let (seconds, packets) = run(text, library);
                1e9 * seconds / packets as f64
            })
        })
        .collect();
    println!(r#"{{"part": "{name}", "ns_per_packet": {pairs:?}}}"#);
}

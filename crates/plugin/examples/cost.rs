//! What the boundary costs: the same run with parts of this program, and with those of a plug-in.
//!
//! `cargo build --release -p ackclock-plugin --examples`, then `target/release/examples/cost FILE` for CPU time in turn, or
//! `cost FILE loaded` and `cost FILE built-in` under a profiler. FILE is the plug-in, `target/release/examples/libparts.so`.

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
duration = "20 s"
topology = { kind = "dumbbell", access = { rate = "1 Gbit/s", delay = "1 ms" }, bottleneck = { rate = "400 Mbit/s",
    delay = "18 ms" } }
flow = [{ name = "mine", controller = "fraction" }]
trace = false
"#;

const QUEUE: &str = r#"
duration = "20 s"
topology = { kind = "dumbbell", access = { rate = "1 Gbit/s", delay = "1 ms" }, bottleneck = { rate = "400 Mbit/s",
    delay = "18 ms", queue = { kind = "coin", packets = 1000, p = 0.0001 } } }
flow = [{ name = "mine", controller = "cubic" }]
trace = false
"#;

fn main() {
    let file = std::env::args().nth(1).expect("name the plug-in");
    let which = std::env::args().nth(2).unwrap_or_default();
    let loaded = load(Path::new(&file)).unwrap_or_else(|error| panic!("{error}"));
    let built_in = parts::plugin().library();
    for (name, text) in [("controller", CONTROLLER), ("queue", QUEUE)] {
        match which.as_str() {
            "loaded" => _ = run(text, &loaded),
            "built-in" => _ = run(text, &built_in),
            _ => compare(name, text, [&built_in, &loaded]),
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

/// The least of five runs of each, in turn.
#[allow(clippy::print_stdout, reason = "a program for people")]
fn compare(name: &str, text: &str, libraries: [&Library; 2]) {
    let mut least = [f64::INFINITY; 2];
    let mut packets = 0;
    for _ in 0..5 {
        for (least, library) in least.iter_mut().zip(libraries) {
            let (seconds, delivered) = run(text, library);
            (*least, packets) = (least.min(seconds), delivered);
        }
    }
    let [built_in, loaded] = least.map(|seconds| 1e9 * seconds / packets as f64);
    println!("{name}: {built_in:.0} ns a packet built in, {loaded:.0} ns from the plug-in, {:.3}", loaded / built_in);
}

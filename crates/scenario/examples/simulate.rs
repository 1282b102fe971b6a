//! Runs of a scenario without Python, for a profiler: `simulate FILE RUNS [THREADS]`.
//!
//! Prints packets and events of one run, and a sum over what it reports, which says whether two builds simulate the same.

use std::num::NonZeroUsize;

use ackclock_scenario::Scenario;
use ackclock_sim::ParallelSimulation;

/// Offset and prime of FNV-1a.
const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0100_0000_01b3;

fn main() {
    let mut given = std::env::args().skip(1);
    let (Some(file), Some(runs)) = (given.next(), given.next().and_then(|runs| runs.parse::<u32>().ok())) else {
        return report("usage: simulate FILE RUNS [THREADS]");
    };
    let threads = given.next().and_then(|threads| threads.parse().ok()).unwrap_or(NonZeroUsize::MIN);
    let scenario = Scenario::load(file.as_ref(), &[]).unwrap_or_else(|error| panic!("{error}"));
    for _ in 0..runs {
        let outcome = ParallelSimulation::new(scenario.config(), threads).finish();
        let text = format!("{:?}", outcome.summary);
        let sum = text.bytes().fold(OFFSET, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(PRIME));
        report(&format!("{} packets, {} events, {sum:016x}", outcome.engine.packets_delivered, outcome.engine.events));
    }
}

#[allow(clippy::print_stdout, reason = "a program for a terminal")]
fn report(line: &str) {
    println!("{line}");
}

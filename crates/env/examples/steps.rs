//! Steps of the vector form without Python, for a profiler: `steps COPIES THREADS STEPS`.
//!
//! One flow of `NewReno` with an agent of DQN-based `NewReno` in its place, on a link of 2 Mbit/s, decides on every ACK. Prints a
//! sum over all that the steps gave, which says whether two builds simulate the same.

use ackclock_agent::AgentConfig;
use ackclock_env::{Autoreset, Buffers, Environment, VectorEnvironment};
use ackclock_scenario::Scenario;

const SCENARIO: &str = r#"
duration = "60 s"
[topology]
kind = "dumbbell"
access = { rate = "1 Gbit/s", delay = "1 ms" }
bottleneck = { rate = "2 Mbit/s", delay = "18 ms", queue = { kind = "drop_tail", limit = "2 bdp" } }
[[flow]]
name = "agent"
controller = "newreno"
"#;

/// The prime of FNV-1a, whose mixing the sum uses.
const PRIME: u64 = 0x0100_0000_01b3;

fn main() {
    let given: Vec<usize> = std::env::args().skip(1).filter_map(|argument| argument.parse().ok()).collect();
    let &[copies, threads, steps] = given.as_slice() else { return report("usage: steps COPIES THREADS STEPS") };
    let agent = AgentConfig::from_json(r#"{"decide": "ack"}"#).expect("a known decision");
    let scenario = Scenario::parse(SCENARIO, "steps", &[]).expect("a scenario");
    let one = Environment::new(scenario, vec![("agent".to_owned(), agent)]).expect("a flow of this name");
    let mut vector =
        VectorEnvironment::new(&one, copies, threads, Autoreset::NextStep).expect("one agent, and at least one copy");
    let mut observations = vec![0.0; copies * vector.observation_len()];
    let mut finals = observations.clone();
    let (mut rewards, mut terminated, mut truncated) = (vec![0.0; copies], vec![false; copies], vec![false; copies]);
    let seeds: Vec<Option<u64>> = (0..copies as u64).map(Some).collect();
    let mut sum = 0;
    vector.reset(&seeds, &mut observations);
    for step in 0..steps {
        // Mostly hold; now and then one more or one less, so that the copies go different ways.
        let action = |copy: usize| match (step + 7 * copy) % 16 {
            0 => 2.0,
            8 => 4.0,
            _ => 3.0,
        };
        let actions: Vec<f64> = (0..copies).map(action).collect();
        let buffers = Buffers {
            observations: &mut observations,
            rewards: &mut rewards,
            terminated: &mut terminated,
            truncated: &mut truncated,
            finals: &mut finals,
        };
        vector.step(&actions, buffers);
        for (row, reward) in observations.chunks_exact(vector.observation_len()).zip(&rewards) {
            let bits =
                row.iter().fold(reward.to_bits(), |bits, value| bits.rotate_left(21) ^ u64::from(value.to_bits()));
            sum = (sum ^ bits).wrapping_mul(PRIME);
        }
    }
    report(&format!("{sum:016x}"));
}

#[allow(clippy::print_stdout, reason = "a program for a terminal")]
fn report(line: &str) {
    println!("{line}");
}

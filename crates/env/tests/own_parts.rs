//! Custom rewards and observations in environments, alone and on threads.

use std::panic::{AssertUnwindSafe, catch_unwind};

use ackclock_agent::{
    AgentConfig, ExternalObservationConfig, ExternalRewardConfig, ObservationRange, OwnObservation, OwnReward, Values,
};
use ackclock_declare::{About, Library, Part, declare, required};
use ackclock_env::{Autoreset, Buffers, Environment, VectorEnvironment};
use ackclock_scenario::{Extensions, Scenario};

declare! {
    /// Parameters of [`Count`].
    struct CountConfig {
        /// Panics when it would pay this.
        end: u64 = required(100_u64),
    }
}

/// Pays 1, 2, 3 and so on.
#[derive(Clone, Debug)]
struct Count {
    paid: u64,
    end: u64,
}

impl OwnReward for Count {
    fn reward(&mut self, _: &Values<'_>) -> f64 {
        self.paid += 1;
        assert!(self.paid < self.end, "it has paid {} times", self.paid - 1);
        self.paid as f64
    }
}

/// The largest window so far.
#[derive(Clone, Debug, Default)]
struct Largest(f64);

impl OwnObservation for Largest {
    fn value(&mut self, values: &Values<'_>) -> f64 {
        self.0 = self.0.max(values.of("cwnd_segments"));
        self.0
    }
}

fn library() -> Library {
    let mut library = Library::default();
    library.add(Part::new::<CountConfig>(
        About::new("count", "1, 2, 3"),
        (),
        &[],
        |_| (),
        |config| ExternalRewardConfig::new("count", move |()| Box::new(Count { paid: 0, end: config.end })),
    ));
    library.add(Part::of_own_fields(About::new("largest", "the largest window"), (), vec![], |_| {
        ExternalObservationConfig::new("largest", ObservationRange::new(0.0, 1e6), || Box::new(Largest::default()))
    }));
    library
}

fn environment(end: u64) -> Environment {
    let text = r#"
        duration = "5 s"
        tcp = { initial_ssthresh = "25000 bytes" }
        topology = { kind = "dumbbell", access = { rate = "1 Gbit/s", delay = "0 ms" }, bottleneck = { rate = "10 Mbit/s",
            delay = "20 ms" } }
        flow = [{ name = "agent", controller = "newreno" }]
    "#;
    let scenario = Scenario::parse_with(text, "test.toml", &[], &Extensions::default().with_library(&library()));
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
    let settings = format!(
        r#"{{"observations": ["cwnd_segments", "largest"], "decide": "round", "reward": {{"kind": "count", "end": {end}}}}}"#
    );
    let agent = AgentConfig::from_json_with(&settings, scenario.library()).expect("right settings");
    Environment::new(scenario, vec![("agent".to_owned(), agent)]).expect("a right environment")
}

#[test]
fn each_episode_and_each_copy_has_its_own() {
    let mut environment = environment(100);
    for _ in 0..2 {
        environment.reset(1);
        let mut row = [0.0; 2];
        environment.observe(0, &mut row);
        let mut largest = row[0];
        for (paid, action) in [(1.0, 6.0), (2.0, 0.0), (3.0, 0.0)] {
            let mut twin = environment.clone();
            for environment in [&mut environment, &mut twin] {
                environment.step(&[action]);
                assert_eq!(environment.reward(0).to_bits(), f64::to_bits(paid));
                environment.observe(0, &mut row);
                assert!(row[1] >= row[0] && row[1] >= largest);
            }
            largest = row[1];
        }
        assert!(row[1] > row[0], "ten segments less, twice: {row:?}");
    }
}

/// Steps of three environments, until one panics.
fn paid(threads: usize, end: u64, steps: usize) -> Vec<f64> {
    let mut vector = VectorEnvironment::new(&environment(end), 3, threads, Autoreset::NextStep).expect("three of them");
    let (mut rows, mut finals, mut rewards) = (vec![0.0; 6], vec![0.0; 6], vec![0.0; 3]);
    let (mut terminated, mut truncated) = (vec![false; 3], vec![false; 3]);
    vector.reset(&[1, 2, 3].map(Some), &mut rows);
    let mut all = Vec::new();
    for _ in 0..steps {
        let buffers = Buffers {
            observations: &mut rows,
            rewards: &mut rewards,
            terminated: &mut terminated,
            truncated: &mut truncated,
            finals: &mut finals,
        };
        vector.step(&[3.0; 3], buffers);
        all.extend_from_slice(&rewards);
    }
    all
}

#[test]
fn threads_have_one_for_each_environment() {
    for threads in [1, 2, 3] {
        assert_eq!(paid(threads, 100, 3), [1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 3.0, 3.0, 3.0]);
    }
}

#[test]
fn a_panic_on_a_thread_reaches_the_caller_as_it_is() {
    for threads in [1, 2, 3] {
        let payload = catch_unwind(AssertUnwindSafe(|| paid(threads, 3, 5))).expect_err("a panic");
        assert_eq!(payload.downcast_ref::<String>().map(String::as_str), Some("it has paid 2 times"));
    }
}

//! The environments of one thread, with what goes into their steps and what comes out.

use ackclock_sim::Outcome;
use ackclock_units::RandomStream;

use crate::environment::Environment;
use crate::vector::Autoreset;

/// An environment, and the seeds of its episodes.
#[derive(Clone, Debug)]
pub(crate) struct Slot {
    pub(crate) environment: Environment,
    seeds: RandomStream,
    is_over: bool,
}

/// The result of a step of one environment.
#[derive(Clone, Copy, Debug, Default)]
struct SlotStep {
    reward: f64,
    terminated: bool,
    truncated: bool,
}

/// The task of a thread with its environments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Task {
    /// Begin an episode in each environment, with its seed.
    Reset,
    /// Take an action in each environment.
    Step,
}

/// The environments of a thread. It is one block on the heap, so that threads share no cache line.
#[derive(Clone, Debug)]
pub(crate) struct Shard {
    pub(crate) slots: Vec<Slot>,
    pub(crate) task: Task,
    /// Seeds of the episodes to begin; an environment without one is left as it is.
    pub(crate) seeds: Vec<Option<u64>>,
    pub(crate) actions: Vec<f64>,
    /// Observations, a row each.
    pub(crate) observations: Vec<f32>,
    pub(crate) rewards: Vec<f64>,
    pub(crate) terminated: Vec<bool>,
    pub(crate) truncated: Vec<bool>,
    autoreset: Autoreset,
    /// Rows of the last observations of episodes that ended, while the next ones run.
    pub(crate) finals: Vec<f32>,
    /// Outcomes of episodes that ended in the last step, while the next is running.
    pub(crate) outcomes: Vec<Option<Outcome>>,
}

impl Slot {
    pub(crate) fn new(environment: &Environment) -> Self {
        Self { environment: environment.clone(), seeds: RandomStream::new(0, "episodes"), is_over: true }
    }

    fn begin(&mut self, seed: u64, row: &mut [f32]) {
        // An episode that is over before a decision ends with its first step, as a single environment's does.
        self.environment.reset(seed);
        self.is_over = false;
        self.environment.observe(0, row);
    }

    fn begin_next(&mut self, row: &mut [f32]) {
        let seed = self.seeds.bits();
        self.begin(seed, row);
    }

    fn step(&mut self, action: f64, row: &mut [f32]) -> SlotStep {
        if self.is_over {
            self.begin_next(row);
            return SlotStep::default();
        }
        let step = self.environment.step(&[action]);
        let reward = self.environment.reward_and_observe(0, step, row);
        self.is_over = step.is_last();
        SlotStep { reward, terminated: step.terminated, truncated: step.truncated }
    }
}

impl Shard {
    /// `count` copies of a slot, whose rows have `observation_len` numbers.
    pub(crate) fn new(slot: &Slot, count: usize, observation_len: usize, autoreset: Autoreset) -> Self {
        Self {
            slots: vec![slot.clone(); count],
            task: Task::Reset,
            seeds: vec![None; count],
            actions: vec![0.0; count],
            observations: vec![0.0; count * observation_len],
            rewards: vec![0.0; count],
            terminated: vec![false; count],
            truncated: vec![false; count],
            autoreset,
            finals: vec![0.0; count * observation_len],
            outcomes: std::iter::repeat_with(|| None).take(count).collect(),
        }
    }

    /// Does the task for each environment in turn.
    pub(crate) fn work(&mut self) {
        let length = self.observations.len() / self.slots.len();
        for (index, (slot, row)) in self.slots.iter_mut().zip(self.observations.chunks_exact_mut(length)).enumerate() {
            match self.task {
                Task::Reset => {
                    let Some(seed) = self.seeds[index] else { continue };
                    self.outcomes[index] = None;
                    slot.seeds = RandomStream::new(seed, "episodes");
                    slot.begin(seed, row);
                }
                Task::Step => {
                    let stepped = slot.step(self.actions[index], row);
                    self.outcomes[index] = None;
                    if slot.is_over && self.autoreset == Autoreset::SameStep {
                        self.finals[index * length..][..length].copy_from_slice(row);
                        self.outcomes[index] = Some(slot.environment.outcome());
                        slot.begin_next(row);
                    }
                    self.rewards[index] = stepped.reward;
                    (self.terminated[index], self.truncated[index]) = (stepped.terminated, stepped.truncated);
                }
            }
        }
    }
}

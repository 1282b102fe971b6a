//! Many environments side by side, stepped on threads into the caller's memory.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use ackclock_sim::Outcome;
use ackclock_units::SpinWait;

use crate::environment::Environment;
use crate::error::EnvironmentError;
use crate::shard::{Shard, Slot, Task};
use crate::worker::{LONGEST_LOOK, Worker};

/// The destination of a step's results: one place for each environment, `observation_len` numbers in `observations`.
#[derive(Debug)]
pub struct Buffers<'a> {
    /// A row of observations for each environment.
    pub observations: &'a mut [f32],
    /// The reward of each environment's step, as [`Environment::reward`] gives it.
    pub rewards: &'a mut [f64],
    /// Whether each environment's episode is over, as [`crate::Step::terminated`] says.
    pub terminated: &'a mut [bool],
    /// Whether each environment's episode was cut off, as [`crate::Step::truncated`] says.
    pub truncated: &'a mut [bool],
    /// Rows as in `observations`, with the last observation of an episode that ended, under [`Autoreset::SameStep`].
    /// Other rows stay as they are.
    pub finals: &'a mut [f32],
}

/// The time at which an environment begins its next episode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Autoreset {
    /// The next step begins it; its action is ignored and its reward is zero (Gymnasium's `AutoresetMode.NEXT_STEP`).
    #[default]
    NextStep,
    /// The step that ended the episode begins the next: reward and end are those of the old episode, the observation is
    /// that of the new one (Gymnasium's `AutoresetMode.SAME_STEP`).
    SameStep,
}

/// Many environments side by side, stepped on threads. Observations, rewards and ends are written into the caller's
/// [`Buffers`]. After a panic of a simulation, which reaches the caller, it cannot be used.
#[derive(Debug)]
pub struct VectorEnvironment {
    /// Shards in the order of the environments, as many in each but the last; the first is the caller's.
    #[allow(clippy::vec_box, reason = "a thread takes one without moving what is in it")]
    shards: Vec<Box<Shard>>,
    /// A thread for each shard but the first.
    workers: Vec<Worker>,
    count: usize,
    autoreset: Autoreset,
    observation_len: usize,
}

impl VectorEnvironment {
    /// A vector of `count` copies of an environment with one agent, on `threads` threads, the caller's among them.
    pub fn new(
        environment: &Environment,
        count: usize,
        threads: usize,
        autoreset: Autoreset,
    ) -> Result<Self, EnvironmentError> {
        if environment.agents() != 1 {
            return Err(EnvironmentError::NotOneAgent { agents: environment.agents() });
        }
        if count == 0 {
            return Err(EnvironmentError::NoEnvironments);
        }
        let slot = Slot::new(environment);
        let observation_len = environment.config(0).observation_len();
        let most = count.div_ceil(threads.clamp(1, count));
        let sizes = (0..count).step_by(most).map(|first| most.min(count - first));
        let shards: Vec<_> = sizes.map(|size| Box::new(Shard::new(&slot, size, observation_len, autoreset))).collect();
        let workers = workers_beside(shards.len())?;
        Ok(Self { shards, workers, count, autoreset, observation_len })
    }

    /// A copy that continues alike, on threads of its own.
    pub fn copy(&self) -> Result<Self, EnvironmentError> {
        let workers = workers_beside(self.shards.len())?;
        let Self { count, autoreset, observation_len, .. } = *self;
        Ok(Self { shards: self.shards.clone(), workers, count, autoreset, observation_len })
    }

    /// The number of environments.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The length of an observation of one environment.
    pub fn observation_len(&self) -> usize {
        self.observation_len
    }

    /// The environment with this number.
    pub fn environment(&self, index: usize) -> &Environment {
        let most = self.most();
        &self.shards[index / most].slots[index % most].environment
    }

    /// The outcome of the latest episode that ended in the environment at `index`, or else of the current one so far.
    pub fn outcome(&self, index: usize) -> Outcome {
        let (shard, place) = (&self.shards[index / self.most()], index % self.most());
        shard.outcomes[place].clone().unwrap_or_else(|| shard.slots[place].environment.outcome())
    }

    /// Begins an episode in each environment: the i-th with the seed `seeds[i]`, from which those of its later episodes
    /// follow. An environment without a seed goes on with the episode that it is in.
    pub fn reset(&mut self, seeds: &[Option<u64>], observations: &mut [f32]) {
        let most = self.most();
        for (shard, seeds) in self.shards.iter_mut().zip(seeds.chunks(most)) {
            shard.seeds.copy_from_slice(seeds);
        }
        self.work(Task::Reset);
        for (shard, rows) in self.shards.iter().zip(observations.chunks_mut(most * self.observation_len)) {
            rows.copy_from_slice(&shard.observations);
        }
    }

    /// Takes an action in each environment and runs each to its next decision.
    pub fn step(&mut self, actions: &[f64], buffers: Buffers<'_>) {
        let most = self.most();
        for (shard, actions) in self.shards.iter_mut().zip(actions.chunks(most)) {
            shard.actions.copy_from_slice(actions);
        }
        self.work(Task::Step);
        let Buffers { observations, rewards, terminated, truncated, finals } = buffers;
        let rows = observations.chunks_mut(most * self.observation_len);
        let ends = terminated.chunks_mut(most).zip(truncated.chunks_mut(most));
        let places = rows.zip(rewards.chunks_mut(most)).zip(ends);
        for (shard, ((rows, rewards), (terminated, truncated))) in self.shards.iter().zip(places) {
            rows.copy_from_slice(&shard.observations);
            rewards.copy_from_slice(&shard.rewards);
            terminated.copy_from_slice(&shard.terminated);
            truncated.copy_from_slice(&shard.truncated);
        }
        if self.autoreset == Autoreset::SameStep {
            self.take_finals(finals);
        }
    }

    /// Copies the last observations of the episodes that have ended.
    fn take_finals(&self, finals: &mut [f32]) {
        let length = self.observation_len;
        let most = self.most();
        for (shard, finals) in self.shards.iter().zip(finals.chunks_mut(most * length)) {
            let rows = shard.finals.chunks_exact(length).zip(finals.chunks_exact_mut(length));
            for ((row, place), ends) in rows.zip(shard.terminated.iter().zip(&shard.truncated)) {
                if *ends.0 || *ends.1 {
                    place.copy_from_slice(row);
                }
            }
        }
    }

    /// Number of environments in each shard, but for the last, which may have fewer.
    fn most(&self) -> usize {
        self.shards.first().expect("it is not used after a panic").slots.len()
    }

    /// Works on each shard on a thread of its own, the first one on the caller's. A panic of any, which may be a failure of a
    /// custom part, is the caller's, once every thread has done its work or left it; nothing is left to go on with.
    fn work(&mut self, task: Task) {
        let mut shards = std::mem::take(&mut self.shards); // whatever unwinds from here leaves none
        for shard in &mut shards {
            shard.task = task;
        }
        for (shard, worker) in shards.drain(1..).zip(&self.workers) {
            worker.give(shard);
        }
        let mut failure = catch_unwind(AssertUnwindSafe(|| shards[0].work())).err();
        if failure.is_some() {
            self.workers.iter().for_each(Worker::stop); // nobody waits for what they do
        }
        for worker in &mut self.workers {
            match worker.take() {
                Ok(shard) => shards.push(shard),
                Err(panic) => failure = failure.or(Some(panic)),
            }
        }
        if let Some(panic) = failure {
            resume_unwind(panic);
        }
        self.shards = shards;
    }
}

/// A thread for each shard but the caller's.
fn workers_beside(shards: usize) -> Result<Vec<Worker>, EnvironmentError> {
    let spin_wait = SpinWait::among(shards, LONGEST_LOOK);
    (1..shards).map(|_| Worker::new(&spin_wait)).collect()
}

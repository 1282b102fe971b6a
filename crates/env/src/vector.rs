//! Many environments side by side, stepped on threads into memory of the caller's.

use crate::environment::Environment;
use crate::error::EnvironmentError;
use crate::helper::Helper;
use crate::share::{Lane, Share, Task};

/// Where a step's results go: one place for each environment, `observation_len` numbers in `observations`.
#[derive(Debug)]
pub struct Buffers<'a> {
    /// Rows of observations.
    pub observations: &'a mut [f32],
    /// See [`Environment::reward`].
    pub rewards: &'a mut [f64],
    /// See [`crate::Step::terminated`].
    pub terminated: &'a mut [bool],
    /// See [`crate::Step::truncated`].
    pub truncated: &'a mut [bool],
    /// Rows as in `observations`: the last observation of an episode that ended, under [`Autoreset::SameStep`]. Other rows
    /// are left as they are.
    pub finals: &'a mut [f32],
}

/// When an environment whose episode is over begins another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Autoreset {
    /// With the next step, for which its action counts for nothing and its reward is zero (Gymnasium's
    /// `AutoresetMode.NEXT_STEP`).
    #[default]
    NextStep,
    /// Within the step that ended the episode: reward and end are that episode's, the observation is the next one's
    /// (Gymnasium's `AutoresetMode.SAME_STEP`).
    SameStep,
}

/// See the module.
#[derive(Debug)]
pub struct VectorEnvironment {
    /// In the order of the environments, as many in each but the last; the first is the caller's.
    #[allow(clippy::vec_box, reason = "a thread takes one without moving what is in it")]
    shares: Vec<Box<Share>>,
    /// A thread for each share but the first.
    helpers: Vec<Helper>,
    count: usize,
    autoreset: Autoreset,
    observation_len: usize,
}

impl VectorEnvironment {
    /// So many copies of an environment with one agent, on so many threads, the caller's among them.
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
        let lane = Lane::new(environment);
        let observation_len = environment.config(0).observation_len();
        let most = count.div_ceil(threads.clamp(1, count));
        let sizes = (0..count).step_by(most).map(|first| most.min(count - first));
        let shares: Vec<_> = sizes.map(|size| Box::new(Share::new(&lane, size, observation_len, autoreset))).collect();
        let helpers = (1..shares.len()).map(|_| Helper::new()).collect::<Result<_, _>>()?;
        Ok(Self { shares, helpers, count, autoreset, observation_len })
    }

    /// How many environments there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Numbers in the observation of one.
    pub fn observation_len(&self) -> usize {
        self.observation_len
    }

    /// One of them.
    pub fn environment(&self, index: usize) -> &Environment {
        let most = self.shares[0].lanes.len();
        &self.shares[index / most].lanes[index % most].environment
    }

    /// Begins an episode in each environment: the i-th with the seed `seeds[i]`, from which those of its later episodes
    /// follow.
    pub fn reset(&mut self, seeds: &[u64], observations: &mut [f32]) {
        let most = self.shares[0].lanes.len();
        for (share, seeds) in self.shares.iter_mut().zip(seeds.chunks(most)) {
            share.seeds.copy_from_slice(seeds);
        }
        self.work(Task::Reset);
        for (share, rows) in self.shares.iter().zip(observations.chunks_mut(most * self.observation_len)) {
            rows.copy_from_slice(&share.observations);
        }
    }

    /// Takes an action in each environment and runs each to its next decision.
    pub fn step(&mut self, actions: &[f64], buffers: Buffers<'_>) {
        let most = self.shares[0].lanes.len();
        for (share, actions) in self.shares.iter_mut().zip(actions.chunks(most)) {
            share.actions.copy_from_slice(actions);
        }
        self.work(Task::Step);
        let Buffers { observations, rewards, terminated, truncated, finals } = buffers;
        let rows = observations.chunks_mut(most * self.observation_len);
        let ends = terminated.chunks_mut(most).zip(truncated.chunks_mut(most));
        let places = rows.zip(rewards.chunks_mut(most)).zip(ends);
        for (share, ((rows, rewards), (terminated, truncated))) in self.shares.iter().zip(places) {
            rows.copy_from_slice(&share.observations);
            rewards.copy_from_slice(&share.rewards);
            terminated.copy_from_slice(&share.terminated);
            truncated.copy_from_slice(&share.truncated);
        }
        if self.autoreset == Autoreset::SameStep {
            self.take_finals(finals);
        }
    }

    /// Copies the last observations of the episodes that have ended.
    fn take_finals(&self, finals: &mut [f32]) {
        let length = self.observation_len;
        let most = self.shares[0].lanes.len();
        for (share, finals) in self.shares.iter().zip(finals.chunks_mut(most * length)) {
            let rows = share.finals.chunks_exact(length).zip(finals.chunks_exact_mut(length));
            for ((row, place), ends) in rows.zip(share.terminated.iter().zip(&share.truncated)) {
                if *ends.0 || *ends.1 {
                    place.copy_from_slice(row);
                }
            }
        }
    }

    /// Works on each share on a thread of its own, the first one on the caller's.
    fn work(&mut self, task: Task) {
        for share in &mut self.shares {
            share.task = task;
        }
        for (share, helper) in self.shares.drain(1..).zip(&self.helpers) {
            helper.give(share);
        }
        self.shares[0].work();
        for helper in &mut self.helpers {
            self.shares.push(helper.take());
        }
    }
}

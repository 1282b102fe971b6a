//! Many environments side by side, stepped on threads into memory of the caller's.

use ackclock_units::RandomStream;
use rayon::iter::{IndexedParallelIterator, IntoParallelRefIterator, IntoParallelRefMutIterator, ParallelIterator};
use rayon::slice::ParallelSliceMut;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::environment::Environment;
use crate::error::EnvironmentError;

/// Where a step's results go: one place for each environment, `observation_len` numbers in `observations`.
#[derive(Debug)]
pub struct Buffers<'a> {
    /// Rows of observations.
    pub observations: &'a mut [f32],
    /// See [`Environment::reward`].
    pub rewards: &'a mut [f64],
    /// See [`crate::Step::terminated`]; 0 or 1.
    pub terminated: &'a mut [u8],
    /// See [`crate::Step::truncated`]; 0 or 1.
    pub truncated: &'a mut [u8],
}

/// See the module. An environment whose episode is over begins another at the next step, for which its action counts for
/// nothing and its reward is zero (Gymnasium's `AutoresetMode.NEXT_STEP`).
#[derive(Debug)]
pub struct VectorEnvironment {
    lanes: Vec<Lane>,
    observation_len: usize,
    pool: ThreadPool,
}

/// An environment, and the seeds of its episodes.
#[derive(Clone, Debug)]
struct Lane {
    environment: Environment,
    seeds: RandomStream,
    is_over: bool,
}

/// What a step of one environment gives.
#[derive(Clone, Copy, Debug, Default)]
struct Given {
    reward: f64,
    terminated: bool,
    truncated: bool,
}

impl VectorEnvironment {
    /// So many copies of an environment with one agent, on so many threads.
    pub fn new(environment: &Environment, count: usize, threads: usize) -> Result<Self, EnvironmentError> {
        if environment.agents() != 1 {
            return Err(EnvironmentError::NotOneAgent { agents: environment.agents() });
        }
        if count == 0 {
            return Err(EnvironmentError::NoEnvironments);
        }
        let pool = ThreadPoolBuilder::new()
            .num_threads(threads.clamp(1, count))
            .build()
            .map_err(|error| EnvironmentError::Threads { reason: error.to_string() })?;
        let lane = Lane { environment: environment.clone(), seeds: RandomStream::new(0, "episodes"), is_over: true };
        let observation_len = environment.config(0).observation_len();
        Ok(Self { lanes: vec![lane; count], observation_len, pool })
    }

    /// How many environments there are.
    pub fn count(&self) -> usize {
        self.lanes.len()
    }

    /// Numbers in the observation of one.
    pub fn observation_len(&self) -> usize {
        self.observation_len
    }

    /// One of them.
    pub fn environment(&self, index: usize) -> &Environment {
        &self.lanes[index].environment
    }

    /// Begins an episode in each environment: the i-th with the seed `seeds[i]`, from which those of its later episodes
    /// follow.
    pub fn reset(&mut self, seeds: &[u64], observations: &mut [f32]) {
        let Self { lanes, observation_len, pool } = self;
        pool.install(|| {
            let rows = observations.par_chunks_mut(*observation_len);
            lanes.par_iter_mut().zip(seeds.par_iter()).zip(rows).for_each(|((lane, seed), row)| {
                lane.seeds = RandomStream::new(*seed, "episodes");
                lane.begin(*seed, row);
            });
        });
    }

    /// Takes an action in each environment and runs each to its next decision.
    pub fn step(&mut self, actions: &[f64], buffers: Buffers<'_>) {
        let Self { lanes, observation_len, pool } = self;
        let least = (lanes.len() / (4 * pool.current_num_threads())).max(1);
        pool.install(|| {
            let rows = buffers.observations.par_chunks_mut(*observation_len);
            let ends = buffers.terminated.par_iter_mut().zip(buffers.truncated.par_iter_mut());
            let places = rows.zip(buffers.rewards.par_iter_mut()).zip(ends);
            let work = lanes.par_iter_mut().zip(actions.par_iter()).zip(places).with_min_len(least);
            work.for_each(|((lane, action), ((row, reward), (terminated, truncated)))| {
                let given = lane.step(*action, row);
                (*reward, *terminated, *truncated) = (given.reward, given.terminated.into(), given.truncated.into());
            });
        });
    }
}

impl Lane {
    fn begin(&mut self, seed: u64, row: &mut [f32]) {
        self.is_over = self.environment.reset(seed).is_last();
        self.environment.observe(0, row);
    }

    fn step(&mut self, action: f64, row: &mut [f32]) -> Given {
        if self.is_over {
            let seed = self.seeds.bits();
            self.begin(seed, row);
            return Given::default();
        }
        let step = self.environment.step(&[action]);
        let reward = self.environment.reward(0);
        self.environment.observe(0, row);
        self.is_over = step.is_last();
        Given { reward, terminated: step.terminated, truncated: step.truncated }
    }
}

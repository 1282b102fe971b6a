//! Many environments side by side, stepped on threads into memory of the caller's.

use ackclock_units::RandomStream;
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
    lanes: Vec<Lane>,
    autoreset: Autoreset,
    observation_len: usize,
    threads: usize,
    /// All of them but the caller's.
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
        let threads = threads.clamp(1, count);
        let pool = ThreadPoolBuilder::new()
            .num_threads((threads - 1).max(1)) // rayon takes 0 for its own choice
            .build()
            .map_err(|error| EnvironmentError::Threads { reason: error.to_string() })?;
        let lane = Lane { environment: environment.clone(), seeds: RandomStream::new(0, "episodes"), is_over: true };
        let observation_len = environment.config(0).observation_len();
        Ok(Self { lanes: vec![lane; count], autoreset, observation_len, threads, pool })
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
        let share = self.share();
        let shares = self.lanes.chunks_mut(share).zip(seeds.chunks(share));
        let rows = observations.chunks_mut(share * self.observation_len);
        let length = self.observation_len;
        on_threads(&self.pool, shares.zip(rows), |((lanes, seeds), rows)| {
            for ((lane, seed), row) in lanes.iter_mut().zip(seeds).zip(rows.chunks_exact_mut(length)) {
                lane.seeds = RandomStream::new(*seed, "episodes");
                lane.begin(*seed, row);
            }
        });
    }

    /// Takes an action in each environment and runs each to its next decision.
    pub fn step(&mut self, actions: &[f64], buffers: Buffers<'_>) {
        let share = self.share();
        let (length, autoreset) = (self.observation_len, self.autoreset);
        let shares = self.lanes.chunks_mut(share).zip(actions.chunks(share)).zip(buffers.shares(share, length));
        on_threads(&self.pool, shares, |((lanes, actions), buffers)| {
            let rows = buffers.observations.chunks_exact_mut(length).zip(buffers.finals.chunks_exact_mut(length));
            let ends = buffers.terminated.iter_mut().zip(buffers.truncated);
            let places = rows.zip(buffers.rewards).zip(ends);
            for ((lane, action), (((row, last), reward), ends)) in lanes.iter_mut().zip(actions).zip(places) {
                let given = lane.step(*action, row);
                if lane.is_over && autoreset == Autoreset::SameStep {
                    last.copy_from_slice(row);
                    lane.begin_next(row);
                }
                *reward = given.reward;
                (*ends.0, *ends.1) = (given.terminated.into(), given.truncated.into());
            }
        });
    }

    /// How many environments a thread has.
    fn share(&self) -> usize {
        self.lanes.len().div_ceil(self.threads)
    }
}

impl<'a> Buffers<'a> {
    /// The places of `share` environments each.
    fn shares(self, share: usize, observation_len: usize) -> impl Iterator<Item = Buffers<'a>> {
        let rows = self.observations.chunks_mut(share * observation_len).zip(self.rewards.chunks_mut(share));
        let ends = self.terminated.chunks_mut(share).zip(self.truncated.chunks_mut(share));
        let finals = self.finals.chunks_mut(share * observation_len);
        rows.zip(ends).zip(finals).map(|(((observations, rewards), (terminated, truncated)), finals)| Buffers {
            observations,
            rewards,
            terminated,
            truncated,
            finals,
        })
    }
}

/// Works on each share on a thread of its own, the first one on the caller's.
fn on_threads<T: Send>(pool: &ThreadPool, mut shares: impl Iterator<Item = T>, work: impl Fn(T) + Sync) {
    let work = &work;
    let Some(first) = shares.next() else { return };
    pool.in_place_scope(|scope| {
        for share in shares {
            scope.spawn(move |_| work(share));
        }
        work(first);
    });
}

impl Lane {
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

    fn step(&mut self, action: f64, row: &mut [f32]) -> Given {
        if self.is_over {
            self.begin_next(row);
            return Given::default();
        }
        let step = self.environment.step(&[action]);
        let reward = self.environment.reward(0);
        self.environment.observe(0, row);
        self.is_over = step.is_last();
        Given { reward, terminated: step.terminated, truncated: step.truncated }
    }
}

//! External observations and rewards: their arguments and their constructors.

mod range;

use std::fmt::Debug;
use std::sync::LazyLock;

use ackclock_declare::{External, Library, Parts, external};
use ackclock_units::SimTime;

pub use range::ObservationRange;

use crate::observation::{OBSERVATIONS, Observation};
use crate::reward::REWARDS;
use crate::view::View;

/// The values of every observation of the catalogue at a decision, in its unit, whether the agent observes it or not.
/// Each is computed on request.
#[derive(Clone, Copy)]
pub struct Values<'a> {
    now: SimTime,
    read: &'a dyn Fn(&Observation) -> f64,
}

impl<'a> Values<'a> {
    /// Values that come from `read`.
    pub fn new(now: SimTime, read: &'a dyn Fn(&Observation) -> f64) -> Self {
        Self { now, read }
    }

    /// The time of the decision.
    pub fn now(&self) -> SimTime {
        self.now
    }

    /// The value of an observation.
    pub fn value(&self, observation: &Observation) -> f64 {
        (self.read)(observation)
    }

    /// The value of the observation with this name; `None` if there is none.
    pub fn get(&self, name: &str) -> Option<f64> {
        Observation::named(name).map(|observation| self.value(observation))
    }

    /// The value of the observation with this name.
    ///
    /// # Panics
    ///
    /// If there is none.
    pub fn of(&self, name: &str) -> f64 {
        self.get(name).unwrap_or_else(|| panic!("unknown observation {name:?}; `ackclock list agents` lists them"))
    }
}

impl Debug for Values<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let values = OBSERVATIONS.iter().map(|observation| (observation.name, self.value(observation)));
        f.debug_map().entries(values).finish()
    }
}

/// Calls `work` with the values of a view.
pub(crate) fn with_values<T>(view: &View<'_>, work: impl FnOnce(&Values<'_>) -> T) -> T {
    work(&Values::new(view.now, &|observation| observation.value(view)))
}

/// A reward of a decision, by the events until the next one. Each episode of each agent has its own.
pub trait OwnReward: Debug + Send {
    /// The reward of the interval that ends with these values.
    fn reward(&mut self, values: &Values<'_>) -> f64;
}

/// An observation of an agent. Each episode of each agent has its own.
pub trait OwnObservation: Debug + Send {
    /// The value at a decision, called once for each; values beyond the range are clamped.
    fn value(&mut self, values: &Values<'_>) -> f64;
}

external! {
    /// An external reward. Every [`OwnReward`] that can be cloned and shared between threads is one.
    ExternalReward: OwnReward
}

external! {
    /// An external observation. Every [`OwnObservation`] that can be cloned and shared between threads is one.
    ExternalObservation: OwnObservation
}

/// The constructor of external rewards: one for each episode.
pub type ExternalRewardConfig = External<(), dyn ExternalReward>;

/// The constructor of external observations: one for each episode.
#[derive(Clone, Debug, PartialEq)]
pub struct ExternalObservationConfig {
    pub(crate) range: ObservationRange,
    pub(crate) external: External<(), dyn ExternalObservation>,
}

impl ExternalObservationConfig {
    /// The observation that `make` creates, with the name `name`.
    ///
    /// # Panics
    ///
    /// If the range has a [mistake](ObservationRange::mistake).
    pub fn new(
        name: &str,
        range: ObservationRange,
        make: impl Fn() -> Box<dyn ExternalObservation> + Send + Sync + 'static,
    ) -> Self {
        if let Some(mistake) = range.mistake() {
            panic!("the observation {name} {mistake}");
        }
        Self { range, external: External::new(name, move |()| make()) }
    }

    /// The name of the observation.
    pub fn name(&self) -> &str {
        self.external.name()
    }

    /// The range of its values.
    pub fn range(&self) -> ObservationRange {
        self.range
    }

    /// Creates an observation.
    pub fn make(&self) -> Box<dyn ExternalObservation> {
        self.external.make(&())
    }
}

static REWARD_PARTS: LazyLock<Parts<ExternalRewardConfig>> = LazyLock::new(|| Parts::new(Vec::new()));
static OBSERVATION_PARTS: LazyLock<Parts<ExternalObservationConfig>> = LazyLock::new(|| Parts::new(Vec::new()));

/// Rewards that an agent's configuration can name beside [`REWARDS`]: those of a library.
pub fn own_rewards() -> &'static Parts<ExternalRewardConfig> {
    &REWARD_PARTS
}

/// Observations that an agent's configuration can name beside [`OBSERVATIONS`]: those of a library.
pub fn own_observations() -> &'static Parts<ExternalObservationConfig> {
    &OBSERVATION_PARTS
}

/// The names of a library's rewards and observations that the catalogue already has.
pub fn taken_names(library: &Library) -> Vec<&'static str> {
    let rewards = library.names::<ExternalRewardConfig, ()>();
    let observations = library.names::<ExternalObservationConfig, ()>();
    rewards
        .filter(|name| REWARDS.iter().any(|one| one.name == *name))
        .chain(observations.filter(|name| Observation::named(name).is_some()))
        .collect()
}

/// The instances that an agent has created of its configuration's external parts: none before their first use.
#[derive(Clone, Debug, Default)]
pub(crate) struct Instances {
    pub(crate) observations: Vec<Box<dyn ExternalObservation>>,
    pub(crate) reward: Option<Box<dyn ExternalReward>>,
}

//! The parts of a plug-in.

use ackclock_agent::{
    ExternalObservation, ExternalObservationConfig, ExternalReward, ExternalRewardConfig, ObservationRange,
};
use ackclock_cc::{ControllerConfig, ExternalConfig, ExternalController, Stack, Start};
use ackclock_declare::{About, Declared, Library, Part};
use ackclock_net::queue::{ExternalQueue, ExternalQueueConfig};
use ackclock_net::{ExternalEffect, ExternalEffectConfig, PartStart, QueueConfig};
use ackclock_sim::{ExternalSource, ExternalSourceConfig, SourceStart};

/// The parts of a plug-in, each with its name, its parameters and a function that makes one.
#[derive(Default)]
pub struct Plugin {
    pub(crate) parts: Vec<AnyPart>,
}

/// A part of one of the kinds.
pub(crate) enum AnyPart {
    Controller(Part<ControllerConfig, Stack>),
    Queue(Part<QueueConfig>),
    Effect(Part<ExternalEffectConfig>),
    Source(Part<ExternalSourceConfig>),
    Observation(Part<ExternalObservationConfig>, ObservationRange),
    Reward(Part<ExternalRewardConfig>),
}

impl Plugin {
    /// A plug-in without parts.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a congestion controller that works on any TCP. `make` is called for either end of each connection, when the
    /// handshake has settled the segment size.
    #[must_use]
    pub fn controller<K: Declared, C: ExternalController + 'static>(
        self,
        about: About,
        make: impl Fn(&K, &Start) -> C + Clone + Send + Sync + 'static,
    ) -> Self {
        self.controller_on(about, Stack::ANY, make)
    }

    /// Adds a controller with requirements of the TCP under it.
    #[must_use]
    pub fn controller_on<K: Declared, C: ExternalController + 'static>(
        self,
        about: About,
        stack: Stack,
        make: impl Fn(&K, &Start) -> C + Clone + Send + Sync + 'static,
    ) -> Self {
        self.with(AnyPart::Controller(Part::new(
            about,
            stack,
            &[],
            |_| (),
            move |parameters: K| {
                let make = make.clone();
                ControllerConfig::External(ExternalConfig::new(about.name, move |start| make(&parameters, start)))
            },
        )))
    }

    /// Adds a queue discipline. `make` is called for each link that has it.
    #[must_use]
    pub fn queue<K: Declared, Q: ExternalQueue + 'static>(
        self,
        about: About,
        make: impl Fn(&K, &PartStart) -> Q + Clone + Send + Sync + 'static,
    ) -> Self {
        self.with(AnyPart::Queue(Part::new(
            about,
            (),
            &[],
            |_| (),
            move |parameters: K| {
                let make = make.clone();
                let make = move |start: &PartStart| Box::new(make(&parameters, start)) as Box<dyn ExternalQueue>;
                QueueConfig::External(ExternalQueueConfig::new(about.name, make))
            },
        )))
    }

    /// Adds an effect of links. `make` is called for each link that has it.
    #[must_use]
    pub fn effect<K: Declared, E: ExternalEffect + 'static>(
        self,
        about: About,
        make: impl Fn(&K, &PartStart) -> E + Clone + Send + Sync + 'static,
    ) -> Self {
        self.with(AnyPart::Effect(Part::new(
            about,
            (),
            &[],
            |_| (),
            move |parameters: K| {
                let make = make.clone();
                ExternalEffectConfig::new(about.name, move |start: &PartStart| Box::new(make(&parameters, start)))
            },
        )))
    }

    /// Adds a source of traffic. `make` is called for each flow that has it.
    #[must_use]
    pub fn source<K: Declared, S: ExternalSource + 'static>(
        self,
        about: About,
        make: impl Fn(&K, &SourceStart) -> S + Clone + Send + Sync + 'static,
    ) -> Self {
        self.with(AnyPart::Source(Part::new(
            about,
            (),
            &[],
            |_| (),
            move |parameters: K| {
                let make = make.clone();
                ExternalSourceConfig::new(about.name, move |start: &SourceStart| Box::new(make(&parameters, start)))
            },
        )))
    }

    /// Adds an observation for agents. `make` is called for each episode of an agent that observes it.
    ///
    /// # Panics
    ///
    /// If the range has a [mistake](ObservationRange::mistake).
    #[must_use]
    pub fn observation<K: Declared, O: ExternalObservation + 'static>(
        self,
        about: About,
        range: ObservationRange,
        make: impl Fn(&K) -> O + Clone + Send + Sync + 'static,
    ) -> Self {
        assert_eq!(range.mistake(), None, "the observation {}", about.name);
        let part = Part::new(
            about,
            (),
            &[],
            |_| (),
            move |parameters: K| {
                let make = make.clone();
                ExternalObservationConfig::new(about.name, range, move || Box::new(make(&parameters)))
            },
        );
        self.with(AnyPart::Observation(part, range))
    }

    /// Adds a reward for agents. `make` is called for each episode of an agent that receives it.
    #[must_use]
    pub fn reward<K: Declared, R: ExternalReward + 'static>(
        self,
        about: About,
        make: impl Fn(&K) -> R + Clone + Send + Sync + 'static,
    ) -> Self {
        self.with(AnyPart::Reward(Part::new(
            about,
            (),
            &[],
            |_| (),
            move |parameters: K| {
                let make = make.clone();
                ExternalRewardConfig::new(about.name, move |()| Box::new(make(&parameters)))
            },
        )))
    }

    /// The parts for a Rust program that reads scenarios: see `Extensions::with_library` of `ackclock-scenario`.
    pub fn library(self) -> Library {
        let mut library = Library::default();
        for part in self.parts {
            match part {
                AnyPart::Controller(part) => library.add(part),
                AnyPart::Queue(part) => library.add(part),
                AnyPart::Effect(part) => library.add(part),
                AnyPart::Source(part) => library.add(part),
                AnyPart::Observation(part, _) => library.add(part),
                AnyPart::Reward(part) => library.add(part),
            }
        }
        library
    }

    fn with(mut self, part: AnyPart) -> Self {
        self.parts.push(part);
        self
    }
}

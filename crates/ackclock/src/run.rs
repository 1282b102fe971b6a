//! Runs of a scenario, and their results.

use std::num::NonZeroUsize;

use ackclock_events::Observer;
use ackclock_scenario::{Scenario, ScenarioError};
use ackclock_sim::{ParallelSimulation, Simulation};
use ackclock_units::SimTime;

use crate::results::Results;

/// A run of a scenario, with its seed and its number of threads.
///
/// ```
/// use ackclock::{Run, dumbbell};
///
/// let scenario = dumbbell().duration("1 s").build()?;
/// let alone = Run::of(&scenario).seed(7).finish()?;
/// let together = Run::of(&scenario).seed(7).threads(4).finish()?;
/// assert_eq!(alone.summary(), together.summary());
/// # Ok::<(), ackclock::ScenarioError>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[must_use = "a run begins with `finish`"]
pub struct Run<'a> {
    scenario: &'a Scenario,
    seed: Option<u64>,
    threads: usize,
}

impl<'a> Run<'a> {
    /// A run with the scenario's own seed, on one thread.
    pub fn of(scenario: &'a Scenario) -> Self {
        Self { scenario, seed: None, threads: 1 }
    }

    /// Sets the seed in place of the scenario's own; it also draws the scenario's random values.
    pub fn seed(self, seed: u64) -> Self {
        Self { seed: Some(seed), ..self }
    }

    /// Sets the largest number of threads, at least one; the results are the same. The network is cut where links have
    /// delays.
    pub fn threads(self, threads: usize) -> Self {
        Self { threads, ..self }
    }

    /// Simulates to the end. Fails if drawn values, each valid, do not fit together; never if nothing is drawn.
    pub fn finish(self) -> Result<Results, ScenarioError> {
        let threads = NonZeroUsize::new(self.threads).unwrap_or(NonZeroUsize::MIN);
        let drawn = self.drawn()?;
        let scenario = drawn.as_ref().unwrap_or(self.scenario);
        Ok(Results::new(ParallelSimulation::of(scenario.shared_config(), threads).finish()))
    }

    /// Simulates to the end on one thread, as [`Self::finish`] does, and reports the events that the scenario's
    /// `trace.events` names to `observer`.
    ///
    /// ```
    /// use ackclock::events::{Event, Record};
    /// use ackclock::{Run, dumbbell};
    ///
    /// let scenario = dumbbell().flows("cubic").duration("5 s").set("trace.events", r#"["slow_start_exited"]"#).build()?;
    /// let mut records: Vec<Record> = Vec::new();
    /// Run::of(&scenario).observe(&mut records)?;
    /// assert!(matches!(records[0].event, Event::SlowStartExited { .. }));
    /// # Ok::<(), ackclock::ScenarioError>(())
    /// ```
    pub fn observe(self, observer: &mut dyn Observer) -> Result<Results, ScenarioError> {
        let drawn = self.drawn()?;
        let mut simulation = Simulation::of(drawn.as_ref().unwrap_or(self.scenario).shared_config());
        simulation.run_observed(SimTime::NEVER, observer);
        Ok(Results::new(simulation.finish()))
    }

    fn drawn(&self) -> Result<Option<Scenario>, ScenarioError> {
        self.seed.map(|seed| self.scenario.draw(seed)).transpose()
    }
}

//! A run under way, in slices.

use ackclock_scenario::Scenario;
use ackclock_sim::{EngineCounters, Outcome, Simulation, write_summary};
use ackclock_units::SimTime;

use crate::engine::Options;
use crate::packets;
use crate::rows::Rows;

/// A scenario and its simulation, which moves in slices.
#[derive(Debug)]
pub struct Run {
    scenario: Scenario,
    /// `None` once it is over and its results are taken.
    simulation: Option<Simulation>,
    counters: EngineCounters,
    end: SimTime,
    rows: Rows,
    /// Of each source of events its number among flows or links.
    places: Vec<Option<usize>>,
    packets: Vec<f64>,
    /// The results, once the run is over.
    outcome: Option<Box<Outcome>>,
}

impl Run {
    /// At time zero.
    pub(crate) fn new(scenario: Scenario, options: Options) -> Self {
        let watched = options.packets.then(|| scenario.with_events(packets::kinds())).flatten();
        let simulation = Simulation::of(watched.as_ref().unwrap_or(&scenario).shared_config());
        let flows: Vec<&str> = scenario.config().flows.iter().map(|flow| flow.name.as_str()).collect();
        Self {
            end: SimTime(scenario.config().duration.0),
            rows: Rows::new(&simulation, options.sample),
            places: packets::places(simulation.event_sources(), &flows),
            packets: Vec::new(),
            counters: EngineCounters::default(),
            simulation: Some(simulation),
            outcome: None,
            scenario,
        }
    }

    /// What is run.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// The time that has been simulated.
    pub fn now(&self) -> SimTime {
        self.simulation.as_ref().map_or(self.end, Simulation::now)
    }

    /// True at the scenario's end.
    pub fn is_finished(&self) -> bool {
        self.simulation.is_none()
    }

    /// What the engine has done so far.
    pub fn counters(&self) -> EngineCounters {
        self.counters
    }

    /// How many numbers a row of series has, how many flows, and how many links it is of.
    pub fn shape(&self) -> (usize, usize, usize) {
        (self.rows.width(), self.rows.flows(), self.rows.links())
    }

    /// Simulates up to a time, itself included, but not beyond the scenario's end.
    pub fn advance(&mut self, until: SimTime) {
        let until = until.min(self.end);
        let Some(simulation) = &mut self.simulation else { return };
        while self.rows.next() <= until {
            simulation.run_until(self.rows.next());
            self.rows.sample(simulation);
        }
        simulation.run_until(until);
        self.counters = simulation.counters();
        for record in simulation.take_events() {
            packets::add(&record, &self.places, &mut self.packets);
        }
        if until == self.end {
            self.outcome = self.simulation.take().map(|simulation| Box::new(simulation.finish()));
        }
    }

    /// The rows of series since the last call: numbers, one row behind the other ([`crate::NUMBERS_OF_FLOW`]).
    pub fn take_rows(&mut self) -> Vec<f64> {
        self.rows.take()
    }

    /// What happened to packets since the last call: numbers, one event behind the other ([`crate::NUMBERS_OF_PACKET`]).
    pub fn take_packets(&mut self) -> Vec<f64> {
        std::mem::take(&mut self.packets)
    }

    /// The results: of the whole run once it is finished, else up to now.
    pub fn outcome(&self) -> Outcome {
        match (&self.outcome, &self.simulation) {
            (Some(outcome), _) => (**outcome).clone(),
            (None, Some(simulation)) => simulation.clone().stop(),
            (None, None) => unreachable!("a run that is over has results"),
        }
    }

    /// The bytes of `summary.json`: of the whole run once it is finished, else up to now.
    pub fn summary(&self) -> Vec<u8> {
        let mut text = Vec::new();
        write_summary(&self.outcome().summary, &mut text).expect("a Vec takes all");
        text
    }
}

//! A run under way, in slices, whose links can be changed.
//!
//! A change becomes a part of the scenario, which has a `[[change]]` more from then on: to run that scenario from the beginning gives
//! the same bytes. It begins at a whole millisecond, and of one link there is one at each. The first change of a link makes it one
//! that is served packet by packet, so that the run is repeated up to now; so does a change that replaces one. What comes after goes
//! into the run as it is, unless it makes the path better than it ever was and completion times are held to that.

use std::collections::BTreeMap;
use std::sync::Arc;

use ackclock_scenario::{Scenario, ScenarioError, with_change};
use ackclock_sim::{EngineCounters, Outcome, Simulation, write_summary};
use ackclock_units::{SimDuration, SimTime};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::engine::Options;
use crate::packets;
use crate::rows::Rows;

/// Text and files of a scenario.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) text: String,
    pub(crate) file: String,
    pub(crate) files: Arc<BTreeMap<String, Vec<u8>>>,
}

impl Source {
    pub(crate) fn parse(&self) -> Result<Scenario, ScenarioError> {
        Scenario::parse_with_files(&self.text, &self.file, &[], Arc::clone(&self.files))
    }
}

/// Change of a link, in the words of a scenario; `None` leaves a value as it is.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Change {
    /// Name of the link.
    pub link: String,
    /// Its rate, such as "20 Mbit/s".
    pub rate: Option<String>,
    /// Its propagation delay, such as "10 ms".
    pub delay: Option<String>,
    /// Probability that it loses a packet.
    pub loss: Option<f64>,
    /// Limit of its queue, such as "50 packets".
    pub limit: Option<String>,
}

impl Change {
    /// Takes what a later change of the same link says over what this one said.
    fn update(&mut self, later: &Self) {
        let Self { link: _, rate, delay, loss, limit } = later.clone();
        self.rate = rate.or(self.rate.take());
        self.delay = delay.or(self.delay.take());
        self.loss = loss.or(self.loss);
        self.limit = limit.or(self.limit.take());
    }

    /// The change as a table of a scenario.
    fn table(&self, at: SimTime) -> Map<String, Value> {
        let text = |text: &Option<String>| text.clone().map(Value::from);
        let fields = [
            ("at", Some(written(at).into())),
            ("link", Some(self.link.clone().into())),
            ("rate", text(&self.rate)),
            ("delay", text(&self.delay)),
            ("limit", text(&self.limit)),
            ("loss", self.loss.map(Value::from)),
        ];
        fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
    }
}

/// Changes of one instant, and the text before them: a later change at that instant replaces what they say of its link.
#[derive(Clone, Debug)]
struct Instant {
    at: SimTime,
    before: String,
    changes: Vec<Change>,
}

/// The time in the words of a scenario.
fn written(at: SimTime) -> String {
    if !at.0.is_multiple_of(NANOS_OF_MILLI) {
        return format!("{} ns", at.0);
    }
    let millis = at.0 / NANOS_OF_MILLI;
    let decimals = format!("{}.{:03}", millis / 1000, millis % 1000);
    format!("{} s", decimals.trim_end_matches('0').trim_end_matches('.'))
}

const NANOS_OF_MILLI: u64 = 1_000_000;

/// A scenario and its simulation, which moves in slices.
#[derive(Debug)]
pub struct Run {
    source: Source,
    options: Options,
    scenario: Scenario,
    /// `None` once it is over and its results are taken.
    simulation: Option<Simulation>,
    counters: EngineCounters,
    end: SimTime,
    rows: Rows,
    /// Number of each source of events among flows or links.
    places: Vec<Option<usize>>,
    packets: Vec<f64>,
    /// The changes that were made last.
    last: Option<Instant>,
    /// The results, once the run is over.
    outcome: Option<Box<Outcome>>,
}

impl Run {
    /// A run at time zero.
    pub(crate) fn new(source: Source, scenario: Scenario, options: Options) -> Self {
        let watched = options.packets.then(|| scenario.with_events(packets::kinds())).flatten();
        let simulation = Simulation::of(watched.as_ref().unwrap_or(&scenario).shared_config());
        let flows: Vec<&str> = scenario.config().flows.iter().map(|flow| flow.name.as_str()).collect();
        Self {
            end: SimTime(scenario.config().duration.0),
            rows: Rows::new(&simulation, options.sample),
            places: packets::places(simulation.event_sources(), &flows),
            packets: Vec::new(),
            last: None,
            counters: EngineCounters::default(),
            simulation: Some(simulation),
            outcome: None,
            source,
            options,
            scenario,
        }
    }

    /// Scenario of the run.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// The text of what is run, changes included.
    pub fn text(&self) -> &str {
        &self.source.text
    }

    /// Changes links from the next whole millisecond on; what was changed at that instant before is replaced. Returns true if the run
    /// was repeated up to now, so that its rows begin anew. Fails with every mistake, and changes nothing then.
    pub fn change(&mut self, changes: &[Change]) -> Result<bool, ScenarioError> {
        let at = self.next_instant();
        let again = self.last.as_ref().filter(|last| last.at == at).cloned();
        let is_again = again.is_some();
        let mut instant =
            again.unwrap_or_else(|| Instant { at, before: self.source.text.clone(), changes: Vec::new() });
        for change in changes {
            match instant.changes.iter_mut().find(|earlier| earlier.link == change.link) {
                Some(earlier) => earlier.update(change),
                None => instant.changes.push(change.clone()),
            }
        }
        let tables = instant.changes.iter().map(|change| change.table(at));
        let text = tables.fold(instant.before.clone(), |text, table| with_change(&text, &table));
        let source = Source { text, ..self.source.clone() };
        let scenario = source.parse()?;
        let all = &scenario.config().network.changes;
        let new = &all[all.len() - instant.changes.len()..];
        let simulation = self.simulation.as_mut().filter(|_| !is_again);
        let simulation = simulation.filter(|simulation| new.iter().all(|change| simulation.takes_change(change)));
        if let Some(simulation) = simulation {
            for change in new {
                simulation.change_link(change);
            }
            (self.source, self.scenario, self.last) = (source, scenario, Some(instant));
            return Ok(false);
        }
        let now = self.now();
        *self = Self::new(source, scenario, self.options);
        self.last = Some(instant);
        self.advance(now);
        self.packets.clear();
        Ok(true)
    }

    /// The next whole millisecond, which a person reads with ease; close to the end the next nanosecond.
    fn next_instant(&self) -> SimTime {
        let now = self.now();
        let next = SimTime((now.0 / NANOS_OF_MILLI + 1) * NANOS_OF_MILLI);
        if next < self.end { next } else { now + SimDuration(1) }
    }

    /// The time that has been simulated.
    pub fn now(&self) -> SimTime {
        self.simulation.as_ref().map_or(self.end, Simulation::now)
    }

    /// True at the scenario's end.
    pub fn is_finished(&self) -> bool {
        self.simulation.is_none()
    }

    /// Work of the engine so far.
    pub fn counters(&self) -> EngineCounters {
        self.counters
    }

    /// Length of a row of series, and the numbers of its flows and links.
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

    /// Events of packets since the last call: numbers, one event behind the other ([`crate::NUMBERS_OF_PACKET`]).
    pub fn take_packets(&mut self) -> Vec<f64> {
        std::mem::take(&mut self.packets)
    }

    /// The results: of the whole run once it is finished, else up to now.
    pub fn outcome(&self) -> Outcome {
        match (&self.outcome, &self.simulation) {
            (Some(outcome), _) => (**outcome).clone(),
            (None, Some(simulation)) => simulation.copy().stop(),
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

//! An observed run: the sources of its events, and their delivery.

use ackclock_events::{Observer, Record, Source, SourceKind};
use ackclock_net::{Direction, LinkId};
use ackclock_units::SimTime;

use super::Simulation;
use crate::appliance::{Carries, Relays};
use crate::config::SimulationConfig;
use crate::events_table::EventLog;
use crate::hosts::Hosts;
use crate::streams::Streams;
use crate::watch::{EventSelection, Watch};

/// Number of records that are handed over together.
const BATCH: usize = 1_024;

/// Prepares a simulation for observers: the sources are its streams, then the senders of appliances, then its links.
pub(super) fn start(config: &SimulationConfig, hosts: &mut Hosts, streams: &Streams, relays: &Relays) {
    let Some(selection) = &config.trace.events else { return };
    let selection = &of_connections(selection, config);
    let mut watch = Watch::new(selection);
    watch_streams(selection, &mut watch, hosts, streams);
    watch_relays(config, selection, &mut watch, hosts, relays);
    for (number, link) in config.network.links.iter().enumerate() {
        let (id, name) = (LinkId::new(number), link.name.clone());
        let source = watch.add_source(Source { kind: SourceKind::Link, name, controller: String::new() });
        if selection.has_link(id) && selection.has_packets() {
            watch.watch_link(id, source);
            hosts.network.watch_link(id);
        }
    }
    hosts.network.begin_watch(watch, selection);
}

/// The selection with flows by the numbers of their connections, which their packets have.
fn of_connections(selection: &EventSelection, config: &SimulationConfig) -> EventSelection {
    let connections = |flows: &Vec<usize>| flows.iter().flat_map(|&flow| config.connections_of(flow)).collect();
    EventSelection { flows: selection.flows.as_ref().map(connections), ..selection.clone() }
}

fn watch_streams(selection: &EventSelection, watch: &mut Watch, hosts: &mut Hosts, streams: &Streams) {
    for stream in streams.list() {
        let (name, controller) = (stream.name.clone(), stream.controller.clone());
        let source = watch.add_source(Source { kind: SourceKind::Flow, name, controller });
        let flow = hosts.network.captures.face_of(stream.sender.connection()).flow;
        if selection.has_flow(flow as usize) {
            watch.watch_end(stream.sender, source);
            hosts.connections.watch(stream.sender, selection.kinds);
        }
    }
}

fn watch_relays(
    config: &SimulationConfig,
    selection: &EventSelection,
    watch: &mut Watch,
    hosts: &mut Hosts,
    relays: &Relays,
) {
    for (id, relay) in relays.listed() {
        let Carries::Flow(flow) = relay.carries else { continue };
        let (split, appliance) = (&config.splits[id.index()], &config.appliances[relay.appliance.index()].name);
        for (direction, side) in Direction::BOTH.into_iter().zip([&split.far, &split.near]) {
            let name = format!("{appliance} {} {}", config.flows[flow].name, direction.name());
            let controller = side.controller_name.clone();
            let source = watch.add_source(Source { kind: SourceKind::Relay, name, controller });
            if selection.has_flow(flow) {
                let sender = relay.stream(direction).to;
                watch.watch_end(sender, source);
                hosts.connections[sender].watch(selection.kinds);
            }
        }
    }
}

impl Simulation {
    /// The sources of events, in the order of their numbers; none unless the run is observed
    /// ([`TraceConfig::events`](crate::TraceConfig::events)).
    pub fn event_sources(&self) -> &[Source] {
        self.hosts.network.watch.as_ref().map_or(&[], |watch| &watch.sources)
    }

    /// Takes the events since the last call, which are then not part of the results.
    pub fn take_events(&mut self) -> Vec<Record> {
        let now = self.now();
        let Some(watch) = &mut self.hosts.network.watch else { return Vec::new() };
        watch.flush(now);
        watch.take()
    }

    /// Returns events, the last of those taken last: they are part of the results again.
    pub fn put_back_events(&mut self, records: Vec<Record>) {
        if let Some(watch) = &mut self.hosts.network.watch {
            watch.put_back(records);
        }
    }

    /// Runs like [`Self::run_until`], with reports of events to `observer`; it learns the sources first.
    pub fn run_observed(&mut self, until: SimTime, observer: &mut dyn Observer) {
        observer.begin(self.event_sources());
        while self.run_to_events(until) {
            self.hand_over(observer);
        }
        self.hand_over(observer);
    }

    /// Runs like [`Self::run_until`], but stops when there is a batch of events to take. Returns true if it did.
    pub fn run_to_events(&mut self, until: SimTime) -> bool {
        let is_enough =
            |simulation: &Self| simulation.hosts.network.watch.as_ref().is_some_and(|watch| watch.len() >= BATCH);
        self.run_until_or(until, is_enough)
    }

    /// Events that no caller has taken.
    pub(super) fn events_of_results(&mut self) -> EventLog {
        if self.config.trace.events.is_none() {
            return EventLog::default();
        }
        let records = self.take_events();
        let flow_names = self.config.flows.iter().map(|flow| flow.name.clone()).collect();
        EventLog { sources: self.event_sources().to_vec(), records, flow_names }
    }

    fn hand_over(&mut self, observer: &mut dyn Observer) {
        for record in self.take_events() {
            observer.on_event(&record);
        }
    }
}

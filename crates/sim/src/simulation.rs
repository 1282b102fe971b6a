//! The run loop, which alone moves time.
//!
//! Each event is handled by its component. The [`Role`] of an end of a connection decides who handles its events.

mod build;
mod changing;
mod decisions;
mod inspect;
mod measuring;
mod parallel;
mod watching;

use std::sync::Arc;

use ackclock_cc::ExternalController;
use ackclock_net::{EndpointId, Packet, Payload};
use ackclock_units::SimTime;
use ackclock_units::interrupt::check;

use crate::appliance::{self, Carries, Relays};
use crate::config::SimulationConfig;
use crate::connections::Role;
use crate::episodes::episode_table;
use crate::event_queue::{Event, Moment};
use crate::hosts::Hosts;
use crate::ids::FlowId;
use crate::outcome::{EngineCounters, LinkSummary, Outcome, Table};
use crate::recorder::Recorder;
use crate::streams::Streams;
use crate::summary;
use crate::traffic::{DatagramFlows, ShortFlows, completion_table};

pub use parallel::{ParallelSimulation, PartitionSummary};

/// Events between checks for cancellation: a tenth of a millisecond.
const EVENTS_BETWEEN_QUESTIONS: u64 = 1_024;

/// A simulation under way. Clones continue in the same way.
#[derive(Clone, Debug)]
pub struct Simulation {
    config: Arc<SimulationConfig>,
    hosts: Hosts,
    streams: Streams,
    relays: Relays,
    short_flows: ShortFlows,
    datagrams: DatagramFlows,
    recorder: Recorder,
    counters: EngineCounters,
    end: SimTime,
    /// Summaries of links, once the measurement is over.
    link_summaries: Option<Vec<LinkSummary>>,
    /// True if controllers may decide after events.
    has_deciders: bool,
}

impl Simulation {
    /// A clone that continues in the same way. For other crates, which would each compile the whole of `clone`.
    #[inline(never)]
    #[must_use]
    pub fn copy(&self) -> Self {
        self.clone()
    }

    /// Handles every event up to and including `until`, but none after the scenario's end.
    pub fn run_until(&mut self, until: SimTime) {
        self.run_until_or(until, |_| false);
    }

    /// Runs like [`Self::run_until`], but stops after the first event for which `stop` returns true. `stop` is called
    /// after events that reach an endpoint or an application. Returns true if it stopped.
    pub fn run_until_or(&mut self, until: SimTime, stop: impl FnMut(&Self) -> bool) -> bool {
        let until = until.min(self.end);
        let has_stopped = self.run_before(Moment::after(until), stop);
        if !has_stopped {
            self.wait_until(until);
        }
        has_stopped
    }

    /// Handles every event before `end`; see [`Self::run_until_or`].
    fn run_before(&mut self, end: Moment, mut stop: impl FnMut(&Self) -> bool) -> bool {
        if self.has_deciders {
            let decide_or_stop = |simulation: &mut Self, event, packet: &Packet| {
                simulation.decide_after(event, packet);
                stop(simulation)
            };
            self.run_events(end, decide_or_stop)
        } else {
            self.run_events(end, |simulation, _, _| stop(simulation))
        }
    }

    /// Handles events; `after` is called for each that reached an end, and returns whether to stop.
    fn run_events(&mut self, end: Moment, mut after: impl FnMut(&mut Self, Event, &Packet) -> bool) -> bool {
        let mut packet = Packet::default();
        let mut left = EVENTS_BETWEEN_QUESTIONS;
        let has_stopped = loop {
            let Some((time, event)) = self.hosts.network.queue.first_before(end) else { break false };
            self.hosts.network.queue.advance(time);
            left -= 1;
            if left == 0 {
                left = EVENTS_BETWEEN_QUESTIONS;
                self.counters.events += left;
                check();
            }
            if self.handle(event, &mut packet) && after(self, event, &packet) {
                break true;
            }
        };
        self.counters.events += EVENTS_BETWEEN_QUESTIONS - left;
        has_stopped
    }

    /// Moves time on without events.
    fn wait_until(&mut self, time: SimTime) {
        let now = self.hosts.now();
        self.hosts.network.queue.advance(now.max(time));
    }

    /// The external controller of a flow's sending end, if there is one. Its changes apply with [`Self::resume`].
    pub fn external_controller(&mut self, flow: FlowId) -> Option<&mut dyn ExternalController> {
        self.hosts.connections.external_controller(opener_of(flow))
    }

    /// Sends the segments of a flow that its externally changed controller now permits.
    pub fn resume(&mut self, flow: FlowId) {
        let opener = opener_of(flow);
        self.hosts.either(opener, |tcp, now, out| tcp.resume(now, out), |quic, now, out| quic.resume(now, out));
        self.hosts.arm_timer(opener_of(flow));
    }

    /// Runs to the end and hands over the results.
    pub fn finish(mut self) -> Outcome {
        self.run_until(self.end);
        self.stop()
    }

    /// Hands over the results up to now.
    pub fn stop(mut self) -> Outcome {
        self.hosts.network.check_at_end();
        self.conclude()
    }

    fn conclude(mut self) -> Outcome {
        let now = self.hosts.now();
        self.end_measurement_with_run();
        let links = self.link_summaries.take().expect("the measurement has just ended");
        self.short_flows.count_what_is_under_way(&self.hosts, &mut self.relays);
        let (config, streams, connections) = (&*self.config, self.streams.list(), &mut self.hosts.connections);
        let mut summary = summary::summarize(config, now, streams, connections, links);
        let run = appliance::Run { now, config, relays: &self.relays, streams, connections };
        summary.appliances = appliance::summarize(run);
        summary.groups = self.short_flows.summaries(config);
        summary.datagrams = self.datagrams.summaries(config, now);
        let episodes = episode_table(config, streams, &self.relays, connections, now);
        let completions = self.completions();
        let events = self.events_of_results();
        let captures = self.hosts.network.captures.take(&self.config.network.links);
        let appliances = self.relays.take_table(&self.config);
        let media = self.datagrams.take_table(&self.config);
        let flow_names = self.streams.list().iter().map(|stream| stream.name.clone()).collect();
        let (flows, links) = self.recorder.into_tables(flow_names, &self.config.network.links);
        Outcome {
            summary,
            flows,
            links,
            episodes,
            completions,
            appliances,
            media,
            events,
            captures,
            engine: self.counters,
        }
    }

    /// A table with a row for each short flow, and for each exchange of a connection.
    fn completions(&self) -> Table {
        let of_streams = self.streams.list().iter().filter_map(|stream| {
            let exchanges = stream.exchanges.as_ref()?;
            Some((stream.name.clone(), &exchanges.0))
        });
        completion_table(&of_streams.chain(self.short_flows.logs(&self.config)).collect::<Vec<_>>())
    }

    /// Handles the queue's first event and removes it. `packet` receives an arriving packet. Returns false if only
    /// links and their packets have changed.
    #[allow(clippy::inline_always, reason = "several loops call it, and as a call it takes a twentieth of their time")]
    #[inline(always)]
    fn handle(&mut self, event: Event, packet: &mut Packet) -> bool {
        if let Event::Link(link) = event {
            let is_at_its_end = self.hosts.on_arrival(link, packet);
            if is_at_its_end {
                self.on_packet(packet);
            }
            return is_at_its_end;
        }
        if let Event::Service(link) = event {
            self.hosts.network.on_service(link);
            self.hosts.fetch_ahead(link);
            return false;
        }
        self.hosts.network.queue.drop_first();
        match event {
            Event::Link(_) | Event::Service(_) => unreachable!("handled above"),
            Event::Timer(end) => self.on_timer(end),
            Event::App(stream) => self.streams.on_app(stream, &mut self.hosts),
            Event::Start(flow) => self.on_start(flow),
            Event::Sample => self.on_sample(),
            Event::MeasureFrom => self.begin_measurement(),
            Event::MeasureUntil => self.end_measurement(),
            Event::Arrival(group) => self.short_flows.start(group, &self.config, &mut self.hosts, &mut self.relays),
            Event::Datagram(flow) => self.datagrams.send(flow, &mut self.hosts.network),
            Event::Discipline(at) => self.relays.on_discipline(at, &mut self.hosts),
            Event::Copier(appliance) => self.relays.run_copier(appliance, &mut self.hosts),
            Event::Abort(flow) => self.hosts.call(opener_of(flow), |endpoint, now, out| endpoint.abort(now, out)),
            Event::Change(number) => self.hosts.network.change(&self.config.network.changes[number as usize]),
            Event::Left(link) => self.hosts.tell_left(link),
            Event::StopReading(end) => self.hosts.connections[end].stop_reading(self.hosts.network.now()),
        }
        true
    }

    fn on_start(&mut self, flow: FlowId) {
        let opener = opener_of(flow);
        self.hosts.either(opener, |tcp, now, out| tcp.connect(now, out), |quic, now, out| quic.connect(now, out));
        self.hosts.arm_timer(opener);
    }

    /// Takes a packet at its destination.
    fn on_packet(&mut self, packet: &Packet) {
        match &packet.payload {
            Payload::Tcp(segment) => {
                if packet.telemetry.is_some() {
                    self.hosts.on_telemetry(packet.to, packet.generation);
                }
                if let Some(role) = self.hosts.on_segment(packet.to, packet.generation, segment) {
                    self.after_segment(packet.to, role, segment.payload > 0);
                }
            }
            Payload::Quic(quic) => {
                let role = self.hosts.on_quic(packet.to, quic, packet.telemetry.is_some());
                self.after_segment(packet.to, role, quic.payload > 0);
            }
            Payload::Udp(datagram) => {
                self.counters.packets_delivered += 1;
                if let Some(flow) = self.hosts.connections.datagrams(packet.to) {
                    self.datagrams.receive(flow, packet.to, datagram, &mut self.hosts.network);
                }
            }
        }
    }

    fn after_segment(&mut self, end: EndpointId, role: Role, has_data: bool) {
        self.counters.packets_delivered += u64::from(has_data);
        if let Role::Applications { sends: Some(stream), .. } = role {
            self.streams.count_round_trip(stream, &self.hosts);
        }
        self.after_call(end, role);
        if has_data && let Role::Applications { delivers: Some(stream), .. } = role {
            self.streams.on_data(stream, &mut self.hosts);
        }
    }

    fn on_timer(&mut self, end: EndpointId) {
        if self.hosts.take_timer(end) {
            self.hosts.either(end, |tcp, now, out| tcp.on_timer(now, out), |quic, now, out| quic.on_timer(now, out));
            self.hosts.arm_timer(end);
            self.after_call(end, self.hosts.connections.role(end));
        }
    }

    /// Lets the user of an endpoint act on the changes of a call into it.
    fn after_call(&mut self, end: EndpointId, role: Role) {
        match role {
            Role::Applications { sends: Some(stream), .. } => {
                self.streams.after_call(stream, &mut self.hosts, &mut self.recorder);
            }
            Role::Applications { sends: None, .. } | Role::Idle => {}
            Role::Relay(relay) => {
                self.relays.on_event(relay, &mut self.hosts);
                if let Carries::ShortFlow(flow) = self.relays[relay].carries {
                    self.short_flows.release_if_over((flow, end), &mut self.hosts, &mut self.relays);
                }
            }
            Role::ShortFlow(flow) => {
                self.short_flows.on_event(flow, end, &self.config, &mut self.hosts);
                self.short_flows.release_if_over((flow, end), &mut self.hosts, &mut self.relays);
            }
        }
    }
}

/// The end at which a flow of the scenario's own list begins.
fn opener_of(flow: FlowId) -> EndpointId {
    EndpointId::opener(SimulationConfig::first_connection(flow))
}

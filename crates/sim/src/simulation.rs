//! The run loop: the only thing that moves time.

mod connections;
mod decisions;
mod exchanges;
mod measuring;
mod reading;
mod relays;
mod short_splits;
mod slots;
mod traffic;

use ackclock_cc::ExternalController;
use ackclock_net::{Packet, Router};
use ackclock_tcp::{Endpoint, State};
use ackclock_units::{Bytes, SimTime};
use ackclock_wire::Segment;

use crate::app::{Action, AfterRead, App};
use crate::appliance::{self, Relays};
use crate::config::{AppConfig, FlowConfig, SimulationConfig};
use crate::episodes::episode_table;
use crate::event_queue::Event;
use crate::network::{Network, Port};
use crate::outcome::{EngineCounters, Outcome};
use crate::recorder::Recorder;
use crate::stream::Stream;
use crate::summary;
use traffic::Traffic;

/// No stream sends from this endpoint, or none is delivered by it.
const NOTHING: u32 = u32::MAX;

/// What an endpoint sends from here on (but for [`NOTHING`]) is a relay's, not a stream.
const RELAYS: u32 = 1 << 31;

/// A simulation under way. Clones continue alike.
#[derive(Clone, Debug)]
pub struct Simulation {
    config: SimulationConfig,
    network: Network,
    endpoints: Vec<Endpoint>,
    ports: Vec<PortState>,
    streams: Vec<Stream>,
    recorder: Recorder,
    counters: EngineCounters,
    end: SimTime,
    link_stats: Option<Vec<ackclock_net::LinkStats>>,
    traffic: Traffic,
    relays: Relays,
    /// Controllers may decide after events.
    has_deciders: bool,
}

/// What the loop keeps of each endpoint.
#[derive(Clone, Copy, Debug)]
struct PortState {
    route: u32,
    /// When the pending timer event fires; [`SimTime::NEVER`] if there is none.
    timer: SimTime,
    /// The stream that this endpoint sends, [`RELAYS`] and the relay that it belongs to, or [`NOTHING`].
    sends: u32,
    /// The stream that ends here, or [`NOTHING`].
    delivers: u32,
}

impl Simulation {
    /// A simulation at time zero. The configuration is a checked one: see the scenario crate.
    pub fn new(config: &SimulationConfig) -> Self {
        let mut network = Network::new(&config.network_of_connections(), config.seed);
        let mut streams = Vec::new();
        let mut router = Router::new(&config.network);
        let (mut endpoints, mut ports) = connections::build(config, &mut network, &mut router);
        for (index, flow) in config.flows.iter().enumerate() {
            let ends = [2 * index, 2 * config.last_connection(index) + 1];
            let app = |app: &AppConfig, name: &str| App::new(app, config.seed, name);
            let first = streams.len();
            add_stream(&mut streams, &mut ports, flow, ends, Some(app(&flow.app, &flow.name)));
            let reply = flow.reply.as_ref().map(|reply| app(reply, &reply_name(flow)));
            let answers = flow.app.has_responses().then(App::responder);
            add_stream(&mut streams, &mut ports, flow, [ends[1], ends[0]], answers.or(reply));
            if ends[1] != ends[0] + 1 {
                streams[first..].iter_mut().for_each(|stream| stream.blocking = Some(Box::default()));
            }
            if flow.app.has_responses() {
                streams[first].exchanges = Some(exchanges::new_log(config, flow, &mut router));
            }
            network.queue.push(flow.start, Event::Start(index as u32));
            if let Some(time) = flow.abort_at {
                network.queue.push(time, Event::Abort(index as u32));
            }
            if let Some(time) = flow.stops_reading {
                network.queue.push(time, Event::StopReading(ends[1] as u32));
            }
        }
        let traffic = Traffic::new(config, &mut network, &mut router);
        traffic::hold_numbers_of_datagrams(config, &mut endpoints, &mut ports);
        network.find_express_links(&config.network);
        let relays = Relays::new(config);
        let recorder =
            Recorder::new(&config.trace, streams.len(), config.trace.traced_links.len(), relays.series.is_some());
        let end = SimTime(config.duration.0);
        if recorder.interval().is_some() {
            network.queue.push(SimTime::ZERO, Event::Sample);
        }
        if let Some(from) = config.measure.from {
            network.queue.push(from, Event::MeasureFrom);
        }
        if let Some(until) = config.measure.until.filter(|until| *until < end) {
            network.queue.push(until, Event::MeasureUntil);
        }
        let counters = EngineCounters::default();
        let mut simulation = Self {
            config: config.clone(),
            network,
            endpoints,
            ports,
            streams,
            recorder,
            counters,
            end,
            link_stats: None,
            traffic,
            relays,
            has_deciders: decisions::has_deciders(config),
        };
        simulation.begin_relays();
        simulation
    }

    /// Handles every event up to and including `until`, but none after the scenario's end.
    pub fn run_until(&mut self, until: SimTime) {
        self.run_until_or(until, |_| false);
    }

    /// As [`Self::run_until`], but stops after the first event that `stop` says so of, which is asked after those that reach an
    /// endpoint or an application. Returns true if it did.
    pub fn run_until_or(&mut self, until: SimTime, mut stop: impl FnMut(&Self) -> bool) -> bool {
        if self.has_deciders {
            let decide_or_stop = |simulation: &mut Self, event, packet: &Packet| {
                simulation.decide_after(event, packet);
                stop(simulation)
            };
            self.run_events(until, decide_or_stop)
        } else {
            self.run_events(until, |simulation, _, _| stop(simulation))
        }
    }

    /// Handles events; `after` looks at what each that reached an end has left, and says whether to stop.
    fn run_events(&mut self, until: SimTime, mut after: impl FnMut(&mut Self, Event, &Packet) -> bool) -> bool {
        let until = until.min(self.end);
        let mut packet = Packet::default();
        while let Some((time, event)) = self.network.queue.first().filter(|(time, _)| *time <= until) {
            debug_assert!(time >= self.network.now, "time ran backwards");
            self.network.now = time;
            self.counters.events += 1;
            if self.handle(event, &mut packet) && after(self, event, &packet) {
                return true;
            }
        }
        self.network.now = self.network.now.max(until);
        false
    }

    /// The controller from outside that a flow's sending end has, if it has one. What it changes takes hold with
    /// [`Self::resume`].
    pub fn external_controller(&mut self, flow: usize) -> Option<&mut dyn ExternalController> {
        self.endpoints[2 * flow].external_controller()
    }

    /// A flow sends what its controller, changed from outside, now lets go.
    pub fn resume(&mut self, flow: usize) {
        self.with_port(2 * flow, |endpoint, now, port| endpoint.resume(now, port));
        self.arm_timer(2 * flow);
    }

    /// Runs to the end and hands over the results.
    pub fn finish(mut self) -> Outcome {
        self.run_until(self.end);
        self.stop()
    }

    /// Hands over the results up to now.
    pub fn stop(mut self) -> Outcome {
        let now = self.network.now;
        self.end_measurement();
        let link_stats = self.link_stats.take().expect("the measurement has just ended");
        self.count_what_is_under_way();
        let mut summary = summary::summarize(&self.config, &self.streams, &self.endpoints, &link_stats);
        summary.appliances = appliance::summarize(&self.config, &self.relays, &self.streams, &self.endpoints);
        (summary.groups, summary.datagrams) = self.traffic_summaries();
        let link_names: Vec<String> = self.config.network.links.iter().map(|link| link.name.clone()).collect();
        let flow_names: Vec<String> = self.streams.iter().map(|stream| stream.name.clone()).collect();
        let episodes = episode_table(&self.config, &self.streams, &self.relays, &mut self.endpoints, now);
        let completions = self.completions();
        let captures = summary::captures(self.network.take_captures(), &link_names);
        let appliances = self.relays.take_table(&self.config);
        let (flows, links) = self.recorder.into_tables(flow_names, &link_names);
        Outcome { summary, flows, links, episodes, completions, appliances, captures, engine: self.counters }
    }

    /// Handles the queue's first event and takes it out. `packet` is where one that arrives is put. Returns false if nothing
    /// but links and what they carry has changed.
    #[allow(clippy::inline_always, reason = "several loops call it, and as a call it takes a twentieth of their time")]
    #[inline(always)]
    fn handle(&mut self, event: Event, packet: &mut Packet) -> bool {
        if let Event::Link(link) = event {
            let is_at_its_end = self.network.on_arrival(link, packet);
            if is_at_its_end {
                if packet.endpoint < self.traffic.first_endpoint {
                    self.on_segment(packet.endpoint as usize, &packet.segment);
                } else {
                    self.on_traffic(packet);
                }
            }
            return is_at_its_end;
        }
        if let Event::Service(link) = event {
            self.network.on_service(link);
            return false;
        }
        self.network.queue.drop_first();
        match event {
            Event::Link(_) | Event::Service(_) => unreachable!("handled above"),
            Event::Timer(endpoint) => self.on_timer(endpoint as usize),
            Event::App(stream) => self.on_app(stream as usize),
            Event::Start(flow) => self.on_start(2 * flow as usize),
            Event::Sample => self.on_sample(),
            Event::MeasureFrom => self.begin_measurement(),
            Event::MeasureUntil => self.end_measurement(),
            Event::Source(source) => self.on_source(source as usize),
            Event::Discipline(way) => self.on_discipline(way as usize),
            Event::Copier(appliance) => self.run_copier(appliance as usize),
            Event::Abort(flow) => self.with_port(2 * flow as usize, |endpoint, now, port| endpoint.abort(now, port)),
            Event::StopReading(endpoint) => self.endpoints[endpoint as usize].stop_reading(self.network.now),
        }
        true
    }

    /// Runs `call` on an endpoint with its way into the network.
    fn with_port(&mut self, endpoint: usize, call: impl FnOnce(&mut Endpoint, SimTime, &mut Port<'_>)) {
        let now = self.network.now;
        let route = self.ports[endpoint].route;
        let mut port = Port { network: &mut self.network, peer: endpoint as u32 ^ 1, route, incarnation: 0 };
        call(&mut self.endpoints[endpoint], now, &mut port);
    }

    fn on_start(&mut self, endpoint: usize) {
        self.with_port(endpoint, |opener, now, port| opener.connect(now, port));
        self.arm_timer(endpoint);
    }

    fn on_segment(&mut self, endpoint: usize, segment: &Segment) {
        self.counters.packets_delivered += u64::from(segment.payload > 0);
        self.with_port(endpoint, |endpoint, now, port| endpoint.on_segment(now, segment, port));
        self.after_call(endpoint);
        if segment.payload > 0 {
            self.check_read(endpoint);
        }
    }

    fn on_timer(&mut self, endpoint: usize) {
        let now = self.network.now;
        if self.ports[endpoint].timer != now {
            return; // an earlier event has taken its place
        }
        self.ports[endpoint].timer = SimTime::NEVER;
        if endpoint >= self.traffic.first_endpoint as usize {
            self.on_short_timer(endpoint);
        } else if self.endpoints[endpoint].deadline() <= now {
            self.with_port(endpoint, |endpoint, now, port| endpoint.on_timer(now, port));
            self.after_call(endpoint);
        } else {
            self.arm_timer(endpoint);
        }
    }

    /// Timers are lazy: an event is scheduled only if none is pending that comes early enough, and when it comes the
    /// deadline may have moved on.
    fn arm_timer(&mut self, endpoint: usize) {
        let deadline = self.endpoints[endpoint].deadline();
        let port = &mut self.ports[endpoint];
        if deadline < port.timer {
            port.timer = deadline;
            self.network.queue.push(deadline.max(self.network.now), Event::Timer(endpoint as u32));
        }
    }

    /// What follows every call into an endpoint.
    fn after_call(&mut self, endpoint: usize) {
        self.arm_timer(endpoint);
        let stream = self.ports[endpoint].sends;
        if stream >= RELAYS {
            if stream != NOTHING {
                self.on_relay((stream - RELAYS) as usize);
            }
            return;
        }
        let stream = stream as usize;
        if let Some(sample) = self.endpoints[endpoint].latest_rtt_sample() {
            self.streams[stream].on_rtt_sample(sample);
        }
        if self.recorder.per_event {
            self.recorder.record_flow(self.network.now, stream, &self.streams[stream], &self.endpoints);
        }
        // An acceptor may get all of a small file, and its end, with the segment that completes the handshake.
        if !self.streams[stream].is_open
            && matches!(self.endpoints[endpoint].state(), State::Established | State::CloseWait)
        {
            self.streams[stream].is_open = true;
            self.on_app(stream);
        }
    }

    /// Data arrived at `endpoint`: has the application at the other end waited for it to be read?
    fn check_read(&mut self, endpoint: usize) {
        let index = self.ports[endpoint].delivers;
        if index == NOTHING {
            return;
        }
        let stream = &mut self.streams[index as usize];
        if let Some(blocking) = &mut stream.blocking {
            let now = self.network.now;
            let is_blocked = self.endpoints[endpoint].has_out_of_order_data();
            blocking.on_data(now, is_blocked, self.config.measure.holds(now));
        }
        let Some(wanted) = stream.wanted else { return };
        if stream.read_event.is_some() {
            return;
        }
        let now = self.network.now;
        if let Some(time) = self.endpoints[endpoint].time_of_read(wanted, now) {
            stream.read_event = Some(time);
            self.network.queue.push(time, Event::App(index));
        }
    }

    /// An application's time has come: to write, or to learn that the receiver has read what it waited for.
    fn on_app(&mut self, index: usize) {
        let now = self.network.now;
        let stream = &mut self.streams[index];
        if stream.read_event.is_some_and(|time| time <= now) {
            (stream.read_event, stream.wanted) = (None, None);
            match stream.app.on_read(now) {
                AfterRead::WakeAt(time) => self.network.queue.push(time, Event::App(index as u32)),
                AfterRead::Complete => stream.complete(now, &self.config.measure, &self.endpoints),
                AfterRead::Respond => self.respond(index),
                AfterRead::Responded => self.on_responded(index),
            }
            return;
        }
        let sender = stream.sender;
        let action = stream.app.act(now, self.endpoints[sender].unsent());
        self.perform(index, sender, action);
    }

    fn perform(&mut self, index: usize, sender: usize, action: Action) {
        let stream = &mut self.streams[index];
        stream.wanted = action.tell_when_read.or(stream.wanted);
        if let Some(time) = action.wake_at {
            self.network.queue.push(time, Event::App(index as u32));
        }
        self.with_port(sender, |endpoint, now, port| {
            if action.write > Bytes::ZERO {
                endpoint.write(now, action.write, port);
            }
            if action.close {
                endpoint.close(now, port);
            }
        });
        self.arm_timer(sender);
    }
}

fn add_stream(
    streams: &mut Vec<Stream>,
    ports: &mut [PortState],
    flow: &FlowConfig,
    [sender, receiver]: [usize; 2],
    app: Option<App>,
) {
    let Some(app) = app else { return };
    let name = if sender.is_multiple_of(2) { flow.name.clone() } else { reply_name(flow) };
    ports[sender].sends = streams.len() as u32;
    ports[receiver].delivers = streams.len() as u32;
    streams.push(Stream::new(flow, name, app, [sender, receiver]));
}

/// What the stream of the accepting end is called.
fn reply_name(flow: &FlowConfig) -> String {
    format!("{}.reply", flow.name)
}

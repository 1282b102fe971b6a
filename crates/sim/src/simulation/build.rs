//! A simulation before its first event: connections, streams and the initial events.

use std::sync::Arc;

use ackclock_cc::ControllerConfig;
use ackclock_net::{ConnectionIndex, EndpointId, NodeId, Router};
use ackclock_quic::QuicEndpoint;
use ackclock_tcp::{Endpoint, Reading, TcpConfig};
use ackclock_units::interrupt::check;
use ackclock_units::{Shared, SimTime};

use super::Simulation;
use crate::app::App;
use crate::appliance::{HandshakeOrder, Relays};
use crate::captures::Face;
use crate::config::{AppConfig, FlowConfig, SimulationConfig};
use crate::connections::{Connections, NewEnd, Role};
use crate::event_queue::Event;
use crate::hosts::Hosts;
use crate::ids::{FlowId, RelayId, StreamId};
use crate::network::{Network, Place};
use crate::outcome::EngineCounters;
use crate::recorder::Recorder;
use crate::streams::Streams;
use crate::traffic::{CompletionLog, DatagramFlows, EmptyPath, ShortFlows};

impl Simulation {
    /// A simulation at time zero. The configuration must be checked: see the scenario crate.
    pub fn new(config: &SimulationConfig) -> Self {
        Self::of(&Arc::new(config.clone()))
    }

    /// A simulation like [`Self::new`], for a shared configuration: with many thousand flows it takes megabytes.
    pub fn of(config: &Arc<SimulationConfig>) -> Self {
        let mut network = Network::new(&config.network_of_connections(), config.seed);
        if config.trace.events.is_some() {
            network.captures.keep_faces();
        }
        let mut hosts = Hosts { network, connections: Connections::default() };
        if config.has_quic() {
            hosts.network.carry_more(&config.network);
        }
        if config.has_captured_flows() {
            hosts.network.expect_captures();
        }
        let mut router = Router::new(&config.network);
        add_connections(config, &mut hosts, &mut router);
        let mut streams = Streams::new(config.measure);
        for flow in (0..config.flows.len()).map(FlowId::new) {
            check();
            add_streams(flow, config, &mut streams, &mut hosts, &mut router);
            schedule_flow(flow, config, &mut hosts);
        }
        let short_flows = ShortFlows::new(config, &mut hosts.network, &mut router);
        let datagrams = DatagramFlows::new(config, &mut hosts, &mut router);
        hosts.network.close_routes(&config.network);
        let mut relays = Relays::new(config);
        let has_others = relays.are_recorded() || datagrams.are_recorded();
        let recorder = Recorder::new(&config.trace, streams.list().len(), has_others);
        schedule_measurement(config, &recorder, &mut hosts);
        for (number, change) in (0..).zip(&config.network.changes) {
            hosts.schedule(change.at, Event::Change(number));
        }
        for relay in (0..config.splits.len()).map(RelayId::new) {
            relays.begin(relay, &mut hosts);
        }
        super::watching::start(config, &mut hosts, &streams, &relays);
        Self {
            config: Arc::clone(config),
            hosts,
            streams,
            relays,
            short_flows,
            datagrams,
            recorder,
            counters: EngineCounters::default(),
            end: SimTime(config.duration.0),
            link_summaries: None,
            has_deciders: super::decisions::has_deciders(config),
        }
    }
}

/// Adds the applications of a flow, each with its stream.
fn add_streams(
    id: FlowId,
    config: &SimulationConfig,
    streams: &mut Streams,
    hosts: &mut Hosts,
    router: &mut Router<'_>,
) {
    let flow = &config.flows[id.index()];
    let (first, last) = (SimulationConfig::first_connection(id), config.last_connection(id));
    let (opener, acceptor) = (EndpointId::opener(first), EndpointId::acceptor(last));
    let app = |app: &AppConfig, name: &str| App::new(app, config.seed, name);
    let forward = streams.add(flow, flow.name.clone(), app(&flow.app, &flow.name), [opener, acceptor]);
    let reply_name = format!("{}.reply", flow.name);
    let reply = flow.reply.as_ref().map(|reply| app(reply, &reply_name));
    let answers = flow.app.has_responses().then(App::responder);
    let backward = answers.or(reply).map(|app| streams.add(flow, reply_name, app, [acceptor, opener]));
    hosts.connections.set_role(opener, Role::Applications { sends: Some(forward), delivers: backward });
    hosts.connections.set_role(acceptor, Role::Applications { sends: backward, delivers: Some(forward) });
    if first != last {
        let all = [Some(forward), backward].into_iter().flatten();
        all.for_each(|stream: StreamId| streams.get_mut(stream).blocking = Some(Box::default()));
    }
    if flow.app.has_responses() {
        streams.get_mut(forward).exchanges = Some(new_log(config, flow, router));
    }
}

/// An empty log of the exchanges on `flow`.
fn new_log(config: &SimulationConfig, flow: &FlowConfig, router: &mut Router<'_>) -> Box<(CompletionLog, EmptyPath)> {
    let mut path = |from, to| router.shortest_path(from, to).expect("a checked scenario has a route for every flow");
    let (forward, backward) = (path(flow.from, flow.to), path(flow.to, flow.from));
    Box::new((CompletionLog::new(&[]), EmptyPath::new(flow, &config.network, &forward, &backward)))
}

fn schedule_flow(id: FlowId, config: &SimulationConfig, hosts: &mut Hosts) {
    let flow = &config.flows[id.index()];
    hosts.schedule(flow.start, Event::Start(id));
    if let Some(time) = flow.abort_at {
        hosts.schedule(time, Event::Abort(id));
    }
    if let Some(time) = flow.stops_reading {
        hosts.schedule(time, Event::StopReading(EndpointId::acceptor(config.last_connection(id))));
    }
}

fn schedule_measurement(config: &SimulationConfig, recorder: &Recorder, hosts: &mut Hosts) {
    if recorder.interval().is_some() {
        hosts.schedule(SimTime::ZERO, Event::Sample);
    }
    if let Some(from) = config.measure.from {
        hosts.schedule(from, Event::MeasureFrom);
    }
    if let Some(until) = config.measure.until.filter(|until| *until < SimTime(config.duration.0)) {
        hosts.schedule(until, Event::MeasureUntil);
    }
}

/// One end of a connection before it exists.
struct EndConfig<'a> {
    node: NodeId,
    tcp: &'a TcpConfig,
    controller: &'a ControllerConfig,
    reading: Reading,
    role: Role,
    listens: Listens,
}

#[derive(Clone, Copy)]
enum Listens {
    No,
    Yes,
    AndAsks,
}

/// Adds the connections of every flow: its own, then those that appliances open.
fn add_connections(config: &SimulationConfig, hosts: &mut Hosts, router: &mut Router<'_>) {
    hosts.connections.expect(config.connections());
    for connection in (0..config.connections()).map(ConnectionIndex::new) {
        check();
        let (opener, acceptor) = (opener(config, connection), acceptor(config, connection));
        let [there, back] = [(&opener, &acceptor), (&acceptor, &opener)]
            .map(|(from, to)| hosts.network.add_route(router, from.place(), to.place()));
        let id = config.flow_of(connection);
        let flow = &config.flows[id.index()];
        if let Some(quic) = &flow.quic {
            let [client, mut server] = [(); 2].map(|()| QuicEndpoint::new(**quic, &flow.controller));
            server.listen();
            hosts.connections.add_quic([(client, there), (server, back)]);
        } else {
            let ends = [(opener, there), (acceptor, back)].map(|(end, route)| NewEnd {
                endpoint: end.endpoint(&mut hosts.connections.configs),
                route,
                role: end.role,
            });
            hosts.connections.add(ends);
        }
        if flow.controller.shared_agent().is_some() {
            hosts.connections.share_agents(connection);
        }
        hosts.network.captures.set_face(connection, Face { flow: id.index() as u32, port: flow.port });
        if flow.capture && connection == SimulationConfig::first_connection(id) {
            let view = hosts.network.captures.add_view(&flow.name, &config.network.node(flow.from).name);
            hosts.network.capture_end(EndpointId::opener(connection), Some(view), there);
        }
    }
}

impl EndConfig<'_> {
    fn place(&self) -> Place {
        Place::new(self.node, self.tcp)
    }

    fn endpoint(&self, configs: &mut Shared<TcpConfig>) -> Endpoint {
        let mut endpoint = Endpoint::new(configs.get(self.tcp), self.controller, self.reading);
        match self.listens {
            Listens::No => {}
            Listens::Yes => endpoint.listen(),
            Listens::AndAsks => endpoint.listen_and_ask(),
        }
        endpoint
    }
}

fn opener(config: &SimulationConfig, connection: ConnectionIndex) -> EndConfig<'_> {
    let Some(relay) = config.relay_before(connection) else {
        let FlowConfig { from, sender, controller, .. } = &config.flows[connection.index()];
        let (role, listens) = (Role::Idle, Listens::No);
        return EndConfig { node: *from, tcp: sender, controller, reading: Reading::AtOnce, role, listens };
    };
    let split = &config.splits[relay.index()];
    EndConfig {
        node: config.appliances[split.appliance].node,
        tcp: &split.far.tcp,
        controller: &split.far.controller,
        reading: Reading::OnCall,
        role: Role::Relay(relay),
        listens: Listens::No,
    }
}

fn acceptor(config: &SimulationConfig, connection: ConnectionIndex) -> EndConfig<'_> {
    let Some(relay) = config.relay_after(connection) else {
        let flow = &config.flows[config.flow_of(connection).index()];
        return EndConfig {
            node: flow.to,
            tcp: &flow.receiver,
            controller: &flow.controller,
            reading: flow.read_rate.into(),
            role: Role::Idle,
            listens: if flow.accepts { Listens::Yes } else { Listens::No },
        };
    };
    let split = &config.splits[relay.index()];
    let appliance = &config.appliances[split.appliance];
    EndConfig {
        node: appliance.node,
        tcp: &split.near.tcp,
        controller: &split.near.controller,
        reading: Reading::OnCall,
        role: Role::Relay(relay),
        listens: match appliance.handshake {
            HandshakeOrder::AcceptFirst => Listens::Yes,
            HandshakeOrder::ConnectFirst => Listens::AndAsks,
        },
    }
}

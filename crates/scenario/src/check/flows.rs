//! Checks of flows: hosts are found, controllers and applications decided.

use std::sync::Arc;

use ackclock_net::{LinkConfig, NetworkConfig, NodeId, RandomStream, Router};
use ackclock_sim::{AppConfig, FlowConfig, QuicConfig};
use ackclock_tcp::TcpConfig;
use ackclock_units::interrupt::check;
use ackclock_units::{Shared, SimDuration, SimTime};

use super::Sources;
use super::apps::app;
use super::controllers::{Agents, check_needs};
use super::location::Location;
use super::plans::FlowPlan;
use super::quic::quic;
use super::run::Run;
use super::tcp::{HostTables, LastEnd, Layer, check_default_recovery, profile_of};
use super::topology::BuiltTopology;
use super::traffic::{Role, check_role, role};
use crate::diagnostic::Diagnostics;
use crate::file::{App, Controller, Duration, TcpTable, TextOr};

/// A flow's transport: its stack, its controller and both ends.
struct Transport {
    /// The controller, with the values that the profile sets.
    controller: Controller,
    /// Name of the stack profile.
    profile: &'static str,
    quic: Option<Arc<QuicConfig>>,
    ends: [TcpConfig; 2],
}

/// Builds a flow for each plan, and says whether the hosts of all are known. A flow with unknown hosts is still
/// checked for other mistakes.
pub(crate) fn build_flows<'a>(
    plans: &mut [FlowPlan<'a>],
    tcp: Option<&'a TcpTable>,
    hosts: &HostTables<'a>,
    topology: &BuiltTopology,
    run: Run,
    sources: Sources<'_>,
    sink: &'a Diagnostics<'a>,
) -> (Vec<FlowConfig>, bool) {
    let network = &topology.network;
    let mut builder = FlowBuilder {
        tcp: tcp.map(|table| Layer { at: sink.root("tcp"), table }),
        hosts,
        links: &network.links,
        run,
        sources,
        files: 0,
        last_end: LastEnd::default(),
        shared_tcp: Shared::default(),
        agents: Agents::default(),
    };
    let mut flows = Vec::with_capacity(plans.len());
    let mut are_placed = true;
    for (position, plan) in plans.iter_mut().enumerate() {
        check();
        let ends = flow_ends(plan, position, topology);
        are_placed &= ends.is_some();
        flows.push(builder.flow(plan, ends.unwrap_or_default()));
    }
    if are_placed && !sink.has_mistake_in("topology") {
        check_routes(plans, &flows, network);
    }
    (flows, are_placed)
}

/// Builds flows, and has what they share.
struct FlowBuilder<'a, 'b> {
    /// The scenario's options of TCP.
    tcp: Option<Layer<'a>>,
    hosts: &'b HostTables<'a>,
    links: &'b [LinkConfig],
    run: Run,
    sources: Sources<'b>,
    /// Number of files that flows send, up to the flow being checked.
    files: u64,
    last_end: LastEnd<'a>,
    /// TCP configurations that flows share, each stored once.
    shared_tcp: Shared<TcpConfig>,
    agents: Agents,
}

impl<'a> FlowBuilder<'a, '_> {
    fn flow(&mut self, plan: &mut FlowPlan<'a>, (from, to): (NodeId, NodeId)) -> FlowConfig {
        let Transport { controller, profile, quic, ends: [sender, receiver] } = self.transport(plan, (from, to));
        let table = plan.table;
        let at = &plan.at;
        if table.read_rate.is_some_and(|rate| rate.0.0 == 0) {
            let remedy = "use a larger rate, or remove it: what arrives is then read at once";
            at.key("read_rate").report("must be at least 1 bit/s", remedy);
        }
        check_role(table, at);
        let app = match role(table) {
            Role::Connection => table.app.as_ref().map_or(AppConfig::Bulk, |app| self.app(app, &at.key("app"))),
            Role::Arrivals(_) | Role::Datagrams(_) => AppConfig::Bulk,
        };
        if quic.is_none() {
            check_needs(&controller, &[sender, receiver], &at.key("controller"), self.links);
        }
        let named = (plan.name.as_str(), &role(table));
        let config =
            self.agents.controller_of_flow(named, &controller, sender.mss, &at.key("controller"), self.sources);
        let seed = self.stream_seed(config.shared_agent().unwrap_or(&plan.name));
        FlowConfig {
            name: plan.name.clone(),
            from,
            to,
            start: plan.start,
            controller_name: controller.name(),
            profile,
            quic,
            controller: config.seeded(seed),
            sender: self.shared_tcp.get(&sender),
            receiver: self.shared_tcp.get(&receiver),
            app,
            reply: table.reply.as_ref().map(|app| self.app(app, &at.key("reply"))),
            read_rate: table.read_rate.map(|rate| rate.0),
            stops_reading: moment(table.stops_reading, &at.key("stops_reading"), self.run),
            accepts: table.accepts.unwrap_or(true),
            abort_at: abort_at(plan, self.run),
            port: plan.port(),
            capture: plan.table.capture.unwrap_or(false),
        }
    }

    /// Builds the transport of a flow: TCP by the layers of its tables, or QUIC.
    fn transport(&mut self, plan: &mut FlowPlan<'a>, (from, to): (NodeId, NodeId)) -> Transport {
        let table = plan.table;
        if let Some((quic, end)) = quic(plan, &plan.controller) {
            let controller = plan.controller.over(&profile_of(&[]).controllers);
            return Transport { controller, profile: "quic", quic: Some(quic), ends: [end; 2] };
        }
        let layers = self.layers(plan, from, ("sender_tcp", table.sender_tcp.as_ref()));
        let profile = profile_of(&layers);
        if table.controller.is_none() && !plan.at.key("controller").is_unread() {
            plan.controller = profile.controller_by_default.clone();
            if plan.is_tcp() {
                check_default_recovery(&layers, &plan.controller);
            }
        }
        let stack = plan.controller.stack();
        let sender = self.last_end.tcp(layers, stack, plan.at.sink);
        let layers = self.layers(plan, to, ("receiver_tcp", table.receiver_tcp.as_ref()));
        let receiver = self.last_end.tcp(layers, stack, plan.at.sink);
        let controller = plan.controller.over(&profile.controllers);
        Transport { controller, profile: profile.name, quic: None, ends: [sender, receiver] }
    }

    /// The seed of the random stream of a flow's controller, or of an agent that several flows share.
    fn stream_seed(&self, name: &str) -> u64 {
        RandomStream::new(self.run.seed, &format!("controller {name}")).bits()
    }

    /// The layers of options of one end, from the most general to the most specific.
    fn layers(&self, plan: &FlowPlan<'a>, host: NodeId, (side, own): (&str, Option<&'a TcpTable>)) -> Vec<Layer<'a>> {
        let layer = |at: Location<'a>, table: Option<&'a TcpTable>| table.map(|table| Layer { at, table });
        let mut layers: Vec<Layer<'a>> =
            self.tcp.iter().chain(self.hosts.get(&host).into_iter().flatten()).cloned().collect();
        layers.extend(layer(plan.at.key("tcp"), plan.table.tcp.as_ref()));
        layers.extend(layer(plan.at.key(side), own));
        layers
    }

    fn app(&mut self, table: &App, at: &Location<'_>) -> AppConfig {
        app(table, at, &mut self.files, self.sources.attachments)
    }
}

/// A moment within the run.
fn moment(time: Option<Duration>, at: &Location<'_>, run: Run) -> Option<SimTime> {
    let time = time?.0;
    if run.is_over_at(time) {
        let remedy = format!("use a time before the end of the run at {}, or remove it", run.end());
        at.report("must be before the end of the run, or it would never happen", remedy);
    }
    Some(SimTime::ZERO + time)
}

/// The time at which the flow is reset: after the first flow of its group has started; a later flow is reset at its
/// start.
fn abort_at(plan: &FlowPlan<'_>, run: Run) -> Option<SimTime> {
    let at = plan.at.key("abort_at");
    let first = match &plan.table.start {
        Some(TextOr::Text(start)) => start.0,
        Some(TextOr::Table(start)) => start.first.unwrap_or_default().0,
        None => SimDuration::ZERO,
    };
    let time = moment(plan.table.abort_at, &at, run)?;
    if time <= SimTime::ZERO + first && !run.is_over_at(first) {
        at.report("must be later than the start", format!("use a time after {first}, or remove it"));
    }
    Some(time.max(plan.start))
}

fn flow_ends(plan: &FlowPlan<'_>, position: usize, topology: &BuiltTopology) -> Option<(NodeId, NodeId)> {
    let table = plan.table;
    let (from, to) = if let Some(pairs) = &topology.pairs {
        for (field, name) in [("from", &table.from), ("to", &table.to)] {
            if name.is_some() {
                let remedy = "remove it; `reverse` swaps a flow's direction";
                plan.at.key(field).report("must not be set on a dumbbell, whose flows have hosts of their own", remedy);
            }
        }
        pairs[position]
    } else {
        if table.rtt.is_some() && !topology.network.nodes.is_empty() {
            let remedy = "remove it, and set the delays of the links";
            plan.at
                .key("rtt")
                .report("is allowed only on a dumbbell, where each flow has its own access links", remedy);
        }
        let default = topology.default_ends.get(position % topology.default_ends.len().max(1)).copied();
        let from = flow_end(plan, "from", table.from.as_ref(), default.map(|ends| ends.0), topology);
        let to = flow_end(plan, "to", table.to.as_ref(), default.map(|ends| ends.1), topology);
        (from?, to?)
    };
    if from == to {
        plan.at.key("to").report("must be another host than from", "send to another host");
        return None;
    }
    Some(if table.reverse.unwrap_or(false) { (to, from) } else { (from, to) })
}

fn flow_end(
    plan: &FlowPlan<'_>,
    field: &str,
    name: Option<&String>,
    default: Option<NodeId>,
    topology: &BuiltTopology,
) -> Option<NodeId> {
    let at = plan.at.key(field);
    let Some(name) = name else {
        if default.is_none() && !at.sink.has_mistake_in("topology") {
            if let [first, .., last] = topology.host_names()[..] {
                let example = if field == "from" { first } else { last }.to_owned();
                at.missing(&format!("{field} = {example:?}"));
            } else {
                let remedy = "add hosts to the topology: a flow goes from one to another";
                at.report_lack("is missing", remedy);
            }
        }
        return default;
    };
    topology.host(name, &at)
}

fn check_routes(plans: &[FlowPlan<'_>], flows: &[FlowConfig], network: &NetworkConfig) {
    let mut router = Router::new(network);
    for (plan, flow) in plans.iter().zip(flows) {
        check();
        for (from, to) in [(flow.from, flow.to), (flow.to, flow.from)] {
            if router.shortest_path(from, to).is_none() {
                let (a, b) = (&network.node(from).name, &network.node(to).name);
                let what = format!("must have a route from {a:?} to {b:?}");
                plan.at.report(what, "add links, in both directions: ACKs travel back");
            }
        }
    }
}

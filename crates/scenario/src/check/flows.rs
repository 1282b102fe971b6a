//! Checks of flows: groups are expanded, hosts found, controllers and applications decided.

use std::borrow::Cow;
use std::sync::Arc;

use ackclock_net::{LinkConfig, NetworkConfig, NodeId, RandomStream, Router};
use ackclock_sim::{AppConfig, DEFAULT_PORT, FlowConfig, QuicConfig, Span};
use ackclock_tcp::TcpConfig;
use ackclock_units::interrupt::check;
use ackclock_units::{Shared, SimDuration, SimTime};

use super::Sources;
use super::apps::app;
use super::controllers::{Agents, check_needs};
use super::location::Location;
use super::quic::{quic, quic_of};
use super::run::Run;
use super::tcp::{HostTables, LastEnd, Layer, check_default_recovery, profile_of};
use super::topology::BuiltTopology;
use super::traffic::{Role, check_role, role};
use crate::diagnostic::Diagnostics;
use crate::file::{App, Controller, Duration, FlowTable, List, Spacing, StartTable, TcpTable, TextOr};

pub(crate) const MAX_FLOWS: u64 = 100_000;

/// One flow of the scenario: an entry of the file, or one of the group that it makes.
pub(crate) struct FlowPlan<'a> {
    pub(crate) name: String,
    pub(crate) table: &'a FlowTable,
    pub(crate) at: Location<'a>,
    pub(crate) start: SimTime,
    /// Congestion control of its ends; where the flow names none, the stack's, once the host is known.
    pub(crate) controller: Controller,
    /// True if the seed decides its start.
    pub(crate) is_start_drawn: bool,
}

/// A flow's transport: its stack, its controller and both ends.
struct Transport {
    /// The controller, with the values that the profile sets.
    controller: Controller,
    /// Name of the stack profile.
    profile: &'static str,
    quic: Option<Arc<QuicConfig>>,
    ends: [TcpConfig; 2],
}

impl FlowPlan<'_> {
    /// The name of its entry in the file: "bulk" for "bulk.1".
    pub(crate) fn entry_name(&self) -> &str {
        let group = self.table.count.and_then(|_| self.name.rsplit_once('.'));
        group.map_or(&self.name, |(name, _)| name)
    }

    /// The port of the receiving end.
    pub(crate) fn port(&self) -> u16 {
        self.table.port.unwrap_or(DEFAULT_PORT)
    }

    /// True if results have a second stream for data that the receiver sends.
    fn sends_back(&self) -> bool {
        let asks = matches!(self.table.app, Some(App::RequestResponse(_) | App::Video(_)));
        matches!(role(self.table), Role::Connection) && (asks || self.table.reply.is_some())
    }

    /// True for TCP; false for datagrams and QUIC.
    pub(crate) fn is_tcp(&self) -> bool {
        !matches!(role(self.table), Role::Datagrams(_)) && quic_of(self.table).is_none()
    }
}

/// Plans every flow with its name and start, before the network is built.
pub(crate) fn plan_flows<'a>(
    tables: Option<&'a List<FlowTable>>,
    run: Run,
    sink: &'a Diagnostics<'a>,
) -> Vec<FlowPlan<'a>> {
    let at = sink.root("flow");
    let mut plans: Vec<FlowPlan<'a>> = Vec::new();
    let Some(flows) = tables.filter(|flows| !flows.0.is_empty()) else {
        at.missing("[[flow]] with controller = \"cubic\"");
        return plans;
    };
    for (index, table) in flows.iter() {
        let at = at.index(index);
        at.key("name").review_name(table.name.as_deref());
        let name = table.name.clone().unwrap_or_else(|| format!("flow{}", index + 1));
        let mut count = table.count.unwrap_or(1);
        let room = MAX_FLOWS.saturating_sub(plans.len() as u64);
        if count == 0 || count > room {
            let (must, remedy) = match count {
                0 => ("must be 1 or more".to_owned(), "write 1 or more, or remove this flow".to_owned()),
                _ => (
                    format!("must leave the scenario at most {MAX_FLOWS} flows in all, {room} from here on"),
                    format!("let the scenario have 1 to {MAX_FLOWS} flows"),
                ),
            };
            at.key("count").report(must, remedy);
            if room == 0 {
                break;
            }
            count = 1; // for the other mistakes of this flow
        }
        let starts = starts(table, &name, count, &at, run);
        let is_spacing_drawn =
            matches!(&table.start, Some(TextOr::Table(StartTable { spacing: Some(TextOr::Table(_)), .. })));
        for (number, start) in (1..).zip(starts) {
            check();
            let is_start_drawn = is_spacing_drawn && number > 1;
            let name = if table.count.is_some() { format!("{name}.{number}") } else { name.clone() };
            let controller = table.controller.clone().unwrap_or_default();
            plans.push(FlowPlan { name, table, at: at.clone(), start, controller, is_start_drawn });
        }
    }
    check_names(&plans);
    plans
}

/// Rejects a name that two flows, groups or reverse streams would share.
fn check_names(plans: &[FlowPlan<'_>]) {
    let mut names: Vec<(Cow<'_, str>, &Location<'_>)> = Vec::with_capacity(plans.len());
    for (index, plan) in plans.iter().enumerate() {
        names.push((plan.name.as_str().into(), &plan.at));
        if plan.sends_back() {
            names.push((format!("{}.reply", plan.name).into(), &plan.at));
        }
        let is_first = index == 0 || plans[index - 1].at.path != plan.at.path;
        if is_first && plan.entry_name() != plan.name {
            names.push((plan.entry_name().into(), &plan.at));
        }
    }
    names.sort_by(|(one, _), (other, _)| one.cmp(other));
    for pair in names.windows(2) {
        if pair[0].0 == pair[1].0 {
            let what = format!("must be unique: two flows, groups or replies are named {:?}", pair[0].0);
            pair[1].1.key("name").report(what, "give each flow a name of its own");
        }
    }
}

fn starts(table: &FlowTable, name: &str, count: u64, at: &Location<'_>, run: Run) -> Vec<SimTime> {
    let (count_at, at) = (at.key("count"), at.key("start"));
    let (first, spacing) = match &table.start {
        None => (SimDuration::ZERO, None),
        Some(TextOr::Text(start)) => (start.0, None),
        Some(TextOr::Table(StartTable { first, spacing })) => (first.unwrap_or_default().0, spacing.as_ref()),
    };
    let end = run.end();
    if run.is_over_at(first) {
        let remedy = format!("start before the end of the run at {end}");
        at.report("must be before the end of the run, or the flow would never start", remedy);
    }
    if let Some(TextOr::Text(gap)) = spacing
        && !run.is_over_at(first)
        && run.is_over_at(first + gap.0 * (count - 1))
    {
        let remedy = format!("let the last of {count} flows start before the end of the run at {end}");
        at.key("spacing").report("must let the whole group start before the end of the run", remedy);
    }
    if spacing.is_some() && table.count.is_none() && !count_at.is_unread() {
        let remedy = "add count, how many flows start so, or remove spacing";
        at.key("spacing").report("must stand beside count: one flow starts once", remedy);
    }
    let mut random = RandomStream::new(run.seed, &format!("start {name}"));
    let mut next = SimTime::ZERO + first;
    let mut starts = Vec::with_capacity(count as usize);
    for _ in 0..count {
        starts.push(next);
        next += match spacing {
            None => SimDuration::ZERO,
            Some(spacing) => match span(spacing, &at.key("spacing")) {
                Span::Constant(gap) => gap,
                Span::Exponential(mean) => random.exponential(mean),
            },
        };
    }
    starts
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
        if let Some(rate) = table.read_rate
            && rate.0.0 == 0
        {
            at.key("read_rate").report(
                "must be at least 1 bit/s",
                "use a larger rate, or remove it: what arrives is then read at once",
            );
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
                let remedy = "remove it; `reverse` turns a flow round";
                plan.at.key(field).report("must not be set on a dumbbell, whose flows have hosts of their own", remedy);
            }
        }
        pairs[position]
    } else {
        if table.rtt.is_some() && !topology.network.nodes.is_empty() {
            let remedy = "remove it, and set the delays of the links";
            plan.at
                .key("rtt")
                .report("must not be set but on a dumbbell, where each flow has access links of its own", remedy);
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

/// A time between two events.
pub(crate) fn span(spacing: &Spacing, at: &Location<'_>) -> Span {
    match spacing {
        TextOr::Text(span) => Span::Constant(span.0),
        TextOr::Table(table) => Span::Exponential(table.exponential.map_or_else(
            || {
                at.key("exponential").missing("exponential = \"50 ms\"");
                SimDuration::ZERO
            },
            |mean| mean.0,
        )),
    }
}

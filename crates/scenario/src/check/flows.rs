//! Checks of flows: groups are expanded, hosts found, controllers and applications decided.

use std::borrow::Cow;
use std::sync::Arc;

use ackclock_net::{NodeId, RandomStream, Router};
use ackclock_sim::{AppConfig, DEFAULT_PORT, FlowConfig, QuicConfig, Span};
use ackclock_tcp::TcpConfig;
use ackclock_units::interrupt::check;
use ackclock_units::{SimDuration, SimTime};

use super::Checker;
use super::controllers::check_needs;
use super::quic::{quic, quic_of};
use super::tcp::{HostTables, Layer, check_default_recovery, profile_of};
use super::topology::BuiltTopology;
use super::traffic::{Role, role};
use crate::diagnostic::Diagnostics;
use crate::file::{App, Controller, Duration, FlowTable, Spacing, StartTable, TcpTable, TextOr};
use crate::tree::FieldPath;

pub(crate) const MAX_FLOWS: u64 = 100_000;

/// One flow of the scenario: an entry of the file, or one of the group that it makes.
pub(crate) struct FlowPlan<'a> {
    pub(crate) name: String,
    pub(crate) table: &'a FlowTable,
    pub(crate) path: FieldPath,
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

impl<'a> Checker<'a, '_> {
    /// Plans every flow with its name and start, before the network is built.
    pub(crate) fn plan_flows(&mut self) -> Vec<FlowPlan<'a>> {
        let path = FieldPath::of("flow");
        let mut plans: Vec<FlowPlan<'a>> = Vec::new();
        let file = self.file;
        let Some(flows) = file.flow.as_ref().filter(|flows| !flows.0.is_empty()) else {
            self.missing(&path, "[[flow]] with controller = \"cubic\"");
            return plans;
        };
        for (index, table) in flows.iter() {
            let path = path.index(index);
            self.review_name(&path.key("name"), table.name.as_deref());
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
                self.report(&path.key("count"), must, remedy);
                if room == 0 {
                    break;
                }
                count = 1; // for the other mistakes of this flow
            }
            let starts = self.starts(table, &name, count, &path);
            let is_spacing_drawn =
                matches!(&table.start, Some(TextOr::Table(StartTable { spacing: Some(TextOr::Table(_)), .. })));
            for (number, start) in (1..).zip(starts) {
                check();
                let is_start_drawn = is_spacing_drawn && number > 1;
                let name = if table.count.is_some() { format!("{name}.{number}") } else { name.clone() };
                let controller = table.controller.clone().unwrap_or_default();
                plans.push(FlowPlan { name, table, path: path.clone(), start, controller, is_start_drawn });
            }
        }
        self.check_names(&plans);
        plans
    }

    /// Rejects a name that two flows, groups or reverse streams would share.
    fn check_names(&mut self, plans: &[FlowPlan<'_>]) {
        let mut names: Vec<(Cow<'_, str>, &FieldPath)> = Vec::with_capacity(plans.len());
        for (index, plan) in plans.iter().enumerate() {
            names.push((plan.name.as_str().into(), &plan.path));
            if plan.sends_back() {
                names.push((format!("{}.reply", plan.name).into(), &plan.path));
            }
            let is_first = index == 0 || plans[index - 1].path != plan.path;
            if is_first && plan.entry_name() != plan.name {
                names.push((plan.entry_name().into(), &plan.path));
            }
        }
        names.sort_by(|(one, _), (other, _)| one.cmp(other));
        for pair in names.windows(2) {
            if pair[0].0 == pair[1].0 {
                let what = format!("must be unique: two flows, groups or replies are named {:?}", pair[0].0);
                self.report(&pair[1].1.key("name"), what, "give each flow a name of its own");
            }
        }
    }

    fn starts(&mut self, table: &FlowTable, name: &str, count: u64, path: &FieldPath) -> Vec<SimTime> {
        let (count_path, path) = (path.key("count"), path.key("start"));
        let (first, spacing) = match &table.start {
            None => (SimDuration::ZERO, None),
            Some(TextOr::Text(start)) => (start.0, None),
            Some(TextOr::Table(StartTable { first, spacing })) => (first.unwrap_or_default().0, spacing.as_ref()),
        };
        let end = self.run_end();
        if self.is_over_at(first) {
            let remedy = format!("start before the end of the run at {end}");
            self.report(&path, "must be before the end of the run, or the flow would never start", remedy);
        }
        if let Some(TextOr::Text(gap)) = spacing
            && !self.is_over_at(first)
            && self.is_over_at(first + gap.0 * (count - 1))
        {
            let remedy = format!("let the last of {count} flows start before the end of the run at {end}");
            self.report(&path.key("spacing"), "must let the whole group start before the end of the run", remedy);
        }
        if spacing.is_some() && table.count.is_none() && !self.diagnostics.is_unread(&count_path) {
            let remedy = "add count, how many flows start so, or remove spacing";
            self.report(&path.key("spacing"), "must stand beside count: one flow starts once", remedy);
        }
        let mut random = RandomStream::new(self.seed, &format!("start {name}"));
        let mut next = SimTime::ZERO + first;
        let mut starts = Vec::with_capacity(count as usize);
        for _ in 0..count {
            starts.push(next);
            next += match spacing {
                None => SimDuration::ZERO,
                Some(spacing) => match span(spacing, &path.key("spacing"), self.diagnostics) {
                    Span::Constant(gap) => gap,
                    Span::Exponential(mean) => random.exponential(mean),
                },
            };
        }
        starts
    }

    /// Builds a flow for each plan, and says whether the hosts of all are known. A flow with unknown hosts is still
    /// checked for other mistakes.
    pub(crate) fn build_flows(
        &mut self,
        plans: &mut [FlowPlan<'a>],
        topology: &BuiltTopology,
        hosts: &HostTables<'a>,
    ) -> (Vec<FlowConfig>, bool) {
        let mut flows = Vec::with_capacity(plans.len());
        let mut are_placed = true;
        for (position, plan) in plans.iter_mut().enumerate() {
            check();
            let ends = self.flow_ends(plan, position, topology);
            are_placed &= ends.is_some();
            let (from, to) = ends.unwrap_or_default();
            flows.push(self.flow(plan, from, to, hosts));
        }
        if are_placed && self.diagnostics.is_network_whole() {
            self.check_routes(plans, &flows);
        }
        (flows, are_placed)
    }

    fn flow(&mut self, plan: &mut FlowPlan<'a>, from: NodeId, to: NodeId, hosts: &HostTables<'a>) -> FlowConfig {
        let Transport { controller, profile, quic, ends: [sender, receiver] } = self.transport(plan, [from, to], hosts);
        let table = plan.table;
        let path = &plan.path;
        if let Some(rate) = table.read_rate
            && rate.0.0 == 0
        {
            self.report(
                &path.key("read_rate"),
                "must be at least 1 bit/s",
                "use a larger rate, or remove it: what arrives is then read at once",
            );
        }
        self.check_role(table, path);
        let app = match role(table) {
            Role::Connection => table.app.as_ref().map_or(AppConfig::Bulk, |app| self.app(app, &path.key("app"))),
            Role::Arrivals(_) | Role::Datagrams(_) => AppConfig::Bulk,
        };
        if quic.is_none() {
            check_needs(
                &controller,
                &[sender, receiver],
                &path.key("controller"),
                &self.network.links,
                self.diagnostics,
            );
        }
        let named = (plan.name.as_str(), &role(table));
        let config = self.agents.controller_of_flow(
            named,
            &controller,
            sender.mss,
            &path.key("controller"),
            self.sources,
            self.diagnostics,
        );
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
            reply: table.reply.as_ref().map(|app| self.app(app, &path.key("reply"))),
            read_rate: table.read_rate.map(|rate| rate.0),
            stops_reading: self.moment(table.stops_reading, &path.key("stops_reading")),
            accepts: table.accepts.unwrap_or(true),
            abort_at: self.abort_at(plan),
            port: plan.port(),
            capture: plan.table.capture.unwrap_or(false),
        }
    }

    /// Builds the transport of a flow: TCP by the layers of its tables, or QUIC.
    fn transport(&mut self, plan: &mut FlowPlan<'a>, [from, to]: [NodeId; 2], hosts: &HostTables<'a>) -> Transport {
        let table = plan.table;
        if let Some((quic, end)) = quic(plan, &plan.controller, self.diagnostics) {
            let controller = plan.controller.over(&profile_of(&[], self.diagnostics).controllers);
            return Transport { controller, profile: "quic", quic: Some(quic), ends: [end; 2] };
        }
        let layers = self.layers(plan, from, hosts, ("sender_tcp", table.sender_tcp.as_ref()));
        let profile = profile_of(&layers, self.diagnostics);
        if table.controller.is_none() && !self.diagnostics.is_unread(&plan.path.key("controller")) {
            plan.controller = profile.controller_by_default.clone();
            if plan.is_tcp() {
                check_default_recovery(&layers, &plan.controller, self.diagnostics);
            }
        }
        let stack = plan.controller.stack();
        let sender = self.tcp_of_end(layers, stack);
        let layers = self.layers(plan, to, hosts, ("receiver_tcp", table.receiver_tcp.as_ref()));
        let receiver = self.tcp_of_end(layers, stack);
        let controller = plan.controller.over(&profile.controllers);
        Transport { controller, profile: profile.name, quic: None, ends: [sender, receiver] }
    }

    /// True if the run is known to be over at this time.
    pub(crate) fn is_over_at(&self, time: SimDuration) -> bool {
        self.duration.is_some_and(|end| time >= end)
    }

    /// A moment within the run.
    fn moment(&mut self, time: Option<Duration>, path: &FieldPath) -> Option<SimTime> {
        let time = time?.0;
        if self.is_over_at(time) {
            let remedy = format!("use a time before the end of the run at {}, or remove it", self.run_end());
            self.report(path, "must be before the end of the run, or it would never happen", remedy);
        }
        Some(SimTime::ZERO + time)
    }

    /// The time at which the flow is reset: after the first flow of its group has started; a later flow is reset at its
    /// start.
    fn abort_at(&mut self, plan: &FlowPlan<'_>) -> Option<SimTime> {
        let path = plan.path.key("abort_at");
        let first = match &plan.table.start {
            Some(TextOr::Text(start)) => start.0,
            Some(TextOr::Table(start)) => start.first.unwrap_or_default().0,
            None => SimDuration::ZERO,
        };
        let time = self.moment(plan.table.abort_at, &path)?;
        if time <= SimTime::ZERO + first && !self.is_over_at(first) {
            self.report(&path, "must be later than the start", format!("use a time after {first}, or remove it"));
        }
        Some(time.max(plan.start))
    }

    /// The seed of the random stream of a flow's controller, or of an agent that several flows share.
    fn stream_seed(&self, name: &str) -> u64 {
        RandomStream::new(self.seed, &format!("controller {name}")).bits()
    }

    /// The layers of options of one end, from the most general to the most specific.
    fn layers(
        &self,
        plan: &FlowPlan<'a>,
        host: NodeId,
        hosts: &HostTables<'a>,
        (side, own): (&str, Option<&'a TcpTable>),
    ) -> Vec<Layer<'a>> {
        let layer = |path: FieldPath, table: Option<&'a TcpTable>| table.map(|table| Layer { path, table });
        let mut layers: Vec<Layer<'a>> = layer(FieldPath::of("tcp"), self.file.tcp.as_ref()).into_iter().collect();
        layers.extend(hosts.get(&host).into_iter().flatten().cloned());
        layers.extend(layer(plan.path.key("tcp"), plan.table.tcp.as_ref()));
        layers.extend(layer(plan.path.key(side), own));
        layers
    }

    fn flow_ends(
        &mut self,
        plan: &FlowPlan<'_>,
        position: usize,
        topology: &BuiltTopology,
    ) -> Option<(NodeId, NodeId)> {
        let table = plan.table;
        let (from, to) = if let Some(pairs) = &topology.pairs {
            for (field, name) in [("from", &table.from), ("to", &table.to)] {
                if name.is_some() {
                    let remedy = "remove it; `reverse` turns a flow round";
                    self.report(
                        &plan.path.key(field),
                        "must not be set on a dumbbell, whose flows have hosts of their own",
                        remedy,
                    );
                }
            }
            pairs[position]
        } else {
            if table.rtt.is_some() && !self.network.nodes.is_empty() {
                let remedy = "remove it, and set the delays of the links";
                self.report(
                    &plan.path.key("rtt"),
                    "must not be set but on a dumbbell, where each flow has access links of its own",
                    remedy,
                );
            }
            let default = topology.default_ends.get(position % topology.default_ends.len().max(1)).copied();
            let from = self.flow_end(plan, "from", table.from.as_ref(), default.map(|ends| ends.0), topology);
            let to = self.flow_end(plan, "to", table.to.as_ref(), default.map(|ends| ends.1), topology);
            (from?, to?)
        };
        if from == to {
            self.report(&plan.path.key("to"), "must be another host than from", "send to another host");
            return None;
        }
        Some(if table.reverse.unwrap_or(false) { (to, from) } else { (from, to) })
    }

    fn flow_end(
        &mut self,
        plan: &FlowPlan<'_>,
        field: &str,
        name: Option<&String>,
        default: Option<NodeId>,
        topology: &BuiltTopology,
    ) -> Option<NodeId> {
        let path = plan.path.key(field);
        let Some(name) = name else {
            if default.is_none() && !self.diagnostics.has_mistake_in("topology") {
                if let [first, .., last] = topology.host_names()[..] {
                    let example = if field == "from" { first } else { last }.to_owned();
                    self.missing(&path, &format!("{field} = {example:?}"));
                } else {
                    let remedy = "add hosts to the topology: a flow goes from one to another";
                    self.report_lack(&path, "is missing", remedy);
                }
            }
            return default;
        };
        topology.host(name, &path, self.diagnostics)
    }

    fn check_routes(&mut self, plans: &[FlowPlan<'_>], flows: &[FlowConfig]) {
        let network = std::mem::take(&mut self.network);
        let mut router = Router::new(&network);
        for (plan, flow) in plans.iter().zip(flows) {
            check();
            for (from, to) in [(flow.from, flow.to), (flow.to, flow.from)] {
                if router.shortest_path(from, to).is_none() {
                    let (a, b) = (&network.node(from).name, &network.node(to).name);
                    let what = format!("must have a route from {a:?} to {b:?}");
                    self.report(&plan.path, what, "add links, in both directions: ACKs travel back");
                }
            }
        }
        self.network = network;
    }
}

/// A time between two events.
pub(crate) fn span(spacing: &Spacing, path: &FieldPath, sink: &mut Diagnostics<'_>) -> Span {
    match spacing {
        TextOr::Text(span) => Span::Constant(span.0),
        TextOr::Table(table) => Span::Exponential(table.exponential.map_or_else(
            || {
                sink.missing(&path.key("exponential"), "exponential = \"50 ms\"");
                SimDuration::ZERO
            },
            |mean| mean.0,
        )),
    }
}

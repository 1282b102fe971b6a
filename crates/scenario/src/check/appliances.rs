//! Checks of appliances: their nodes, their costs, and both of their ends.

use std::collections::BTreeSet;

use ackclock_cc::ControllerConfig;
use ackclock_declare::Context;
use ackclock_net::NodeId;
use ackclock_sim::{ApplianceConfig, Copying, HandshakeOrder, SideConfig};
use ackclock_tcp::CwndValidation;
use ackclock_units::{Bytes, SimDuration};

use super::controllers::lone_controller;
use super::declarations::read_part;
use super::links::{MAX_DELAY, MAX_RATE, TOO_LONG};
use super::tcp::{Layer, profile_of, tcp};
use super::topology::BuiltTopology;
use super::{Sources, suggest};
use crate::diagnostic::Diagnostics;
use crate::file::{ApplianceTable, Controller, CopyingTable, HostTable, List, Names, SideTable, TcpTable};
use crate::tree::FieldPath;

const DEFAULT_CHUNK: Bytes = Bytes(64 * 1024);

/// The most that an application reads at once.
const MAX_CHUNK: Bytes = Bytes(1 << 30);

/// An appliance, with the facts that its flows need.
pub(crate) struct AppliancePlan<'a> {
    pub(crate) config: ApplianceConfig,
    /// The appliance's entry; `None` for a node that is an appliance by its kind alone.
    pub(crate) table: Option<&'a ApplianceTable>,
    pub(crate) path: FieldPath,
    pub(crate) near: SidePlan<'a>,
    pub(crate) far: SidePlan<'a>,
}

/// One end of an appliance, before it is made for a flow.
pub(crate) struct SidePlan<'a> {
    pub(crate) side: SideConfig,
    pub(crate) controller: Controller,
    /// Layers of its options.
    pub(crate) layers: Vec<Layer<'a>>,
    pub(crate) path: FieldPath,
}

impl SidePlan<'_> {
    /// Counts a filled window as used at an end that is short of octets. There "hold" and "linux", where the scenario
    /// does not ask for them, would keep a small window small.
    fn count_filled_windows_as_used(&mut self) {
        let is_said = self.layers.iter().any(|layer| layer.table.says("cwnd_validation"));
        if !is_said && self.side.tcp.cwnd_validation != CwndValidation::None {
            self.side.tcp.cwnd_validation = CwndValidation::Rfc7661;
        }
    }
}

/// The appliances of the scenario: those with an entry, then nodes of that kind.
pub(crate) fn plan_appliances<'a>(
    tables: Option<&'a List<ApplianceTable>>,
    tcp: Option<&'a TcpTable>,
    topology: &BuiltTopology,
    sources: Sources<'_>,
    sink: &mut Diagnostics<'_>,
) -> Vec<AppliancePlan<'a>> {
    let mut plans = Vec::new();
    for (index, table) in tables.into_iter().flat_map(List::iter) {
        let path = FieldPath::of("appliance").index(index);
        sink.review_name(&path.key("name"), table.name.as_deref());
        let name = table.name.clone().unwrap_or_else(|| format!("appliance{}", index + 1));
        // An appliance whose node is not known is checked all the same, for its other mistakes.
        let node = appliance_node(table, &path, topology, sink).unwrap_or_default();
        plans.push(plan_appliance(name, node, (Some(table), path), tcp, sources, sink));
    }
    let taken: BTreeSet<NodeId> = plans.iter().map(|plan| plan.config.node).collect();
    for (node, path) in topology.appliances.iter().filter(|(node, _)| !taken.contains(node)) {
        let name = topology.network.node(*node).name.clone();
        plans.push(plan_appliance(name, *node, (None, path.clone()), tcp, sources, sink));
    }
    check_appliances_apart(&plans, sink);
    plans
}

/// Rejects `[[host]]` tables of appliances, whose ends have tables of their own.
pub(crate) fn check_hosts_apart(
    hosts: Option<&List<HostTable>>,
    plans: &[AppliancePlan<'_>],
    sink: &mut Diagnostics<'_>,
) {
    for (index, host) in hosts.into_iter().flat_map(List::iter) {
        let path = FieldPath::of("host").index(index).key("name");
        for (item, name) in host.name.iter().flat_map(Names::each) {
            if plans.iter().any(|plan| plan.node_name() == Some(name)) {
                let place = item.map_or_else(|| path.clone(), |item| path.index(item));
                let remedy = "write the table into near.tcp and far.tcp of the [[appliance]]";
                sink.report(&place, "must be the name of a host: an appliance sits there", remedy);
            }
        }
    }
}

fn plan_appliance<'a>(
    name: String,
    node: NodeId,
    (table, path): (Option<&'a ApplianceTable>, FieldPath),
    tcp: Option<&'a TcpTable>,
    sources: Sources<'_>,
    sink: &mut Diagnostics<'_>,
) -> AppliancePlan<'a> {
    let near = table.and_then(|table| table.near.as_ref());
    let near = side(near, Controller::default(), &path.key("near"), tcp, sources, sink);
    let far = table.and_then(|table| table.far.as_ref());
    let mut far = side(far, Controller::of("highspeed"), &path.key("far"), tcp, sources, sink);
    let policy = table.and_then(|table| table.buffer_policy.as_ref());
    let place = path.key("buffer_policy");
    let config = ApplianceConfig {
        name,
        node,
        handshake: table.and_then(|table| table.handshake).map_or(HandshakeOrder::AcceptFirst, Into::into),
        copying: copying(table.and_then(|table| table.copying.as_ref()), &path.key("copying"), sink),
        discipline: policy.map(|policy| read_part(policy, &Context::default(), &place, sink)).unwrap_or_default(),
    };
    if config.discipline.fills_the_far_window() {
        far.count_filled_windows_as_used();
    }
    AppliancePlan { config, table, path, near, far }
}

fn appliance_node(
    table: &ApplianceTable,
    path: &FieldPath,
    topology: &BuiltTopology,
    sink: &mut Diagnostics<'_>,
) -> Option<NodeId> {
    let path = path.key("node");
    let may_sit = |node: &NodeId| {
        let is_discarder = topology.node_discards.iter().any(|(discarder, ..)| discarder == node);
        let is_host = topology.hosts.contains(node) && !topology.undecided.contains(node);
        !is_discarder && !is_host
    };
    let routers: Vec<NodeId> = topology.network.numbered_nodes().map(|(node, _)| node).filter(may_sit).collect();
    let names: Vec<&str> = routers.iter().map(|&node| topology.network.node(node).name.as_str()).collect();
    let Some(name) = &table.node else {
        let example = format!("node = {:?}", names.first().unwrap_or(&"R1"));
        sink.missing(&path, &example);
        return None;
    };
    let remedy = suggest(name, &names);
    match topology.node_ids.get(name).copied() {
        None => topology.report_unknown(&path, "must be the name of a node", remedy, sink),
        Some(node) if topology.hosts.contains(&node) && !may_sit(&node) => {
            sink.report(&path, "must be a router: at a host connections end anyway", remedy);
        }
        Some(node) if !may_sit(&node) => {
            let remedy = "write its rules into the discard list of a link, or choose another node";
            sink.report(&path, "must be no discarder", remedy);
        }
        node => return node,
    }
    None
}

/// Rejects two appliances of one name or on one node.
fn check_appliances_apart(plans: &[AppliancePlan<'_>], sink: &mut Diagnostics<'_>) {
    for (index, plan) in plans.iter().enumerate() {
        let earlier = &plans[..index];
        if earlier.iter().any(|other| other.config.name == plan.config.name) {
            let what = format!("must be unique: two appliances are named {:?}", plan.config.name);
            sink.report(&plan.path.key("name"), what, "give each appliance a name of its own");
        }
        if plan.node_name().is_some() && earlier.iter().any(|other| other.node_name() == plan.node_name()) {
            sink.report(&plan.path.key("node"), "must have one appliance only", "keep one of the two");
        }
    }
}

fn copying(table: Option<&CopyingTable>, path: &FieldPath, sink: &mut Diagnostics<'_>) -> Copying {
    let table = table.cloned().unwrap_or_default();
    let delay = table.delay.map_or(SimDuration::ZERO, |delay| delay.0);
    if delay > MAX_DELAY {
        sink.report(&path.key("delay"), TOO_LONG, format!("use at most {MAX_DELAY}"));
    }
    let rate = table.rate.map(|rate| rate.0);
    if rate.is_some_and(|rate| rate.0 == 0 || rate > MAX_RATE) {
        let what = format!("must be 1 bit/s to {MAX_RATE}");
        sink.report(&path.key("rate"), what, "use such a rate, or remove it: copying takes no time then");
    }
    let chunk = table.chunk.map_or(DEFAULT_CHUNK, |chunk| chunk.0);
    if chunk == Bytes::ZERO || chunk > MAX_CHUNK {
        let remedy = "write what is copied in a turn; the default is 64 KiB";
        sink.report(&path.key("chunk"), "must be 1 byte to 1 GiB", remedy);
    }
    Copying { delay, rate, chunk }
}

fn side<'a>(
    table: Option<&'a SideTable>,
    default: Controller,
    path: &FieldPath,
    general: Option<&'a TcpTable>,
    sources: Sources<'_>,
    sink: &mut Diagnostics<'_>,
) -> SidePlan<'a> {
    let controller = table.and_then(|table| table.controller.clone()).unwrap_or(default);
    let general = general.map(|table| Layer { path: FieldPath::of("tcp"), table });
    let own = table.and_then(|table| table.tcp.as_ref()).map(|table| Layer { path: path.key("tcp"), table });
    let layers: Vec<Layer<'_>> = general.into_iter().chain(own).collect();
    let tcp = tcp(&layers, &[controller.stack()], sink);
    let place = path.key("controller");
    let config = side_controller(&controller, &layers, tcp.mss, &place, sources, sink);
    let side = SideConfig { tcp, controller: config, controller_name: controller.name() };
    SidePlan { side, controller, layers, path: path.clone() }
}

fn side_controller(
    controller: &Controller,
    layers: &[Layer<'_>],
    mss: u32,
    path: &FieldPath,
    sources: Sources<'_>,
    sink: &mut Diagnostics<'_>,
) -> ControllerConfig {
    if !matches!(controller, Controller::Python(_) | Controller::External(_)) {
        let profile = profile_of(layers, sink);
        return lone_controller(&controller.over(&profile.controllers), mss, path, sources, sink);
    }
    let remedy = "use one of `ackclock list controllers`; an appliance's ends run no others";
    sink.report(path, "must be a built-in controller", remedy);
    lone_controller(&Controller::default(), mss, path, sources, sink)
}

impl AppliancePlan<'_> {
    /// The node's name in the scenario; `None` where it gives none.
    pub(crate) fn node_name(&self) -> Option<&str> {
        self.table.and_then(|table| table.node.as_deref())
    }
}

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
use super::location::Location;
use super::tcp::{Layer, profile_of, tcp};
use super::topology::BuiltTopology;
use super::{Sources, suggest};
use crate::diagnostic::Diagnostics;
use crate::file::{ApplianceTable, Controller, CopyingTable, HostTable, List, SideTable, TcpTable};

const DEFAULT_CHUNK: Bytes = Bytes(64 * 1024);

/// The most that an application reads at once.
const MAX_CHUNK: Bytes = Bytes(1 << 30);

/// An appliance, with the facts that its flows need.
pub(crate) struct AppliancePlan<'a> {
    pub(crate) config: ApplianceConfig,
    /// The appliance's entry; `None` for a node that is an appliance by its kind alone.
    pub(crate) table: Option<&'a ApplianceTable>,
    pub(crate) at: Location<'a>,
    pub(crate) near: SidePlan<'a>,
    pub(crate) far: SidePlan<'a>,
}

/// One end of an appliance, before it is made for a flow.
pub(crate) struct SidePlan<'a> {
    pub(crate) side: SideConfig,
    pub(crate) controller: Controller,
    /// Layers of its options.
    pub(crate) layers: Vec<Layer<'a>>,
    pub(crate) at: Location<'a>,
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
    sink: &'a Diagnostics<'a>,
) -> Vec<AppliancePlan<'a>> {
    let general = tcp.map(|table| Layer { at: sink.root("tcp"), table });
    let mut plans = Vec::new();
    for (index, table) in tables.into_iter().flat_map(List::iter) {
        let at = sink.root("appliance").index(index);
        at.key("name").review_name(table.name.as_deref());
        let name = table.name.clone().unwrap_or_else(|| format!("appliance{}", index + 1));
        // An appliance whose node is not known is checked all the same, for its other mistakes.
        let node = appliance_node(table, &at, topology).unwrap_or_default();
        plans.push(plan_appliance(name, node, (Some(table), at), general.as_ref(), sources));
    }
    let taken: BTreeSet<NodeId> = plans.iter().map(|plan| plan.config.node).collect();
    for (node, path) in topology.appliances.iter().filter(|(node, _)| !taken.contains(node)) {
        let name = topology.network.node(*node).name.clone();
        plans.push(plan_appliance(name, *node, (None, sink.at(path)), general.as_ref(), sources));
    }
    check_appliances_apart(&plans);
    plans
}

/// Rejects `[[host]]` tables of appliances, whose ends have tables of their own.
pub(crate) fn check_hosts_apart(hosts: Option<&List<HostTable>>, plans: &[AppliancePlan<'_>], sink: &Diagnostics<'_>) {
    for (index, host) in hosts.into_iter().flat_map(List::iter) {
        let at = sink.root("host").index(index).key("name");
        for (place, name) in host.name.iter().flat_map(|names| at.each(names)) {
            if plans.iter().any(|plan| plan.node_name() == Some(name)) {
                let remedy = "write the table into near.tcp and far.tcp of the [[appliance]]";
                place.report("must be the name of a host: an appliance sits there", remedy);
            }
        }
    }
}

fn plan_appliance<'a>(
    name: String,
    node: NodeId,
    (table, at): (Option<&'a ApplianceTable>, Location<'a>),
    general: Option<&Layer<'a>>,
    sources: Sources<'_>,
) -> AppliancePlan<'a> {
    let near = table.and_then(|table| table.near.as_ref());
    let near = side(near, Controller::default(), &at.key("near"), general, sources);
    let far = table.and_then(|table| table.far.as_ref());
    let mut far = side(far, Controller::of("highspeed"), &at.key("far"), general, sources);
    let policy = table.and_then(|table| table.buffer_policy.as_ref());
    let place = at.key("buffer_policy");
    let config = ApplianceConfig {
        name,
        node,
        handshake: table.and_then(|table| table.handshake).map_or(HandshakeOrder::AcceptFirst, Into::into),
        copying: copying(table.and_then(|table| table.copying.as_ref()), &at.key("copying")),
        discipline: policy.map(|policy| read_part(policy, &Context::default(), &place)).unwrap_or_default(),
    };
    if config.discipline.fills_the_far_window() {
        far.count_filled_windows_as_used();
    }
    AppliancePlan { config, table, at, near, far }
}

fn appliance_node(table: &ApplianceTable, at: &Location<'_>, topology: &BuiltTopology) -> Option<NodeId> {
    let at = at.key("node");
    let may_sit = |node: &NodeId| {
        let is_discarder = topology.node_discards.iter().any(|(discarder, ..)| discarder == node);
        let is_host = topology.hosts.contains(node) && !topology.undecided.contains(node);
        !is_discarder && !is_host
    };
    let routers: Vec<NodeId> = topology.network.numbered_nodes().map(|(node, _)| node).filter(may_sit).collect();
    let names: Vec<&str> = routers.iter().map(|&node| topology.network.node(node).name.as_str()).collect();
    let Some(name) = &table.node else {
        let example = format!("node = {:?}", names.first().unwrap_or(&"R1"));
        at.missing(&example);
        return None;
    };
    let remedy = suggest(name, names);
    match topology.node_ids.get(name).copied() {
        None => topology.report_unknown(&at, "must be the name of a node", remedy),
        Some(node) if topology.hosts.contains(&node) && !may_sit(&node) => {
            at.report("must be a router: at a host connections end anyway", remedy);
        }
        Some(node) if !may_sit(&node) => {
            let remedy = "write its rules into the discard list of a link, or choose another node";
            at.report("must be no discarder", remedy);
        }
        node => return node,
    }
    None
}

/// Rejects two appliances of one name or on one node.
fn check_appliances_apart(plans: &[AppliancePlan<'_>]) {
    for (index, plan) in plans.iter().enumerate() {
        let earlier = &plans[..index];
        if earlier.iter().any(|other| other.config.name == plan.config.name) {
            let what = format!("must be unique: two appliances are named {:?}", plan.config.name);
            plan.at.key("name").report(what, "give each appliance a unique name");
        }
        if plan.node_name().is_some() && earlier.iter().any(|other| other.node_name() == plan.node_name()) {
            plan.at.key("node").report("must have one appliance only", "keep one of the two");
        }
    }
}

fn copying(table: Option<&CopyingTable>, at: &Location<'_>) -> Copying {
    let table = table.cloned().unwrap_or_default();
    let delay = table.delay.map_or(SimDuration::ZERO, |delay| delay.0);
    if delay > MAX_DELAY {
        at.key("delay").report(TOO_LONG, format!("use at most {MAX_DELAY}"));
    }
    let rate = table.rate.map(|rate| rate.0);
    if rate.is_some_and(|rate| rate.0 == 0 || rate > MAX_RATE) {
        let what = format!("must be 1 bit/s to {MAX_RATE}");
        at.key("rate").report(what, "use such a rate, or remove it: copying then takes no time");
    }
    let chunk = table.chunk.map_or(DEFAULT_CHUNK, |chunk| chunk.0);
    if chunk == Bytes::ZERO || chunk > MAX_CHUNK {
        let remedy = "write what is copied in a turn; the default is 64 KiB";
        at.key("chunk").report("must be 1 byte to 1 GiB", remedy);
    }
    Copying { delay, rate, chunk }
}

fn side<'a>(
    table: Option<&'a SideTable>,
    default: Controller,
    at: &Location<'a>,
    general: Option<&Layer<'a>>,
    sources: Sources<'_>,
) -> SidePlan<'a> {
    let controller = table.and_then(|table| table.controller.clone()).unwrap_or(default);
    let own = table.and_then(|table| table.tcp.as_ref()).map(|table| Layer { at: at.key("tcp"), table });
    let layers: Vec<Layer<'_>> = general.cloned().into_iter().chain(own).collect();
    let tcp = tcp(&layers, &[controller.stack()], at.sink);
    let place = at.key("controller");
    let config = side_controller(&controller, &layers, tcp.mss, &place, sources);
    let side = SideConfig { tcp, controller: config, controller_name: controller.name() };
    SidePlan { side, controller, layers, at: at.clone() }
}

fn side_controller(
    controller: &Controller,
    layers: &[Layer<'_>],
    mss: u32,
    at: &Location<'_>,
    sources: Sources<'_>,
) -> ControllerConfig {
    if !matches!(controller, Controller::Python(_) | Controller::External(_)) {
        let profile = profile_of(layers);
        return lone_controller(&controller.over(&profile.controllers), mss, at, sources);
    }
    let remedy = "use one of `ackclock list controllers`; an appliance's ends run no others";
    at.report("must be a built-in controller", remedy);
    lone_controller(&Controller::default(), mss, at, sources)
}

impl AppliancePlan<'_> {
    /// The node's name in the scenario; `None` where it gives none.
    pub(crate) fn node_name(&self) -> Option<&str> {
        self.table.and_then(|table| table.node.as_deref())
    }
}

//! Checks of TCP: layers of tables over the defaults of the `tcp` crate.

use std::collections::{BTreeMap, BTreeSet};

use ackclock_cc::{Setting, Stack};
use ackclock_declare::Context;
use ackclock_net::NodeId;
use ackclock_sim::{FlowConfig, TrafficConfig};
use ackclock_tcp::TcpConfig;

use super::controllers::table_of_switches;
use super::location::Location;
use super::suggest;
use super::topology::BuiltTopology;
use crate::diagnostic::Diagnostics;
use crate::file::{Controller, HostTable, List, OwnTable, TcpSwitches, TcpTable};
use crate::profiles::{Profile, profile, profiles};
use crate::tree::FieldPath;

/// One layer of options, with its place in the file.
#[derive(Clone)]
pub(crate) struct Layer<'a> {
    pub(crate) at: Location<'a>,
    pub(crate) table: &'a TcpTable,
}

/// The TCP of an end, and the layers that it results from.
struct End<'a> {
    layers: Vec<Layer<'a>>,
    stack: Stack,
    tcp: TcpConfig,
}

/// The tables of hosts that have their own.
pub(crate) type HostTables<'a> = BTreeMap<NodeId, Vec<Layer<'a>>>;

/// Collects the `[[host]]` tables by node.
pub(crate) fn host_tables<'a>(
    hosts: Option<&'a List<HostTable>>,
    topology: &BuiltTopology,
    sink: &'a Diagnostics<'a>,
) -> HostTables<'a> {
    let (mut tables, mut seen) = (HostTables::new(), BTreeSet::new());
    for (index, host) in hosts.into_iter().flat_map(List::iter) {
        let at = sink.root("host").index(index);
        let Some(names) = &host.name else {
            at.key("name").missing("name = \"Server\"");
            continue;
        };
        if names.each().is_empty() {
            at.key("name").report_lack("must name a host", "name at least one host");
        }
        for (name_at, name) in at.key("name").each(names) {
            let Some(node) = topology.host(name, &name_at) else { continue };
            if !seen.insert(node) {
                let remedy = "name it once, in one table";
                name_at.report(format!("must be named once: there is a table for {name:?} already"), remedy);
            }
            let layer = host.tcp.as_ref().map(|table| Layer { at: at.key("tcp"), table });
            tables.entry(node).or_default().extend(layer);
        }
        if host.tcp.is_none() {
            at.report_lack("must have a tcp table", "add tcp = { ... }, or remove the host");
        }
    }
    tables
}

/// Reports hosts whose table of TCP no connection uses.
pub(crate) fn review_hosts(hosts: &HostTables<'_>, flows: &[FlowConfig], traffic: &TrafficConfig) {
    let groups = traffic.arrivals.iter().map(|group| &group.flow);
    let connections = flows.iter().filter(|flow| flow.quic.is_none()).chain(groups);
    let ends: BTreeSet<NodeId> = connections.flat_map(|flow| [flow.from, flow.to]).collect();
    let (used, idle): (Vec<_>, Vec<_>) = hosts.iter().partition(|(node, _)| ends.contains(node));
    let is_used = |layer: &Layer<'_>| {
        used.iter().flat_map(|(_, layers)| layers.iter()).any(|one| std::ptr::eq(one.table, layer.table))
    };
    for layer in idle.iter().filter_map(|(_, layers)| layers.first()).filter(|layer| !is_used(layer)) {
        let remedy = "remove the host; what QUIC does stands in protocol = { kind = \"quic\", ... } of a flow";
        layer.at.report("must name a host that has a TCP connection", remedy);
    }
}

/// The result for the last end of a flow: the ends of a group are alike.
#[derive(Default)]
pub(crate) struct LastEnd<'a>(Option<End<'a>>);

impl<'a> LastEnd<'a> {
    /// The TCP of an end, as [`tcp()`] builds it. Tables that the end before has too are not read again.
    pub(crate) fn tcp(&mut self, layers: Vec<Layer<'a>>, stack: Stack, sink: &Diagnostics<'_>) -> TcpConfig {
        let is_same = |end: &&End<'_>| {
            let mut pairs = end.layers.iter().zip(&layers);
            end.stack == stack
                && end.layers.len() == layers.len()
                && pairs.all(|(one, other)| std::ptr::eq(one.table, other.table))
        };
        if let Some(end) = self.0.as_ref().filter(is_same) {
            return end.tcp;
        }
        let tcp = tcp(&layers, &[stack], sink);
        self.0 = Some(End { layers, stack, tcp });
        tcp
    }
}

/// The last profile in the layers that exists, or else the first of all profiles.
pub(crate) fn profile_of(layers: &[Layer<'_>]) -> &'static Profile {
    let named = layers.iter().rev().find_map(|layer| Some((layer, layer.table.text("profile")?)));
    let Some((layer, name)) = named else { return &profiles()[0] };
    profile(name).unwrap_or_else(|| {
        let remedy = suggest(name, profiles().iter().map(|profile| profile.name));
        layer.at.key("profile").report("must be the name of a profile", remedy);
        &profiles()[0]
    })
}

/// The configuration of the layers over the needs of the connection's controllers. The last layer wins; a profile
/// resets.
pub(crate) fn tcp(layers: &[Layer<'_>], stacks: &[Stack], sink: &Diagnostics<'_>) -> TcpConfig {
    let profile = profile_of(layers);
    let mut table = profile.tcp.clone();
    for stack in stacks {
        table.lay(&table_of_switches(stack.sets));
    }
    let layers = since_profile(layers);
    for (_, brought) in profile.with.iter().filter(|(switch, _)| is_turned_on(layers, switch)) {
        table.lay(brought);
    }
    for layer in layers {
        table.lay(layer.table);
    }
    if let Some(word) = stacks.iter().find_map(|stack| stack.loss_recovery) {
        check_recovery(layers, word);
        table.lay(&table_of_switches(&[("loss_recovery", Setting::Word(word))]));
    }
    let reading = TcpSwitches::part().read(&table.0, &Context::default());
    for mistake in reading.mistakes {
        place_of(layers, &mistake.field, sink).report(mistake.message, mistake.remedy);
    }
    reading.config.config
}

/// Rejects layers in which a default controller would override the recovery that is written.
pub(crate) fn check_default_recovery(layers: &[Layer<'_>], controller: &Controller) {
    let layers = since_profile(layers).iter().rev();
    let said = layers.map(|layer| (layer, layer.table.text("loss_recovery"))).find(|(_, said)| said.is_some());
    if let Some((layer, said)) = said
        && controller.stack().loss_recovery.is_some_and(|word| Some(word) != said)
    {
        let what = format!("must not contradict {:?}, the default controller of the profile", controller.kind());
        let remedy = "name a controller: controller = \"reno\" is Reno's window with any recovery";
        layer.at.key("loss_recovery").report(what, remedy);
    }
}

/// Rejects a controller that implies a recovery which contradicts its own flow or appliance. It overrides the
/// options of the scenario and the host.
fn check_recovery(layers: &[Layer<'_>], word: &str) {
    let said = layers.iter().rev().find_map(|layer| Some((layer, layer.table.text("loss_recovery")?)));
    let is_own = |layer: &Layer<'_>| {
        ["flow", "appliance"].iter().any(|table| layer.at.path.0.first() == FieldPath::of(table).0.first())
    };
    if let Some((layer, said)) = said
        && said != word
        && is_own(layer)
    {
        let remedy = "remove it, or write controller = \"reno\" for Reno's window with another recovery";
        layer.at.key("loss_recovery").report("must not contradict the controller of the same end", remedy);
    }
}

/// The layers from the last profile on, which alone count.
fn since_profile<'l, 'a>(layers: &'l [Layer<'a>]) -> &'l [Layer<'a>] {
    &layers[layers.iter().rposition(|layer| layer.table.says("profile")).unwrap_or(0)..]
}

/// True if the last layer with this switch turns it on.
fn is_turned_on(layers: &[Layer<'_>], switch: &str) -> bool {
    layers.iter().rev().find_map(|layer| layer.table.0.get(switch)) == Some(&true.into())
}

/// The path at which a field was set last: "rto.min" of a table within, or the table.
fn place_of<'a>(layers: &[Layer<'a>], field: &str, sink: &'a Diagnostics<'a>) -> Location<'a> {
    let (table, within) = field.split_once('.').unwrap_or((field, ""));
    let sets = |layer: &&Layer<'_>| layer.table.0.get(table).is_some_and(|value| value.get(within).is_some());
    let layer = layers.iter().rev().find(sets).or_else(|| layers.iter().rev().find(|layer| layer.table.says(table)));
    layer.map_or_else(|| sink.root("tcp"), |layer| layer.at.clone()).below(field)
}

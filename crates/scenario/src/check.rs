//! Turns a file into a configuration that cannot fail: everything required is there, every value is in range, every
//! name is known, every default is filled in. All mistakes are collected.

mod appliances;
mod apps;
mod attached;
mod backlog;
mod changes;
mod channel;
mod controllers;
mod declarations;
mod discard;
mod external;
mod flows;
mod links;
mod location;
mod plans;
mod policy;
mod quic;
mod run;
mod sizes;
mod splits;
mod take;
mod tcp;
mod topology;
mod trace;
mod traffic;

use ackclock_declare::{Value, meant};
use ackclock_net::QueueLimit;
use ackclock_sim::SimulationConfig;
use serde::de::DeserializeOwned;

use self::appliances::{check_hosts_apart, plan_appliances};
use self::changes::{changes, expect_changes};
pub(crate) use self::controllers::check_endpoint;
use self::discard::resolve_discards;
use self::flows::build_flows;
use self::links::{crossings, resolve_queues};
pub(crate) use self::plans::MAX_FLOWS;
use self::plans::plan_flows;
use self::run::{Run, measure};
use self::splits::splits;
use self::tcp::{host_tables, review_hosts};
use self::topology::{BuiltTopology, build_topology};
use self::trace::trace;
use self::traffic::{flow_numbers, flow_traits, split_traffic};
use crate::attachments::Attachments;
use crate::de::{Problem, ReadError, quoted, read};
use crate::diagnostic::{Diagnostics, split_remedy};
use crate::extensions::Extensions;
use crate::file::ScenarioFile;
use crate::tree::{FieldPath, Node};

/// The most names in a remedy.
const MOST_LISTED: usize = 24;

/// Reads a scenario or a single endpoint from the tree, reporting every value that cannot be read and going on without
/// it.
pub(crate) fn read_file<T: DeserializeOwned + Default>(tree: &Node, sink: &Diagnostics<'_>) -> T {
    let mut tree = tree.clone();
    while !sink.is_full() {
        let error = match read::<T>(&tree) {
            Ok(file) => return file,
            Err(error) => error,
        };
        let path = error.path.clone().unwrap_or_default();
        // Of a list with an item that could not be read no more is known.
        if !sink.is_unread(&path) {
            report_unreadable(sink, &path, &error);
        }
        sink.blame(path.clone());
        if !prune_at_or_above(&mut tree, path) {
            break; // nothing is left to take out
        }
    }
    T::default()
}

/// Removes the value at `path`; where that is removed already (a table without its `kind`), removes the value around
/// it.
fn prune_at_or_above(tree: &mut Node, mut path: FieldPath) -> bool {
    while !tree.prune(&path) {
        if path.0.pop().is_none() {
            return false;
        }
    }
    true
}

fn report_unreadable(sink: &Diagnostics<'_>, path: &FieldPath, error: &ReadError) {
    match &error.problem {
        Problem::UnknownField { known } => {
            let remedy = sink.instead_of_field(path, known);
            sink.report_key(path, "is not a known field", remedy);
        }
        Problem::UnknownKind { found, known } => {
            let remedy = if QueueLimit::read(&found.as_str().into()).is_ok() && known.contains(&"drop_tail") {
                format!("write {{ kind = \"drop_tail\", limit = {found:?} }}, or another queue with this limit")
            } else if known.is_empty() {
                "name a part that an entry of `use` provides; none is built in".to_owned()
            } else {
                let said = sink.kinds_at(path);
                let about = |name| said.iter().find(|(kind, _)| *kind == name).map_or("", |(_, about)| *about);
                let known: Vec<_> = known.iter().map(|name| (*name, about(*name))).collect();
                suggest_described(found, &known).0
            };
            sink.report(path, format!("must be a known name, not {found:?}"), remedy);
        }
        Problem::Other(message) => {
            let (what, remedy) = split_remedy(message);
            sink.report(path, what, remedy);
        }
    }
}

/// A remedy with the known names that `name` may stand for, or else all of them.
pub(crate) fn suggest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<(&str, &str)> = known.into_iter().map(|known| (known, "")).collect();
    suggest_described(name, &known).0
}

/// A remedy as of [`suggest`] from names with their descriptions, and the names that may be meant.
pub(crate) fn suggest_described<'a>(name: &str, known: &[(&'a str, &str)]) -> (String, Vec<&'a str>) {
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in known {
        if !names.contains(name) {
            names.push(name);
        }
    }
    let found = meant(name, known);
    let listed = if names.len() > MOST_LISTED { quoted(&names[..MOST_LISTED]) + ", ..." } else { quoted(&names) };
    let remedy = match (&found[..], names.len()) {
        (_, 0) => "none are allowed here".to_owned(),
        ([], _) => format!("use one of {listed}"),
        (found, MOST_LISTED..) => format!("did you mean {}?", quoted(found).replace(", ", " or ")),
        (found, _) => format!("did you mean {}? known: {listed}", quoted(found).replace(", ", " or ")),
    };
    (remedy, found)
}

/// The things outside its text that a scenario names.
#[derive(Clone, Copy)]
pub(crate) struct Sources<'a> {
    /// Contents of the files.
    pub(crate) attachments: &'a Attachments,
    /// The providers of controllers from outside.
    pub(crate) extensions: &'a Extensions,
}

/// Builds the configuration, one pass after the other; `None` if `sink` has grown.
pub(crate) fn check(
    file: &ScenarioFile,
    default_name: &str,
    attachments: &Attachments,
    extensions: &Extensions,
    sink: &Diagnostics<'_>,
) -> Option<SimulationConfig> {
    let sources = Sources { attachments, extensions };
    sink.root("name").review_name(file.name.as_deref());
    let run = Run::new(file.seed, file.duration, sink);
    let measure = measure(file.measure.as_ref(), run, sink);
    let mut plans = plan_flows(file.flow.as_ref(), run, sink);
    let mut topology = build_topology(file.topology.as_ref(), &plans, sink);
    let hosts = host_tables(file.host.as_ref(), &topology, sink);
    let appliances = plan_appliances(file.appliance.as_ref(), file.tcp.as_ref(), &topology, sources, sink);
    check_hosts_apart(file.host.as_ref(), &appliances, sink);
    let (flows, are_placed) = build_flows(&mut plans, file.tcp.as_ref(), &hosts, &topology, run, sources, sink);
    let is_whole = are_placed && !sink.has_mistake_in("topology");
    let traits = flow_traits(&plans);
    let flow_numbers = flow_numbers(&plans, &traits);
    let splits = splits(&appliances, &plans, &flows, &topology, run.seed, is_whole, sink);
    let appliances: Vec<_> = appliances.into_iter().map(|plan| plan.config).collect();
    let BuiltTopology { network, cables, node_discards, .. } = &mut topology;
    let may_cross = is_whole && ["flow", "tcp", "host", "appliance"].iter().all(|of| !sink.has_mistake_in(of));
    let crossings = may_cross.then(|| crossings(network, &flows, &traits, &appliances, &splits));
    let largest_packets = resolve_queues(network, &cables.pending, crossings, &flow_numbers, sink);
    resolve_discards(network, &cables.pending, node_discards, &flow_numbers, sink);
    let changes = changes(file.change.as_ref(), &topology, &largest_packets, run, sink);
    expect_changes(&mut topology.network, changes);
    let trace = trace(file.trace.as_ref(), &topology, &flows, &flow_numbers, run, sink);
    let (flows, traffic) = split_traffic(&plans, flows, &splits, &topology.network, run, attachments);
    if is_whole && !sink.has_mistake_in("host") {
        review_hosts(&hosts, &flows, &traffic);
    }
    sink.is_empty().then(|| SimulationConfig {
        name: file.name.clone().unwrap_or_else(|| default_name.to_owned()),
        seed: run.seed,
        duration: run.duration.unwrap_or_default(),
        measure,
        network: topology.network,
        flows,
        appliances,
        splits: splits.connections,
        traffic,
        trace,
    })
}

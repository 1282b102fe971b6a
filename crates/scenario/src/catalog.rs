//! Parts to choose from, as JSON for `ackclock list`: controllers, queues, buffer policies, links and topologies.

use ackclock_declare::{Part, Table};
use serde_json::{Value, json};

use crate::file::{OwnTable, TcpSwitches, TcpTable};
use crate::profiles::Profile;

/// The scenario format as JSON Schema.
pub fn schema() -> Value {
    crate::vary::with_distributions(schemars::schema_for!(crate::file::ScenarioFile).to_value())
}

/// Controllers with their parameters.
pub fn controllers() -> Value {
    ackclock_cc::controllers().iter().map(Part::to_json).chain(doors()).collect()
}

/// Queue disciplines with their parameters.
pub fn queues() -> Value {
    ackclock_net::queue::queues().iter().map(Part::to_json).collect()
}

/// Effects of a link beside its fixed rate, with their parameters.
pub fn links() -> Value {
    ackclock_net::effects().into_iter().collect()
}

/// Buffer policies of appliances with their parameters.
pub fn buffer_policies() -> Value {
    ackclock_relay::buffer_policies().iter().map(Part::to_json).collect()
}

/// Controllers from outside the crates of this program.
fn doors() -> [Value; 3] {
    [
        entry(
            "policy",
            "a trained policy from an ONNX file, or as the authors of Remy, Indigo or Orca published it, frozen: it decides in the engine, without Python",
            "none; ONNX (onnx.ai) as torch.onnx.export writes it; Remy, SIGCOMM 2013; Indigo, USENIX ATC 2018; Orca, SIGCOMM 2020",
            "networks of feed-forward layers and one LSTM; decides as the environment is stepped, after what an ACK by itself lets go",
            &[
                parameter(
                    "file",
                    "required",
                    "a path from the scenario's folder",
                    "an ONNX file, a table of Remy, or the index of a checkpoint of Indigo or Orca",
                ),
                parameter("sha256", "as found", "64 hexadecimal digits", "what the file has to have"),
                parameter(
                    "controller",
                    "\"cubic\"",
                    "any other controller",
                    "the flow's own, for slow start and losses",
                ),
                parameter(
                    "agent",
                    "as the file's metadata say",
                    "observations, history, scaled, decide, action, slow_start, on_loss",
                    "what the policy was trained with, for a file that does not say so",
                ),
            ],
        ),
        entry(
            "python",
            "a Python class: \"python:module:Class\", or a table; `ackclock new controller NAME` writes one",
            "yours",
            "its class is looked up in the scenario's folder, then on Python's module path",
            &[
                parameter("class", "required", "\"module:Class\"", "a subclass of ackclock.CongestionController"),
                parameter("parameters", "{}", "a table", "keyword arguments of its constructor"),
            ],
        ),
        entry(
            "external",
            "a controller that a Rust program brings; `ackclock new controller NAME --lang rust` writes one",
            "the program's",
            "the program's; the ackclock command itself brings none",
            &[
                parameter("name", "required", "a name that the program knows", "which one"),
                parameter("parameters", "{}", "a table", "what the program makes of them is its own affair"),
            ],
        ),
    ]
}

/// Stack profiles: every switch with its value, and where the value comes from.
pub fn profiles() -> Value {
    crate::profiles::profiles().iter().map(describe).collect()
}

fn describe(profile: &Profile) -> Value {
    let switch = |(name, value): (&String, &Value)| {
        let meaning = TcpSwitches::part().field(name).map(|field| format!("{}.", field.meaning));
        json!({ "name": name, "value": value, "meaning": meaning, "source": profile.why.get(name) })
    };
    let brought = |(switch, sets): (&String, &TcpTable)| json!({ "name": switch, "value": true, "sets": sets, "source": profile.why.get(&format!("with.{switch}")) });
    let switches: Vec<Value> = profile.effective().iter().map(switch).collect();
    json!({
        "name": profile.name,
        "summary": profile.summary,
        "source": profile.source,
        "controller_by_default": { "name": profile.controller_by_default.kind(), "source": profile.why.get("controller_by_default") },
        "switches": switches,
        "with": profile.with.iter().map(brought).collect::<Vec<_>>(),
        "controllers": controllers_of(profile),
        "controller_sources": sources_of_controllers(profile),
    })
}

/// The sources of a profile's parameters of controllers, by controller.
fn sources_of_controllers(profile: &Profile) -> Table {
    let said = |name: &String| Some((name.clone(), profile.why_controller(name)?.into()));
    profile.controllers.keys().filter_map(said).collect()
}

/// The controllers of whose options profiles may set some, each with what this profile sets.
fn controllers_of(profile: &Profile) -> Table {
    let names = ackclock_cc::controllers().iter().filter(|part| part.about.name == part.extra.profile);
    let said = |name: &str| profile.controllers.get(name).cloned().unwrap_or_default();
    names.map(|part| (part.about.name.to_owned(), said(part.about.name).into())).collect()
}

/// Topologies with their parameters.
pub fn topologies() -> Value {
    const LINK: &str = "a link: { rate, delay, framing, queue, device_queue, discard, capture, telemetry, reverse }; see `ackclock links`";
    json!([
        entry(
            "dumbbell",
            "two routers; every flow has a host of its own on either side",
            "the field's usual picture of one bottleneck",
            "none",
            &[
                parameter("access", "required", LINK, "the links between hosts and routers"),
                parameter(
                    "bottleneck",
                    "required",
                    LINK,
                    "the link between the routers; its queue is 1 bdp by default"
                ),
            ],
        ),
        entry(
            "chain",
            "nodes in a row, such as Server, Discarder_1, Discarder_2, STA",
            "the testbed of OPNET's TCP studies",
            "none; flows go from the first host to the last unless they say otherwise",
            &[
                parameter("nodes", "required", "names, or { name, kind, discard }", "from end to end"),
                parameter("link", "required, or links", LINK, "between any two neighbours"),
                parameter("links", "link", "a list, one for each pair of neighbours", "where they differ"),
            ],
        ),
        entry(
            "star",
            "hosts around a switch",
            "incast and shared-switch studies",
            "none; flows go from the second host, the third, ... to the first unless they say otherwise (incast)",
            &[
                parameter("hosts", "required", "a number (host1, host2, ...) or names", "around the hub"),
                parameter("link", "required", LINK, "of each host"),
                parameter("hub", "\"hub\"", "a name", "what the middle is called"),
            ],
        ),
        entry(
            "parking_lot",
            "routers R1, R2, ... in a row with a host H1, H2, ... on each",
            "several bottlenecks in turn (Floyd 1991)",
            "none; flows go from the first host to the last unless they say otherwise",
            &[
                parameter("hops", "required", "1 to 1000", "links between routers"),
                parameter("bottleneck", "required", LINK, "each link between routers; 1 bdp of queue by default"),
                parameter("access", "required", LINK, "each host's link"),
            ],
        ),
        entry(
            "explicit",
            "nodes and links one by one",
            "any network",
            "none; routes have the fewest hops",
            &[
                parameter(
                    "node",
                    "required",
                    "[[topology.node]] name, kind = host | router | discarder | appliance, discard",
                    "the nodes"
                ),
                parameter("link", "required", "[[topology.link]] from, to, duplex, and all of a link", "the links"),
            ],
        ),
    ])
}

pub(crate) fn entry(name: &str, summary: &str, source: &str, departures: &str, parameters: &[Value]) -> Value {
    json!({ "name": name, "summary": summary, "source": source, "departures": departures, "parameters": parameters })
}

pub(crate) fn parameter(name: &str, default: &str, range: &str, meaning: &str) -> Value {
    json!({ "name": name, "default": default, "range": range, "meaning": meaning })
}

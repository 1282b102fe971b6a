//! What there is to choose from, as JSON for `ackclock controllers`, `queues`, `disciplines`, `links` and `topologies`.

mod aqm;
mod disciplines;
mod links;
mod queues;
mod schedulers;

use ackclock_cc::CONTROLLERS;
use serde_json::{Value, json};

use crate::profiles::Profile;

pub use disciplines::disciplines;
pub use links::links;
pub use queues::queues;

/// The scenario format as JSON Schema.
pub fn schema() -> Value {
    crate::vary::with_distributions(schemars::schema_for!(crate::file::ScenarioFile).to_value())
}

/// Controllers with their parameters.
pub fn controllers() -> Value {
    let entry = |info: &ackclock_cc::ControllerInfo| {
        let parameters: Vec<Value> =
            info.parameters.iter().map(|p| parameter(p.name, p.default, p.range, p.meaning)).collect();
        entry(info.name, info.summary, info.source, info.departures, &parameters)
    };
    CONTROLLERS.iter().map(entry).collect()
}

/// Stack profiles: every switch with its value, and where the value comes from.
pub fn profiles() -> Value {
    let meanings = schemars::schema_for!(crate::file::TcpTable).to_value();
    crate::profiles::profiles().iter().map(|profile| describe(profile, &meanings["properties"])).collect()
}

fn describe(profile: &Profile, meanings: &Value) -> Value {
    let values = serde_json::to_value(profile.effective()).expect("a table of plain values");
    let values = values.as_object().expect("a table");
    let switches: Vec<Value> = values
        .iter()
        .map(|(name, value)| {
            let meaning = meanings[name]["description"].as_str().unwrap_or_default();
            json!({ "name": name, "value": value, "meaning": meaning, "source": profile.why.get(name) })
        })
        .collect();
    json!({
        "name": profile.name,
        "summary": profile.summary,
        "source": profile.source,
        "switches": switches,
        "controllers": { "reno": profile.reno, "cubic": profile.cubic },
    })
}

/// Topologies with their parameters.
pub fn topologies() -> Value {
    const LINK: &str = "a link: { rate, delay, framing, queue, discard, capture, reverse }; see `ackclock links`";
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

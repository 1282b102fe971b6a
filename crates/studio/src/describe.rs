//! What a page is told of a scenario: names, and the numbers that it draws with.

use ackclock_net::{LinkConfig, QueueLimit};
use ackclock_scenario::Scenario;
use ackclock_sim::FlowConfig;
use serde_json::{Value, json};

/// The scenario, its flows, nodes and links.
pub(crate) fn scenario(scenario: &Scenario) -> Value {
    let config = scenario.config();
    json!({
        "name": config.name,
        "seed": config.seed,
        "duration_s": config.duration.as_secs_f64(),
        "nodes": config.network.nodes.iter().map(|node| node.name.as_str()).collect::<Vec<_>>(),
        "flows": config.flows.iter().map(flow).collect::<Vec<_>>(),
        "links": config.network.links.iter().map(link).collect::<Vec<_>>(),
    })
}

fn flow(flow: &FlowConfig) -> Value {
    json!({
        "name": flow.name,
        "controller": flow.controller_name,
        "from": flow.from.index(),
        "to": flow.to.index(),
        "start_s": flow.start.as_secs_f64(),
        "mss_bytes": flow.sender.mss,
    })
}

fn link(link: &LinkConfig) -> Value {
    json!({
        "name": link.name,
        "from": link.from.index(),
        "to": link.to.index(),
        "rate_bps": link.rate.0,
        "delay_s": link.delay.as_secs_f64(),
        "limit": limit(link),
    })
}

/// How much may wait, as a scenario writes it; `null` where the queue has no single limit.
fn limit(link: &LinkConfig) -> Value {
    link.queue.limit().map_or(Value::Null, |limit: QueueLimit| limit.to_string().into())
}

/// What there is to choose from.
pub(crate) fn catalogue() -> Value {
    json!({
        "controllers": ackclock_scenario::controllers(),
        "queues": ackclock_scenario::queues(),
        "profiles": ackclock_scenario::profiles(),
    })
}

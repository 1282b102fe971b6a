//! What a page is told of a scenario: names, and the numbers that it draws with.

use ackclock_net::{LinkChange, LinkConfig, LinkId};
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
        "links": config.network.numbered_links().map(|of| link(of, &config.network.changes)).collect::<Vec<_>>(),
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

/// A link as its last change left it.
fn link((id, link): (LinkId, &LinkConfig), changes: &[LinkChange]) -> Value {
    let of_link = || changes.iter().rev().filter(|change| change.link == id);
    let rate = of_link().find_map(|change| change.rate).unwrap_or(link.rate);
    let delay = of_link().find_map(|change| change.delay).unwrap_or(link.delay);
    json!({
        "name": link.name,
        "from": link.from.index(),
        "to": link.to.index(),
        "rate_bps": rate.0,
        "delay_s": delay.as_secs_f64(),
        "limit": of_link().find_map(|change| change.limit).or(link.queue.limit()).map(|limit| limit.to_string()),
    })
}

/// What there is to choose from.
pub(crate) fn catalogue() -> Value {
    json!({
        "controllers": ackclock_scenario::controllers(),
        "queues": ackclock_scenario::queues(),
        "profiles": ackclock_scenario::profiles(),
    })
}

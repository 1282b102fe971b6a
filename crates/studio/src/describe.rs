//! Description of a scenario for a page: names, and the numbers that it draws with.

use ackclock_net::{LinkChange, LinkConfig, LossConfig};
use ackclock_scenario::Scenario;
use ackclock_sim::FlowConfig;
use ackclock_units::SimDuration;
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
        "links": config.network.numbered_links().map(|(_, of)| link(of)).collect::<Vec<_>>(),
        "changes": changes(&config.network.changes),
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

/// A link as it is at the beginning; its loss is null where it is no one probability.
fn link(link: &LinkConfig) -> Value {
    let loss = match link.channel.as_deref().and_then(|channel| channel.impairments.loss.as_ref()) {
        None => Some(0.0),
        Some(LossConfig::Random(loss)) => Some(loss.p),
        Some(_) => None,
    };
    json!({
        "name": link.name,
        "from": link.from.index(),
        "to": link.to.index(),
        "rate_bps": link.rate.0,
        "delay_s": link.delay.as_secs_f64(),
        "loss": loss,
        "limit": link.queue.limit().map(|limit| limit.to_string()),
    })
}

/// Changes of links during the run, in the order of time; null fields stay.
fn changes(changes: &[LinkChange]) -> Vec<Value> {
    let mut ordered: Vec<_> = changes.iter().collect();
    ordered.sort_by_key(|change| change.at);
    let told = |change: &LinkChange| {
        json!({
            "at_s": SimDuration(change.at.0).as_secs_f64(),
            "link": change.link.index(),
            "rate_bps": change.rate.map(|rate| rate.0),
            "delay_s": change.delay.map(SimDuration::as_secs_f64),
            "loss": change.loss,
            "limit": change.limit.map(|limit| limit.to_string()),
        })
    };
    ordered.into_iter().map(told).collect()
}

/// Catalogue of the parts to choose from.
pub(crate) fn catalogue() -> Value {
    json!({
        "controllers": ackclock_scenario::controllers(),
        "queues": ackclock_scenario::queues(),
        "profiles": ackclock_scenario::profiles(),
    })
}

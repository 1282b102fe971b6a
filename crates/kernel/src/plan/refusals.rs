//! Refusals of a scenario's features besides switches of TCP.

use ackclock_net::LinkConfig;
use ackclock_sim::{AppConfig, DatagramConfig, FlowConfig, Sending, SimulationConfig};

use super::Refusal;
use crate::emulator::FIRST_PORT;

/// Threads, sockets and ports that a run may take.
const MOST_CONNECTIONS: usize = 1_000;

pub(super) fn refusal(place: impl Into<String>, reason: impl Into<String>, remedy: impl Into<String>) -> Refusal {
    Refusal { place: place.into(), reason: reason.into(), remedy: remedy.into() }
}

/// Features of the scenario that the emulator and its hosts lack.
pub(super) fn of_scenario(config: &SimulationConfig) -> Vec<Refusal> {
    let mut refusals = Vec::new();
    if !config.appliances.is_empty() {
        let reason = "appliances split connections inside the simulator only";
        refusals.push(refusal("appliance", reason, "leave appliances out"));
    }
    let groups = &config.traffic.arrivals;
    if config.flows.is_empty() && config.traffic.datagrams.is_empty() && groups.is_empty() {
        refusals.push(refusal("flow", "nothing is to be sent", "add a flow"));
    }
    if config.flows.len() + config.traffic.datagrams.len() + groups.len() > MOST_CONNECTIONS {
        let reason = format!("more than {MOST_CONNECTIONS} flows, each with sockets and threads of its own");
        refusals.push(refusal("flow", reason, "use fewer"));
    }
    if config.trace.events.is_some() {
        let reason = "only simulated endpoints record events";
        refusals.push(refusal("trace.events", reason, "leave events out"));
    }
    if !config.trace.internals.is_empty() {
        let reason = "the kernel does not expose the internals of its controllers";
        refusals.push(refusal("trace.internals", reason, "leave internals out"));
    }
    refusals.extend(config.network.links.iter().filter_map(of_link));
    refusals.extend(config.traffic.datagrams.iter().filter_map(of_datagrams));
    for group in groups.iter().filter(|group| group.flow.capture) {
        let reason = "the emulator writes no captures of short flows";
        refusals.push(refusal(format!("flow {:?}.capture", group.flow.name), reason, "capture a link instead"));
    }
    refusals.extend(super::flows(config).flat_map(|(place, flow)| of_flow(flow, &place)));
    refusals
}

fn of_link(link: &LinkConfig) -> Option<Refusal> {
    let place = format!("link {:?}", link.name);
    if link.telemetry {
        let reason = "the kernel's receivers do not return what links write into packets";
        return Some(refusal(format!("{place}: telemetry"), reason, "use telemetry = false"));
    }
    let reason = "custom parts run in the simulator only";
    link.has_external().then(|| refusal(place, reason, "use a queue and effects of the catalogue"))
}

fn of_datagrams(flow: &DatagramConfig) -> Option<Refusal> {
    let place = format!("flow {:?}", flow.name);
    let reason = "encoders and their controllers are simulated only";
    let is_media = matches!(flow.sending, Sending::Media(_));
    is_media.then(|| refusal(format!("{place}: app"), reason, "use cbr, poisson or on_off"))
}

fn of_flow(flow: &FlowConfig, place: &str) -> Vec<Refusal> {
    let mut refusals = Vec::new();
    let mut refuse = |field: &str, reason: &str, remedy: &str| {
        refusals.push(refusal(format!("{place}.{field}"), reason, remedy));
    };
    if flow.quic.is_some() {
        refuse("protocol", "QUIC is not in the kernel", "use TCP");
    }
    for app in std::iter::once(&flow.app).chain(&flow.reply) {
        match app {
            AppConfig::External(_) => refuse("app", "a custom source runs in the simulator only", "use another"),
            AppConfig::Bulk
            | AppConfig::Files { .. }
            | AppConfig::OnOff { .. }
            | AppConfig::RequestResponse { .. }
            | AppConfig::Video(_) => {}
        }
    }
    refusals
}

/// The kernel's controller of a flow.
pub(super) fn controller(flow: &FlowConfig, place: &str, available: &[String]) -> Result<String, Refusal> {
    let place = format!("{place}.controller");
    let name = flow.controller_name.as_str();
    let known = match name {
        "newreno" => "reno",
        other => other,
    };
    if !available.iter().any(|one| one == known) {
        let reason = format!("this kernel has no controller {known:?}; it has {}", available.join(", "));
        let remedy = "use one of these, or one of those that ackclock-kernel list shows";
        return Err(refusal(place, reason, remedy));
    }
    let linux = ackclock_scenario::endpoint_config(&format!("{{\"controller\":\"{known}\"}}"), &[]);
    if linux.is_ok_and(|(_, controller)| controller.seeded(0) == flow.controller.clone().seeded(0)) {
        return Ok(known.to_owned());
    }
    let reason = format!("the kernel's {known} has no such parameters; it runs as the profile linux-6.x has it");
    Err(refusal(place, reason, format!("use controller = {known:?} without parameters")))
}

const _: () =
    assert!(FIRST_PORT as usize + MOST_CONNECTIONS < 32_768, "a port must be below the kernel's ephemeral ports");

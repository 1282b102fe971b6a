//! Checks of congestion controllers: their parameters, and their demands on the stack.

use std::collections::BTreeMap;

use ackclock_cc::{ControllerConfig, Setting};
use ackclock_declare::{Context, table_of};
use ackclock_net::LinkConfig;
use ackclock_tcp::TcpConfig;
use serde_json::Value;

use super::Sources;
use super::declarations::read_part;
use super::external::{program, python};
use super::location::Location;
use super::policy::policy;
use super::tcp::{Layer, profile_of, tcp};
use super::traffic::Role;
use crate::attachments::Attachments;
use crate::diagnostic::Diagnostics;
use crate::extensions::Extensions;
use crate::file::{Controller, TcpTable};

/// An endpoint outside any network; without a controller it has its stack's.
pub(crate) fn check_endpoint(
    table: &TcpTable,
    controller: Option<&Controller>,
    sink: &Diagnostics<'_>,
) -> (TcpConfig, ControllerConfig) {
    let layers = [Layer { at: sink.root("tcp"), table }];
    let profile = profile_of(&layers);
    let controller = controller.unwrap_or(&profile.controller_by_default);
    if matches!(controller, Controller::Policy(_)) {
        let remedy = "use another controller; a policy runs in a scenario";
        sink.root("controller").report("is a policy, whose file is not read here", remedy);
    }
    let sources = Sources { attachments: &Attachments::default(), extensions: &Extensions::default() };
    let tcp = tcp(&layers, &[controller.stack()], sink);
    let controller = controller.over(&profile.controllers);
    let controller = lone_controller(&controller, tcp.mss, &sink.root("controller"), sources);
    (tcp, controller)
}

/// A controller that shares nothing with others.
pub(super) fn lone_controller(
    controller: &Controller,
    mss: u32,
    at: &Location<'_>,
    sources: Sources<'_>,
) -> ControllerConfig {
    let config = any_controller(controller, mss, at, sources);
    refuse_shared_agent(&config, at, "is allowed only for a flow's own controller");
    config
}

/// Agents that several flows share, each with the first flow that names it and its controller.
#[derive(Default)]
pub(super) struct Agents(BTreeMap<String, (String, ControllerConfig)>);

impl Agents {
    /// The controller of a flow, which may share its agent with other flows.
    pub(super) fn controller_of_flow(
        &mut self,
        (flow, role): (&str, &Role<'_>),
        controller: &Controller,
        mss: u32,
        at: &Location<'_>,
        sources: Sources<'_>,
    ) -> ControllerConfig {
        let config = any_controller(controller, mss, at, sources);
        if !matches!(role, Role::Connection) {
            refuse_shared_agent(&config, at, "is allowed only for long flows, not for arrivals of short ones");
            return config;
        }
        let Some(agent) = config.shared_agent() else { return config };
        let first = self.0.entry(agent.to_owned()).or_insert_with(|| (flow.to_owned(), config.clone()));
        if first.1 != config {
            let what =
                format!("must have the same kind and parameters as in flow {:?}, which also names {agent:?}", first.0);
            let remedy = "write both controllers alike, or name another agent";
            at.key("agent").report(what, remedy);
        }
        config
    }
}

fn refuse_shared_agent(config: &ControllerConfig, at: &Location<'_>, what: &str) {
    if config.shared_agent().is_some() {
        at.key("agent").report(what, "remove it: the controller then has its own agent");
    }
}

fn any_controller(controller: &Controller, mss: u32, at: &Location<'_>, sources: Sources<'_>) -> ControllerConfig {
    match controller {
        Controller::BuiltIn(part) => read_part(part, &Context { mss: mss.into(), ..Context::default() }, at),
        Controller::Policy(table) => policy(table, mss, at, sources),
        Controller::Python(table) => python(table, at, sources.extensions),
        Controller::External(table) => program(table, at, sources.extensions),
    }
}

/// Reports a controller that does not work on the TCP below it.
pub(crate) fn check_needs(controller: &Controller, ends: &[TcpConfig; 2], at: &Location<'_>, links: &[LinkConfig]) {
    for need in controller.stack().needs {
        let wanted = value_of(need.setting);
        if ends.iter().any(|tcp| table_of(tcp).get(need.switch) != Some(&wanted)) {
            at.report(need.why, need.remedy);
        }
    }
    if controller.stack().telemetry && !links.is_empty() && !links.iter().any(|link| link.telemetry) {
        at.report("needs telemetry, and no link writes it", "set telemetry = true on the links");
    }
}

fn value_of(setting: Setting) -> Value {
    match setting {
        Setting::Switch(on) => on.into(),
        Setting::Word(word) => word.into(),
    }
}

/// The table that has these switches.
pub(super) fn table_of_switches(switches: &[(&'static str, Setting)]) -> TcpTable {
    TcpTable::of(switches.iter().map(|(name, setting)| (*name, value_of(*setting))))
}

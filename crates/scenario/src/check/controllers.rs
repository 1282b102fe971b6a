//! Checks of congestion controllers: their parameters, and their demands on the stack.

use ackclock_cc::{ControllerConfig, Setting};
use ackclock_declare::{Context, table_of};
use ackclock_tcp::TcpConfig;
use serde_json::Value;

use super::Checker;
use super::tcp::Layer;
use super::traffic::Role;
use crate::file::{Controller, TcpTable};
use crate::tree::FieldPath;

impl Checker<'_, '_> {
    /// An endpoint outside any network; without a controller it has its stack's.
    pub(crate) fn endpoint(
        &mut self,
        table: &TcpTable,
        controller: Option<&Controller>,
    ) -> (TcpConfig, ControllerConfig) {
        let layers = [Layer { path: FieldPath::of("tcp"), table }];
        let profile = self.profile(&layers);
        let controller = controller.unwrap_or(&profile.controller_by_default);
        if matches!(controller, Controller::Policy(_)) {
            let remedy = "use another controller; a policy runs in a scenario";
            self.report(&FieldPath::of("controller"), "is a policy, whose file is not read here", remedy);
        }
        let tcp = self.tcp(&layers, &[controller.stack()]);
        let controller = controller.over(&profile.controllers);
        let controller = self.controller(&controller, tcp.mss, &FieldPath::of("controller"));
        (tcp, controller)
    }

    /// A controller that shares nothing with others.
    pub(super) fn controller(&mut self, controller: &Controller, mss: u32, path: &FieldPath) -> ControllerConfig {
        let config = self.any_controller(controller, mss, path);
        self.refuse_shared_agent(&config, path, "is allowed only for a flow's own controller");
        config
    }

    /// The controller of a flow, which may share its agent with other flows.
    pub(super) fn controller_of_flow(
        &mut self,
        (flow, role): (&str, &Role<'_>),
        controller: &Controller,
        mss: u32,
        path: &FieldPath,
    ) -> ControllerConfig {
        let config = self.any_controller(controller, mss, path);
        if !matches!(role, Role::Connection) {
            self.refuse_shared_agent(&config, path, "is allowed only for long flows, not for arrivals of short ones");
            return config;
        }
        let Some(agent) = config.shared_agent() else { return config };
        let first = self.agents.entry(agent.to_owned()).or_insert_with(|| (flow.to_owned(), config.clone()));
        if first.1 != config {
            let what =
                format!("must have the same kind and parameters as in flow {:?}, which also names {agent:?}", first.0);
            let remedy = "write both controllers alike, or name another agent";
            self.report(&path.key("agent"), what, remedy);
        }
        config
    }

    fn refuse_shared_agent(&mut self, config: &ControllerConfig, path: &FieldPath, what: &str) {
        if config.shared_agent().is_some() {
            self.report(&path.key("agent"), what, "remove it: the controller then has its own agent");
        }
    }

    fn any_controller(&mut self, controller: &Controller, mss: u32, path: &FieldPath) -> ControllerConfig {
        match controller {
            Controller::BuiltIn(chosen) => {
                self.chosen(chosen, &Context { mss: mss.into(), ..Context::default() }, path)
            }
            Controller::Policy(table) => self.policy(table, mss, path),
            Controller::Python(table) => self.python(table, path),
            Controller::External(table) => self.program(table, path),
        }
    }

    /// Reports a controller that does not work on the TCP below it.
    pub(crate) fn check_needs(&mut self, controller: &Controller, ends: &[TcpConfig; 2], path: &FieldPath) {
        for need in controller.stack().needs {
            let wanted = value_of(need.setting);
            if ends.iter().any(|tcp| table_of(tcp).get(need.switch) != Some(&wanted)) {
                self.report(path, need.why, need.remedy);
            }
        }
        let links = &self.network.links;
        if controller.stack().telemetry && !links.is_empty() && !links.iter().any(|link| link.telemetry) {
            self.report(path, "needs telemetry, and no link writes it", "set telemetry = true on the links");
        }
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

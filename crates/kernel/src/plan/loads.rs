//! Controllers that the kernel lacks and this program has as eBPF programs: registered for a run, and gone with it.
//!
//! Each distinct controller of a scenario, parameters included, is one registration under a name of the process's own, since names are
//! one for all namespaces of a machine and runs at the same time do not see each other.

use ackclock_agent::policy::PolicyController;
use ackclock_bpf::registration::{Order, Registration};
use ackclock_bpf::{PROGRAMS, machine};
use ackclock_cc::{ControllerConfig, Start};
use ackclock_sim::FlowConfig;
use ackclock_units::Bytes;

use super::refusals::refusal;
use super::{POLICY, Refusal};
use crate::run::Failure;

/// Controllers registered for a run.
#[derive(Debug, Default)]
pub struct Loads {
    orders: Vec<Order>,
    /// Place in the scenario of the first of them.
    first: String,
}

impl Loads {
    /// The name by which this flow's sockets take its controller; `None` if there is no such program.
    pub(super) fn controller(&mut self, flow: &FlowConfig, place: &str) -> Option<Result<String, Refusal>> {
        let alias = format!("ac{}_{}", std::process::id(), self.orders.len());
        let place = format!("{place}.controller");
        let order = match order(flow, &place, &alias)? {
            Ok(order) => order,
            Err(refusal) => return Some(Err(refusal)),
        };
        if let Some(known) = self.orders.iter().find(|known| known.is_same(&order)) {
            return Some(Ok(known.kernel_name().to_owned()));
        }
        if self.orders.is_empty() {
            self.first = place;
        }
        self.orders.push(order);
        Some(Ok(alias))
    }

    /// Registers all; they go when what is returned does. A kernel that takes no programs refuses the first.
    pub fn register(&self) -> Result<Vec<Registration>, Failure> {
        if !self.orders.is_empty()
            && let Err(missing) = machine::check_kernel()
        {
            let reason = format!("a controller in eBPF cannot be loaded: {missing}");
            return Err(Failure::Refused(vec![refusal(
                &self.first,
                reason,
                "use one of the kernel's, or simulate it",
            )]));
        }
        let registered = self.orders.iter().map(Registration::new).collect::<Result<_, _>>();
        registered.map_err(|error| Failure::Machine(format!("a controller cannot be loaded: {error}")))
    }
}

/// Program to load for a flow; `None` if there is no such program.
fn order(flow: &FlowConfig, place: &str, alias: &str) -> Option<Result<Order, Refusal>> {
    let name = flow.controller_name.as_str();
    let refused = |error: &dyn std::fmt::Display, remedy: &str| refusal(place, error.to_string(), remedy);
    if name == POLICY {
        let remedy = "write it in whole numbers: ackclock export FILE --to bpf";
        let Some(image) = whole_numbers(&flow.controller) else {
            return Some(Err(refused(&"a policy in floating point does not run in the kernel", remedy)));
        };
        return Some(Order::of_image(&image, alias).map_err(|error| refused(&error, remedy)));
    }
    PROGRAMS.iter().find(|program| program.name == name)?;
    let order = Order::of(name, flow.controller.clone(), alias);
    Some(order.map_err(|error| refused(&error, "use parameters that the program has, or simulate it")))
}

/// A policy as the kernel's program takes it, if it is one in whole numbers.
fn whole_numbers(controller: &ControllerConfig) -> Option<Vec<u8>> {
    let ControllerConfig::External(config) = controller else { return None };
    let start = Start { mss: Bytes(1_448), initial_window: Bytes(14_480), initial_ssthresh: None, seed: 0 };
    config.start(&start).as_any_mut().downcast_ref().and_then(PolicyController::whole_numbers)
}

//! Controllers that the kernel lacks and this program has as eBPF programs: registered for a run, and gone with it.
//!
//! Each distinct controller of a scenario, parameters included, is one registration under a name of the process's own, since names are
//! one for all namespaces of a machine and runs at the same time do not see each other.

use ackclock_bpf::PROGRAMS;
use ackclock_bpf::registration::{Order, Registration};
use ackclock_sim::FlowConfig;

use super::Refusal;
use super::refusals::refusal;
use crate::run::Failure;

/// What is registered for a run.
#[derive(Debug, Default)]
pub struct Loads {
    orders: Vec<Order>,
}

impl Loads {
    /// The name by which this flow's sockets take its controller; `None` if there is no such program.
    pub(super) fn controller(&mut self, flow: &FlowConfig, place: &str) -> Option<Result<String, Refusal>> {
        let name = flow.controller_name.as_str();
        PROGRAMS.iter().find(|program| program.name == name)?;
        let alias = format!("ac{}_{}", std::process::id(), self.orders.len());
        let order = match Order::of(name, flow.controller.clone(), &alias) {
            Ok(order) => order,
            Err(error) => {
                let remedy = "use parameters that the program has, or simulate it";
                return Some(Err(refusal(format!("{place}.controller"), error.to_string(), remedy)));
            }
        };
        if let Some(known) = self.orders.iter().find(|known| known.is_same(&order)) {
            return Some(Ok(known.kernel_name().to_owned()));
        }
        self.orders.push(order);
        Some(Ok(alias))
    }

    /// Registers all; they go when what is returned does.
    pub fn register(&self) -> Result<Vec<Registration>, Failure> {
        let registered = self.orders.iter().map(Registration::new).collect::<Result<_, _>>();
        registered.map_err(|error| Failure::Machine(format!("a controller cannot be loaded: {error}")))
    }
}

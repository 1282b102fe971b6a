//! External algorithms: a user's own, in Rust or behind another language.
//!
//! Source: none. Departures: none.
//!
//! A controller that cannot go on unwinds ([`std::panic::resume_unwind`]) with its error as the payload. The caller of
//! the simulation catches that and drops the simulation, so that the loop need not check for errors after every event.

use std::any::Any;
use std::fmt::{self, Debug};
use std::sync::Arc;

use crate::controller::{CongestionController, Start};

/// An external controller. Every [`CongestionController`] that can be cloned and shared between threads is one.
pub trait ExternalController: CongestionController + Sync {
    /// A clone with the same state: a simulation can be cloned while it runs.
    fn boxed_clone(&self) -> Box<dyn ExternalController>;

    /// The controller itself, to downcast to its type.
    fn as_any_mut(&mut self) -> &mut dyn Any;
}

impl<T: CongestionController + Sync + Clone + 'static> ExternalController for T {
    fn boxed_clone(&self) -> Box<dyn ExternalController> {
        Box::new(self.clone())
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }
}

impl Clone for Box<dyn ExternalController> {
    fn clone(&self) -> Self {
        self.as_ref().boxed_clone()
    }
}

type Make = dyn Fn(&Start) -> Box<dyn ExternalController> + Send + Sync;

/// The constructor of external controllers: a name for results, and a function that makes one.
///
/// Two are equal if they are clones of one, with the same seed.
#[derive(Clone)]
pub struct ExternalConfig {
    name: Arc<str>,
    make: Arc<Make>,
    seed: u64,
    decides: bool,
}

impl ExternalConfig {
    /// A constructor that calls `make` once for either end of each connection, when the handshake has settled the
    /// segment size.
    pub fn new<C: ExternalController + 'static>(
        name: &str,
        make: impl Fn(&Start) -> C + Send + Sync + 'static,
    ) -> Self {
        Self { name: name.into(), make: Arc::new(move |start| Box::new(make(start))), seed: 0, decides: false }
    }

    /// Declares that the controllers decide after events: see [`CongestionController::is_decision_due`].
    #[must_use]
    pub fn that_decides(self) -> Self {
        Self { decides: true, ..self }
    }

    pub(crate) fn decides(&self) -> bool {
        self.decides
    }

    /// The controller's name in results.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn set_seed(&mut self, seed: u64) {
        self.seed = seed;
    }

    pub(crate) fn seed(&self) -> u64 {
        self.seed
    }

    /// Starts a controller.
    pub fn start(&self, start: &Start) -> Box<dyn ExternalController> {
        (self.make)(start)
    }
}

impl Debug for ExternalConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ExternalConfig").field(&self.name).finish()
    }
}

impl PartialEq for ExternalConfig {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.make, &other.make) && self.seed == other.seed
    }
}

#[cfg(test)]
mod tests {
    use ackclock_units::Bytes;

    use super::*;
    use crate::testing::{ack, loss};
    use crate::{AckEvent, CongestionEvent, Controller, ControllerConfig};

    /// A controller that adds the acknowledged data; a loss leaves the initial window.
    #[derive(Clone, Debug)]
    struct Exponential {
        initial: Bytes,
        cwnd: Bytes,
    }

    impl CongestionController for Exponential {
        fn on_ack(&mut self, ack: &AckEvent) {
            self.cwnd += ack.newly_acked;
        }
        fn on_congestion(&mut self, _event: &CongestionEvent) {
            self.cwnd = self.initial;
        }
        fn cwnd(&self) -> Bytes {
            self.cwnd
        }
    }

    fn config() -> ExternalConfig {
        ExternalConfig::new("exponential", |start| Exponential {
            initial: start.initial_window,
            cwnd: start.initial_window,
        })
    }

    #[test]
    fn a_controller_from_outside_is_told_and_asked_like_ours() {
        let config = ControllerConfig::External(config());
        let mut controller = Controller::new(&config, Bytes(1_000), Bytes(10_000), None);
        controller.on_ack(&ack(2_000));
        assert_eq!((controller.cwnd(), controller.ssthresh()), (Bytes(12_000), None)); // 10 000 + 2 000
        controller.on_congestion(&loss(12_000));
        assert_eq!(controller.cwnd(), Bytes(10_000));
    }

    #[test]
    fn a_clone_goes_its_own_way() {
        let config = ControllerConfig::External(config());
        let mut controller = Controller::new(&config, Bytes(1_000), Bytes(10_000), None);
        let mut copy = controller.clone();
        controller.on_ack(&ack(1_000));
        copy.on_ack(&ack(3_000));
        assert_eq!((controller.cwnd(), copy.cwnd()), (Bytes(11_000), Bytes(13_000)));
    }

    #[test]
    fn the_seed_of_its_flow_arrives() {
        let seeds = ExternalConfig::new("seeded", |start| Exponential { initial: Bytes(start.seed), cwnd: Bytes(1) });
        let config = ControllerConfig::External(seeds).seeded(77);
        let mut controller = Controller::new(&config, Bytes(1_000), Bytes(10_000), None);
        controller.on_congestion(&loss(1_000));
        assert_eq!(controller.cwnd(), Bytes(77));
    }

    #[test]
    fn only_clones_of_a_configuration_are_equal() {
        let one = config();
        assert_eq!(one, one.clone());
        assert_ne!(one, config());
    }
}

//! External parts of a link: their initial values, and the link effect, which is always external.

use std::fmt::Debug;

use ackclock_declare::{External, Parts, external};
use ackclock_units::{Bandwidth, SimTime};

use crate::impairment::Fate;
use crate::packet::Packet;

/// Initial values of a part of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartStart {
    /// The link's rate; of one whose rate changes, the rate for which buffers are sized.
    pub rate: Bandwidth,
    /// Seed of the part's own random stream, from the run's and the link's name.
    pub seed: u64,
}

/// An effect of a link on packets that it has sent: it loses, delays, reorders or copies them.
pub trait LinkEffect: Debug + Send {
    /// Takes a packet whose last bit left at `now`; `octets` is its size on the link, framing included.
    fn on_packet(&mut self, now: SimTime, packet: &Packet, octets: u64) -> Fate;
}

external! {
    /// An external effect. Every [`LinkEffect`] that can be cloned and shared between threads is one.
    ExternalEffect: LinkEffect
}

/// Configuration of external effects: one effect is created for each link that has it.
pub type ExternalEffectConfig = External<PartStart, dyn ExternalEffect>;

static NONE: std::sync::LazyLock<Parts<ExternalEffectConfig>> = std::sync::LazyLock::new(|| Parts::new(Vec::new()));

/// Effects that a scenario can name as `effect`. None is built in, as loss, jitter, reordering and copies have fields
/// of their own.
pub fn own_effects() -> &'static Parts<ExternalEffectConfig> {
    &NONE
}

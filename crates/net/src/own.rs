//! Parts of a link that are not in this crate: what they start from, and the effect, which is only ever one's own.

use std::fmt::Debug;

use ackclock_declare::{External, Parts, external};
use ackclock_units::{Bandwidth, SimTime};

use crate::impairment::Fate;
use crate::packet::Packet;

/// Initial values of a part of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartStart {
    /// The link's rate; of one whose rate changes, that for which buffers are sized.
    pub rate: Bandwidth,
    /// Seed of the part's own random stream, from the run's and the link's name.
    pub seed: u64,
}

/// Effect of a link on a packet after it has sent it: loses it, delays it, lets others overtake it, copies it.
pub trait LinkEffect: Debug + Send {
    /// The last bit of a packet left at `now`; `octets` is what it took of the link, framing included.
    fn on_packet(&mut self, now: SimTime, packet: &Packet, octets: u64) -> Fate;
}

external! {
    /// An effect from outside. Every [`LinkEffect`] that can be cloned and shared between threads is one.
    ExternalEffect: LinkEffect
}

/// Configuration of effects from outside: one effect is created for each link that has it.
pub type ExternalEffectConfig = External<PartStart, dyn ExternalEffect>;

static NONE: std::sync::LazyLock<Parts<ExternalEffectConfig>> = std::sync::LazyLock::new(|| Parts::new(Vec::new()));

/// Effects that a scenario can name as `effect`: none is built in, as loss, jitter, reordering and copies have fields of their
/// own.
pub fn own_effects() -> &'static Parts<ExternalEffectConfig> {
    &NONE
}

//! Sources of traffic that are not in this crate: a user's own, in Rust or behind another language.

use std::fmt::Debug;
use std::sync::LazyLock;

use ackclock_declare::{External, Parts, external};
use ackclock_units::{Bytes, SimTime};

/// Values with which a source starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceStart {
    /// Seed of the source's own random stream, from the run's and the flow's name.
    pub seed: u64,
}

/// The next action of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Supply {
    /// Written to the connection now; nothing if zero.
    pub write: Bytes,
    /// Time at which the source goes on.
    pub then: Then,
}

/// Condition on which a source goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// This time, which is to come.
    At(SimTime),
    /// The receiving application has read all that was written.
    WhenRead,
    /// Never: the connection closes.
    Close,
}

/// A source of an application's data: the octets that it writes into a connection, and their times.
pub trait TrafficSource: Debug + Send {
    /// The connection has opened, or the source goes on. `unsent` is what was written and has not left yet.
    fn next(&mut self, now: SimTime, unsent: Bytes) -> Supply;
}

external! {
    /// A source from outside. Every [`TrafficSource`] that can be cloned and shared between threads is one.
    ExternalSource: TrafficSource
}

/// Configuration of sources from outside: one source is created for each flow that has it.
pub type ExternalSourceConfig = External<SourceStart, dyn ExternalSource>;

static NONE: LazyLock<Parts<ExternalSourceConfig>> = LazyLock::new(|| Parts::new(Vec::new()));

/// Sources from outside that a scenario can name as `app`: none is built in, as the applications of this crate have names of
/// their own.
pub fn own_sources() -> &'static Parts<ExternalSourceConfig> {
    &NONE
}

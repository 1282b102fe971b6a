//! External sources of traffic: a user's own, in Rust or behind another language.

use std::fmt::Debug;
use std::sync::LazyLock;

use ackclock_declare::{External, Parts, external};
use ackclock_units::{Bytes, SimTime};

/// The initial values of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceStart {
    /// Seed of the source's own random stream, from the run's and the flow's name.
    pub seed: u64,
}

/// The next action of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Supply {
    /// Octets to write to the connection now; zero writes none.
    pub write: Bytes,
    /// Time at which the source goes on.
    pub then: Then,
}

/// The condition for the source's next call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// A future time.
    At(SimTime),
    /// The end of the reading of all written data.
    WhenRead,
    /// No further call: the connection closes.
    Close,
}

/// A source of an application's data: the octets that it writes into a connection, and their times.
pub trait TrafficSource: Debug + Send {
    /// Called when the connection has opened, or the source goes on. `unsent` is the written data that has not left
    /// yet.
    fn next(&mut self, now: SimTime, unsent: Bytes) -> Supply;
}

external! {
    /// An external source. Every [`TrafficSource`] that can be cloned and shared between threads is one.
    ExternalSource: TrafficSource
}

/// Configuration of external sources: one source is created for each flow that has it.
pub type ExternalSourceConfig = External<SourceStart, dyn ExternalSource>;

static NONE: LazyLock<Parts<ExternalSourceConfig>> = LazyLock::new(|| Parts::new(Vec::new()));

/// External sources that a scenario can name as `app`: none is built in, as the applications of this crate have names
/// of their own.
pub fn own_sources() -> &'static Parts<ExternalSourceConfig> {
    &NONE
}

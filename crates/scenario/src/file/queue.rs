//! Queue disciplines as a file says them: one of those that `net` declares.

use ackclock_declare::Parts;
use ackclock_net::QueueConfig;
use ackclock_net::queue::{DEFAULT_QUEUE, queues};

use super::chosen::{Chosen, Kind};
use super::macros::overlay_replaces;

/// The disciplines of `net`; `ackclock queues` explains each.
pub(crate) struct Queues;

impl Kind for Queues {
    type Config = QueueConfig;
    type Extra = ();

    const NAME: &'static str = "Queue";

    fn parts() -> &'static Parts<QueueConfig> {
        queues()
    }
}

/// A queue discipline.
pub(crate) type Queue = Chosen<Queues>;

impl Default for Queue {
    fn default() -> Self {
        Self::of(DEFAULT_QUEUE)
    }
}

overlay_replaces!(Queue);

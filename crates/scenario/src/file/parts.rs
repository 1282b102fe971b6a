//! Parts that other crates declare, as a file says them.

use ackclock_declare::Parts;
use ackclock_net::QueueConfig;
use ackclock_net::queue::{DEFAULT_QUEUE, queues};
use ackclock_relay::{DisciplineConfig, buffer_policies};

use super::chosen::{Chosen, Kind};
use super::macros::overlay_replaces;

macro_rules! parts {
    ($($(#[$meta:meta])* $kind:ident, $chosen:ident = $name:literal: $config:ty, $parts:path;)*) => {
        $(
            $(#[$meta])*
            pub(crate) struct $kind;

            impl Kind for $kind {
                type Config = $config;
                type Extra = ();

                const NAME: &'static str = $name;

                fn parts() -> &'static Parts<$config> {
                    $parts()
                }
            }

            $(#[$meta])*
            pub(crate) type $chosen = Chosen<$kind>;

            overlay_replaces!($chosen);
        )*
    };
}

parts! {
    /// The disciplines of `net`; `ackclock queues` explains each.
    Queues, Queue = "Queue": QueueConfig, queues;
    /// How much of a direction an appliance keeps; `ackclock buffer-policies` explains each.
    BufferPolicies, BufferPolicy = "Discipline": DisciplineConfig, buffer_policies;
}

impl Default for Queue {
    fn default() -> Self {
        Self::of(DEFAULT_QUEUE)
    }
}

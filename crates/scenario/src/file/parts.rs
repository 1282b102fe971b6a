//! Parts in a file that other crates declare.

use ackclock_declare::{Library, Parts};
use ackclock_net::queue::{DEFAULT_QUEUE, queues};
use ackclock_net::{
    ExternalEffectConfig, Jitter as JitterConfig, LossConfig, NamedRule, QueueConfig, Reorder as ReorderConfig,
    discard_rules, jitters, losses, own_effects, reorders,
};
use ackclock_relay::{DisciplineConfig, buffer_policies};
use ackclock_sim::{ExternalSourceConfig, own_sources};

use super::Overlay;
use super::chosen::{Chosen, Kind};

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
        )*

        /// The names in a library that built-in parts of the same kind have.
        pub(crate) fn taken_names(library: &Library) -> Vec<&'static str> {
            let controllers = super::controller::Controllers::taken(library).into_iter();
            controllers$(.chain($kind::taken(library)))*.chain(ackclock_agent::taken_names(library)).collect()
        }
    };
}

parts! {
    /// A queue discipline; `ackclock list queues` explains each.
    Queues, Queue = "Queue": QueueConfig, queues;
    /// A model by which a link loses packets after it has sent them.
    Losses, Loss = "Loss": LossConfig, losses;
    /// The distribution of a random delay, drawn for each packet.
    Jitters, Jitter = "Jitter": JitterConfig, jitters;
    /// A rule by which packets are held back, so that others pass them.
    Reorders, Reorder = "Reorder": ReorderConfig, reorders;
    /// An effect of a link that a custom part has on packets.
    Effects, Effect = "Effect": ExternalEffectConfig, own_effects;
    /// A custom traffic source, which writes into a connection.
    Sources, Source = "Source": ExternalSourceConfig, own_sources;
    /// A rule by which a discarder drops packets of those that it examines. Positions count from 1.
    DiscardRules, DiscardRule = "DiscardRule": NamedRule, discard_rules;
    /// The policy by which an appliance buffers each direction; `ackclock list buffer-policies` explains each.
    BufferPolicies, BufferPolicy = "Discipline": DisciplineConfig, buffer_policies;
}

impl<K: Kind> Overlay for Chosen<K> {
    fn overlaid_by(&self, later: &Self) -> Self {
        later.clone()
    }
}

impl Default for Queue {
    fn default() -> Self {
        Self::of(DEFAULT_QUEUE)
    }
}

//! What an algorithm of this crate declares of itself beside its parameters: the names that a scenario has for it, what
//! it needs of the TCP under it, and how it starts.

use ackclock_declare::{About, Declared, Part};

use crate::controller::{Controller, Start};

/// Parameters that a controller starts from.
pub(crate) trait Algorithm: Declared {
    /// What a scenario calls it: more than one where names stand for parameters or for a recovery.
    const NAMES: &'static [Name<Self>];

    /// A controller for a connection.
    fn start(&self, start: Start) -> Controller;

    /// Takes the seed of its random stream, if it has one.
    fn seed(&mut self, _seed: u64) {}

    /// True if a network that no longer learns moves the window.
    fn is_frozen(&self) -> bool {
        false
    }
}

/// A name of an algorithm.
#[allow(clippy::struct_field_names, reason = "`name` is what a scenario calls it, beside its aliases")]
pub(crate) struct Name<C> {
    pub(crate) name: &'static str,
    pub(crate) aliases: &'static [&'static str],
    pub(crate) summary: &'static str,
    pub(crate) source: &'static str,
    pub(crate) departures: &'static str,
    /// Fields that mean nothing under this name.
    pub(crate) omits: &'static [&'static str],
    /// What the name changes of the defaults.
    pub(crate) adjust: fn(&mut C),
    pub(crate) stack: Stack,
}

impl<C> Name<C> {
    /// For the rest of a name of which there is not everything to say.
    pub(crate) const fn called(name: &'static str) -> Self {
        let (summary, source, departures) = ("", "", "");
        Self { name, aliases: &[], summary, source, departures, omits: &[], adjust: |_| (), stack: Stack::ANY }
    }
}

/// What a name says of the TCP under the controller; switches as a scenario's `tcp` names them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stack {
    /// How losses are repaired (`loss_recovery`), whatever host and scenario say.
    pub loss_recovery: Option<&'static str>,
    /// Switches as they are where no table says otherwise.
    pub sets: &'static [(&'static str, Setting)],
    /// Switches without which the controller cannot work.
    pub needs: &'static [Need],
    /// Whose parameters in a stack profile hold for it; "" if none do.
    pub profile: &'static str,
    /// It works on what links write into packets.
    pub telemetry: bool,
}

impl Stack {
    /// Any TCP will do.
    pub const ANY: Self = Self { loss_recovery: None, sets: &[], needs: &[], profile: "", telemetry: false };
}

/// The switches of a receiver that answers every packet, as those of the datacentre papers do.
pub(crate) const ACK_EVERY_PACKET: &[(&str, Setting)] = &[("delayed_ack", Setting::Switch(false))];

/// The value of a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    /// A switch that is on or off.
    Switch(bool),
    /// A switch that takes one of some words.
    Word(&'static str),
}

/// A switch without which a controller cannot work.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Need {
    /// The switch, as a scenario's `tcp` table names it.
    pub switch: &'static str,
    /// What it has to be at both ends.
    pub setting: Setting,
    /// What is said of a controller without.
    pub why: &'static str,
    /// What to do about it.
    pub remedy: &'static str,
}

/// Every name of an algorithm as a part that becomes a `C`.
pub(crate) fn parts_of<K: Algorithm, C: 'static>(into: fn(K) -> C) -> impl Iterator<Item = Part<C, Stack>> {
    K::NAMES.iter().map(move |name| {
        let Name { aliases, summary, source, departures, omits, adjust, stack, .. } = *name;
        let about = About { name: name.name, aliases, summary, source, departures };
        Part::new(about, stack, omits, adjust, into)
    })
}

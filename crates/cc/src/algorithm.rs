//! The declaration of an algorithm beside its parameters: its names in a scenario, its requirements of the TCP under
//! it, and its start.

use ackclock_declare::{About, Declared, Part};

use crate::controller::{Controller, Start};

/// The parameters of a controller, which start it.
pub(crate) trait Algorithm: Declared {
    /// The algorithm's names in a scenario: more than one where names stand for parameters or for a recovery.
    const NAMES: &'static [Name<Self>];

    /// Starts a controller for a connection.
    fn start(&self, start: Start) -> Controller;

    /// Takes the seed of its random stream, if it has one.
    fn seed(&mut self, _seed: u64) {}

    /// True if a frozen network moves the window.
    fn is_frozen(&self) -> bool {
        false
    }
}

/// One name of an algorithm.
#[allow(clippy::struct_field_names, reason = "`name` is what a scenario calls it, beside its aliases")]
pub(crate) struct Name<C> {
    pub(crate) name: &'static str,
    pub(crate) aliases: &'static [&'static str],
    pub(crate) summary: &'static str,
    pub(crate) source: &'static str,
    pub(crate) departures: &'static str,
    /// Fields without a meaning under this name.
    pub(crate) omits: &'static [&'static str],
    /// Changes the defaults to those of this name.
    pub(crate) adjust: fn(&mut C),
    pub(crate) stack: Stack,
}

impl<C> Name<C> {
    /// The remaining fields of a name, empty or default.
    pub(crate) const fn called(name: &'static str) -> Self {
        let (summary, source, departures) = ("", "", "");
        Self { name, aliases: &[], summary, source, departures, omits: &[], adjust: |_| (), stack: Stack::ANY }
    }
}

/// Requirements of a name towards the TCP under the controller; switches as a scenario's `tcp` names them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stack {
    /// The loss recovery (`loss_recovery`), whatever host and scenario say.
    pub loss_recovery: Option<&'static str>,
    /// Defaults of switches, where no table says otherwise.
    pub sets: &'static [(&'static str, Setting)],
    /// Switches without which the controller cannot work.
    pub needs: &'static [Need],
    /// The algorithm in a stack profile whose parameters hold for this one; "" for none.
    pub profile: &'static str,
    /// True if the controller reads the records that links write into packets.
    pub telemetry: bool,
}

impl Stack {
    /// The requirements of a controller that works over any TCP.
    pub const ANY: Self = Self { loss_recovery: None, sets: &[], needs: &[], profile: "", telemetry: false };
}

/// The switches of a receiver that acknowledges every packet, as in the datacentre papers.
pub(crate) const ACK_EVERY_PACKET: &[(&str, Setting)] = &[("delayed_ack", Setting::Switch(false))];

/// The value of a TCP switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    /// A switch that is on or off.
    Switch(bool),
    /// A switch whose value is one of several words.
    Word(&'static str),
}

/// A TCP switch without which a controller cannot work.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Need {
    /// The switch, as a scenario's `tcp` table names it.
    pub switch: &'static str,
    /// The value that the switch must have at both ends.
    pub setting: Setting,
    /// The reason, as the message about a controller without it says.
    pub why: &'static str,
    /// The remedy that the message recommends.
    pub remedy: &'static str,
}

/// The names of an algorithm, each as a part that becomes a `C`.
pub(crate) fn parts_of<K: Algorithm, C: 'static>(into: fn(K) -> C) -> impl Iterator<Item = Part<C, Stack>> {
    K::NAMES.iter().map(move |name| {
        let Name { aliases, summary, source, departures, omits, adjust, stack, .. } = *name;
        let about = About { name: name.name, aliases, summary, source, departures };
        Part::new(about, stack, omits, adjust, into)
    })
}

//! Effects of a link beside sending at a fixed rate, by their names in a scenario.
//!
//! Each effect's file describes it completely, including its parameters as a scenario writes them. This list has the
//! order of the catalogue.

use ackclock_declare::{About, Declared, Entry, Json, Part};
use ackclock_units::{Bandwidth, SimDuration};

use crate::channel::ChannelConfig;
use crate::discarder::{self, discard_rules};
use crate::impairment::{ImpairmentConfig, PolicerConfig, jitter, jitters, loss, losses, reorder, reorders};
use crate::propagation::AggregateConfig;
use crate::rate::{ChangingRate, HandoverConfig};
use crate::schedule::ChangingDelay;

/// The longest delay, a day: light travels beyond the planets in it. Sums over any route stay within 64 bits of
/// nanoseconds.
pub const MAX_DELAY: SimDuration = SimDuration::from_secs(24 * 3600);

/// The highest rate, faster than any link.
pub const MAX_RATE: Bandwidth = Bandwidth(100_000_000_000_000);

/// One of several kinds of an effect, described with the others.
pub(crate) fn part<K: Declared, C: 'static>(name: &'static str, summary: &'static str, into: fn(K) -> C) -> Part<C> {
    let about = About { name, aliases: &[], summary, source: "", departures: "" };
    Part::new(about, (), &[], |_| (), into)
}

/// Every effect with its parameters, for a catalogue.
pub fn effects() -> [Json; 11] {
    [
        ChangingRate::part().to_json(),
        ChangingDelay::part().to_json(),
        HandoverConfig::part().to_json(),
        losses().to_json(&loss::ABOUT),
        jitters().to_json(&jitter::ABOUT),
        reorders().to_json(&reorder::ABOUT),
        ImpairmentConfig::part().to_json(),
        ChannelConfig::part().to_json(),
        PolicerConfig::part().to_json(),
        AggregateConfig::part().to_json(),
        discard_rules().to_json(&discarder::ABOUT),
    ]
}

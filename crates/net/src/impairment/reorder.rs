//! Reordering: some packets are held back while those behind them pass.
//!
//! Source: RFC 4737 section 3.3 and RFC 5236 define a reordered packet: it arrives after one that was sent later. A
//! packet held back is reordered if another leaves before it goes on, and is not itself held. Linux's `netem reorder` sends the chosen
//! packets ahead of the delay that it gives to the others.

use std::sync::LazyLock;

use ackclock_declare::{About, Parts, declare, required};
use ackclock_units::SimDuration;

use crate::effects::{MAX_DELAY, part};
use crate::rng::RandomStream;

declare! {
    /// Each packet is held back with the same probability.
    #[derive(Copy)]
    pub struct ReorderProbability {
        /// Probability that a packet is held back.
        p: f64 = required(0.01).at_least(0.0).at_most(1.0),
        /// Time for which a packet is held back.
        extra: SimDuration = required(SimDuration::from_millis(5)).at_most(MAX_DELAY),
    }
}

declare! {
    /// Every k-th packet is held back.
    #[derive(Copy, Eq)]
    pub struct ReorderEvery {
        /// Period k, in packets; if all were held back, none would be passed.
        k: u64 = required(100).at_least(2).unit("packets"),
        /// Time for which a packet is held back.
        extra: SimDuration = required(SimDuration::from_millis(5)).at_most(MAX_DELAY),
    }
}

/// Rule that chooses the packets to hold back, and their time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reorder {
    /// Each packet with the same probability.
    Probability(ReorderProbability),
    /// One of every k packets is held back.
    Every(ReorderEvery),
}

/// Catalogue entry of reordering.
pub(crate) const ABOUT: About = About {
    name: "reorder",
    aliases: &[],
    summary: "packets held back, so that others pass them: kind probability or every",
    source: "RFC 4737 says what is reordered; summary.json counts it",
    departures: "a packet held back is reordered only if another is sent before it goes on",
};

static REORDERS: LazyLock<Parts<Reorder>> = LazyLock::new(|| {
    Parts::new(vec![
        part("probability", "each with the same probability", Reorder::Probability),
        part("every", "every k-th", Reorder::Every),
    ])
});

/// Every choice of packets to hold back that a scenario can name, as it declares itself.
pub fn reorders() -> &'static Parts<Reorder> {
    &REORDERS
}

/// The state of reordering.
#[derive(Clone, Debug)]
pub(super) struct Reorderer {
    config: Reorder,
    /// Number of packets so far.
    position: u64,
}

impl Reorderer {
    pub(super) fn new(config: Reorder) -> Self {
        Self { config, position: 0 }
    }

    /// Time for which the next packet is held back.
    pub(super) fn hold(&mut self, random: &mut RandomStream) -> SimDuration {
        self.position += 1;
        let (is_held, extra) = match self.config {
            Reorder::Probability(rule) => (random.chance(rule.p), rule.extra),
            Reorder::Every(rule) => (self.position.is_multiple_of(rule.k), rule.extra),
        };
        if is_held { extra } else { SimDuration::ZERO }
    }
}

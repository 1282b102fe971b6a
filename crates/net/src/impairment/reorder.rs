//! Reordering: some packets are held back while those behind them pass.
//!
//! Source: RFC 4737 section 3.3 and RFC 5236 say what a reordered packet is, one that arrives after one that was sent
//! later; a packet held back is one if another is sent, and not itself held, before it goes on.

use ackclock_units::SimDuration;

use crate::rng::RandomStream;

/// Which packets are held back, and for how long.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reorder {
    /// Which.
    pub selected: Selected,
    /// For how long.
    pub extra: SimDuration,
}

/// Which packets are held back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Selected {
    /// Each with this probability.
    Random(f64),
    /// Every k-th.
    Every(u64),
}

/// Reordering at work.
#[derive(Clone, Debug)]
pub(super) struct Reorderer {
    config: Reorder,
    /// Packets seen.
    position: u64,
}

impl Reorderer {
    pub(super) fn new(config: Reorder) -> Self {
        Self { config, position: 0 }
    }

    /// How long the next packet is held back.
    pub(super) fn hold(&mut self, random: &mut RandomStream) -> SimDuration {
        self.position += 1;
        let is_held = match self.config.selected {
            Selected::Random(probability) => random.chance(probability),
            Selected::Every(k) => self.position.is_multiple_of(k),
        };
        if is_held { self.config.extra } else { SimDuration::ZERO }
    }
}

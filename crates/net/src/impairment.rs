//! What a link does to packets after they were sent: it loses, delays, reorders and copies them.
//!
//! Departures: a link that impairs is two things one behind the other, a wire that loses and a wire that delays: a packet
//! that is lost is neither copied nor counted as reordered.

pub mod jitter;
pub mod loss;
pub mod policer;
pub mod reorder;

use ackclock_declare::{About, Entry, declare, default};
use ackclock_units::SimDuration;

use crate::rng::RandomStream;

#[doc(inline)]
pub use jitter::{ExponentialJitter, Jitter, NormalJitter, UniformJitter, jitters};
#[doc(inline)]
pub use loss::{BitErrors, BurstLoss, GilbertElliott, LossConfig, LossProcess, RandomLoss, losses};
#[doc(inline)]
pub use policer::{Policer, PolicerConfig};
#[doc(inline)]
pub use reorder::{Reorder, ReorderEvery, ReorderProbability, reorders};

declare! {
    /// What a link does to packets; nothing by default.
    pub struct ImpairmentConfig {
        /// Probability that a packet arrives twice: duplicate = 0.001.
        duplicate: f64 = default(0.0).at_least(0.0).at_most(1.0),
    }
    apart {
        /// Loses some.
        loss: Option<LossConfig> = None,
        /// Delays each by a random time.
        jitter: Option<Jitter> = None,
        /// Lets others overtake some.
        reorder: Option<Reorder> = None,
    }
}

impl Entry for ImpairmentConfig {
    const ABOUT: About = About {
        name: "duplicate",
        aliases: &[],
        summary: "packets that arrive twice",
        source: "-",
        departures: "the copy arrives right behind the packet",
    };
}

impl ImpairmentConfig {
    /// True if packets arrive as they were sent.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The packet never arrives.
    Lost,
    /// The packet arrives, perhaps late.
    Arrives {
        /// Random delay, besides propagation.
        jitter: SimDuration,
        /// Held back for so long, while others pass.
        held: SimDuration,
        /// A copy arrives right behind it.
        copied: bool,
    },
}

/// Impairments at work. Each draws from a random stream of its own, so that one of them changes no other's draws.
#[derive(Clone, Debug)]
pub struct Impairments {
    loss: Option<(LossProcess, RandomStream)>,
    jitter: Option<(Jitter, RandomStream)>,
    reorder: Option<(reorder::Reorderer, RandomStream)>,
    duplicate: Option<(f64, RandomStream)>,
}

impl Impairments {
    /// Those of the link `name`.
    pub fn new(config: &ImpairmentConfig, name: &str, seed: u64) -> Self {
        let stream = |what: &str| RandomStream::new(seed, &format!("{name} {what}"));
        Self {
            loss: config.loss.map(|loss| (LossProcess::new(&loss), stream("loss"))),
            jitter: config.jitter.map(|jitter| (jitter, stream("jitter"))),
            reorder: config.reorder.map(|reorder| (reorder::Reorderer::new(reorder), stream("reorder"))),
            duplicate: (config.duplicate > 0.0).then(|| (config.duplicate, stream("duplicate"))),
        }
    }

    /// A packet of so many octets was sent.
    pub fn depart(&mut self, octets: u64) -> Fate {
        if self.loss.as_mut().is_some_and(|(loss, random)| loss.loses(octets, random)) {
            return Fate::Lost;
        }
        Fate::Arrives {
            jitter: self.jitter.as_mut().map_or(SimDuration::ZERO, |(jitter, random)| jitter.draw(random)),
            held: self.reorder.as_mut().map_or(SimDuration::ZERO, |(reorder, random)| reorder.hold(random)),
            copied: self.duplicate.as_mut().is_some_and(|(probability, random)| random.chance(*probability)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_happens_without_impairments() {
        assert!(ImpairmentConfig::default().is_none());
        let mut impairments = Impairments::new(&ImpairmentConfig::default(), "link", 1);
        let untouched = Fate::Arrives { jitter: SimDuration::ZERO, held: SimDuration::ZERO, copied: false };
        assert!((0..100).all(|_| impairments.depart(1500) == untouched));
    }

    #[test]
    fn one_impairment_changes_no_other() {
        let lossy =
            ImpairmentConfig { loss: Some(LossConfig::Random(RandomLoss { p: 0.3 })), ..ImpairmentConfig::default() };
        let both = ImpairmentConfig { duplicate: 0.2, ..lossy.clone() };
        let losses = |config| {
            let mut impairments = Impairments::new(config, "link", 1);
            (0..1000).filter(|_| impairments.depart(1500) == Fate::Lost).count()
        };
        assert_eq!(losses(&lossy), losses(&both));
    }

    #[test]
    fn copies_come_with_their_probability() {
        let config = ImpairmentConfig { duplicate: 0.1, ..ImpairmentConfig::default() };
        let mut impairments = Impairments::new(&config, "link", 1);
        let copies =
            (0..100_000).filter(|_| matches!(impairments.depart(40), Fate::Arrives { copied: true, .. })).count();
        // the standard error of 1e5 draws is 95
        assert!(copies.abs_diff(10_000) < 300, "{copies}");
    }
}

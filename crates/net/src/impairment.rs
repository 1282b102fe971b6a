//! Effects of a link on packets after they were sent: it loses, delays, reorders and copies them.
//!
//! Departures: a link that impairs is two things one behind the other, a wire that loses and a wire that delays: a packet
//! that is lost is neither copied nor counted as reordered. Linux's `netem` has one queue for what waits and what is delayed: a link is as
//! `netem delay` with `rate` to the nanosecond, but `limit` counts what is delayed there, a lost packet takes no time of the rate, and a
//! copy takes its own.

pub mod jitter;
pub mod loss;
pub mod policer;
pub mod reorder;

use ackclock_declare::{About, Entry, declare, default};
use ackclock_units::{Bandwidth, SimDuration, SimTime};

use crate::own::{ExternalEffect, ExternalEffectConfig, PartStart};
use crate::packet::Packet;
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
    /// Effects of a link on packets; none by default.
    pub struct ImpairmentConfig {
        /// Probability that a packet arrives twice: duplicate = 0.001.
        duplicate: f64 = default(0.0).at_least(0.0).at_most(1.0),
    }
    apart {
        /// Random loss of packets.
        loss: Option<LossConfig> = None,
        /// Random delay of each packet.
        jitter: Option<Jitter> = None,
        /// Holds packets back while others pass.
        reorder: Option<Reorder> = None,
        /// An external effect, which adds to the others.
        effect: Option<ExternalEffectConfig> = None,
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
    /// True if packets arrive unchanged.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

/// Fate of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The packet never arrives.
    Lost,
    /// The packet arrives, perhaps late.
    Arrives {
        /// Random delay, besides propagation.
        jitter: SimDuration,
        /// Time for which it is held back, while others pass.
        held: SimDuration,
        /// True if a copy arrives right behind it.
        copied: bool,
    },
}

impl Fate {
    /// A packet that arrives.
    pub const ARRIVES: Self = Self::Arrives { jitter: SimDuration::ZERO, held: SimDuration::ZERO, copied: false };

    /// Fate of a packet under two effects.
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Arrives { jitter, held, copied }, Self::Arrives { jitter: more, held: longer, copied: too }) => {
                Self::Arrives { jitter: jitter + more, held: held + longer, copied: copied || too }
            }
            _ => Self::Lost,
        }
    }
}

/// Impairments in operation. Each draws from a random stream of its own, so that it does not change the draws of
/// another.
#[derive(Clone, Debug)]
pub struct Impairments {
    loss: Option<(LossProcess, RandomStream)>,
    jitter: Option<(Jitter, RandomStream)>,
    reorder: Option<(reorder::Reorderer, RandomStream)>,
    duplicate: Option<(f64, RandomStream)>,
    effect: Option<Box<dyn ExternalEffect>>,
}

impl Impairments {
    /// The impairments of the link `name`, with its rate.
    pub fn new(config: &ImpairmentConfig, name: &str, rate: Bandwidth, seed: u64) -> Self {
        let stream = |what: &str| stream(seed, name, what);
        Self {
            loss: config.loss.map(|loss| (LossProcess::new(&loss), stream("loss"))),
            jitter: config.jitter.map(|jitter| (jitter, stream("jitter"))),
            reorder: config.reorder.map(|reorder| (reorder::Reorderer::new(reorder), stream("reorder"))),
            duplicate: (config.duplicate > 0.0).then(|| (config.duplicate, stream("duplicate"))),
            effect: config
                .effect
                .as_ref()
                .map(|effect| effect.make(&PartStart { rate, seed: stream("effect").bits() })),
        }
    }

    /// Replaces the loss by one with this probability for each packet.
    pub(crate) fn lose(&mut self, p: f64, name: &str, seed: u64) {
        let process = LossProcess::new(&LossConfig::Random(RandomLoss { p }));
        match &mut self.loss {
            Some((loss, _)) => *loss = process,
            None => self.loss = Some((process, stream(seed, name, "loss"))),
        }
    }

    /// Fate of a packet, of `octets` octets with its framing, whose last bit left at `now`.
    pub fn depart(&mut self, now: SimTime, packet: &Packet, octets: u64) -> Fate {
        if self.loss.as_mut().is_some_and(|(loss, random)| loss.loses(octets, random)) {
            return Fate::Lost;
        }
        let fate = self.arrive();
        self.effect.as_mut().map_or(fate, |effect| fate.and(effect.on_packet(now, packet, octets)))
    }

    /// Fate of a packet that is not lost.
    fn arrive(&mut self) -> Fate {
        Fate::Arrives {
            jitter: self.jitter.as_mut().map_or(SimDuration::ZERO, |(jitter, random)| jitter.draw(random)),
            held: self.reorder.as_mut().map_or(SimDuration::ZERO, |(reorder, random)| reorder.hold(random)),
            copied: self.duplicate.as_mut().is_some_and(|(probability, random)| random.chance(*probability)),
        }
    }
}

fn stream(seed: u64, name: &str, what: &str) -> RandomStream {
    RandomStream::new(seed, &format!("{name} {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::own::LinkEffect;

    fn impairments(config: &ImpairmentConfig) -> Impairments {
        Impairments::new(config, "link", Bandwidth(1_000_000), 1)
    }

    fn depart(impairments: &mut Impairments, octets: u64) -> Fate {
        impairments.depart(SimTime::ZERO, &Packet::default(), octets)
    }

    /// Loses each third packet and delays the others by a millisecond.
    #[derive(Clone, Debug)]
    struct EachThird(u32);

    impl LinkEffect for EachThird {
        fn on_packet(&mut self, _now: SimTime, _packet: &Packet, _octets: u64) -> Fate {
            self.0 += 1;
            let delayed = Fate::Arrives { jitter: SimDuration::from_millis(1), held: SimDuration::ZERO, copied: false };
            if self.0.is_multiple_of(3) { Fate::Lost } else { delayed }
        }
    }

    #[test]
    fn an_effect_from_outside_comes_on_top_of_the_others() {
        let effect = ExternalEffectConfig::new("each third", |_| Box::new(EachThird(0)));
        let config = ImpairmentConfig { duplicate: 1.0, effect: Some(effect), ..ImpairmentConfig::default() };
        assert!(!config.is_none());
        let mut impairments = impairments(&config);
        let both = Fate::Arrives { jitter: SimDuration::from_millis(1), held: SimDuration::ZERO, copied: true };
        let fates: Vec<Fate> = (0..4).map(|_| depart(&mut impairments, 40)).collect();
        assert_eq!(fates, [both, both, Fate::Lost, both]);
    }

    #[test]
    fn nothing_happens_without_impairments() {
        assert!(ImpairmentConfig::default().is_none());
        let mut impairments = impairments(&ImpairmentConfig::default());
        assert!((0..100).all(|_| depart(&mut impairments, 1500) == Fate::ARRIVES));
    }

    #[test]
    fn one_impairment_changes_no_other() {
        let lossy =
            ImpairmentConfig { loss: Some(LossConfig::Random(RandomLoss { p: 0.3 })), ..ImpairmentConfig::default() };
        let both = ImpairmentConfig { duplicate: 0.2, ..lossy.clone() };
        let losses = |config| {
            let mut impairments = impairments(config);
            (0..1000).filter(|_| depart(&mut impairments, 1500) == Fate::Lost).count()
        };
        assert_eq!(losses(&lossy), losses(&both));
    }

    #[test]
    fn copies_come_with_their_probability() {
        let config = ImpairmentConfig { duplicate: 0.1, ..ImpairmentConfig::default() };
        let mut impairments = impairments(&config);
        let is_copied = |fate| matches!(fate, Fate::Arrives { copied: true, .. });
        let copies = (0..100_000).filter(|_| is_copied(depart(&mut impairments, 40))).count();
        // the standard error of 1e5 draws is 95
        assert!(copies.abs_diff(10_000) < 300, "{copies}");
    }
}

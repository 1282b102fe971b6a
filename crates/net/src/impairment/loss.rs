//! Random loss on a link: independent, in bursts, or by bit errors.
//!
//! Source: Gilbert, "Capacity of a Burst-Noise Channel", BSTJ 39 (1960); Elliott, "Estimates of Error Rates for Codes on
//! Burst-Noise Channels", BSTJ 42 (1963); in packets and with the letters p, r, h, k of Hasslinger and Hohlfeld, "The
//! Gilbert-Elliott Model for Packet Loss in Real Time Services on the Internet", MMB 2008.
//!
//! Departures: none. The channel begins in the good state; it decides on a packet in the state that it is in, and then
//! moves.

use std::sync::LazyLock;

use ackclock_declare::{About, Parts, Review, declare, default, required};
use ackclock_units::math;

use crate::effects::part;
use crate::rng::RandomStream;

declare! {
    /// Independent loss: each packet is lost with the same probability.
    #[derive(Copy)]
    pub struct RandomLoss {
        /// Probability that a packet is lost.
        p: f64 = required(0.01).at_least(0.0).at_most(1.0),
    }
}

declare! {
    /// A channel with a good and a bad state, which moves after each packet.
    #[derive(Copy)]
    pub struct GilbertElliott {
        /// Probability of a move from the good state to the bad one.
        to_bad as "p": f64 = required(0.01).at_least(0.0).at_most(1.0),
        /// Probability of a move from the bad state to the good one.
        to_good as "r": f64 = required(0.25).at_least(0.0).at_most(1.0),
        /// Probability of loss in the good state, 1 - k.
        loss_good: f64 = default(0.0).at_least(0.0).at_most(1.0),
        /// Probability of loss in the bad state, 1 - h.
        loss_bad: f64 = default(1.0).at_least(0.0).at_most(1.0),
    }
}

declare! {
    /// Bursts: of packets in a row all are lost. A channel whose bad state loses all and whose good state loses none.
    #[derive(Copy)]
    pub struct BurstLoss {
        /// Share of all packets that is lost in the long run.
        share: f64 = required(0.01).at_least(0.0).below(1.0),
        /// Mean number of packets in a burst; long enough for the share, `share / (1 - share)` at least.
        length: f64 = required(5.0).at_least(1.0).unit("packets"),
    }
    check BurstLoss::review;
}

impl BurstLoss {
    fn review(&self, review: &mut Review<'_>) {
        // Else bursts would have to begin more often than after every good packet.
        let least = self.share / (1.0 - self.share);
        if least > self.length {
            let message = format!("must be at least {least:.3} for this share");
            review.report("length", message, "use as much, or a smaller share");
        }
    }
}

declare! {
    /// Bit errors: each bit, framing included, is wrong with the same probability, and a packet with a wrong bit is
    /// lost.
    #[derive(Copy)]
    pub struct BitErrors {
        /// Bit error rate.
        rate: f64 = required(1e-6).at_least(0.0).at_most(1.0),
    }
}

/// Random process by which a link loses packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LossConfig {
    /// Independent loss with one probability.
    Random(RandomLoss),
    /// A channel with a good and a bad state.
    GilbertElliott(GilbertElliott),
    /// Loss of packets with a wrong bit.
    BitErrors(BitErrors),
}

/// Catalogue entry of loss.
pub(crate) const ABOUT: About = About {
    name: "loss",
    aliases: &[],
    summary: "packets lost after they were sent: kind random, gilbert_elliott, bursts or bit_errors",
    source: "Gilbert 1960; Elliott 1963; Hasslinger and Hohlfeld, MMB 2008",
    departures: "the channel begins in the good state; it decides in the state that it is in, and then moves",
};

static LOSSES: LazyLock<Parts<LossConfig>> = LazyLock::new(|| {
    Parts::new(vec![
        part("random", "each packet with the same probability", LossConfig::Random),
        part("gilbert_elliott", "a channel with a good and a bad state", LossConfig::GilbertElliott),
        part("bursts", "several in a row", |bursts: BurstLoss| bursts.into()),
        part("bit_errors", "those with a wrong bit", LossConfig::BitErrors),
    ])
});

/// Every way to lose packets that a scenario can name, as it declares itself.
pub fn losses() -> &'static Parts<LossConfig> {
    &LOSSES
}

/// A channel whose bad state loses all and whose good state loses none.
impl From<BurstLoss> for LossConfig {
    fn from(bursts: BurstLoss) -> Self {
        let to_good = 1.0 / bursts.length;
        let to_bad = bursts.share * to_good / (1.0 - bursts.share);
        Self::GilbertElliott(GilbertElliott { to_bad, to_good, loss_good: 0.0, loss_bad: 1.0 })
    }
}

impl LossConfig {
    /// The share of packets of this size that is lost in the long run.
    pub fn long_run_share(&self, octets: u64) -> f64 {
        match self {
            Self::Random(random) => random.p,
            Self::GilbertElliott(channel) if channel.to_bad <= 0.0 => channel.loss_good,
            Self::GilbertElliott(GilbertElliott { to_bad, to_good, loss_good, loss_bad }) => {
                (to_bad * loss_bad + to_good * loss_good) / (to_bad + to_good)
            }
            Self::BitErrors(errors) => packet_error_probability(errors.rate, octets),
        }
    }
}

/// `1 - (1 - ber)^bits`, without losing small rates to rounding.
fn packet_error_probability(bit_error_rate: f64, octets: u64) -> f64 {
    -math::exp_m1(8.0 * octets as f64 * math::ln_1p(-bit_error_rate))
}

/// A loss model at work on one link, with its random stream and its state.
#[derive(Clone, Debug)]
pub struct LossProcess {
    config: LossConfig,
    is_bad: bool,
}

impl LossProcess {
    /// A link that has lost nothing yet.
    pub fn new(config: &LossConfig) -> Self {
        Self { config: *config, is_bad: false }
    }

    /// True if a packet of `octets` octets is lost.
    pub fn loses(&mut self, octets: u64, random: &mut RandomStream) -> bool {
        match self.config {
            LossConfig::Random(RandomLoss { p }) => random.chance(p),
            LossConfig::BitErrors(BitErrors { rate }) => random.chance(packet_error_probability(rate, octets)),
            LossConfig::GilbertElliott(GilbertElliott { to_bad, to_good, loss_good, loss_bad }) => {
                let lost = random.chance(if self.is_bad { loss_bad } else { loss_good });
                self.is_bad ^= random.chance(if self.is_bad { to_good } else { to_bad });
                lost
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKETS: usize = 1_000_000;

    fn channel(to_bad: f64, to_good: f64, loss_good: f64, loss_bad: f64) -> LossConfig {
        LossConfig::GilbertElliott(GilbertElliott { to_bad, to_good, loss_good, loss_bad })
    }

    fn run(config: &LossConfig, octets: u64) -> Vec<bool> {
        let mut process = LossProcess::new(config);
        let mut random = RandomStream::new(3, "loss");
        (0..PACKETS).map(|_| process.loses(octets, &mut random)).collect()
    }

    fn share(lost: &[bool]) -> f64 {
        lost.iter().filter(|lost| **lost).count() as f64 / lost.len() as f64
    }

    fn mean_burst(lost: &[bool]) -> f64 {
        let bursts = lost.windows(2).filter(|pair| pair[0] && !pair[1]).count();
        share(lost) * lost.len() as f64 / bursts as f64
    }

    #[test]
    fn gilbert_loses_p_of_p_plus_r_in_bursts_of_1_by_r() {
        // Hasslinger and Hohlfeld: stationary loss p / (p + r), burst length geometric with mean 1 / r
        let (p, r) = (0.01, 0.25);
        let lost = run(&channel(p, r, 0.0, 1.0), 1500);
        // some 9600 bursts: standard errors are about 1.4 % of the share and 0.9 % of the length
        assert!((share(&lost) / (p / (p + r)) - 1.0).abs() < 0.045, "{}", share(&lost));
        assert!((mean_burst(&lost) * r - 1.0).abs() < 0.03, "{}", mean_burst(&lost));
    }

    #[test]
    fn gilbert_elliott_loses_in_both_states() {
        // (r (1 - k) + p (1 - h)) / (p + r) = (0.2 * 0.01 + 0.05 * 0.5) / 0.25 = 0.108
        let config = channel(0.05, 0.2, 0.01, 0.5);
        assert!((config.long_run_share(1500) - 0.108).abs() < 1e-12);
        let lost = share(&run(&config, 1500));
        assert!((lost / 0.108 - 1.0).abs() < 0.03, "{lost}");
    }

    #[test]
    fn bursts_have_the_share_and_length_asked_for() {
        let config = LossConfig::from(BurstLoss { share: 0.02, length: 5.0 });
        assert!((config.long_run_share(1500) - 0.02).abs() < 1e-12);
        let lost = run(&config, 1500);
        // some 4000 bursts: standard errors 2.4 % and 1.4 %
        assert!((share(&lost) / 0.02 - 1.0).abs() < 0.075, "{}", share(&lost));
        assert!((mean_burst(&lost) / 5.0 - 1.0).abs() < 0.045, "{}", mean_burst(&lost));
    }

    #[test]
    fn bit_errors_hit_long_packets_more_often() {
        // 1 - (1 - 1e-5)^12000 = 1 - exp(12000 * ln(1 - 1e-5)) = 1 - exp(-0.12000060) = 0.11308009
        let config = LossConfig::BitErrors(BitErrors { rate: 1e-5 });
        assert!((config.long_run_share(1500) - 0.113_080_09).abs() < 1e-8, "{}", config.long_run_share(1500));
        // 1 - (1 - 1e-5)^320 = 0.00319490 for an ACK of 40 octets
        assert!((config.long_run_share(40) - 0.003_194_90).abs() < 1e-8, "{}", config.long_run_share(40));
        let lost = share(&run(&config, 1500));
        assert!((lost - 0.113_08).abs() < 0.001, "{lost}"); // three standard errors are 0.00095
        // 1e-17 is below what 1 - x resolves: 12 000 bits give 1.2e-13
        assert!((LossConfig::BitErrors(BitErrors { rate: 1e-17 }).long_run_share(1500) / 1.2e-13 - 1.0).abs() < 1e-9);
    }
}

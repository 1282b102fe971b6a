//! Signals of congestion in proportion to how full the sockets are.
//!
//! Source: J. Isogaki, JAIST 2005, the second way to limit in-socket packets: "sending ECE signal at over threshold in
//! proportion to remaining buffer as RED-like". It fails there as the first does.
//!
//! **Choices**: the probability of a signal, for each full segment that arrives, rises evenly from zero at the threshold to
//! `max_probability` at the limit, and is 1 beyond; RED's average and its spreading are left out, as the thesis describes
//! neither. What is in the sockets is what arrived and the far end has not acknowledged.

use ackclock_declare::{About, declare, default};
use ackclock_units::{Bytes, RandomStream, math};

use crate::discipline::{Kind, MAX_WINDOW, Orders, Policy};
use crate::readings::Readings;

declare! {
    /// Parameters of `ece_red`.
    #[derive(Copy)]
    pub struct EceRedConfig {
        /// Octets arrived and not acknowledged by the far end up to which it is silent.
        // The bandwidth-delay product of the thesis' path, see `ece_droptail`.
        threshold: Bytes = Bytes(320_000),
        /// Queue length at which the probability reaches `max_probability`, and beyond which it is 1; above
        /// `threshold`.
        limit: Bytes = default(Bytes(680_000)).at_least(Bytes(1)).at_most(MAX_WINDOW),
        /// Probability of a signal for a segment that arrives at `limit`.
        max_probability: f64 = default(0.1).above(0.0).at_most(1.0).source("Floyd's advice for RED"),
    }
    check |red, review| review.below(("threshold", &red.threshold), ("limit", &red.limit));
}

impl Policy for EceRedConfig {
    const ABOUT: About = About {
        name: "ece_red",
        aliases: &[],
        summary: "raises ECE with a probability that grows with what is kept",
        source: "Isogaki 2005",
        departures: "threshold, limit and probability are not given there",
    };
    const RAISES_ECE: bool = true;

    fn start(&self, seed: u64) -> Kind {
        Kind::EceRed(EceRed::new(*self, seed))
    }
}

/// Raises ECE by chance, the likelier the fuller the sockets are.
#[derive(Clone, Debug)]
pub struct EceRed {
    config: EceRedConfig,
    random: RandomStream,
    /// Octets that arrived and have been drawn for.
    drawn_for: Bytes,
}

impl EceRed {
    pub(crate) fn new(config: EceRedConfig, seed: u64) -> Self {
        Self { config, random: RandomStream::new(seed, "ece_red"), drawn_for: Bytes::ZERO }
    }

    pub(crate) fn update(&mut self, readings: &Readings) -> Orders {
        let segment = readings.near_segment();
        let segments = (readings.arrived - self.drawn_for).0 / segment.0;
        if segments == 0 {
            return Orders::default();
        }
        self.drawn_for += Bytes(segments * segment.0);
        let none = math::pow(1.0 - self.probability(readings.in_socket()), segments as f64);
        Orders { raise_ece: self.random.chance(1.0 - none), ..Orders::default() }
    }

    fn probability(&self, in_socket: Bytes) -> f64 {
        let EceRedConfig { threshold, limit, max_probability } = self.config;
        if in_socket > limit {
            return 1.0;
        }
        // Below the threshold nothing is signalled. Limit and threshold may be the same, or stand the wrong way round.
        let over = in_socket.saturating_sub(threshold).0 as f64;
        max_probability * over / limit.saturating_sub(threshold).0.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn discipline() -> EceRed {
        let config = EceRedConfig { threshold: Bytes(100_000), limit: Bytes(200_000), max_probability: 0.1 };
        EceRed::new(config, 7)
    }

    /// Number of signals for 10 000 segments of 1000 octets with `in_socket` octets in the sockets.
    fn signals(in_socket: u64) -> usize {
        let mut discipline = discipline();
        let readings = |n: u64| Readings {
            arrived: Bytes(10_000_000 + 1000 * n),
            acknowledged: Bytes(10_000_000 + 1000 * n - in_socket),
            near_mss: Bytes(1000),
            ..Readings::default()
        };
        discipline.drawn_for = Bytes(10_000_000);
        (1..=10_000).filter(|&n| discipline.update(&readings(n)).raise_ece).count()
    }

    #[test]
    fn silent_up_to_the_threshold_certain_beyond_the_limit() {
        assert_eq!(signals(100_000), 0);
        assert_eq!(signals(200_001), 10_000);
    }

    #[test]
    fn between_them_in_proportion() {
        // half way: 0.05 of 10 000 are 500, standard deviation 22; three quarters: 750, 26. Five deviations.
        assert!((500 - 110..500 + 110).contains(&(signals(150_000) as i64)));
        assert!((750 - 130..750 + 130).contains(&(signals(175_000) as i64)));
    }

    #[test]
    fn no_draw_for_less_than_a_segment() {
        let mut discipline = discipline();
        let readings = |arrived| Readings { arrived: Bytes(arrived), near_mss: Bytes(1000), ..Readings::default() };
        // everything is over the limit, so that each draw is a signal: at 300 000 and at 301 000
        assert!(discipline.update(&readings(300_000)).raise_ece);
        assert!(!discipline.update(&readings(300_999)).raise_ece);
        assert!(discipline.update(&readings(301_000)).raise_ece);
    }
}

//! What links do to packets: loss, jitter, reordering, copies, policing, bursts.

use ackclock_net::{
    AggregateConfig, Deadline, ImpairmentConfig, Jitter, LossConfig, PacketClass, PolicerConfig, Reorder, Selected,
};
use ackclock_units::{Bandwidth, Bytes, SimDuration};

use super::Checker;
use super::links::MAX_RATE;
use crate::file::{self, AggregateTable, Duration, HalfLink, PolicerTable};
use crate::tree::FieldPath;

/// A part of packets that is below all of them.
const NO_SHARE: &str = "is no share of the packets below all";

impl Checker<'_, '_> {
    pub(super) fn impairments(&mut self, half: &HalfLink, path: &FieldPath) -> ImpairmentConfig {
        ImpairmentConfig {
            loss: half.loss.as_ref().map(|loss| self.loss(loss, &path.key("loss"))),
            jitter: half.jitter.as_ref().map(|jitter| self.jitter(jitter, &path.key("jitter"))),
            reorder: half.reorder.as_ref().map(|reorder| self.reorder(reorder, &path.key("reorder"))),
            duplicate: half.duplicate.map_or(0.0, |p| self.probability(Some(p), 0.0, &path.key("duplicate"))),
        }
    }

    /// A number from 0 to 1; `default` where it is wrong, or missing and not required.
    fn probability(&mut self, p: Option<f64>, default: f64, path: &FieldPath) -> f64 {
        match p {
            Some(p) if (0.0..=1.0).contains(&p) => p,
            Some(_) => {
                self.report(path, "is no probability", "use 0 to 1");
                default
            }
            None => default,
        }
    }

    fn required_probability(&mut self, p: Option<f64>, path: &FieldPath, example: &str) -> f64 {
        if p.is_none() {
            self.missing(path, example);
        }
        self.probability(p, 0.0, path)
    }

    fn loss(&mut self, loss: &file::Loss, path: &FieldPath) -> LossConfig {
        match loss {
            file::Loss::Random(table) => {
                LossConfig::Random(self.required_probability(table.p, &path.key("p"), "p = 0.01"))
            }
            file::Loss::BitErrors(table) => {
                LossConfig::BitErrors(self.required_probability(table.rate, &path.key("rate"), "rate = 1e-6"))
            }
            file::Loss::GilbertElliott(table) => LossConfig::GilbertElliott {
                to_bad: self.required_probability(table.p, &path.key("p"), "p = 0.01"),
                to_good: self.required_probability(table.r, &path.key("r"), "r = 0.25"),
                loss_good: self.probability(table.loss_good, 0.0, &path.key("loss_good")),
                loss_bad: self.probability(table.loss_bad, 1.0, &path.key("loss_bad")),
            },
            file::Loss::Bursts(table) => self.bursts(table, path),
        }
    }

    fn bursts(&mut self, table: &file::BurstLoss, path: &FieldPath) -> LossConfig {
        let share = table.share.unwrap_or_else(|| {
            self.missing(&path.key("share"), "share = 0.01");
            0.0
        });
        let length = table.length.unwrap_or_else(|| {
            self.missing(&path.key("length"), "length = 5");
            1.0
        });
        if !(0.0..1.0).contains(&share) {
            self.report(&path.key("share"), NO_SHARE, "use 0 or more, and less than 1");
        } else if !(length >= 1.0 && length.is_finite()) {
            self.report(&path.key("length"), "is no length of a burst", "use at least 1");
        } else if share / (1.0 - share) > length {
            // Bursts would have to begin more often than after every good packet.
            let least = share / (1.0 - share);
            self.report(
                &path.key("length"),
                "is too short for the share",
                format!("use at least {least:.3}, or a smaller share"),
            );
        } else {
            return LossConfig::bursts(share, length);
        }
        LossConfig::Random(0.0)
    }

    fn jitter(&mut self, jitter: &file::Jitter, path: &FieldPath) -> Jitter {
        match jitter {
            file::Jitter::Uniform(table) => {
                let max = self.required_delay(table.max, &path.key("max"), "max = \"5 ms\"");
                let min = table.min.map_or(SimDuration::ZERO, |min| min.0);
                if min > max {
                    self.report(&path.key("min"), "is longer than max", format!("use at most {max}"));
                    return Jitter::Uniform { min: max, max };
                }
                Jitter::Uniform { min, max }
            }
            file::Jitter::Normal(table) => Jitter::Normal {
                mean: self.required_delay(table.mean, &path.key("mean"), "mean = \"10 ms\""),
                deviation: self.required_delay(table.deviation, &path.key("deviation"), "deviation = \"2 ms\""),
            },
            file::Jitter::Exponential(table) => {
                Jitter::Exponential { mean: self.required_delay(table.mean, &path.key("mean"), "mean = \"2 ms\"") }
            }
        }
    }

    fn required_delay(&mut self, delay: Option<Duration>, path: &FieldPath, example: &str) -> SimDuration {
        match delay {
            None => self.missing(path, example),
            Some(delay) if self.is_delay(delay.0, path) => return delay.0,
            Some(_) => {}
        }
        SimDuration::ZERO
    }

    fn reorder(&mut self, reorder: &file::Reorder, path: &FieldPath) -> Reorder {
        let (selected, extra) = match reorder {
            file::Reorder::Probability(table) => {
                (Selected::Random(self.required_probability(table.p, &path.key("p"), "p = 0.01")), table.extra)
            }
            file::Reorder::Every(table) => {
                match table.k {
                    None => self.missing(&path.key("k"), "k = 100"),
                    Some(0 | 1) => {
                        self.report(&path.key("k"), "leaves no packet to pass those held back", "use at least 2");
                    }
                    Some(_) => {}
                }
                (Selected::Every(table.k.unwrap_or(2).max(1)), table.extra)
            }
        };
        Reorder { selected, extra: self.required_delay(extra, &path.key("extra"), "extra = \"5 ms\"") }
    }

    pub(super) fn policer(&mut self, table: &PolicerTable, path: &FieldPath) -> Option<PolicerConfig> {
        match (table.rate, table.burst) {
            (None, _) => self.missing(&path.key("rate"), "rate = \"10 Mbit/s\""),
            (_, None) => self.missing(&path.key("burst"), "burst = \"100 kB\""),
            (Some(rate), _) if rate.0 == Bandwidth(0) || rate.0 > MAX_RATE => {
                self.report(&path.key("rate"), "is no rate of a policer", "use 1 bit/s to 100 Tbit/s");
            }
            (Some(rate), Some(burst)) => return Some(PolicerConfig { rate: rate.0, burst: burst.0 }),
        }
        None
    }

    /// A packet larger than the bucket would never pass.
    pub(super) fn check_policer(&mut self, link: usize, largest: Bytes, path: &FieldPath) {
        let channel = self.network.links[link].channel.as_ref();
        if channel.and_then(|channel| channel.policer).is_some_and(|policer| policer.burst < largest) {
            let what = format!("is less than one packet of {largest}, so none could ever pass");
            self.report(&path.key("policer").key("burst"), what, format!("use at least {largest}"));
        }
    }

    pub(super) fn aggregate(&mut self, table: &AggregateTable, path: &FieldPath) -> Option<AggregateConfig> {
        let deadline = match (table.every, table.wait) {
            (None, None) => {
                self.missing(&path.key("every"), "every = \"5 ms\" or wait = \"5 ms\"");
                return None;
            }
            (Some(_), Some(_)) => {
                self.report(&path.key("wait"), "stands beside every", "keep one of the two");
                return None;
            }
            (Some(every), None) if every.0.is_zero() => {
                self.report(&path.key("every"), "is no interval", "use at least 1 ns");
                return None;
            }
            (Some(every), None) => (Deadline::Every(every.0), every.0, "every"),
            (None, Some(wait)) => (Deadline::After(wait.0), wait.0, "wait"),
        };
        if !self.is_delay(deadline.1, &path.key(deadline.2)) {
            return None;
        }
        if table.packets.is_some_and(|packets| packets < 2) {
            self.report(&path.key("packets"), "is no burst", "use at least 2");
        }
        let class = table.of.map_or(PacketClass::Any, Into::into);
        Some(AggregateConfig { deadline: deadline.0, packets: table.packets, class })
    }
}

//! Distributions of flow sizes.
//!
//! Sources of the two data-centre workloads: the tables of the ns-2 scripts published with pFabric (Alizadeh et al.,
//! SIGCOMM 2013) and used in the field since, which follow the web-search traffic of DCTCP (Alizadeh et al., SIGCOMM
//! 2010, figure 4) and the data-mining traffic of VL2 (Greenberg et al., SIGCOMM 2009, figure 2). They count packets of
//! 1460 bytes; the distribution function is linear between two points.
//!
//! Verified point by point against tables published elsewhere: the web-search one against `DCTCP_CDF.txt` of
//! `TrafficGenerator` and `WebSearch_distribution.txt` of HPCC, whose round bytes it has in packets of 1500; the data-mining
//! one against the former's `CDF_vl2.txt`. The later `VL2_CDF.txt` there is another reading of VL2's figure, with sizes
//! below a packet and 2 % of flows beyond 100 MB.
//!
//! Departures: sizes between the points are any number of bytes, where ns-2 draws whole packets.

use std::sync::Arc;

use ackclock_declare::{About, Entry, Review, declare, required, unset};
use ackclock_net::RandomStream;
use ackclock_units::{Bytes, math};

/// The largest flow: a PiB.
pub(super) const LARGEST: Bytes = Bytes(1 << 50);

/// A point of a distribution function.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CdfPoint {
    /// A size in octets.
    pub size: f64,
    /// The fraction of flows up to that size.
    pub fraction: f64,
}

const fn packets(count: u64, fraction: f64) -> CdfPoint {
    CdfPoint { size: (count * 1460) as f64, fraction }
}

/// Web search (DCTCP's cluster). Mean 1.67 MB: 1141 packets, where the scripts' own constant is 1138.
pub const WEB_SEARCH: [CdfPoint; 12] = [
    packets(6, 0.0),
    packets(6, 0.15),
    packets(13, 0.2),
    packets(19, 0.3),
    packets(33, 0.4),
    packets(53, 0.53),
    packets(133, 0.6),
    packets(667, 0.7),
    packets(1_333, 0.8),
    packets(3_333, 0.9),
    packets(6_667, 0.97),
    packets(20_000, 1.0),
];

/// Data mining (VL2's cluster). Mean 7.47 MB: 5117 packets.
pub const DATA_MINING: [CdfPoint; 9] = [
    packets(1, 0.0),
    packets(1, 0.5),
    packets(2, 0.6),
    packets(3, 0.7),
    packets(7, 0.8),
    packets(267, 0.9),
    packets(2_107, 0.95),
    packets(66_667, 0.99),
    packets(666_667, 1.0),
];

/// A distribution of sizes. Values are checked: positive, in order, with a mean.
#[derive(Clone, Debug, PartialEq)]
pub enum SizeDistribution {
    /// One size for all.
    Constant(Bytes),
    /// A uniform distribution from `min` to `max`.
    Uniform {
        /// The smallest size.
        min: Bytes,
        /// The largest size.
        max: Bytes,
    },
    /// An exponential distribution.
    Exponential {
        /// Mean of the sizes.
        mean: Bytes,
    },
    /// A Pareto distribution, `P(X > x) = (min / x)^shape`, cut off at `max` if it is given (the bounded Pareto
    /// distribution).
    Pareto {
        /// The least size, in octets.
        min: f64,
        /// Tail index; more than 1 without a `max`, since the mean is infinite otherwise.
        shape: f64,
        /// The largest size, in octets; `None` is unbounded.
        max: Option<f64>,
    },
    /// A log-normal distribution.
    LogNormal {
        /// Median: `e` to the mean of the logarithm.
        median: f64,
        /// Standard deviation of the logarithm.
        sigma: f64,
    },
    /// A distribution function that is linear between points: from 0, in rising order, to 1.
    Cdf(Arc<[CdfPoint]>),
    /// A list of equally likely sizes.
    Samples(Arc<[Bytes]>),
}

declare! {
    /// A Pareto distribution of sizes.
    #[derive(Copy)]
    pub struct ParetoSizes {
        /// Least size, in place of the mean.
        min: Option<Bytes> = unset("by mean").at_least(Bytes(1)).at_most(LARGEST),
        /// Mean size, without a largest size.
        mean: Option<Bytes> = unset("by min").at_least(Bytes(1)).at_most(LARGEST),
        /// Tail index: the smaller, the heavier the tail; more than 1 without a max, since the mean is infinite
        /// otherwise.
        shape: f64 = required(1.2).above(0.0).at_most(1e3),
        /// Largest size, which cuts off the tail.
        max: Option<Bytes> = unset("none").at_least(Bytes(1)).at_most(LARGEST),
    }
    check ParetoSizes::review;
}

impl Entry for ParetoSizes {
    const ABOUT: About = About {
        name: "pareto",
        aliases: &[],
        summary: "size: { pareto = { min or mean, shape, max } }: a heavy tail",
        source: "Crovella and Bestavros 1997",
        departures: "none",
    };
}

impl ParetoSizes {
    fn review(&self, review: &mut Review<'_>) {
        if self.max.is_none() && self.shape <= 1.0 {
            review.report(
                "shape",
                "must be more than 1 without a max, or sizes have no mean",
                "use more than 1, or add a max",
            );
        }
        match (self.min, self.mean) {
            (None, Some(_)) if self.max.is_some() => {
                review.report("mean", "must not be combined with a max", "give min and max");
            }
            (Some(_), Some(_)) => review.report("mean", "must not be combined with a min", "keep one of the two"),
            (None, None) => review.report("min", "is missing", "add it, such as min = \"1 kB\""),
            (Some(min), None) if self.max.is_some_and(|max| max <= min) => {
                review.report("max", format!("must be more than min, which is {min}"), "use a larger size");
            }
            _ => {}
        }
    }
}

/// The mean of an unbounded Pareto variable is shape * min / (shape - 1).
impl From<ParetoSizes> for SizeDistribution {
    fn from(ParetoSizes { min, mean, shape, max }: ParetoSizes) -> Self {
        let octets = |size: Bytes| size.0 as f64;
        let of_mean = || mean.map_or(1.0, octets) * (shape - 1.0) / shape;
        Self::Pareto { min: min.map_or_else(of_mean, octets), shape, max: max.map(octets) }
    }
}

declare! {
    /// A log-normal distribution of sizes.
    #[derive(Copy)]
    pub struct LogNormalSizes {
        /// Median size, in place of the mean.
        median: Option<Bytes> = unset("by mean").at_least(Bytes(1)).at_most(LARGEST),
        /// Mean size, in place of the median.
        mean: Option<Bytes> = unset("by median").at_least(Bytes(1)).at_most(LARGEST),
        /// Standard deviation of the logarithm.
        sigma: f64 = required(1.0).above(0.0).at_most(5.0),
    }
    check LogNormalSizes::review;
}

impl Entry for LogNormalSizes {
    const ABOUT: About = About {
        name: "log_normal",
        aliases: &[],
        summary: "size: { log_normal = { median or mean, sigma } }",
        source: "textbooks",
        departures: "none",
    };
}

impl LogNormalSizes {
    fn review(&self, review: &mut Review<'_>) {
        match (self.median, self.mean) {
            (Some(_), Some(_)) => review.report("mean", "must not be combined with a median", "keep one of the two"),
            (None, None) => review.report("median", "is missing", "add it, such as median = \"10 kB\""),
            _ => {}
        }
    }
}

/// The mean of a log-normal variable is its median times exp(sigma^2 / 2).
impl From<LogNormalSizes> for SizeDistribution {
    fn from(LogNormalSizes { median, mean, sigma }: LogNormalSizes) -> Self {
        let octets = |size: Bytes| size.0 as f64;
        let of_mean = || mean.map_or(1.0, octets) / math::exp(sigma * sigma / 2.0);
        Self::LogNormal { median: median.map_or_else(of_mean, octets), sigma }
    }
}

impl SizeDistribution {
    /// Draws a size of at least one byte.
    pub fn draw(&self, random: &mut RandomStream) -> Bytes {
        let size = match self {
            Self::Constant(size) => return *size,
            Self::Samples(sizes) => return sizes[(random.uniform() * sizes.len() as f64) as usize],
            Self::Uniform { min, max } => min.0 as f64 + random.uniform() * (max.0 - min.0) as f64,
            Self::Exponential { mean } => -math::ln(1.0 - random.uniform()) * mean.0 as f64,
            Self::Pareto { min, shape, max } => {
                let cut = max.map_or(0.0, |max| math::pow(min / max, *shape));
                min / math::pow(1.0 - random.uniform() * (1.0 - cut), 1.0 / shape)
            }
            Self::LogNormal { median, sigma } => median * math::exp(sigma * random.standard_normal()),
            Self::Cdf(points) => inverse(points, random.uniform()),
        };
        Bytes((size.clamp(1.0, LARGEST.0 as f64) + 0.5) as u64)
    }

    /// The mean in bytes.
    pub fn mean(&self) -> f64 {
        match self {
            Self::Constant(size) => size.0 as f64,
            Self::Uniform { min, max } => f64::midpoint(min.0 as f64, max.0 as f64),
            Self::Exponential { mean } => mean.0 as f64,
            Self::Pareto { min, shape, max: None } => shape * min / (shape - 1.0),
            Self::Pareto { min, shape, max: Some(max) } => bounded_pareto_mean(*min, *shape, *max),
            Self::LogNormal { median, sigma } => median * math::exp(sigma * sigma / 2.0),
            Self::Cdf(points) => {
                let part = |pair: &[CdfPoint]| {
                    (pair[1].fraction - pair[0].fraction) * f64::midpoint(pair[0].size, pair[1].size)
                };
                points.windows(2).map(part).sum()
            }
            Self::Samples(sizes) => sizes.iter().map(|size| size.0 as f64).sum::<f64>() / sizes.len() as f64,
        }
    }
}

fn bounded_pareto_mean(min: f64, shape: f64, max: f64) -> f64 {
    if (shape - 1.0).abs() < 1e-9 {
        return min * max / (max - min) * math::ln(max / min);
    }
    let cut = math::pow(min / max, shape);
    let reach = min - max * cut; // min^a (min^(1-a) - max^(1-a))
    reach / (1.0 - cut) * shape / (shape - 1.0)
}

/// The size that the fraction `u` of flows does not exceed.
fn inverse(points: &[CdfPoint], u: f64) -> f64 {
    let above = points.partition_point(|point| point.fraction <= u).clamp(1, points.len() - 1);
    let (low, high) = (points[above - 1], points[above]);
    let part = (u - low.fraction) / (high.fraction - low.fraction);
    low.size + part.clamp(0.0, 1.0) * (high.size - low.size)
}

#[cfg(test)]
mod tests;

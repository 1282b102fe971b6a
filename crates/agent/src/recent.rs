//! Samples of the last decisions: a window over which rates and delays are compared.
//!
//! Sources: a maximum of the delivery rate over some ten round trips is BBR's model of a path (Cardwell et al., ACM
//! Queue 2016); Copa finds a competitor that fills the queue by whether the queue empties within a few round trips
//! (Arun and Balakrishnan, NSDI 2018, section 2.2). Departures: the window is [`DECISIONS_KEPT`] decisions, which is
//! ten round trips for an agent that decides twice in each.

use ackclock_units::{Bytes, SimDuration};

/// Number of decisions in the window.
pub const DECISIONS_KEPT: usize = 20;
/// Number of decisions between the two values of a trend: two round trips for such an agent, one of which passes before
/// an action shows.
const TREND: usize = 4;

/// The sample of one interval.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sample {
    /// The delivery rate over its length, in bit/s.
    pub rate: f64,
    /// Congestion window at its end, before the action.
    pub cwnd: Bytes,
    /// Mean RTT of the interval; the latest without a sample.
    pub mean_rtt: SimDuration,
    /// Least RTT of the interval; the latest without a sample.
    pub least_rtt: SimDuration,
    /// Octets of payload delivered.
    pub acked: Bytes,
    /// Payload octets marked lost.
    pub lost: Bytes,
}

/// The intervals of the last [`DECISIONS_KEPT`] decisions.
#[derive(Clone, Copy, Debug, Default)]
pub struct Recent {
    samples: [Sample; DECISIONS_KEPT],
    count: usize,
}

impl Recent {
    /// Adds the interval that has just ended.
    pub(crate) fn push(&mut self, sample: Sample) {
        self.samples[self.count % DECISIONS_KEPT] = sample;
        self.count += 1;
    }

    /// The latest interval, and the one four decisions before it or the earliest; `None` before the first.
    pub fn ends_of_trend(&self) -> Option<(&Sample, &Sample)> {
        let latest = self.count.checked_sub(1)?;
        let at = |index: usize| &self.samples[index % DECISIONS_KEPT];
        Some((at(latest), at(latest.saturating_sub(TREND))))
    }

    fn iter(&self) -> impl Iterator<Item = &Sample> {
        self.samples[..self.count.min(DECISIONS_KEPT)].iter()
    }

    /// The largest delivery rate, in bit/s; zero without one.
    pub fn max_rate(&self) -> f64 {
        self.iter().map(|sample| sample.rate).fold(0.0, f64::max)
    }

    /// The least RTT; `None` before the first interval.
    pub fn least_rtt(&self) -> Option<SimDuration> {
        self.iter().map(|sample| sample.least_rtt).min()
    }

    /// The largest of the intervals' mean RTTs; `None` before the first.
    pub fn greatest_rtt(&self) -> Option<SimDuration> {
        self.iter().map(|sample| sample.mean_rtt).max()
    }

    /// The lost fraction of the lost and delivered data; zero without any.
    pub fn loss_fraction(&self) -> f64 {
        let (lost, acked) = self.iter().fold((0, 0), |(lost, acked), s| (lost + s.lost.0, acked + s.acked.0));
        if lost == 0 { 0.0 } else { lost as f64 / (lost + acked) as f64 }
    }
}

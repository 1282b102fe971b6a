//! An agent's view at a decision: the state of its flow, its memory of the last congestion, and the interval since the
//! last decision.

use ackclock_cc::RttStats;
use ackclock_units::{Bandwidth, Bytes, SimTime};

use crate::interval::Interval;
use crate::recent::Recent;

/// A line of a catalogue: a name in configurations, and its meaning.
#[derive(Clone, Copy, Debug)]
pub struct Described {
    /// The name in configurations.
    pub name: &'static str,
    /// Meaning in a sentence.
    pub what: &'static str,
    /// Source of the definition.
    pub source: &'static str,
}

/// The state that outlasts an interval.
#[derive(Clone, Copy, Debug, Default)]
pub struct Memory {
    /// The window after the last congestion, at which slow start ends; zero before the first.
    pub threshold: Bytes,
    /// The mean of cwnd before and after the last congestion: CUBIC's `W_max` where windows shrank twice running.
    pub w_max: Bytes,
    /// Time of the last congestion; `None` before the first.
    pub last_congestion: Option<SimTime>,
    /// The largest delivery rate of any interval so far, in bit/s.
    pub max_delivery_rate: f64,
    /// The largest cwnd / RTT seen at a decision, in bit/s.
    pub max_window_rate: f64,
    /// The intervals of the last decisions, that of the current one included.
    pub recent: Recent,
}

/// The inputs of observations and rewards.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// The time of the decision.
    pub now: SimTime,
    /// Payload of a full segment.
    pub mss: Bytes,
    /// The present congestion window.
    pub cwnd: Bytes,
    /// The slow-start threshold; `None` while it is arbitrarily high.
    pub ssthresh: Option<Bytes>,
    /// The pacing rate, if the agent sets one.
    pub pacing_rate: Option<Bandwidth>,
    /// The data sent and not cumulatively acknowledged.
    pub flight_size: Bytes,
    /// The sender's RTT estimates.
    pub rtt: RttStats,
    /// The time of the flow's first ACK, with its first RTT sample.
    pub since: SimTime,
    /// True if the window is below the slow-start threshold.
    pub in_slow_start: bool,
    /// True during fast recovery.
    pub in_recovery: bool,
    /// The state that outlasts an interval.
    pub memory: &'a Memory,
    /// Events since the last decision.
    pub interval: &'a Interval,
}

impl View<'_> {
    /// An amount in segments of this flow.
    pub fn segments(&self, bytes: Bytes) -> f64 {
        bytes.0 as f64 / self.mss.0 as f64
    }

    /// The delivery rate in the last interval with delivered data, over its length; zero if there was none.
    pub fn delivery_rate(&self) -> f64 {
        self.interval.rate_of(self.interval.acked, self.now)
    }

    /// The window over the latest RTT, in bit/s; zero before the first sample.
    pub fn window_rate(&self) -> f64 {
        let rtt = self.rtt.latest.as_secs_f64();
        if rtt > 0.0 { self.cwnd.0 as f64 * 8.0 / rtt } else { 0.0 }
    }
}

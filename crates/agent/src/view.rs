//! View of an agent at a decision: the state of its flow, its memory of the last congestion, and the interval since the
//! decision before.

use ackclock_cc::RttStats;
use ackclock_units::{Bandwidth, Bytes, SimTime};

use crate::interval::Interval;
use crate::recent::Recent;

/// A line of a catalogue: a name that configurations use, and what it stands for.
#[derive(Clone, Copy, Debug)]
pub struct Described {
    /// Name in configurations.
    pub name: &'static str,
    /// Meaning in a sentence.
    pub what: &'static str,
    /// Source of the definition.
    pub source: &'static str,
}

/// State that outlasts an interval.
#[derive(Clone, Copy, Debug, Default)]
pub struct Memory {
    /// cwnd after the last congestion, which slow start ends at; zero before the first.
    pub threshold: Bytes,
    /// Midway between cwnd before and after the last congestion: CUBIC's `W_max` where windows shrank twice running.
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

/// Everything that observations and rewards are made of.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// The moment of the decision.
    pub now: SimTime,
    /// Payload of a full segment.
    pub mss: Bytes,
    /// The congestion window in force.
    pub cwnd: Bytes,
    /// The slow-start threshold; `None` while it is arbitrarily high.
    pub ssthresh: Option<Bytes>,
    /// The rate to pace at, if the agent sets one.
    pub pacing_rate: Option<Bandwidth>,
    /// Sent and not cumulatively acknowledged.
    pub flight_size: Bytes,
    /// The sender's estimates of the round trip.
    pub rtt: RttStats,
    /// Since when the flow has known round trips: its first ACK.
    pub since: SimTime,
    /// The window is below the slow-start threshold.
    pub in_slow_start: bool,
    /// Fast recovery goes on.
    pub in_recovery: bool,
    /// State that outlasts an interval.
    pub memory: &'a Memory,
    /// Events since the last decision.
    pub interval: &'a Interval,
}

impl View<'_> {
    /// An amount in segments of this flow.
    pub fn segments(&self, bytes: Bytes) -> f64 {
        bytes.0 as f64 / self.mss.0 as f64
    }

    /// Delivery rate in the last interval in which data was delivered, over its length; zero if there was none.
    pub fn delivery_rate(&self) -> f64 {
        self.interval.rate_of(self.interval.acked, self.now)
    }

    /// cwnd over the latest RTT, in bit/s; zero before the first sample.
    pub fn window_rate(&self) -> f64 {
        let rtt = self.rtt.latest.as_secs_f64();
        if rtt > 0.0 { self.cwnd.0 as f64 * 8.0 / rtt } else { 0.0 }
    }
}

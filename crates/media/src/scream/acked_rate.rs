//! The acknowledged rate (`acked_bitrate`): octets over a span.
//!
//! Source: draft-ietf-ccwg-rfc8298bis-screamv2: about a round trip, at least two frames. Departures: none that it leaves open.

use std::collections::VecDeque;

use ackclock_units::{Bytes, SimDuration, SimTime};

/// A meter of the rate of acknowledged octets.
#[derive(Clone, Debug, Default)]
pub struct AckedRate {
    acked: VecDeque<(SimTime, u64)>,
    octets: u64,
    span: SimDuration,
}

impl AckedRate {
    /// True before the first acknowledgement.
    pub fn is_empty(&self) -> bool {
        self.acked.is_empty()
    }

    /// Adds octets acknowledged now; the last `span` counts.
    pub fn add(&mut self, now: SimTime, acked: Bytes, span: SimDuration) {
        self.span = span;
        self.acked.push_back((now, acked.0));
        self.octets += acked.0;
        while self.acked.len() > 1
            && let Some(&(at, octets)) = self.acked.front()
            && at + span <= now
        {
            self.acked.pop_front();
            self.octets -= octets;
        }
    }

    /// The rate in bit/s.
    pub fn rate(&self) -> f64 {
        self.octets as f64 * 8.0 / self.span.as_secs_f64().max(1e-3)
    }
}

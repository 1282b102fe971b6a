//! The arriving rate, over the last half second of arrivals.
//!
//! Source: draft-ietf-rmcat-gcc-02 section 5.5, `R_hat`: the octets that arrived within T, over T, of 0.5 to 1 s.

use std::collections::VecDeque;

use ackclock_units::{Bytes, SimDuration, SimTime};

const SPAN: SimDuration = SimDuration::from_millis(500);

/// A meter of the arriving throughput.
#[derive(Clone, Debug, Default)]
pub struct Throughput {
    arrivals: VecDeque<(SimTime, u64)>,
    octets: u64,
    first: Option<SimTime>,
    last: SimTime,
}

impl Throughput {
    /// Adds a packet that has arrived.
    pub fn add(&mut self, at: SimTime, size: Bytes) {
        self.first.get_or_insert(at);
        self.last = self.last.max(at);
        self.arrivals.push_back((at, size.0));
        self.octets += size.0;
        while let Some(&(at, size)) = self.arrivals.front()
            && at + SPAN <= self.last
        {
            self.arrivals.pop_front();
            self.octets -= size;
        }
    }

    /// Throughput in bit/s; `None` before there is a span.
    pub fn rate(&self) -> Option<f64> {
        let is_known = self.first.is_some_and(|first| self.last.saturating_since(first) >= SPAN);
        is_known.then(|| self.octets as f64 * 8.0 / SPAN.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_second_counts() {
        // 1000 octets each 10 ms are 800 kbit/s.
        let mut throughput = Throughput::default();
        for at in 0..200 {
            throughput.add(SimTime(at * 10_000_000), Bytes(1_000));
            assert_eq!(throughput.rate(), (at >= 50).then_some(8e5), "{at}");
        }
    }
}

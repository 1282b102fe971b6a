//! The time of each octet in an appliance: from its arrival, in order, until it is first sent on.

use std::collections::VecDeque;

use ackclock_units::{Bytes, Histogram, SimDuration, SimTime};

/// Octets that have arrived and were not sent on, and the latency of those that were.
#[derive(Clone, Debug, Default)]
pub(crate) struct LatencyLog {
    /// Offset and time of each arrival: the octets below the offset had arrived by then.
    arrivals: VecDeque<(Bytes, SimTime)>,
    arrived: Bytes,
    sent: Bytes,
    /// Sums since the last call: octet-nanoseconds, and octets.
    recent: (u128, u64),
}

impl LatencyLog {
    /// Notes the number of octets that have arrived in all.
    pub(crate) fn on_arrived(&mut self, now: SimTime, arrived: Bytes) {
        if arrived > self.arrived {
            self.arrived = arrived;
            self.arrivals.push_back((arrived, now));
        }
    }

    /// Notes the number of octets that have been sent on in all. Adds their latency to `histogram`, in nanoseconds
    /// weighted by octets, if that is part of the measurement.
    pub(crate) fn on_sent(&mut self, now: SimTime, sent: Bytes, mut histogram: Option<&mut Histogram>) {
        while let Some(&(end, since)) = self.arrivals.front()
            && self.sent < sent
        {
            let octets = end.min(sent).saturating_sub(self.sent).0;
            let stay = now.saturating_since(since).0;
            if let Some(histogram) = &mut histogram {
                histogram.add_weighted(stay, octets);
            }
            self.recent.0 += u128::from(stay) * u128::from(octets);
            self.recent.1 += octets;
            self.sent += Bytes(octets);
            if end <= self.sent {
                self.arrivals.pop_front();
            }
        }
    }

    /// Mean latency of the data sent on since the last call; `None` without any.
    pub(crate) fn take_recent_mean(&mut self) -> Option<SimDuration> {
        let (sum, octets) = std::mem::take(&mut self.recent);
        (octets > 0).then(|| SimDuration((sum / u128::from(octets)) as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_octet_counts_from_its_own_arrival() {
        let (mut log, mut histogram) = (LatencyLog::default(), Histogram::default());
        log.on_arrived(SimTime(0), Bytes(1000));
        log.on_arrived(SimTime(10), Bytes(3000));
        log.on_sent(SimTime(20), Bytes(2000), Some(&mut histogram)); // 1000 octets after 20 ns, 1000 after 10
        log.on_sent(SimTime(40), Bytes(3000), Some(&mut histogram)); // 1000 octets after 30
        assert!((histogram.mean() - 20.0).abs() < 1e-9);
        assert_eq!(histogram.max(), 30);
        assert_eq!(log.take_recent_mean(), Some(SimDuration(20)));
        assert_eq!(log.take_recent_mean(), None);
    }

    #[test]
    fn what_does_not_count_is_passed_over() {
        let (mut log, mut histogram) = (LatencyLog::default(), Histogram::default());
        log.on_arrived(SimTime(0), Bytes(10));
        log.on_arrived(SimTime(2), Bytes(20));
        log.on_sent(SimTime(5), Bytes(10), None);
        log.on_sent(SimTime(9), Bytes(20), Some(&mut histogram));
        assert_eq!((histogram.weight(), histogram.max()), (10, 7)); // the second ten octets, from 2 to 9
    }
}

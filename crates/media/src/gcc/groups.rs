//! Groups of packets, and the growth of their distance between departure and arrival.
//!
//! Sources: draft-ietf-rmcat-gcc-02 section 5.2 (pre-filtering); libwebrtc's `InterArrivalDelta` from memory: packets that left within
//! 5 ms of the first are a group, and one that comes at most 5 ms after the last, with less delay, is still part of it, up to 100 ms.

use ackclock_units::{SimDuration, SimTime};

/// Longest burst of packets in a group (`burst_time`).
const BURST: SimDuration = SimDuration::from_millis(5);
const LONGEST_BURST: SimDuration = SimDuration::from_millis(100);

#[derive(Clone, Copy, Debug)]
struct Group {
    first_sent: SimTime,
    last_sent: SimTime,
    first_arrival: SimTime,
    last_arrival: SimTime,
}

/// The distances of two consecutive groups.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Deltas {
    /// Time between the departures of their last packets, milliseconds.
    pub send_ms: f64,
    /// Time between the arrivals of their last packets, milliseconds.
    pub arrival_ms: f64,
}

/// Groups packets by their departure times.
#[derive(Clone, Copy, Debug, Default)]
pub struct Groups {
    current: Option<Group>,
    before: Option<Group>,
}

impl Groups {
    /// Takes the arrival of a packet that left at `sent`. Returns the distances of the two groups before it, if it
    /// begins another.
    pub fn add(&mut self, sent: SimTime, arrival: SimTime) -> Option<Deltas> {
        let begin = Group { first_sent: sent, last_sent: sent, first_arrival: arrival, last_arrival: arrival };
        let Some(current) = &mut self.current else {
            self.current = Some(begin);
            return None;
        };
        if sent < current.first_sent {
            return None; // overtaken by a later group
        }
        if !current.is_over_at(sent, arrival) {
            current.last_sent = current.last_sent.max(sent);
            current.last_arrival = arrival;
            return None;
        }
        let current = *current;
        let before = self.before.replace(current);
        self.current = Some(begin);
        before.map(|before| Deltas {
            send_ms: milliseconds(before.last_sent, current.last_sent),
            arrival_ms: milliseconds(before.last_arrival, current.last_arrival),
        })
    }
}

impl Group {
    fn is_over_at(&self, sent: SimTime, arrival: SimTime) -> bool {
        let apart = milliseconds(self.last_arrival, arrival);
        let gradient = apart - milliseconds(self.last_sent, sent);
        let is_burst = sent == self.last_sent
            || (gradient < 0.0
                && apart <= BURST.as_millis_f64()
                && arrival.saturating_since(self.first_arrival) < LONGEST_BURST);
        !is_burst && sent.saturating_since(self.first_sent) > BURST
    }
}

fn milliseconds(from: SimTime, to: SimTime) -> f64 {
    (to.0 as f64 - from.0 as f64) / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: f64) -> SimTime {
        SimTime((ms * 1e6) as u64)
    }

    #[test]
    fn packets_that_left_within_five_milliseconds_are_one_group() {
        let mut groups = Groups::default();
        for (sent, arrival) in [(0.0, 50.0), (5.0, 56.0), (30.0, 85.0)] {
            assert_eq!(groups.add(at(sent), at(arrival)), None);
        }
        // The groups end with the packets of 5 and 30 ms: 25 ms apart as they left, 85 - 56 = 29 as they arrived.
        assert_eq!(groups.add(at(60.0), at(120.0)), Some(Deltas { send_ms: 25.0, arrival_ms: 29.0 }));
    }

    #[test]
    fn what_comes_in_a_burst_after_an_outage_is_one_group() {
        let mut groups = Groups::default();
        groups.add(at(0.0), at(50.0));
        // Held up until 200 ms, then 1 ms apart, though they left 20 ms apart.
        for packet in 0..4 {
            let packet = f64::from(packet);
            assert_eq!(groups.add(at(20.0 + 20.0 * packet), at(200.0 + packet)), None);
        }
        // The group before was the first packet; this one ended with what left at 80 ms and came at 203 ms.
        assert_eq!(groups.add(at(220.0), at(270.0)), Some(Deltas { send_ms: 80.0, arrival_ms: 153.0 }));
    }
}

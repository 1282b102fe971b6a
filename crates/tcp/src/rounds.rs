//! Packet-timed round trips: one ends when what had been sent at its beginning is acknowledged.
//!
//! Source: draft-cheng-iccrg-delivery-rate-estimation, BBR's `round_count`. Departures: none.

/// Counts round trips by the data sent in them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rounds {
    count: u64,
    /// The round trip under way ends when this is acknowledged.
    end: u64,
}

impl Rounds {
    /// Number of round trips that have ended.
    #[inline]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Everything below `una` is acknowledged, and `high_data` the end of what has been sent. Returns true if that ends a
    /// round trip.
    #[inline]
    pub fn on_ack(&mut self, una: u64, high_data: u64) -> bool {
        let ends = una >= self.end;
        if ends {
            self.count += 1;
            self.end = high_data;
        }
        ends
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_trip_ends_with_the_ack_of_what_had_been_sent_at_its_beginning() {
        let mut rounds = Rounds::default();
        assert!(rounds.on_ack(1, 10_001)); // the SYN's; the next ends with 10 001
        assert!(!rounds.on_ack(5_001, 12_001));
        assert!(rounds.on_ack(10_001, 17_001));
        assert_eq!(rounds.count(), 2);
    }
}

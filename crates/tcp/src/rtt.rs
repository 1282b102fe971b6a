//! When data was sent, for RTT samples from segments that were never retransmitted (Karn's rule).

use std::collections::VecDeque;

use ackclock_units::SimTime;

/// Send times of the outstanding data, oldest first; data sent at one instant shares an entry.
#[derive(Clone, Debug, Default)]
pub(crate) struct SendTimes {
    sent: VecDeque<Sent>,
    /// Data below this may have been retransmitted, or have waited at the receiver behind a hole: its ACK says nothing
    /// of the round trip.
    ambiguous_below: u64,
}

#[derive(Clone, Copy, Debug)]
struct Sent {
    end: u64,
    at: SimTime,
}

impl SendTimes {
    /// New data up to `end` left.
    pub(crate) fn on_new_data(&mut self, end: u64, now: SimTime) {
        match self.sent.back_mut() {
            Some(last) if last.at == now => last.end = end,
            _ => self.sent.push_back(Sent { end, at: now }),
        }
    }

    /// Something was retransmitted while `high_data` had been sent.
    pub(crate) fn on_retransmission(&mut self, high_data: u64) {
        self.ambiguous_below = high_data;
    }

    /// Data up to `to` was acknowledged. Returns when the newest of it was sent, unless Karn's rule forbids.
    pub(crate) fn on_acknowledged(&mut self, to: u64, karn: bool) -> Option<SimTime> {
        let mut newest = None;
        while let Some(front) = self.sent.front() {
            if front.end > to {
                // Part of what was sent at one instant.
                newest = Some(front.at).filter(|_| newest.is_none()).or(newest);
                break;
            }
            newest = Some(front.at);
            self.sent.pop_front();
        }
        newest.filter(|_| !karn || to > self.ambiguous_below)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn karn_forbids_samples_of_what_a_retransmission_may_have_touched() {
        let mut times = SendTimes::default();
        times.on_new_data(100, SimTime(1));
        times.on_new_data(200, SimTime(2));
        times.on_retransmission(200);
        times.on_new_data(300, SimTime(3));
        assert_eq!(times.on_acknowledged(200, true), None);
        assert_eq!(times.on_acknowledged(300, true), Some(SimTime(3)));
    }

    #[test]
    fn an_ack_of_several_samples_the_newest() {
        let mut times = SendTimes::default();
        times.on_new_data(100, SimTime(1));
        times.on_new_data(200, SimTime(2));
        times.on_new_data(300, SimTime(3));
        assert_eq!(times.on_acknowledged(200, true), Some(SimTime(2)));
    }

    #[test]
    fn part_of_a_burst_samples_the_burst() {
        let mut times = SendTimes::default();
        times.on_new_data(100, SimTime(1));
        times.on_new_data(400, SimTime(1));
        assert_eq!(times.on_acknowledged(200, true), Some(SimTime(1)));
        assert_eq!(times.on_acknowledged(400, true), Some(SimTime(1)));
    }
}

//! Base and current delay, as LEDBAT keeps them.
//!
//! Source: RFC 6817 section 2.4.2 and section 4.3: the base delay is the least of the last `BASE_HISTORY` minutes, minute
//! by minute, so that a change of the route is forgotten; the current one is the least of the last `CURRENT_FILTER`
//! samples. Departures are those of LEDBAT (`ledbat.rs`).

use std::collections::VecDeque;

use ackclock_units::{SimDuration, SimTime};

const MINUTE: SimDuration = SimDuration::from_secs(60);

/// Base and current one-way delay. Delays are in ns and may be negative, as between two clocks.
#[derive(Clone, Debug)]
pub(crate) struct BaseDelay {
    history: u32,
    filter: u32,
    /// The least delay of each minute, the latest last, and the beginning of the latest minute.
    minutes: VecDeque<i64>,
    since: SimTime,
    latest: VecDeque<i64>,
}

impl BaseDelay {
    pub(crate) fn new(history: u32, filter: u32) -> Self {
        let since = SimTime::ZERO;
        Self { history, filter, minutes: VecDeque::new(), since, latest: VecDeque::new() }
    }

    /// Adds a sample and returns the queueing delay: the current delay less the base delay.
    pub(crate) fn queueing(&mut self, now: SimTime, delay: i64) -> SimDuration {
        match self.minutes.back_mut() {
            Some(least) if now.saturating_since(self.since) < MINUTE => *least = delay.min(*least),
            _ => {
                self.minutes.push_back(delay);
                self.since = now;
            }
        }
        //= rfc6817-2.4.2-base-delay
        while self.minutes.len() > self.history as usize {
            self.minutes.pop_front();
        }
        self.latest.push_back(delay);
        //= rfc6817-2.4.2-current-delay
        while self.latest.len() > self.filter as usize {
            self.latest.pop_front();
        }
        let current = self.latest.iter().copied().min().unwrap_or(delay);
        SimDuration(current.saturating_sub(self.base()).max(0) as u64)
    }

    /// Forgets the current delay after a timeout: its samples are older than a round trip (RFC 6817 section 2.4.2).
    pub(crate) fn forget_current(&mut self) {
        self.latest.clear();
    }

    /// True once there has been a sample.
    pub(crate) fn is_known(&self) -> bool {
        !self.minutes.is_empty()
    }

    /// The base delay, ns; zero before the first sample.
    pub(crate) fn base(&self) -> i64 {
        self.minutes.iter().copied().min().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    //= rfc6817-2.4.2-current-delay
    //= rfc6817-2.4.2-base-delay
    #[test]
    fn the_base_is_forgotten_after_its_minutes_and_the_current_delay_is_filtered() {
        let mut delay = BaseDelay::new(2, 4);
        let mut feed = |second: u64, delay_ns| delay.queueing(SimTime(second * 1_000_000_000), delay_ns).0;
        assert_eq!(feed(0, -50), 0);
        assert_eq!([feed(1, 30), feed(2, 40), feed(3, 35)], [0, 0, 0]); // the least of four is still the first
        assert_eq!(feed(4, 60), 80); // min(30, 40, 35, 60) + 50
        assert_eq!(feed(61, 20), 70);
        assert_eq!(feed(122, 25), 0); // the first minute is forgotten: base 20, current 20
    }
}

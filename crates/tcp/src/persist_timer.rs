//! Probing a closed window: how many probes, at which intervals, and when to give up.
//!
//! Sources: RFC 9293 section 3.8.6.1; RFC 1122 section 4.2.2.17 (the interval doubles). Departures: intervals stop growing
//! at 60 s, or at the largest timeout if that is longer, and the peer is given up after as many unanswered probes as there
//! may be timeouts.

use ackclock_units::SimDuration;

use crate::config::TcpConfig;

/// The longest wait between probes.
const LONGEST_INTERVAL: SimDuration = SimDuration::from_secs(60);

/// Number of doublings that reach the longest interval from any timeout.
const MOST_DOUBLINGS: u32 = 16;

/// See the module. The deadline is the retransmission timer's, which has nothing else to do meanwhile.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PersistTimer {
    /// Expiries since the window closed, the one awaited included; zero while it does not run.
    expiries: u32,
    unanswered: u32,
    longest: SimDuration,
    max_unanswered: u32,
}

impl PersistTimer {
    pub(crate) fn new(config: &TcpConfig) -> Self {
        Self {
            expiries: 0,
            unanswered: 0,
            longest: LONGEST_INTERVAL.max(config.rto.max),
            max_unanswered: config.max_retries,
        }
    }

    #[inline]
    pub(crate) fn is_running(&self) -> bool {
        self.expiries > 0
    }

    /// There is something to send and no room for it: the first probe follows an RTO later.
    pub(crate) fn start(&mut self) {
        self.expiries = 1;
    }

    #[inline]
    pub(crate) fn stop(&mut self) {
        self.expiries = 0;
    }

    /// The timer expired. Returns what to wait before the next time, with the timeout as it is.
    pub(crate) fn on_expiry(&mut self, rto: SimDuration) -> SimDuration {
        let interval = self.interval(self.expiries, rto);
        self.expiries += 1;
        interval
    }

    /// A probe leaves. Returns false if too many have gone unanswered.
    pub(crate) fn on_probe(&mut self) -> bool {
        self.unanswered += 1;
        self.unanswered <= self.max_unanswered
    }

    /// The peer is there, whatever its window.
    #[inline]
    pub(crate) fn on_answer(&mut self) {
        self.unanswered = 0;
    }

    pub(crate) fn unanswered(&self) -> u32 {
        self.unanswered
    }

    /// Number of doublings of the interval, while the timer runs.
    pub(crate) fn backoff(&self) -> u32 {
        self.expiries - 1
    }

    /// Interval after an answer that leaves the window closed.
    pub(crate) fn interval_after_answer(&self, rto: SimDuration) -> SimDuration {
        self.interval(self.backoff(), rto)
    }

    fn interval(&self, doublings: u32, rto: SimDuration) -> SimDuration {
        //= rfc9293-3.8.6.1-probe-back-off
        SimDuration(rto.0 << doublings.min(MOST_DOUBLINGS)).min(self.longest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn s(seconds: u64) -> SimDuration {
        SimDuration::from_secs(seconds)
    }

    #[test]
    fn intervals_double_up_to_a_minute() {
        let mut timer = PersistTimer::new(&TcpConfig::default());
        timer.start(); // and the first probe an RTO of 2 s later
        let intervals: Vec<SimDuration> = (0..6).map(|_| timer.on_expiry(s(2))).collect();
        assert_eq!(intervals, [s(4), s(8), s(16), s(32), s(60), s(60)]); // RFC 1122: exponentially
        assert_eq!(timer.interval_after_answer(s(2)), s(60));
    }

    #[test]
    fn a_peer_that_answers_is_probed_for_ever() {
        let mut timer = PersistTimer::new(&TcpConfig { max_retries: 2, ..TcpConfig::default() });
        assert!(timer.on_probe() && timer.on_probe());
        timer.on_answer();
        assert!(timer.on_probe() && timer.on_probe() && !timer.on_probe());
    }
}

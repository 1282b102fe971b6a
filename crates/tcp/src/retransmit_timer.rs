//! The sender's timer: one deadline, for what is due next, and when it has expired often enough to give up.
//!
//! Sources: RFC 6298 section 5 (the timeout), RFC 8985 section 8 (timeout, reordering and probe share one timer), RFC 9293
//! section 3.8.3 (R2) and RFC 5482 (giving up). Departures: a SYN is tried as often as `syn_retries` says, six times by
//! default, and not for three minutes (rfc9293-3.8.3-syn-r2).

use ackclock_units::{SimDuration, SimTime};

use crate::config::TcpConfig;
use crate::rto::RtoTimer;
use crate::ticks::Ticks;

/// Purpose of the running timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// RFC 6298, and probes of a closed window.
    Retransmission,
    /// Waiting for reordered segments (RFC 8985 section 6.2, step 5).
    Reordering,
    /// A tail loss probe (RFC 8985 section 7).
    Probe,
}

/// The sender's timer for retransmission, reordering and probes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RetransmitTimer {
    //= rfc8985-8-one-timer
    deadline: SimTime,
    purpose: Purpose,
    ticks: Ticks,
    /// Time of the timeout's own last restart, whatever the timer runs for now.
    restarted_at: SimTime,
    /// Timeouts in a row without progress, and since when there has been none.
    timeouts_in_a_row: u32,
    stalled_since: Option<SimTime>,
    user_timeout: Option<SimDuration>,
    max_retries: u32,
    gave_up: bool,
}

impl RetransmitTimer {
    pub(crate) fn new(config: &TcpConfig) -> Self {
        Self {
            deadline: SimTime::NEVER,
            purpose: Purpose::Retransmission,
            ticks: Ticks::of(&config.rto),
            restarted_at: SimTime::ZERO,
            timeouts_in_a_row: 0,
            stalled_since: None,
            user_timeout: config.user_timeout,
            max_retries: config.max_retries,
            gave_up: false,
        }
    }

    #[inline]
    pub(crate) fn deadline(&self) -> SimTime {
        self.deadline
    }

    pub(crate) fn purpose(&self) -> Purpose {
        self.purpose
    }

    #[inline]
    pub(crate) fn is_off(&self) -> bool {
        self.deadline == SimTime::NEVER
    }

    #[inline]
    pub(crate) fn stop(&mut self) {
        (self.deadline, self.purpose) = (SimTime::NEVER, Purpose::Retransmission);
    }

    /// Runs as the retransmission timer.
    #[inline]
    pub(crate) fn start(&mut self, now: SimTime, wait: SimDuration) {
        self.start_at(self.ticks.expiry(now, wait));
    }

    /// Runs as the retransmission timer, and fires at exactly this time.
    #[inline]
    pub(crate) fn start_at(&mut self, deadline: SimTime) {
        (self.deadline, self.purpose) = (deadline, Purpose::Retransmission);
    }

    /// Starts the timer, but no later than the user timeout (RFC 5482).
    pub(crate) fn start_within_user_timeout(&mut self, now: SimTime, wait: SimDuration) {
        let most = self.user_deadline().map(|user| user.saturating_since(now));
        self.start(now, most.map_or(wait, |most| wait.min(most)));
    }

    /// RFC 8985 section 6.2, step 5.
    pub(crate) fn wait_for_reordering(&mut self, now: SimTime, wait: SimDuration) {
        (self.deadline, self.purpose) = (self.ticks.expiry(now, wait), Purpose::Reordering);
    }

    /// It runs for reordered segments, which are due before a timeout that begins now.
    pub(crate) fn waits_for_reordering(&self) -> bool {
        self.purpose == Purpose::Reordering
    }

    /// RFC 8985 section 7.2.
    pub(crate) fn wait_for_probe(&mut self, now: SimTime, wait: SimDuration) {
        (self.deadline, self.purpose) = (self.ticks.expiry(now, wait), Purpose::Probe);
    }

    /// The timeout counts from `now` on, whenever the timer next runs for it.
    #[inline]
    pub(crate) fn restart_at(&mut self, now: SimTime) {
        self.restarted_at = now;
    }

    /// Time from which the timeout counts: the last restart of its timer (RFC 6298 section 5), or the departure of the
    /// first segment (Linux, whose timeout is 200 ms above SRTT at least; one without that floor would be due with the
    /// very next ACK).
    pub(crate) fn counts_from(&self, now: SimTime, first_sent: Option<SimTime>, rto: &RtoTimer) -> SimTime {
        let first_left = first_sent.unwrap_or(now);
        if rto.resumes_from_head() { first_left } else { first_left.max(self.restarted_at) }
    }

    /// RFC 6298 section 5.1; a timer that ran for something else counts from where it would have by itself.
    pub(crate) fn rearm(&mut self, now: SimTime, first_sent: Option<SimTime>, rto: &RtoTimer) {
        let is_other = self.purpose != Purpose::Retransmission && !self.is_off();
        let from = if is_other { self.counts_from(now, first_sent, rto) } else { now };
        let wait = (from + rto.rto()).saturating_since(now).max(SimDuration(1_000));
        self.start_within_user_timeout(now, wait);
    }

    /// Notes that data was acknowledged.
    #[inline]
    pub(crate) fn on_progress(&mut self) {
        (self.timeouts_in_a_row, self.stalled_since) = (0, None);
    }

    /// The timeouts so far were spurious.
    pub(crate) fn forget_timeouts(&mut self) {
        self.timeouts_in_a_row = 0;
    }

    /// The peer's window is open again.
    pub(crate) fn end_stall(&mut self) {
        self.stalled_since = None;
    }

    /// There has been no progress since then, if not for longer.
    pub(crate) fn stall_since(&mut self, since: SimTime) {
        self.stalled_since.get_or_insert(since);
    }

    pub(crate) fn timeouts_in_a_row(&self) -> u32 {
        self.timeouts_in_a_row
    }

    /// The retransmission timer expired. Returns false if that was once too often (RFC 9293 section 3.8.3, R2; RFC 5482).
    pub(crate) fn on_timeout(&mut self, now: SimTime) -> bool {
        //= rfc9293-3.8.3-give-up
        let is_out_of_retries = self.user_timeout.is_none() && self.timeouts_in_a_row >= self.max_retries;
        if is_out_of_retries || self.is_past_user_timeout(now) {
            self.give_up();
            return false;
        }
        self.timeouts_in_a_row += 1;
        true
    }

    pub(crate) fn is_past_user_timeout(&self, now: SimTime) -> bool {
        self.user_deadline().is_some_and(|deadline| now >= deadline)
    }

    fn user_deadline(&self) -> Option<SimTime> {
        //= rfc9293-3.9.1.1-user-timeout
        Some(self.stalled_since? + self.user_timeout?)
    }

    pub(crate) fn give_up(&mut self) {
        self.gave_up = true;
        self.stop();
    }

    #[inline]
    pub(crate) fn gave_up(&self) -> bool {
        self.gave_up
    }

    /// Sets the limit of `TCP_USER_TIMEOUT`
    pub(crate) fn set_user_timeout(&mut self, timeout: Option<SimDuration>) {
        self.user_timeout = timeout;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{RtoConfig, RtoEstimator};

    const MS: u64 = 1_000_000;

    fn at(ms: u64) -> SimTime {
        SimTime(ms * MS)
    }

    /// No sample yet: the timeout is RFC 6298's first, 1 s.
    fn rto() -> RtoTimer {
        RtoTimer::new(RtoConfig::of(RtoEstimator::Rfc6298))
    }

    #[test]
    fn after_another_purpose_the_timeout_counts_from_its_own_last_restart() {
        let mut timer = RetransmitTimer::new(&TcpConfig::default());
        timer.restart_at(at(100));
        timer.wait_for_reordering(at(100), SimDuration(200 * MS));
        timer.rearm(at(300), Some(at(50)), &rto());
        assert_eq!((timer.deadline(), timer.purpose()), (at(1_100), Purpose::Retransmission)); // 100 + 1000
        timer.rearm(at(400), Some(at(50)), &rto());
        assert_eq!(timer.deadline(), at(1_400)); // it ran as such: from now
    }

    #[test]
    fn max_retries_are_made_and_no_more() {
        let mut timer = RetransmitTimer::new(&TcpConfig { max_retries: 2, ..TcpConfig::default() });
        assert_eq!([0, 1, 2].map(|ms| timer.on_timeout(at(ms))), [true, true, false]);
        assert!(timer.gave_up() && timer.is_off());
    }

    #[test]
    fn the_user_timeout_ends_a_wait_and_takes_the_place_of_retries() {
        let user_timeout = Some(SimDuration(500 * MS));
        let mut timer = RetransmitTimer::new(&TcpConfig { max_retries: 0, user_timeout, ..TcpConfig::default() });
        timer.stall_since(at(100));
        timer.stall_since(at(200)); // the first counts
        timer.start_within_user_timeout(at(200), SimDuration(700 * MS));
        assert_eq!(timer.deadline(), at(600));
        assert!(timer.on_timeout(at(599)) && !timer.on_timeout(at(600)));
    }

    #[test]
    fn progress_begins_the_count_anew() {
        let mut timer = RetransmitTimer::new(&TcpConfig { max_retries: 1, ..TcpConfig::default() });
        assert!(timer.on_timeout(at(1)));
        timer.on_progress();
        assert!(timer.on_timeout(at(2)));
        assert_eq!(timer.timeouts_in_a_row(), 1);
    }
}

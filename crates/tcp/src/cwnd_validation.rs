//! Congestion window validation: measures how much of the window is used, and reduces an unused window.
//!
//! Sources: RFC 7661 (the pipeACK of new-cwv), RFC 5681 section 4.1 and RFC 2861 (restart after idle), Linux's cwnd
//! validation by its behaviour.
//!
//! Departures: pipeACK is the largest amount acknowledged in one of the last three round trips, where RFC 7661 section
//! 4.2 asks for a sampling period of at least three RTTs or one second.

use ackclock_units::{Bytes, SimDuration, SimTime};

use crate::config::{CwndValidation, IdleRestart};

/// RFC 7661 section 4.4.2: the non-validated phase lasts at most this long.
const NON_VALIDATED_PERIOD: SimDuration = SimDuration::from_secs(300);

/// Use of the window; amounts as the scoreboard counts them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CwndValidator {
    validation: CwndValidation,
    /// Below this no window shrinks for want of use.
    initial_window: u64,
    /// cwnd was what held data back, at some time in the round trip that ends at `round_end`.
    is_limited: bool,
    /// The largest FlightSize since then.
    max_flight_size: u64,
    /// The flight of this span is acknowledged up to here.
    round_end: u64,
    /// End of the new data that had left at the last check of the window.
    seen: u64,
    /// The largest FlightSize while not limited, and since when that has been so.
    used: u64,
    not_limited_since: SimTime,
    /// RFC 7661: acknowledged in this and the last two round trips.
    acked: [u64; 3],
}

impl CwndValidator {
    pub(crate) fn new(validation: CwndValidation, initial_window: Bytes) -> Self {
        Self {
            validation,
            initial_window: initial_window.0,
            is_limited: false,
            max_flight_size: 0,
            round_end: 0,
            seen: 0,
            used: 0,
            not_limited_since: SimTime::ZERO,
            acked: [0; 3],
        }
    }

    /// The handshake has settled it.
    pub(crate) fn set_initial_window(&mut self, window: Bytes) {
        self.initial_window = window.0;
    }

    pub(crate) fn initial_window(&self) -> u64 {
        self.initial_window
    }

    /// True if it keeps account of the window at all.
    pub(crate) fn is_on(&self) -> bool {
        matches!(self.validation, CwndValidation::Rfc7661 | CwndValidation::Linux)
    }

    /// True if new data has left since the last call. What is only sent again does not say how much of the window is in use, nor
    /// does an ACK when there is nothing to send.
    pub(crate) fn note_new_data(&mut self, high_data: u64) -> bool {
        std::mem::replace(&mut self.seen, high_data) < high_data
    }

    /// All that may be sent has been sent: `flight_size` is outstanding, up to offset `high_data`.
    pub(crate) fn on_sent_all(&mut self, is_limited: bool, flight_size: u64, una: u64, high_data: u64) {
        let begins = una >= self.round_end;
        if begins || is_limited || (!self.is_limited && flight_size > self.max_flight_size) {
            self.is_limited = is_limited;
            self.max_flight_size = flight_size;
            self.round_end = high_data;
        }
    }

    /// Takes in `amount` octets delivered by an ACK; `new_round` if it ends a round trip.
    pub(crate) fn on_acked(&mut self, amount: u64, new_round: bool) {
        if new_round {
            self.acked.rotate_right(1);
            self.acked[0] = 0;
        }
        self.acked[0] += amount;
    }

    /// RFC 7661 section 4.2.
    pub(crate) fn pipe_ack(&self) -> u64 {
        //= rfc7661-4.2-pipe-ack
        self.acked.into_iter().max().unwrap_or(0)
    }

    /// True if the window may grow. What it is, and whether in slow start, is asked only where that decides.
    pub(crate) fn permits_growth(
        &self,
        limited_now: bool,
        cwnd: impl FnOnce() -> u64,
        in_slow_start: impl FnOnce() -> bool,
    ) -> bool {
        match self.validation {
            CwndValidation::None => true,
            CwndValidation::Hold => limited_now,
            //= rfc7661-4.3-growth
            CwndValidation::Rfc7661 => limited_now || self.pipe_ack() >= cwnd() / 2,
            CwndValidation::Linux => self.is_limited || (cwnd() < 2 * self.max_flight_size && in_slow_start()),
        }
    }

    /// Value that a decrease starts from: in RFC 7661's non-validated phase the larger of pipeACK and what was in
    /// flight (section 4.4.1), otherwise `flight_size`
    pub(crate) fn decrease_from(&self, flight_size: u64, cwnd: u64) -> u64 {
        if self.validation == CwndValidation::Rfc7661 && self.pipe_ack() < cwnd / 2 {
            //= rfc7661-4.4.1-decrease
            flight_size.max(self.pipe_ack()).min(cwnd)
        } else {
            flight_size
        }
    }

    /// After sending: a smaller cwnd if this one has gone unused for too long.
    pub(crate) fn decay(&mut self, now: SimTime, state: WindowInUse) -> Option<u64> {
        let WindowInUse { cwnd, flight_size, rto, in_slow_start } = state;
        match self.validation {
            CwndValidation::None | CwndValidation::Hold => None,
            CwndValidation::Rfc7661 => {
                if self.pipe_ack() >= cwnd / 2 {
                    self.not_limited_since = now;
                }
                //= rfc7661-4.4.2-five-minutes
                let expired = now.saturating_since(self.not_limited_since) >= NON_VALIDATED_PERIOD;
                expired.then(|| {
                    self.not_limited_since = now;
                    (cwnd / 2).max(self.initial_window)
                })
            }
            CwndValidation::Linux => {
                if self.permits_growth(false, || cwnd, || in_slow_start) {
                    (self.used, self.not_limited_since) = (0, now);
                    return None;
                }
                self.used = self.used.max(flight_size);
                if now.saturating_since(self.not_limited_since) < rto {
                    return None;
                }
                let used = self.used.max(self.initial_window);
                (self.used, self.not_limited_since) = (0, now);
                //= rfc2861-3-unused-shrinks
                (used < cwnd).then(|| u64::midpoint(cwnd, used))
            }
        }
    }

    /// An ACK came by which a window may grow, or a reduction began or ended: Linux counts from now on for how long too little of
    /// the window has been in use. So only an application that is silent loses what it does not use.
    #[inline]
    pub(crate) fn renew(&mut self, now: SimTime) {
        if self.validation == CwndValidation::Linux {
            self.not_limited_since = now;
        }
    }

    /// The window was set anew.
    pub(crate) fn restart(&mut self, now: SimTime) {
        (self.used, self.not_limited_since) = (0, now);
    }
}

/// The window and what is made of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WindowInUse {
    pub(crate) cwnd: u64,
    pub(crate) flight_size: u64,
    pub(crate) rto: SimDuration,
    pub(crate) in_slow_start: bool,
}

/// The window after nothing has been sent for `idle`, if it starts over; Linux's may do so as it is, and keep another ssthresh.
pub(crate) fn restart_window(
    policy: IdleRestart,
    idle: SimDuration,
    rto: SimDuration,
    cwnd: u64,
    initial: u64,
) -> Option<u64> {
    if idle <= rto {
        return None;
    }
    match policy {
        IdleRestart::Off => None,
        //= rfc5681-4.1-restart-window
        IdleRestart::Rfc5681 => (cwnd > initial).then_some(initial), // RW = min(IW, cwnd)
        IdleRestart::Linux => {
            //= rfc2861-3-idle-halves
            let halvings = ((idle.0 - 1) / rto.0).min(63);
            Some((cwnd >> halvings).max(initial.min(cwnd)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    //= rfc2861-3-idle-halves
    //= rfc5681-4.1-restart-window
    #[test]
    fn idle_time_halves_the_window_for_each_rto_down_to_the_initial_one() {
        let ms = SimDuration::from_millis;
        let after = |policy, idle| restart_window(policy, ms(idle), ms(200), 80, 10);
        assert_eq!(after(IdleRestart::Linux, 200), None); // not longer than the RTO
        assert_eq!(after(IdleRestart::Linux, 300), Some(40));
        assert_eq!(after(IdleRestart::Linux, 500), Some(20)); // RFC 2861 section 3: (500 - 1)/200 = 2 halvings
        assert_eq!(after(IdleRestart::Linux, 5_000), Some(10));
        assert_eq!(after(IdleRestart::Rfc5681, 300), Some(10));
        assert_eq!(after(IdleRestart::Off, 5_000), None);
    }

    #[test]
    fn slow_start_may_reach_twice_the_largest_flight() {
        let mut usage = CwndValidator::new(CwndValidation::Linux, Bytes(10));
        usage.on_sent_all(false, 6, 0, 6);
        assert!(usage.permits_growth(false, || 10, || true)); // 10 < 2 * 6
        assert!(!usage.permits_growth(false, || 12, || true));
        assert!(!usage.permits_growth(false, || 10, || false)); // avoidance needs a full window
    }

    //= rfc2861-3-unused-shrinks
    #[test]
    fn a_window_unused_for_an_rto_moves_half_way_to_what_was_used() {
        let mut usage = CwndValidator::new(CwndValidation::Linux, Bytes(10));
        usage.on_sent_all(false, 20, 0, 20);
        let rto = SimDuration::from_millis(200);
        let state = WindowInUse { cwnd: 100, flight_size: 20, rto, in_slow_start: false };
        assert_eq!(usage.decay(SimTime(100_000_000), state), None);
        assert_eq!(usage.decay(SimTime(200_000_000), state), Some(60)); // (100 + 20) / 2
    }

    //= rfc7661-4.4.2-five-minutes
    #[test]
    fn five_minutes_without_use_halve_the_window() {
        let mut usage = CwndValidator::new(CwndValidation::Rfc7661, Bytes(10));
        usage.on_acked(20, false);
        let rto = SimDuration::from_millis(200);
        let state = WindowInUse { cwnd: 100, flight_size: 20, rto, in_slow_start: false };
        let at = |seconds| SimTime::ZERO + SimDuration::from_secs(seconds);
        assert_eq!(usage.decay(at(299), state), None);
        assert_eq!(usage.decay(at(300), state), Some(50)); // RFC 7661 section 4.4.2: max(cwnd / 2, IW)
        assert_eq!(usage.decay(at(301), WindowInUse { cwnd: 50, ..state }), None); // five minutes anew
        assert_eq!(usage.decay(at(600), WindowInUse { cwnd: 15, ..state }), None); // 20 of 15 are used
    }

    //= rfc7661-4.4.1-decrease
    //= rfc7661-4.2-pipe-ack
    #[test]
    fn the_non_validated_phase_decreases_from_what_was_used() {
        let mut usage = CwndValidator::new(CwndValidation::Rfc7661, Bytes(10));
        usage.on_acked(30, false);
        assert_eq!(usage.decrease_from(20, 100), 30); // RFC 7661 section 4.4.1: max(pipeACK, LossFlightSize)
        assert_eq!(usage.decrease_from(20, 50), 20); // pipeACK is at least half of cwnd: validated
    }
}

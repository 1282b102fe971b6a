//! Loss detection by time: RACK (RFC 8985 section 6).
//!
//! A segment is lost if one sent sufficiently later has been delivered. "Sufficiently" is the reordering window: nothing
//! until reordering has been seen and there is enough evidence of loss, a part of the least RTT afterwards.
//!
//! The window grows by a quarter of the least RTT with each round trip that brings a DSACK, and falls back after 16
//! recoveries without (section 6.2, step 4). Which ACKs are of a retransmission is decided by the least RTT and, if
//! `rack_timestamp_check` says so, by the echoed timestamp (step 2).
//!
//! Departures: the echoed timestamp is asked of retransmissions that are acknowledged cumulatively. Where one is SACKed, the
//! echo is that of the last segment in order (RFC 7323 section 4.3), so that it would always be older, and the probe of section
//! 7 could not tell of the holes below it. A DSACK widens the window once reordering has been seen, with the next ACK that delivers
//! something, and unless it is of a tail loss probe, which the timer sent: as Linux has it. Delivered segments are looked at in the
//! order of the stream, not of sending; RACK's RTT is that of the last of them. The least RTT is that of the whole connection, and
//! not of a window of time.

use ackclock_units::{SimDuration, SimTime};

use crate::config::TcpConfig;
use crate::scoreboard::{Scoreboard, Sent};

/// Recoveries for which a wider reordering window is kept (`RACK.reo_wnd_persist`).
//= rfc8985-6.2-persist
const PERSIST: u32 = 16;

/// RACK's state of a connection.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rack {
    /// Departure time and end of the most recently sent of all delivered segments (`RACK.xmit_ts`, `RACK.end_seq`).
    sent_at: SimTime,
    end: u64,
    /// The RTT of the last that was delivered (`RACK.rtt`); when that left, if it is a retransmission.
    rtt: SimDuration,
    rtt_of: Option<SimTime>,
    /// A delivery has moved the above since the last detection.
    advanced: bool,
    /// Reordering was observed (`RACK.reordering_seen`).
    reordering_seen: bool,
    /// Steps of the window beyond the first (`RACK.reo_wnd_mult`, less one).
    extra_steps: u32,
    persist: u32,
    /// A DSACK was seen since the window was last adapted, and when that was: a round trip ends with the delivery of what left
    /// afterwards (`RACK.dsack_round`).
    dsack_seen: bool,
    adapted_at: SimTime,
    /// The latest departure of what the ACK at hand delivers.
    newest: SimTime,
    /// The reordering window counts at a timeout, too.
    waits_at_timeout: bool,
}

/// Inputs of the reordering window besides RACK's own state.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReoWndInputs {
    pub(crate) min_rtt: SimDuration,
    pub(crate) srtt: SimDuration,
    pub(crate) in_recovery: bool,
    /// At least `dup_thresh` segments are SACKed.
    pub(crate) has_dup_thresh: bool,
}

impl Rack {
    pub(crate) fn new(config: &TcpConfig) -> Self {
        Self { waits_at_timeout: config.rack_window_at_timeout, ..Self::default() }
    }

    /// RFC 8985 section 6.2, step 2: `sent` was delivered at `now`. `answers_original`: it is a retransmission, and the ACK
    /// echoes a timestamp of before that.
    pub(crate) fn on_delivered(&mut self, sent: &Sent, now: SimTime, min_rtt: SimDuration, answers_original: bool) {
        let rtt = now.saturating_since(sent.at);
        self.newest = self.newest.max(sent.at);
        // The ACK may be of the original: by its timestamp, or too early for the retransmission.
        //= rfc8985-6.2-too-early
        if sent.was_retransmitted() && (answers_original || rtt < min_rtt) {
            return;
        }
        self.advanced = true;
        //= rfc8985-6.2-rtt-of-the-latest
        (self.rtt, self.rtt_of) = (rtt, sent.was_retransmitted().then_some(sent.at));
        //= rfc8985-6.2-most-recent
        if (sent.at, sent.end) > (self.sent_at, self.end) {
            (self.sent_at, self.end) = (sent.at, sent.end);
        }
    }

    /// Step 3: a segment sent once was delivered after one sent later.
    pub(crate) fn on_reordering(&mut self) {
        //= rfc8985-6.2-reordering-seen
        self.reordering_seen = true;
    }

    /// The receiver reported a duplicate.
    pub(crate) fn on_dsack(&mut self) {
        self.dsack_seen |= self.reordering_seen;
    }

    /// Loss marks were withdrawn: check all segments again.
    pub(crate) fn on_undo(&mut self) {
        self.advanced = true;
    }

    /// Step 4, the adaptation after an ACK that has delivered something; once for each round trip.
    pub(crate) fn adapt(&mut self, now: SimTime) {
        if std::mem::take(&mut self.newest) < self.adapted_at {
            self.dsack_seen = false; // of the round that has already been answered
        }
        if self.dsack_seen {
            //= rfc8985-6.2-dsack-widens
            self.extra_steps = (self.extra_steps + 1).min(254);
            self.persist = PERSIST;
            self.dsack_seen = false;
            self.adapted_at = now;
        } else if self.persist == 0 {
            self.extra_steps = 0;
        }
    }

    /// A recovery has ended without a sign that it was spurious.
    pub(crate) fn on_recovery_end(&mut self) {
        self.persist = self.persist.saturating_sub(1); // counts down to zero and stays
    }

    /// Step 4: how much later than another a segment must have been sent for its delivery to mean the loss of the other.
    fn reordering_window(&self, inputs: &ReoWndInputs) -> SimDuration {
        if !self.reordering_seen && (inputs.in_recovery || inputs.has_dup_thresh) {
            //= rfc8985-6.2-no-window-before
            return SimDuration::ZERO;
        }
        //= rfc8985-6.2-quarter
        let steps = u64::from(self.extra_steps) + 1;
        SimDuration((inputs.min_rtt.0 / 4 * steps).min(inputs.srtt.0))
    }

    /// True once after each delivery: there may be something to find.
    pub(crate) fn take_advance(&mut self) -> bool {
        std::mem::take(&mut self.advanced)
    }

    /// Step 5: who is lost now, and how long to wait for the others.
    pub(crate) fn detector(&self, inputs: &ReoWndInputs, now: SimTime) -> LossDetector {
        let window = self.reordering_window(inputs);
        LossDetector { sent_at: self.sent_at, end: self.end, timeout: self.rtt + window, timeout_of: self.rtt_of, now }
    }

    /// Least age of a segment that counts as lost when the retransmission timer fires (section 6.3).
    pub(crate) fn timeout(&self, inputs: &ReoWndInputs) -> SimDuration {
        let window = if self.waits_at_timeout { self.reordering_window(inputs) } else { SimDuration::ZERO };
        self.rtt + window
    }
}

/// Separates lost segments from others at one moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LossDetector {
    sent_at: SimTime,
    end: u64,
    timeout: SimDuration,
    /// See [`Rack::rtt_of`].
    timeout_of: Option<SimTime>,
    now: SimTime,
}

/// Verdict on one segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IsLost {
    /// The segment is lost.
    Yes,
    /// Lost unless it is delivered in time ([`LossDetector::latest_due`]).
    NotYet,
    /// Nothing sent later has been delivered.
    No,
}

impl LossDetector {
    pub(crate) fn is_lost(&self, sent: &Sent) -> IsLost {
        if (sent.at, sent.end) >= (self.sent_at, self.end) {
            return IsLost::No;
        }
        //= rfc8985-6.2-lost
        if self.due(sent) <= self.now { IsLost::Yes } else { IsLost::NotYet }
    }

    /// Time at which a segment counts as lost. A host sends retransmissions first, and reads its clock again before it
    /// sends new data: new data that left in the moment of the retransmission whose RTT counts is due a little later.
    fn due(&self, sent: &Sent) -> SimTime {
        let is_new = !sent.was_retransmitted();
        let is_after = is_new && self.timeout_of == Some(sent.at);
        sent.at + self.timeout + SimDuration(u64::from(is_after))
    }

    /// Latest time at which one of the segments that may yet be lost is due: the timer waits for all of them (section
    /// 6.2, step 5).
    pub(crate) fn latest_due(&self, board: &Scoreboard) -> Option<SimTime> {
        //= rfc8985-6.2-latest-due
        let is_due = |sent: &Sent| (sent.at, sent.end) < (self.sent_at, self.end);
        let (once, again) = (board.last_sent_once(self.sent_at, is_due), board.last_retransmission(is_due));
        once.into_iter().chain(again).map(|sent| self.due(sent)).max()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn inputs(has_dup_thresh: bool) -> ReoWndInputs {
        let rtt = SimDuration(100 * MS);
        ReoWndInputs { min_rtt: rtt, srtt: rtt, in_recovery: false, has_dup_thresh }
    }

    //= rfc8985-6.2-quarter
    //= rfc8985-6.2-no-window-before
    #[test]
    fn until_reordering_is_seen_three_sacked_segments_are_proof() {
        // RFC 8985 section 6.2 step 4: RACK_reo_wnd = 0 if not reordering_seen and DupThresh segments are SACKed
        let rack = Rack::default();
        assert_eq!(rack.reordering_window(&inputs(true)), SimDuration::ZERO);
        assert_eq!(rack.reordering_window(&inputs(false)), SimDuration(25 * MS)); // min_RTT / 4
    }

    //= rfc8985-6.2-persist
    //= rfc8985-6.2-dsack-widens
    #[test]
    fn each_round_trip_with_a_dsack_widens_the_window_by_a_quarter_up_to_srtt() {
        let mut rack = Rack::default();
        rack.on_reordering();
        let mut windows = Vec::new();
        let adapt = |rack: &mut Rack, left: u64, now: u64| {
            rack.newest = SimTime(left);
            rack.adapt(SimTime(now));
        };
        for round in 1..6 {
            rack.on_dsack();
            adapt(&mut rack, round * 10, round * 10 + 10);
            rack.on_dsack();
            adapt(&mut rack, round * 10 + 9, round * 10 + 19); // what was under way then: the same round trip
            windows.push(rack.reordering_window(&inputs(true)).0 / MS);
        }
        assert_eq!(windows, [50, 75, 100, 100, 100]);
        for round in 6..22 {
            adapt(&mut rack, round * 10, round * 10 + 10);
            rack.on_recovery_end();
        }
        adapt(&mut rack, 220, 230);
        assert_eq!(rack.reordering_window(&inputs(true)).0 / MS, 25); // 16 recoveries later
    }
}

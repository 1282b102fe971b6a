//! A run: full segments of new data that leave at one moment while windows and the pacer alone decide, as most do, also while a loss is
//! repaired once all that was lost has left again. [`Sender::next_segment`] would let each of them go; what it settles for every segment is
//! settled here for all.

use ackclock_cc::{CongestionController, SendEvent};
use ackclock_units::{Bytes, SimDuration, SimTime};

use super::Sender;
use super::transmit::Limit;
use crate::config::LossRecovery;
use crate::ranges::Range;

/// Remaining budget of a run, in octets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    mss: u64,
    /// Offset at which the run begins.
    start: u64,
    /// Written and not sent, up to where a record ends.
    unsent: u64,
    /// The room in the peer's window and the send buffer; none where that lets no full segment go.
    window: u64,
    /// Octets left in the congestion window.
    allowed: u64,
}

/// A segment of a run, which is a full one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FullSegment {
    pub(crate) start: u64,
    pub(crate) is_pushed: bool,
}

/// State after a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunEnd {
    /// More may leave: [`Sender::next_segment`] decides.
    Open,
    /// Nothing more leaves for now.
    Stopped,
}

impl Sender {
    /// False if more than windows and the pacer has a say in what leaves next.
    #[inline]
    pub(crate) fn may_run(&self) -> bool {
        self.sends_runs
            && if self.flight.recovery.is_idle() {
                self.flight.recovery.dup_acks() == 0 || self.flight.recovery.method() == LossRecovery::Sack
            } else {
                self.sends_only_new_data()
            }
            && !self.flight.board.is_empty()
            && !self.flight.tlp.is_due()
            && !self.flight.ecn.owes_cwr()
    }

    /// Losses are being repaired, what was lost has left again, and where windows leave no room, nothing else has any.
    #[inline(never)] // most have nothing to repair
    fn sends_only_new_data(&self) -> bool {
        //= rfc6675-4-next-seg-2
        let speculates = !self.flight.recovery.has_rack() && self.bursts.is_on();
        self.flight.recovery.phase().is_fast_recovery()
            && self.flight.recovery.has_sack()
            && self.flight.board.has_resent_all()
            && !speculates
    }

    /// Budget of a run that begins now.
    pub(crate) fn begin_run(&self) -> Run {
        Run {
            mss: self.flight.mss(),
            start: self.flight.board.high_data(),
            unsent: self.queue.unsent_of_record(self.flight.board.high_data()),
            window: if self.segment_size() < self.flight.mss() { 0 } else { self.usable_window() },
            allowed: self.flight.window().saturating_sub(self.flight.board.pipe()),
        }
    }

    /// The next segment of a run. What is not full, or may be the last of the stream, is none of it.
    #[inline]
    pub(crate) fn next_of_run(&mut self, now: SimTime, run: &mut Run) -> Result<FullSegment, RunEnd> {
        let mss = run.mss;
        if run.unsent <= mss || run.window < mss {
            return Err(RunEnd::Open);
        }
        if run.allowed < mss {
            return self.stop_run(now, Limit::Cwnd);
        }
        if !self.bursts.is_incomplete() {
            if self.pacer.is_active() && self.waits_for_pacer(now) {
                return Err(RunEnd::Stopped);
            }
            if let Some(limit) = self.keeps_burst(now, run.allowed, run.window, mss) {
                return self.stop_run(now, limit);
            }
        }
        (run.unsent, run.window, run.allowed) = (run.unsent - mss, run.window - mss, run.allowed - mss);
        Ok(self.send_full(now, mss))
    }

    /// Sends a full segment like [`Sender::next_segment`], without the checks that a run has made.
    fn send_full(&mut self, now: SimTime, mss: u64) -> FullSegment {
        let start = self.flight.board.high_data();
        let range = Range { start, end: start + mss };
        self.queue.on_new_sent(mss, range.end, mss);
        self.flight.board.on_new_data(mss, now);
        let ends_burst = self.note_burst(now, mss);
        self.flight.counters.sent_segments += 1;
        self.flight.counters.sent_octets += mss;
        self.flight.congestion.feed.on_sent(now, range, &self.flight.board, false);
        self.flight.idleness.last_sent = now;
        let flight_size = Bytes(self.flight.board.flight_size());
        let idle_for = SimDuration::ZERO;
        self.flight.congestion.controller.on_send(&SendEvent {
            now,
            size: Bytes(mss),
            flight_size,
            idle_for,
            is_app_limited: false,
        });
        if self.pacer.is_active() {
            self.note_paced(now, mss);
        }
        FullSegment { start, is_pushed: ends_burst || self.queue.is_pushed(range) }
    }

    fn stop_run(&mut self, now: SimTime, limit: Limit) -> Result<FullSegment, RunEnd> {
        self.stop(now, limit);
        Err(RunEnd::Stopped)
    }

    /// A run is over that has sent something: the timer runs for it.
    pub(crate) fn end_run(&mut self, now: SimTime, run: &Run) {
        self.flight.recovery.on_sent(self.flight.board.high_data() - run.start);
        self.flight.on_sent_data(now, false);
    }
}

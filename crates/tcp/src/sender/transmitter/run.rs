//! A run: full segments of new data that leave at one moment while windows and the pacer alone decide, as most do, also while a loss is
//! repaired once all that was lost has left again. [`Transmitter::next_segment`] would let each of them go; what it settles for every segment is
//! settled here for all.

use ackclock_units::SimTime;

use super::{Limit, Transmitter};
use crate::config::LossRecovery;
use crate::ranges::Range;
use crate::sender::flight::Flight;

/// Remaining budget of a run, in octets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    mss: u64,
    /// Offset at which the run begins.
    pub(in crate::sender) start: u64,
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
    /// More may leave: [`Transmitter::next_segment`] decides.
    Open,
    /// Nothing more leaves for now.
    Stopped,
}

impl Transmitter {
    /// False if more than windows and the pacer has a say in what leaves next.
    #[inline]
    fn may_run(&self, flight: &Flight) -> bool {
        self.sends_runs
            && if flight.recovery.is_idle() {
                flight.recovery.dup_acks() == 0 || flight.recovery.method() == LossRecovery::Sack
            } else {
                self.sends_only_new_data(flight)
            }
            && !flight.board.is_empty()
            && !flight.tlp.is_due()
            && !flight.ecn.owes_cwr()
    }

    /// Losses are being repaired, what was lost has left again, and where windows leave no room, nothing else has any.
    #[inline(never)] // most have nothing to repair
    fn sends_only_new_data(&self, flight: &Flight) -> bool {
        //= rfc6675-4-next-seg-2
        let speculates = !flight.recovery.has_rack() && self.bursts.is_on();
        flight.recovery.phase().is_fast_recovery()
            && flight.recovery.has_sack()
            && flight.board.has_resent_all()
            && !speculates
    }

    /// Budget of a run that begins now, if windows and the pacer alone decide what leaves next.
    #[inline]
    pub(crate) fn begin_run(&self, flight: &Flight) -> Option<Run> {
        let board = &flight.board;
        self.may_run(flight).then(|| Run {
            mss: board.mss(),
            start: board.high_data(),
            unsent: self.queue.unsent_of_record(board.high_data()),
            window: if self.segment_size(board) < board.mss() { 0 } else { self.usable_window(board) },
            allowed: flight.window().saturating_sub(board.pipe()),
        })
    }

    /// The next segment of a run. What is not full, or may be the last of the stream, is none of it.
    #[inline]
    pub(crate) fn next_full(
        &mut self,
        flight: &mut Flight,
        now: SimTime,
        run: &mut Run,
    ) -> Result<FullSegment, RunEnd> {
        let mss = run.mss;
        if run.unsent <= mss || run.window < mss {
            return Err(RunEnd::Open);
        }
        if run.allowed < mss {
            return self.stop_run(flight, now, Limit::Cwnd);
        }
        if !self.bursts.is_incomplete() {
            if self.pacer.is_active() && self.waits_for_pacer(flight, now) {
                return Err(RunEnd::Stopped);
            }
            if let Some(limit) = self.keeps_burst(flight, now, run.allowed, run.window, mss) {
                return self.stop_run(flight, now, limit);
            }
        }
        (run.unsent, run.window, run.allowed) = (run.unsent - mss, run.window - mss, run.allowed - mss);
        Ok(self.send_full(flight, now, mss))
    }

    /// Sends a full segment like [`Transmitter::next_segment`], without the checks that a run has made.
    fn send_full(&mut self, flight: &mut Flight, now: SimTime, mss: u64) -> FullSegment {
        let start = flight.board.high_data();
        let range = Range { start, end: start + mss };
        self.queue.on_new_sent(mss, range.end, mss);
        flight.board.on_new_data(mss, now);
        let ends_burst = self.note_burst(flight, now, range.end, mss);
        flight.congestion.feed.on_sent(now, range, &flight.board, false);
        flight.on_departure(now, mss, None); // something is outstanding
        if self.pacer.is_active() {
            self.note_paced(flight, now, mss);
        }
        FullSegment { start, is_pushed: ends_burst || self.queue.is_pushed(range) }
    }

    fn stop_run(&mut self, flight: &mut Flight, now: SimTime, limit: Limit) -> Result<FullSegment, RunEnd> {
        self.stop(flight, now, limit);
        Err(RunEnd::Stopped)
    }
}

//! What may be sent now, and sending it.

use ackclock_cc::{CongestionController, SendEvent};
use ackclock_units::{Bytes, SimDuration, SimTime};

use super::Sender;
use crate::config::LossRecovery;
use crate::ranges::Range;
use crate::recovery::Phase;

/// A segment to send, in offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DataSegment {
    pub(crate) start: u64,
    /// Payload octets.
    pub(crate) payload: u64,
    pub(crate) fin: bool,
}

/// Why nothing more could be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limit {
    /// The congestion window is full.
    Cwnd,
    /// The peer's window or the send buffer is full.
    Window,
    /// Nothing is left to send.
    Application,
}

impl Sender {
    /// The next segment that may leave now, already accounted for. Call until it gives none.
    pub(crate) fn next_segment(&mut self, now: SimTime) -> Option<DataSegment> {
        let pipe = self.board.pipe();
        let window = self.window();
        let allowed = window.saturating_sub(pipe);
        if self.phase.is_open() {
            return self.next_new(now, allowed);
        }
        if let Some(range) = self.board.next_lost(self.mss) {
            return if self.may_retransmit(range, allowed) {
                Some(self.retransmit(now, range))
            } else {
                self.limited_by = Limit::Cwnd;
                None
            };
        }
        if let Some(segment) = self.next_new(now, allowed) {
            return Some(segment);
        }
        self.next_speculative(now, allowed)
    }

    fn may_retransmit(&self, range: Range, allowed: u64) -> bool {
        // The retransmission that opens a recovery leaves whatever the window says (RFC 5681 section 3.2 step 3,
        // RFC 6675 section 5 step 4.3); PRR makes room for it by itself.
        range.len() <= allowed || (self.board.has_no_retransmission() && !self.uses_prr())
    }

    fn uses_prr(&self) -> bool {
        self.prr && self.loss_recovery == LossRecovery::Sack && self.phase.is_fast_recovery()
    }

    /// RFC 6675 `NextSeg` rules 3 and 4: when there is no new data, holes not yet known to be lost, then once the tail.
    fn next_speculative(&mut self, now: SimTime, allowed: u64) -> Option<DataSegment> {
        let Phase::Fast(recovery) = &mut self.phase else { return None };
        if self.loss_recovery != LossRecovery::Sack || self.limited_by == Limit::Cwnd || allowed < self.mss {
            return None;
        }
        if let Some(range) = self.board.next_hole(self.mss) {
            return Some(self.retransmit(now, range));
        }
        if recovery.rescued {
            return None;
        }
        recovery.rescued = true;
        let tail = self.board.last_unsacked(self.mss)?;
        self.send_times.on_retransmission(self.board.high_data());
        Some(self.account(now, tail, true))
    }

    fn retransmit(&mut self, now: SimTime, range: Range) -> DataSegment {
        self.board.on_retransmitted(range);
        self.send_times.on_retransmission(self.board.high_data());
        self.account(now, range, true)
    }

    /// New data, if there is some and every window has room for it.
    fn next_new(&mut self, now: SimTime, allowed: u64) -> Option<DataSegment> {
        let start = self.board.high_data();
        let available = self.stream_end().saturating_sub(start).min(self.mss);
        if available == 0 {
            self.limited_by = Limit::Application;
            return None;
        }
        let window = self.usable_window();
        if window < available && !self.is_worth_sending(window) {
            self.limited_by = Limit::Window;
            self.arm_persist(now);
            return None;
        }
        let len = available.min(window);
        if len > allowed {
            self.limited_by = Limit::Cwnd;
            return None;
        }
        self.send_small = false;
        self.board.on_new_data(len);
        self.send_times.on_new_data(start + len, now);
        Some(self.account(now, Range { start, end: start + len }, false))
    }

    /// What the peer's window and the send buffer leave.
    pub(super) fn usable_window(&self) -> u64 {
        let high = self.board.high_data();
        let peer = (self.snd_wnd_from + self.snd_wnd).saturating_sub(high);
        let buffer = (self.board.una() + self.send_buffer).saturating_sub(high);
        peer.min(buffer)
    }

    /// RFC 9293 section 3.8.6.2.1: less than a segment only if it is half of the largest window ever seen.
    fn is_worth_sending(&self, window: u64) -> bool {
        window > 0 && (self.send_small || window >= self.max_snd_wnd / 2)
    }

    /// Books a segment that leaves now.
    fn account(&mut self, now: SimTime, range: Range, is_retransmission: bool) -> DataSegment {
        let fin = range.end > self.written_end;
        let payload = range.len() - u64::from(fin);
        if payload > 0 {
            self.counters.sent_segments += 1;
            self.counters.sent_octets += payload;
            self.counters.retransmitted_segments += u64::from(is_retransmission);
        }
        self.phase.on_sent(range.len());
        let idle_for = self.idle_since.take().map_or(SimDuration::ZERO, |since| now.saturating_since(since));
        self.controller.on_send(&SendEvent {
            now,
            size: Bytes(payload),
            flight_size: Bytes(self.board.flight_size()),
            idle_for,
        });
        if self.deadline == SimTime::NEVER || self.probes > 0 {
            self.probes = 0;
            self.deadline = now + self.rto.rto();
        }
        DataSegment { start: range.start, payload, fin }
    }

    /// Nothing is outstanding and the peer's window is closed: probe it (RFC 9293 section 3.8.6.1).
    fn arm_persist(&mut self, now: SimTime) {
        if self.board.flight_size() == 0 && self.deadline == SimTime::NEVER {
            self.probes = 1;
            self.deadline = now + self.rto.rto();
        }
    }
}

//! Departure of a segment: what is booked of it, and what it says.

use ackclock_events::{Event, SegmentSent};
use ackclock_units::{Bytes, SimTime};
use ackclock_wire::{Ecn, Flags};

use super::{DataSegment, Transmitter};
use crate::config::UserTimeoutFrom;
use crate::ranges::Range;
use crate::scoreboard::Scoreboard;
use crate::sender::flight::Flight;
use crate::tso::Place;

impl Transmitter {
    pub(super) fn send_new(&mut self, flight: &mut Flight, now: SimTime, len: u64) -> DataSegment {
        let now = self.pacer.departure(now);
        let start = flight.board.high_data();
        let was_empty = flight.board.is_empty();
        self.queue.on_new_sent(len, start + len, self.segment_size(&flight.board));
        flight.board.on_new_data(len, now);
        flight.recovery.on_sent(flight.board.weight(len));
        let ends_burst = self.note_burst(flight, now, len);
        let segment = self.account(flight, now, Range { start, end: start + len }, false);
        flight.on_sent_data(now, was_empty);
        if ends_burst { segment.pushed() } else { segment }
    }

    pub(super) fn retransmit(&mut self, flight: &mut Flight, now: SimTime, range: Range) -> DataSegment {
        let now = self.pacer.departure(now);
        let is_first = range.start <= flight.board.una();
        flight.board.on_retransmitted(range, now);
        flight.recovery.on_sent(flight.board.weight(range.len()));
        flight.recovery.undo_mut().on_retransmission(flight.clock.tick(now));
        if flight.config.user_timeout_from == UserTimeoutFrom::Retransmission {
            flight.timer.stall_since(now);
        }
        let runs_for_other = flight.persist.is_running() || flight.timer.waits_for_reordering();
        if is_first && flight.rto.restarts_on_retransmission() && !runs_for_other {
            flight.start_timeout(now);
        }
        self.account(flight, now, range, true)
    }

    /// Notes that `octets` new octets leave. True if they are the last of a burst of several segments.
    #[inline]
    pub(super) fn note_burst(&mut self, flight: &mut Flight, now: SimTime, octets: u64) -> bool {
        if !self.bursts.is_on() {
            return false;
        }
        let place = self.bursts.on_sent(now, octets);
        if place == Place::Begins {
            flight.board.note_burst();
        }
        place == Place::Ends
    }

    /// Books a segment that leaves now.
    pub(super) fn account(
        &mut self,
        flight: &mut Flight,
        now: SimTime,
        range: Range,
        is_retransmission: bool,
    ) -> DataSegment {
        let fin = self.queue.has_fin(range.end);
        let payload = range.len() - u64::from(fin);
        if payload > 0 && is_retransmission {
            flight.counters.retransmitted_segments += 1;
            flight.counters.retransmitted_octets += payload;
        }
        let idle_since = flight.idle_since.take();
        flight.on_departure(now, range, payload, is_retransmission, idle_since);
        if self.pacer.is_active() {
            self.note_paced(flight, now, payload);
        }
        //= rfc6298-5.1-start
        if flight.timer.is_off() {
            flight.rearm_timeout(now);
        }
        let (ecn, cwr) =
            //= rfc3168-6.1.5-retransmissions
            if is_retransmission || !flight.ecn.is_on() { (Ecn::NotEct, false) } else { flight.ecn.mark_new_data() };
        let mut flags = Flags::ACK;
        if fin {
            flags = flags.with(Flags::FIN);
        }
        //= rfc9293-3.9.1.2-push
        if payload > 0 && self.queue.is_pushed(range) {
            flags = flags.with(Flags::PSH);
        }
        if cwr {
            flags = flags.with(Flags::CWR);
        }
        let ack_ratio = self.ack_ratio_option(&flight.board, range, payload > 0, is_retransmission);
        if flight.congestion.log.is_some() {
            report_sent(flight, range, payload, is_retransmission);
        }
        DataSegment { start: range.start, payload: payload as u32, flags, ecn, ack_ratio }
    }

    fn ack_ratio_option(&mut self, board: &Scoreboard, range: Range, has_payload: bool, is_retransmission: bool) -> u8 {
        match &mut self.ack_control {
            Some(control) if is_retransmission => {
                let option = control.on_retransmission(board.high_data());
                if has_payload { option } else { 0 }
            }
            Some(control) if has_payload => control.on_new_data(range.start),
            _ => 0,
        }
    }
}

#[cold]
fn report_sent(flight: &mut Flight, range: Range, payload: u64, is_retransmission: bool) {
    if payload > 0 {
        let (offset, flight_size) = (range.start, Bytes(flight.board.flight_size()));
        let sent = SegmentSent { offset, size: Bytes(payload), is_retransmission, flight_size };
        flight.congestion.report(|_| Event::SegmentSent(sent));
    }
}

//! Departure of a segment: what is booked of it, and what it says.

use ackclock_events::{Event, ProbeKind, SegmentSent};
use ackclock_units::{Bytes, SimTime};
use ackclock_wire::{Ecn, Flags};

use super::{DataSegment, Transmitter, pacing_rate};
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
        let ends_burst = self.note_burst(flight, now, start + len, len);
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

    /// RFC 8985 section 7.3: new data if there is some, else the last segment once more, unless it has arrived.
    pub(super) fn send_probe(&mut self, flight: &mut Flight, now: SimTime) -> Option<DataSegment> {
        //= rfc8985-7.3-one-probe
        let segment = if flight.tlp.take_due() { self.probe_segment(flight, now) } else { None };
        //= rfc8985-7.3-timeout-next
        if segment.is_some() {
            flight.counters.probes += 1;
            flight.congestion.report(|_| Event::ProbeSent { kind: ProbeKind::TailLoss });
            flight.start_timeout(now);
        } else {
            flight.rearm_timeout(now); // from where it would have counted
        }
        segment
    }

    fn probe_segment(&mut self, flight: &mut Flight, now: SimTime) -> Option<DataSegment> {
        if self.fq.is_some() {
            self.pacer.begin_burst(now);
        }
        let available = self.next_len(&flight.board);
        //= rfc8985-7.3-new-data
        if available > 0 && available <= self.usable_window(&flight.board) {
            let segment = self.send_new(flight, now, available);
            flight.tlp.on_probe(flight.board.high_data(), false);
            return Some(segment);
        }
        let range = flight.board.last_unsacked()?;
        if self.is_at_host(flight, now, range) {
            return None;
        }
        let now = self.pacer.departure(now);
        flight.board.on_probed(range, now);
        let segment = self.account(flight, now, range, true);
        flight.tlp.on_probe(flight.board.high_data(), true);
        Some(segment)
    }

    /// Notes that `octets` new octets leave, up to `end`. True if they are the last of a burst of several segments.
    #[inline]
    pub(super) fn note_burst(&mut self, flight: &mut Flight, now: SimTime, end: u64, octets: u64) -> bool {
        if !self.bursts.is_on() {
            return false;
        }
        let place = self.bursts.on_sent(now, octets);
        if place == Place::Begins {
            flight.board.note_burst();
            self.queue.on_burst(end + self.bursts.room());
            if self.queue.waits() {
                self.look_for_memory(flight, self.bursts.room());
            }
        }
        place == Place::Ends
    }

    /// Books a segment that leaves now.
    fn account(&mut self, flight: &mut Flight, now: SimTime, range: Range, is_retransmission: bool) -> DataSegment {
        let fin = self.queue.has_fin(range.end);
        let payload = range.len() - u64::from(fin);
        if payload > 0 && is_retransmission {
            flight.counters.retransmitted_segments += 1;
            flight.counters.retransmitted_octets += payload;
        }
        let idle_since = flight.idle_since.take();
        flight.congestion.feed.on_sent(now, range, &flight.board, is_retransmission);
        flight.on_departure(now, payload, idle_since);
        if self.pacer.is_active() {
            self.note_paced(flight, now, payload);
        }
        //= rfc6298-5.1-start
        if flight.timer.is_off() {
            flight.rearm_timeout(now);
        }
        let (ecn, cwr) = match is_retransmission {
            _ if !flight.ecn.is_on() => (Ecn::NotEct, false),
            true => (flight.ecn.mark_of_retransmission(), false),
            false => flight.ecn.mark_new_data(),
        };
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

    /// Notes that `octets` left, and schedules what follows.
    #[inline(never)] // most senders send at once what windows allow
    pub(super) fn note_paced(&mut self, flight: &Flight, now: SimTime, octets: u64) {
        let rate = pacing_rate(&self.pacer, flight);
        self.pacer.on_sent(now, octets, rate, flight.counters.sent_segments);
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

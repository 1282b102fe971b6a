//! A segment arrives on an open connection (RFC 9293 section 3.10.7.4): what of it counts, for either half.

use ackclock_cc::SegmentTimestamps;
use ackclock_units::SimTime;
use ackclock_wire::{Ecn, Flags, SackBlock, Segment, Seq, Timestamps};

use super::{ConnectionError, Endpoint, Output, refuse};
use crate::receiver::Arrival;
use crate::sender::{IncomingAck, SackReport};

/// Few segments of an open connection have any.
const RARE_FLAGS: Flags = Flags::RST.with(Flags::SYN);

impl Endpoint {
    pub(super) fn on_segment_open(&mut self, now: SimTime, segment: &Segment, out: &mut impl Output) {
        let Some(start) = self.receiver.offset_of(segment.seq).filter(|start| self.is_acceptable(segment, *start))
        else {
            if !segment.flags.has(Flags::RST) {
                //= rfc9293-3.10.7.4-unacceptable-segment
                self.note_late_ack(segment);
                self.note_refused(segment);
                self.challenge(now, out);
            }
            return;
        };
        let occupies = segment.sequence_len() > 0;
        if (segment.flags.has_any(RARE_FLAGS) || self.is_wary()) && self.on_rare(now, segment, start, out) {
            return;
        }
        if segment.flags.has(Flags::SYN) {
            //= rfc9293-3.10.7.4-syn-ack-again
            // Our ACK of the SYN-ACK was lost, or an old SYN came along (RFC 9293 section 3.10.7.4).
            //= rfc5961-4.2-syn-challenge
            return self.challenge(now, out);
        } else if !segment.flags.has(Flags::ACK) {
            return self.on_no_ack(now, out);
        } else if occupies {
            if self.is_too_old(segment) {
                return self.challenge(now, out);
            }
            if self.receiver.is_to_report_before(start, u64::from(segment.payload)) {
                self.send_ack(now, out);
            }
            self.on_data(now, segment, start);
        } else if start != self.receiver.rcv_nxt() && self.is_ack_beside(start) {
            return self.challenge(now, out);
        }
        self.on_ack(now, segment, start, occupies, out);
        self.flush_ack(now, out);
    }

    /// An ACK leaves at once, and that is all that becomes of what has arrived.
    fn challenge(&mut self, now: SimTime, out: &mut impl Output) {
        self.sender.on_challenged();
        self.receiver.request_ack();
        self.flush_ack(now, out);
    }

    /// RFC 9293 section 3.10.7.4, fifth check: nothing becomes of it, but that TIME-WAIT answers all that it does not await.
    #[cold]
    fn on_no_ack(&mut self, now: SimTime, out: &mut impl Output) {
        if self.is_over() {
            self.challenge(now, out);
        }
    }

    /// A segment without data that does not begin at what is awaited. Returns true if it is only answered: below what the last ACK
    /// acknowledged, as a probe is, or in TIME-WAIT.
    #[cold]
    fn is_ack_beside(&mut self, start: u64) -> bool {
        //= rfc9293-3.8.6.1-probe-answered
        if start < self.receiver.rcv_nxt() {
            self.receiver.request_ack();
        }
        start < self.receiver.last_ack_sent() || self.is_over()
    }

    /// True if more of a segment must be processed than its numbers.
    fn is_wary(&self) -> bool {
        self.refuses_data || self.ecn.is_on()
    }

    /// Handles rare segments: a reset, data that nobody will read, marks. Returns true if the segment needs no further
    /// processing.
    #[inline(never)]
    fn on_rare(&mut self, now: SimTime, segment: &Segment, start: u64, out: &mut impl Output) -> bool {
        if segment.flags.has(Flags::RST) {
            self.on_reset(now, start, out);
            return true;
        }
        let has_ack = segment.flags.has(Flags::ACK);
        if has_ack && segment.sequence_len() > 0 && !segment.flags.has(Flags::SYN) && self.is_too_old(segment) {
            self.challenge(now, out); // its mark is no mark of this connection
            return true;
        }
        if self.refuses_data && has_ack && self.is_unwanted(segment, start) {
            refuse(segment, out);
            self.fail(now, ConnectionError::Reset);
            return true;
        }
        if segment.payload > 0 && self.ecn.tells_of_congestion(segment.flags, segment.ecn) {
            self.receiver.acks.on_congestion();
        }
        //= rfc8257-3.2-two-acks
        if self.ecn.changes(segment.ecn, segment.payload) && self.receiver.acks.is_delayed() {
            self.send_ack(now, out);
        }
        if self.ecn.on_segment(segment.flags, segment.ecn, segment.payload) {
            self.receiver.request_ack();
        }
        if self.ecn.has_option() {
            self.note_accurate_option(segment);
        }
        false
    }

    /// Something new for an application that reads no more; a FIN that is awaited is not.
    fn is_unwanted(&self, segment: &Segment, start: u64) -> bool {
        let is_part = segment.sequence_len() > 0 && !segment.flags.has(Flags::SYN);
        is_part && start + u64::from(segment.payload) > self.receiver.rcv_nxt()
    }

    //= rfc5961-5.2-old-ack-data
    /// RFC 5961 section 5.2: an ACK below what the largest window ever seen lets be under way, or of nothing that was ever
    /// acknowledged.
    #[inline]
    fn is_too_old(&self, segment: &Segment) -> bool {
        let una = self.sender.flight().board.una();
        segment.ack != Seq::of_offset(self.initial_sequence, una) && self.is_below_window(segment, una)
    }

    #[inline(never)] // what comes in order acknowledges what the segment before it did, mostly
    fn is_below_window(&self, segment: &Segment, una: u64) -> bool {
        let least = una.saturating_sub(self.sender.transmitter.peer.largest()).max(1);
        segment.ack.offset_near(self.initial_sequence, una).is_none_or(|ack| ack < least)
    }

    /// The option of accurate ECN, for the sending half; that there is one allows ours.
    pub(super) fn note_accurate_option(&mut self, segment: &Segment) {
        let option = segment.accurate_ecn();
        self.sender.ecn_mut().on_option(option);
        if option.is_some() {
            self.ecn.on_option_seen();
        }
    }

    /// RFC 9293 section 3.10.7.4, first check, and PAWS before it (RFC 7323 section 5.3).
    fn is_acceptable(&mut self, segment: &Segment, start: u64) -> bool {
        if self.acknowledges_unsent(segment) {
            return false;
        }
        //= rfc7323-3.2-missing-timestamp
        if let Some(timestamps) = segment.timestamps.filter(|_| self.negotiated.timestamps)
            //= rfc7323-5.3-not-resets
            && !segment.flags.has(Flags::RST)
            && !self.receiver.accepts_timestamp(start, timestamps.value, self.paws)
        {
            return false;
        }
        start <= self.receiver.window_end()
    }

    /// RFC 5961 section 5.2: nothing of a segment is taken that acknowledges what was never sent, be it data, a FIN or a
    /// timestamp.
    fn acknowledges_unsent(&self, segment: &Segment) -> bool {
        segment.ack.is_after(self.initial_sequence, self.sender.flight().board.high_data())
            && segment.flags.has(Flags::ACK)
            && !segment.flags.has(Flags::RST)
    }

    /// Data that an older timestamp makes refused has been received all the same, if it lies below what is awaited: a late original, mostly.
    fn note_refused(&mut self, segment: &Segment) {
        let start = self.receiver.offset_of(segment.seq).filter(|start| *start < self.receiver.rcv_nxt());
        if let Some(start) = start.filter(|_| segment.payload > 0 && !self.acknowledges_unsent(segment)) {
            self.receiver.on_refused(start, u64::from(segment.payload));
        }
    }

    /// A refused ACK that a higher one has overtaken was not lost: with timestamps, PAWS refuses it.
    fn note_late_ack(&mut self, segment: &Segment) {
        let una = self.sender.flight().board.una();
        let is_late = segment.ack.offset_near(self.initial_sequence, una).is_some_and(|ack| ack < una);
        if let Some(control) = self.sender.transmitter.ack_control.as_mut().filter(|_| segment.sequence_len() == 0) {
            control.on_pure_ack(is_late, segment.ecn == Ecn::Ce);
        }
    }

    /// RFC 5961 section 3.2: only a reset at exactly the next octet counts; another draws an ACK.
    fn on_reset(&mut self, now: SimTime, start: u64, out: &mut impl Output) {
        if self.is_over() {
            // TIME-WAIT ends without an error (RFC 9293 section 3.10.7.4, second check).
            self.peer_closed_first |= start == self.receiver.rcv_nxt();
            return;
        }
        //= rfc5961-3.2-exact-reset
        if start == self.receiver.rcv_nxt() {
            self.fail(now, ConnectionError::Reset);
        //= rfc5961-3.2-challenge
        } else if start > self.receiver.rcv_nxt() {
            self.challenge(now, out);
        }
    }

    fn on_data(&mut self, now: SimTime, segment: &Segment, start: u64) {
        if self.receiver.is_tuned()
            && let Some(timestamps) = segment.timestamps.filter(|timestamps| timestamps.echo != 0)
        {
            let rtt = self.sender.clock_mut().ticks_since(timestamps.echo, now);
            self.receiver.on_rtt(rtt, timestamps.echo, segment.payload);
        }
        if segment.ack_ratio > 0 && self.negotiated.ack_control {
            self.receiver.acks.set_ratio(u32::from(segment.ack_ratio));
        }
        let arrival = Arrival {
            start,
            len: u64::from(segment.payload),
            has_fin: segment.flags.has(Flags::FIN),
            is_pushed: segment.flags.has(Flags::PSH),
            rto: &self.sender.flight().rto,
        };
        //= rfc9293-3.6-half-close
        self.receiver.on_arrival(now, &arrival);
        if self.receiver.is_finished() && (start < self.receiver.rcv_nxt() || self.is_over()) {
            if self.is_over() {
                self.receiver.forget_duplicate(); // TIME-WAIT keeps no SACK (Linux)
            }
            if self.sender.transmitter.queue.is_closed() {
                self.receiver.request_ack(); // both are done: nothing will carry the ACK
            } else {
                self.peer_closed_first = true;
            }
        }
    }

    fn on_ack(&mut self, now: SimTime, segment: &Segment, seq: u64, occupies: bool, out: &mut impl Output) {
        let una = self.sender.flight().board.una();
        let window = u64::from(segment.window) << self.negotiated.snd_scale;
        if self.only_receives && segment.sack.is_empty() && segment.ack == Seq::of_offset(self.initial_sequence, una) {
            self.sender.transmitter.peer.update(seq, una, window); // as the ACK before
            return;
        }
        let Some(ack) = segment.ack.offset_near(self.initial_sequence, una) else {
            return self.receiver.request_ack(); // older than anything
        };
        if ack > self.sender.flight().board.high_data() {
            self.receiver.request_ack(); // acknowledges what was never sent
            return;
        }
        let is_old = ack < una;
        if let Some(control) = self.sender.transmitter.ack_control.as_mut().filter(|_| !occupies) {
            control.on_pure_ack(is_old, segment.ecn == Ecn::Ce);
        }
        //= rfc5961-5.2-old-ack
        if is_old && segment.sack.is_empty() {
            if self.is_too_old(segment) {
                self.receiver.request_ack();
            }
            return;
        }
        if ack == una && segment.sack.is_empty() && self.sender.flight().ecn.is_silent(segment.flags) {
            let has_nothing_to_do = self.sender.has_nothing_to_do();
            self.only_receives =
                has_nothing_to_do && !self.sender.flight().ecn.is_on() && self.sender.deadline() == SimTime::NEVER;
            if has_nothing_to_do {
                return self.sender.on_idle_ack(ack, seq, window, segment.flags);
            }
        }
        let mut sack = SackReport::default();
        if !segment.sack.is_empty() {
            self.read_sack(segment, una, &mut sack);
        }
        let timestamps = segment.timestamps.filter(|_| self.negotiated.timestamps);
        let mut incoming = IncomingAck {
            ack: ack.max(una),
            window: if is_old { self.sender.transmitter.peer.size() } else { window },
            seq,
            occupies,
            flags: segment.flags,
            sack: &sack,
            window_changed: false,
            sendable_end: 0,
            timestamps: timestamps.map(|Timestamps { value, echo }| SegmentTimestamps {
                tsval: value,
                tsecr: echo,
                arrival: self.sender.clock_mut().tick(now),
                tick: self.sender.flight().clock.granularity(),
            }),
        };
        self.sender.on_ack(now, &mut incoming);
        if ack > una {
            // What lies below is acknowledged, and its numbers may come again 4 GiB later.
            self.last_sack = [SackBlock::default(); 4];
        }
        self.transmit(now, out);
        self.sender.look_for_memory();
        if self.sender.refills() {
            self.transmit(now, out); // with what it lets be written
        }
    }

    /// SACK blocks as offsets, without those that only repeat the ACK before and without malformed ones; a first block
    /// that reports a duplicate (RFC 2883 section 4) apart.
    fn read_sack(&mut self, segment: &Segment, una: u64, report: &mut SackReport) {
        report.is_there = self.negotiated.sack && !segment.sack.as_slice().is_empty();
        if !self.negotiated.sack {
            return;
        }
        // Where a block lies beside `una`, if that is not before the beginning: small numbers need no care.
        let (una_seq, beginning) = (Seq::of_offset(self.initial_sequence, una), -(una as i64));
        let beside = |seq: Seq| i64::from(seq.0.wrapping_sub(una_seq.0) as i32);
        let range = |block: &SackBlock| {
            let (start, end) = (beside(block.start), beside(block.end));
            (beginning <= start && start < end).then_some((start, end))
        };
        let mut blocks = segment.sack.as_slice();
        let ack = Some(beside(segment.ack)).filter(|ack| beginning <= *ack).unwrap_or(0);
        let first = blocks.first().and_then(range);
        let duplicate = first.filter(|&(start, end)| {
            let within = |(outer_start, outer_end): (i64, i64)| outer_start <= start && end <= outer_end;
            //= rfc2883-4-recognised
            end <= ack || start < ack || blocks.get(1).and_then(range).is_some_and(within)
        });
        let offset = |beside| una.wrapping_add_signed(beside);
        if let Some((start, end)) = duplicate {
            report.dsack = Some((offset(start), offset(end)));
            blocks = &blocks[1..];
        }
        for (block, known) in blocks.iter().zip(&mut self.last_sack) {
            if block == known {
                continue;
            }
            *known = *block;
            if let Some((start, end)) = range(block) {
                report.push(offset(start), offset(end));
            }
        }
    }
}

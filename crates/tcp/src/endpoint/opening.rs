//! A segment arrives before the connection is open.
//!
//! Sources: RFC 9293 sections 3.10.7.2 (LISTEN), 3.10.7.3 (SYN-SENT) and 3.10.7.4 (SYN-RECEIVED), RFC 5961 sections 3.2 and 4.2.
//!
//! Departures, all of them Linux's: an end that was opened from outside looks at the ACK before the window, and is reset by another
//! SYN in its window, which RFC 9293 lets return to LISTEN. A connection that both ends open is not acknowledged for a segment
//! outside its window that has neither ACK nor SYN.

use ackclock_units::SimTime;
use ackclock_wire::{Flags, Segment};

use super::{ConnectionError, ConnectionPhase, Endpoint, Output, refuse};
use crate::ecn;

impl Endpoint {
    #[cold]
    pub(super) fn on_segment_handshake(&mut self, now: SimTime, segment: &Segment, out: &mut impl Output) {
        match self.phase {
            ConnectionPhase::Listen | ConnectionPhase::DeferredAccept => self.while_listening(now, segment, out),
            ConnectionPhase::SynSent => self.while_syn_sent(now, segment, out),
            ConnectionPhase::SynReceived if segment.flags.has(Flags::RST) => {
                self.reset_while_opening(now, segment, out);
            }
            ConnectionPhase::SynReceived if self.handshake.is_simultaneous => self.while_both_open(now, segment, out),
            ConnectionPhase::SynReceived => self.while_syn_received(now, segment, out),
            ConnectionPhase::Closed | ConnectionPhase::Open => {}
        }
    }

    /// RFC 9293 section 3.10.7.2.
    fn while_listening(&mut self, now: SimTime, segment: &Segment, out: &mut impl Output) {
        if segment.flags.has(Flags::ACK) {
            return refuse(segment, out);
        }
        if !segment.flags.has(Flags::SYN) || segment.flags.has(Flags::RST) {
            return;
        }
        if self.phase == ConnectionPhase::DeferredAccept {
            self.handshake.deferred_syn = Some(Box::new(*segment));
        } else {
            self.answer_syn(now, segment, out);
        }
    }

    /// RFC 9293 section 3.10.7.3.
    fn while_syn_sent(&mut self, now: SimTime, segment: &Segment, out: &mut impl Output) {
        let flags = segment.flags;
        if flags.has(Flags::ACK) && !self.acknowledges_syn(segment) {
            //= rfc9293-3.5.2-unsent-acknowledged-in-handshake
            refuse(segment, out);
            let again_after = self.config.syn_again_after_reset;
            if self.handshake.retries == 0 && !again_after.is_zero() {
                self.sender.retransmit_syn_at(now + again_after);
            }
        } else if flags.has(Flags::RST) {
            //= rfc9293-3.10.7.3-reset-refuses
            if flags.has(Flags::ACK) {
                self.fail(now, ConnectionError::Refused);
            }
        } else if flags.has(Flags::SYN.with(Flags::ACK)) {
            self.set_feedback(ecn::agreed(self.config.ecn, flags));
            self.negotiate(segment);
            self.ecn.on_syn_ack(segment.ecn);
            self.sender.ecn_mut().on_handshake_echo(flags);
            self.note_accurate_option(segment);
            self.open(now, segment, out);
        //= rfc9293-3.5-simultaneous-open
        // Both ends open at once (RFC 9293 section 3.5, figure 7).
        } else if flags.has(Flags::SYN) {
            self.handshake.is_simultaneous = true;
            self.answer_syn(now, segment, out);
        }
        //= rfc9293-3.10.7.3-neither-syn-nor-reset
    }

    /// RFC 9293 section 3.10.7.4, second check, in SYN-RECEIVED; RFC 5961 section 3.2.
    fn reset_while_opening(&mut self, now: SimTime, segment: &Segment, out: &mut impl Output) {
        let Some(start) = self.receiver.offset_of(segment.seq) else { return };
        //= rfc9293-3.5-reset-returns-to-listen
        if start == self.receiver.rcv_nxt() {
            self.fail(now, ConnectionError::Reset);
        } else if start > self.receiver.rcv_nxt() && start <= self.receiver.window_end() {
            self.send_ack(now, out);
        }
    }

    /// RFC 9293 section 3.10.7.4 in SYN-RECEIVED, of a connection that was opened from outside.
    fn while_syn_received(&mut self, now: SimTime, segment: &Segment, out: &mut impl Output) {
        let (flags, start) = (segment.flags, self.receiver.offset_of(segment.seq));
        let is_syn_again = start == Some(0);
        if is_syn_again && flags.has(Flags::SYN) && !flags.has_any(Flags::ACK.with(Flags::FIN)) {
            self.send_syn(now, out); // our SYN-ACK was lost
        } else if flags.has(Flags::ACK) && !self.acknowledges_syn(segment) {
            //= rfc9293-3.5.2-unsent-acknowledged-in-handshake
            refuse(segment, out);
        } else if !start.is_some_and(|start| self.is_within_window(segment, start)) {
            self.send_ack(now, out);
        } else if flags.has(Flags::SYN) && !is_syn_again {
            refuse(segment, out);
            self.fail(now, ConnectionError::Reset);
        } else if flags.has(Flags::ACK) {
            self.open_with(now, segment, out);
        }
    }

    /// Handles a segment of a connection that both ends opened, which is synchronised but for the ACK of its SYN.
    fn while_both_open(&mut self, now: SimTime, segment: &Segment, out: &mut impl Output) {
        let (flags, start) = (segment.flags, self.receiver.offset_of(segment.seq));
        let end = start.map(|start| start + u64::from(segment.sequence_len()));
        let acknowledges = self.acknowledges_syn(segment);
        if !flags.has_any(Flags::SYN.with(Flags::ACK)) {
            return;
        }
        let is_acceptable = start.is_some_and(|start| start <= self.receiver.window_end())
            && end.is_some_and(|end| end >= self.receiver.rcv_nxt());
        //= rfc5961-4.2-syn-challenge
        let is_first_syn = (start, end) == (Some(0), Some(1));
        if !is_acceptable || (flags.has(Flags::SYN) && !(is_first_syn && acknowledges)) {
            self.send_ack(now, out);
        } else if acknowledges {
            self.open_with(now, segment, out);
        } else {
            //= rfc9293-3.5.2-unsent-acknowledged-in-handshake
            refuse(segment, out);
        }
    }

    /// RFC 9293 section 3.10.7.4, first check, where something is awaited and the window is open.
    fn is_within_window(&self, segment: &Segment, start: u64) -> bool {
        let (end, edge) = (start + u64::from(segment.sequence_len()), self.receiver.window_end());
        let is_empty_at = |number| start == end && start == number;
        is_empty_at(self.receiver.rcv_nxt()) || is_empty_at(edge) || (end > self.receiver.rcv_nxt() && start < edge)
    }

    /// The handshake is over with a segment that may carry data.
    fn open_with(&mut self, now: SimTime, segment: &Segment, out: &mut impl Output) {
        self.open(now, segment, out);
        self.on_segment(now, segment, out);
    }
}

//! The application's calls on its socket.

use ackclock_units::{Bytes, SimTime};
use ackclock_wire::Flags;

use super::{ConnectionPhase, Endpoint, Output, SocketOption, refuse};
use crate::write_queue::Write;

impl Endpoint {
    /// Waits for a connection that the application is to answer: see [`Self::has_waiting_syn`].
    pub fn listen_and_ask(&mut self) {
        self.phase = ConnectionPhase::DeferredAccept;
    }

    /// True if a SYN has arrived that waits for [`Self::accept`] or [`Self::refuse`].
    pub fn has_waiting_syn(&self) -> bool {
        self.handshake.deferred_syn.is_some()
    }

    /// Answers the SYN that waits; nothing without one.
    pub fn accept(&mut self, now: SimTime, out: &mut impl Output) {
        if let Some(syn) = self.handshake.deferred_syn.take() {
            self.phase = ConnectionPhase::Listen;
            self.on_segment_handshake(now, &syn, out);
        }
    }

    /// Refuses the SYN that waits, and those that come.
    pub fn refuse(&mut self, out: &mut impl Output) {
        self.phase = ConnectionPhase::Closed;
        if let Some(syn) = self.handshake.deferred_syn.take() {
            refuse(&syn, out);
        }
    }

    /// The application writes `octets` more; they leave as windows allow.
    pub fn write(&mut self, now: SimTime, octets: Bytes, out: &mut impl Output) {
        self.write_as(now, Write { octets, ..Write::default() }, out);
    }

    /// Writes like [`Self::write`], with the flags of `write`.
    pub fn write_as(&mut self, now: SimTime, write: Write, out: &mut impl Output) {
        self.sender.write(now, write);
        self.transmit(now, out);
        self.check();
    }

    /// The application found no room for what it has to write, and waits until [`Self::is_writable`].
    pub fn wait_for_room(&mut self, now: SimTime) {
        self.sender.wait_for_room(now);
    }

    /// The application reads up to `octets`, if it reads on call. Returns how many it got.
    pub fn read_now(&mut self, now: SimTime, octets: Bytes, out: &mut impl Output) -> Bytes {
        let (taken, opens) = self.receiver.read(now, octets.0);
        if opens {
            self.receiver.request_ack();
        }
        if self.receiver.needs_ack() {
            self.flush_ack(now, out);
        }
        self.check();
        Bytes(taken)
    }

    /// Limits the peer to `grant` octets beyond those that have arrived by now, whatever the receive buffer has room
    /// for, until the next grant; `None` lifts the bound. A window already advertised is not withdrawn.
    pub fn grant_window(&mut self, now: SimTime, grant: Option<Bytes>, out: &mut impl Output) {
        let opens = self.receiver.grant(grant.map_or(u64::MAX, |grant| grant.0));
        if opens && self.phase == ConnectionPhase::Open {
            self.receiver.request_ack();
            self.flush_ack(now, out);
        }
    }

    /// Signals congestion to the peer as if data had arrived with a mark (RFC 3168 section 6.1.3); does nothing without
    /// ECN.
    pub fn raise_ece(&mut self, now: SimTime, out: &mut impl Output) {
        if self.ecn.raise() && self.phase == ConnectionPhase::Open {
            self.receiver.request_ack();
            self.flush_ack(now, out);
        }
    }

    /// Lets the application read on call only from now on: see [`Self::read_now`].
    pub fn stop_reading(&mut self, now: SimTime) {
        self.receiver.stop_reading(now);
    }

    /// The application changes an option.
    pub fn set_option(&mut self, now: SimTime, option: &SocketOption, out: &mut impl Output) {
        match option {
            SocketOption::QuickAck(quick) => self.receiver.acks.set_quick(*quick),
            SocketOption::ReceiveBuffer(size) => {
                self.receiver.set_buffer(size.0);
            }
            SocketOption::Congestion(controller) if !self.has_controller() => self.controller = controller.clone(),
            SocketOption::MaxSegment(mss) => self.handshake.offered_mss = self.handshake.offered_mss.min(*mss),
            _ => self.sender.set_option(now, option),
        }
        self.transmit(now, out);
        if self.phase == ConnectionPhase::Open {
            self.flush_ack(now, out);
        }
        self.check();
    }

    /// The application is gone: it will neither write nor read. Unread data, or data that arrives later, draws a reset
    /// (RFC 9293 section 3.6.1, RFC 2525 section 2.17).
    pub fn close_both(&mut self, now: SimTime, out: &mut impl Output) {
        //= rfc9293-3.6.1-reset-of-unread-data
        if self.receiver.unread() > 0 {
            return self.abort(now, out);
        }
        self.refuses_data = true;
        if matches!(self.phase, ConnectionPhase::SynSent | ConnectionPhase::Listen | ConnectionPhase::DeferredAccept) {
            self.phase = ConnectionPhase::Closed;
        }
        if !self.sender.transmitter.queue.is_closed() {
            self.close(now, out);
        }
    }

    /// Aborts the connection. A peer that knows of it receives a RST.
    pub fn abort(&mut self, now: SimTime, out: &mut impl Output) {
        if matches!(self.phase, ConnectionPhase::Open | ConnectionPhase::SynReceived) {
            //= rfc9293-3.10.5-abort
            let segment = self.header(now, self.sender.flight().board.high_data(), Flags::RST.with(Flags::ACK));
            out.send(&segment);
        }
        self.sender.transmitter.times.end(now);
        self.phase = ConnectionPhase::Closed;
    }

    /// The application will write no more: FIN after the last octet.
    pub fn close(&mut self, now: SimTime, out: &mut impl Output) {
        self.sender.transmitter.queue.close();
        self.transmit(now, out);
        self.check();
    }
}

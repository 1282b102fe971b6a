//! One end of a connection: packets are put together and taken apart around a sending and a receiving half.
//!
//! Source: RFC 9000 sections 12, 13 and 19. Departures: the handshake is one round trip of two datagrams of 1200 octets, the
//! client's Initial and its answer, as far as RFC 9001's with one round trip goes, in the packet-number space of the data; an
//! answer of several datagrams, and the limit before the address is validated, are left out. A packet holds one STREAM frame: what is left
//! of a lost one's data, where a larger packet number or an ACK takes its room, leaves in a packet of its own, which others fill up.

mod accessors;
mod departure;
mod invariants;
#[cfg(test)]
mod tests;

use ackclock_cc::ControllerConfig;
use ackclock_events::{Event, EventKinds};
use ackclock_tcp::event_log::EventLog;
use ackclock_units::{Bytes, SimDuration, SimTime};
use ackclock_wire::Ecn;
use ackclock_wire::quic::{AckRange, QuicFrames, QuicPacket, expand};

use crate::acks::{AckFrame, AckPolicy, Acks};
use crate::config::QuicConfig;
use crate::receive_stream::ReceiveStream;
use crate::sender::{IncomingAck, Sender};

/// Destination of an endpoint's packets: a network, or a `Vec` in a test.
pub trait QuicOutput {
    /// Sends a packet now, with the ACK ranges behind its first.
    fn send(&mut self, packet: QuicPacket, further: &[AckRange]);

    /// Takes the events since the last call, if there are observers ([`QuicEndpoint::watch`]).
    fn tell(&mut self, events: &mut Vec<Event>) {
        events.clear();
    }
}

impl QuicOutput for Vec<(QuicPacket, Vec<AckRange>)> {
    fn send(&mut self, packet: QuicPacket, further: &[AckRange]) {
        self.push((packet, further.to_vec()));
    }
}

/// State of the handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Closed,
    Listen,
    Connecting,
    /// The server has answered, and has not received a packet of the client since.
    Answered,
    Open,
}

/// One end of a QUIC connection. Its owner hands it packets, calls and the time; packets to send go to a
/// [`QuicOutput`]. Between calls the owner wakes it at [`QuicEndpoint::deadline`].
#[derive(Clone, Debug)]
pub struct QuicEndpoint {
    phase: Phase,
    config: QuicConfig,
    controller: ControllerConfig,
    sender: Sender,
    acks: Acks,
    incoming: ReceiveStream,
    /// ACK frame of the packet that is being assembled.
    frame: AckFrame,
}

impl QuicEndpoint {
    /// Creates a closed endpoint.
    pub fn new(config: QuicConfig, controller: &ControllerConfig) -> Self {
        let policy = AckPolicy { every: u32::from(config.ack_every), max_delay: config.max_ack_delay, reordering: 1 };
        Self {
            phase: Phase::Closed,
            config,
            controller: controller.clone(),
            sender: Sender::new(config),
            acks: Acks::new(policy),
            incoming: ReceiveStream::new(config.receive_window.0),
            frame: AckFrame::default(),
        }
    }

    /// Hands events of the sending half to [`QuicOutput::tell`] from now on.
    pub fn watch(&mut self, kinds: EventKinds) {
        self.sender.events = Some(Box::new(EventLog::new(kinds, &self.sender.controller)));
    }

    /// Waits for a connection.
    pub fn listen(&mut self) {
        self.phase = Phase::Listen;
    }

    /// Opens the connection with the Initial.
    pub fn connect(&mut self, now: SimTime, out: &mut impl QuicOutput) {
        self.phase = Phase::Connecting;
        self.sender.control.crypto = true;
        self.transmit(now, out);
    }

    /// Writes `octets` more of the application, which leave as windows and pace allow.
    pub fn write(&mut self, now: SimTime, octets: Bytes, out: &mut impl QuicOutput) {
        self.sender.stream.write(octets.0);
        self.transmit(now, out);
    }

    /// Writes like [`Self::write`], and ends the stream with the last octet.
    pub fn write_last(&mut self, now: SimTime, octets: Bytes, out: &mut impl QuicOutput) {
        self.sender.stream.write(octets.0);
        self.close(now, out);
    }

    /// Ends the application's stream.
    pub fn close(&mut self, now: SimTime, out: &mut impl QuicOutput) {
        self.sender.stream.close();
        self.transmit(now, out);
    }

    /// Takes a packet, with the ACK ranges behind its first. The packets that it causes go to `out`.
    pub fn on_packet(&mut self, now: SimTime, packet: &QuicPacket, further: &[AckRange], out: &mut impl QuicOutput) {
        let number = expand(packet.number, self.acks.expected());
        let is_expected = match self.phase {
            Phase::Closed => false,
            Phase::Listen => packet.frames.has(QuicFrames::CRYPTO),
            Phase::Connecting | Phase::Answered | Phase::Open => !self.acks.has(number),
        };
        if !is_expected {
            return;
        }
        self.sender.begin_packet();
        if packet.frames.has(QuicFrames::ACK) {
            self.on_ack(now, packet, further);
        }
        self.take_frames(packet);
        let mark = match packet.ecn {
            Ecn::NotEct => None,
            Ecn::Ect0 => Some(0),
            Ecn::Ect1 => Some(1),
            Ecn::Ce => Some(2),
        };
        self.acks.on_packet(now, number, packet.frames.is_ack_eliciting(), mark);
        self.transmit(now, out);
    }

    fn on_ack(&mut self, now: SimTime, packet: &QuicPacket, further: &[AckRange]) {
        let ack = IncomingAck {
            first: packet.first_ack_range(self.sender.log.next()),
            further,
            delay: SimDuration::from_micros(packet.ack_delay.into()),
            ce_count: packet.frames.has(QuicFrames::ECN).then_some(packet.ce_count.into()),
        };
        if let Some(largest) = self.sender.on_ack(now, &ack) {
            self.acks.on_answered(largest);
        }
    }

    fn take_frames(&mut self, packet: &QuicPacket) {
        let frames = packet.frames;
        if frames.has(QuicFrames::CRYPTO) {
            self.on_crypto(packet);
        } else if self.phase == Phase::Answered {
            self.phase = Phase::Open;
        }
        if frames.has(QuicFrames::STREAM) {
            self.incoming.on_data(packet.offset, packet.payload.into(), frames.has(QuicFrames::FIN));
        }
        if frames.has(QuicFrames::MAX_DATA) {
            self.sender.peer.max_data = self.sender.peer.max_data.max(packet.max_data);
        }
        if frames.has(QuicFrames::ACK_FREQUENCY) {
            self.acks.set_policy(AckPolicy {
                every: u32::from(packet.ack_threshold) + 1,
                max_delay: SimDuration::from_micros(packet.max_ack_delay.into()),
                reordering: packet.reordering_threshold.into(),
            });
        }
    }

    /// Takes the peer's part of the handshake, with its transport parameters.
    fn on_crypto(&mut self, packet: &QuicPacket) {
        match self.phase {
            Phase::Listen => {
                self.phase = Phase::Answered;
                self.sender.control.crypto = true;
            }
            // The answer was lost, or is late.
            Phase::Answered => return self.sender.control.crypto = true,
            Phase::Connecting => self.phase = Phase::Open,
            Phase::Closed | Phase::Open => return,
        }
        let asked = self.config.ack_frequency.map(|asked| asked.max_ack_delay);
        let own = SimDuration::from_micros(packet.max_ack_delay.into());
        // A requested delay counts from the start: the frame leaves with the first data.
        self.sender.peer.max_ack_delay = asked.unwrap_or(own).max(own);
        self.sender.peer.max_data = self.sender.peer.max_data.max(packet.max_data);
        self.sender.open(&self.controller);
    }

    /// Handles the time [`Self::deadline`].
    pub fn on_timer(&mut self, now: SimTime, out: &mut impl QuicOutput) {
        self.sender.begin_packet();
        self.acks.on_timer(now);
        self.sender.on_timer(now);
        self.transmit(now, out);
        self.check_timers(now);
    }

    /// Time at which [`Self::on_timer`] is due; [`SimTime::NEVER`] if never.
    pub fn deadline(&self) -> SimTime {
        self.sender.deadline().min(self.acks.deadline())
    }
}

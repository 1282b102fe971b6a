//! Frames that leave, and their packets.

use ackclock_tcp::ranges::Range;
use ackclock_units::{SimDuration, SimTime};
use ackclock_wire::Ecn;
use ackclock_wire::quic::{QuicFrames, QuicPacket};

use super::{Phase, QuicEndpoint, QuicOutput};
use crate::frames::{ACK_DELAY_EXPONENT, ack_frequency_len, ack_len, max_data_len, packet_overhead, stream_header_len};
use crate::send_stream::Chunk;
use crate::sent_log::{Fate, SentPacket};

/// UDP payload of a client's Initial (RFC 9000 section 14.1) and of its answer.
const INITIAL_LEN: u32 = 1_200;

/// A packet under assembly.
#[derive(Clone, Copy, Debug, Default)]
struct Draft {
    packet: QuicPacket,
    /// Length so far, octets.
    len: u32,
    chunk: Option<Chunk>,
    acked_up_to: Option<u64>,
    /// Outstanding data, once more.
    repeats: bool,
}

impl QuicEndpoint {
    /// Sends the packets that may leave now.
    pub(super) fn transmit(&mut self, now: SimTime, out: &mut impl QuicOutput) {
        self.tell(out);
        if matches!(self.phase, Phase::Closed | Phase::Listen) {
            return;
        }
        while self.has_something_to_elicit() {
            let draft = self.draft(now, false);
            let is_probe = self.sender.probes > 0;
            if !is_probe && !self.sender.may_send(now, draft.len) {
                return self.flush_ack(now, out);
            }
            if is_probe {
                self.sender.on_probe_sent(draft.repeats);
            }
            self.send(now, draft, out);
        }
        self.sender.on_nothing_to_send();
        self.flush_ack(now, out);
    }

    fn has_something_to_elicit(&self) -> bool {
        let (sender, control) = (&self.sender, self.sender.control);
        if self.phase == Phase::Connecting {
            return control.crypto;
        }
        sender.probes > 0
            || control.crypto
            || control.ack_frequency
            || control.max_data
            || self.incoming.next_maximum().is_some()
            || sender.stream.has_more(sender.peer.max_data)
    }

    /// Sends the pending ACK, in a packet of its own.
    fn flush_ack(&mut self, now: SimTime, out: &mut impl QuicOutput) {
        if self.acks.is_due() {
            let draft = self.draft(now, true);
            self.send(now, draft, out);
        }
        self.tell(out);
    }

    fn draft(&mut self, now: SimTime, only_acknowledges: bool) -> Draft {
        let number = self.sender.log.next();
        let mut draft = Draft { len: packet_overhead(number, self.sender.log.largest_acked()), ..Draft::default() };
        draft.packet.number = number as u32;
        self.add_ack(now, &mut draft);
        if only_acknowledges {
            if self.acks.wants_answer() {
                draft.add(QuicFrames::PING, 1);
            }
        } else if self.sender.control.crypto {
            self.add_crypto(&mut draft);
        } else {
            self.add_control(&mut draft);
            self.add_stream(&mut draft);
            if !draft.packet.frames.is_ack_eliciting() {
                draft.add(QuicFrames::PING, 1);
            }
        }
        draft.packet.len = draft.len as u16;
        draft.packet.ecn = match (self.sender.sends_ect, self.config.ect1) {
            (false, _) => Ecn::NotEct,
            (true, false) => Ecn::Ect0,
            (true, true) => Ecn::Ect1,
        };
        draft
    }

    fn add_ack(&mut self, now: SimTime, draft: &mut Draft) {
        self.frame.ranges.clear();
        if !self.acks.is_pending() {
            return;
        }
        self.acks.write_frame(now, &mut self.frame);
        let Some(first) = self.frame.ranges.first() else { return };
        let counts = self.acks.ecn_counts();
        let frames = if counts.is_some() { QuicFrames::ACK.with(QuicFrames::ECN) } else { QuicFrames::ACK };
        draft.packet.largest_acked = first.largest as u32;
        draft.packet.first_range = (first.largest - first.smallest).min(u64::from(u32::MAX)) as u32;
        draft.packet.ack_delay = self.frame.delay_us >> ACK_DELAY_EXPONENT << ACK_DELAY_EXPONENT;
        draft.packet.ce_count = counts.map_or(0, |counts| counts[2] as u32);
        draft.acked_up_to = Some(first.largest);
        draft.add(frames, ack_len(&self.frame.ranges, self.frame.delay_us, counts));
    }

    /// The handshake's message, padded, with the transport parameters.
    fn add_crypto(&self, draft: &mut Draft) {
        draft.packet.max_data = self.config.receive_window.0;
        draft.packet.max_ack_delay = micros(self.config.max_ack_delay);
        draft.add(QuicFrames::CRYPTO, 0);
        draft.len = INITIAL_LEN;
    }

    fn add_control(&mut self, draft: &mut Draft) {
        let control = self.sender.control;
        if let Some(maximum) = self.incoming.next_maximum().or(control.max_data.then(|| self.incoming.advertised())) {
            draft.packet.max_data = maximum;
            draft.add(QuicFrames::MAX_DATA, max_data_len(maximum));
        }
        if let Some(asked) = self.config.ack_frequency.filter(|_| control.ack_frequency) {
            let (threshold, delay) = (asked.packets - 1, micros(asked.max_ack_delay));
            (draft.packet.ack_threshold, draft.packet.max_ack_delay) = (threshold, delay);
            draft.packet.reordering_threshold = asked.reordering;
            draft.add(QuicFrames::ACK_FREQUENCY, ack_frequency_len(threshold, delay, asked.reordering));
        }
    }

    fn add_stream(&mut self, draft: &mut Draft) {
        let (stream, full) = (&self.sender.stream, self.config.max_datagram_size);
        let len = draft.len;
        let room = |offset: u64| u64::from(full.saturating_sub(len + stream_header_len(offset)));
        let chunk = stream.next_chunk(self.sender.peer.max_data, room).or_else(|| {
            let outstanding = self.sender.outstanding_data().filter(|_| self.sender.probes > 0)?;
            draft.repeats = true;
            Some(stream.repeat(outstanding, room))
        });
        let Some(chunk) = chunk else { return };
        let Range { start, end } = chunk.range;
        (draft.packet.offset, draft.packet.payload) = (start, (end - start) as u16);
        let frames = if chunk.is_last { QuicFrames::STREAM.with(QuicFrames::FIN) } else { QuicFrames::STREAM };
        draft.add(frames, stream_header_len(start) + (end - start) as u32);
        draft.chunk = Some(chunk);
    }

    fn send(&mut self, now: SimTime, draft: Draft, out: &mut impl QuicOutput) {
        let frames = draft.packet.frames;
        let is_eliciting = frames.is_ack_eliciting();
        self.settle(&draft);
        if frames.has(QuicFrames::ACK) {
            self.acks.on_sent(is_eliciting);
        }
        let is_retransmission = draft.chunk.is_some_and(|chunk| chunk.is_retransmission);
        let packet = SentPacket {
            at: now,
            size: draft.len,
            position: 0,
            stream: draft.chunk.map(|chunk| chunk.range),
            frames,
            acked_up_to: draft.acked_up_to,
            fate: Fate::InFlight,
        };
        self.sender.on_sent(packet, is_retransmission);
        self.tell(out);
        out.send(draft.packet, self.frame.ranges.get(1..).unwrap_or_default());
    }

    /// Marks the frames of a packet as sent.
    fn settle(&mut self, draft: &Draft) {
        let frames = draft.packet.frames;
        if let Some(chunk) = &draft.chunk {
            self.sender.stream.on_sent(chunk);
        }
        if frames.has(QuicFrames::CRYPTO) {
            self.sender.control.crypto = false;
        }
        if frames.has(QuicFrames::ACK_FREQUENCY) {
            self.sender.control.ack_frequency = false;
        }
        if frames.has(QuicFrames::MAX_DATA) {
            self.sender.control.max_data = false;
            self.incoming.on_maximum_sent(draft.packet.max_data);
        }
    }

    fn tell(&mut self, out: &mut impl QuicOutput) {
        if let Some(events) = &mut self.sender.events
            && !events.is_empty()
        {
            out.tell(events.events());
        }
    }
}

impl Draft {
    fn add(&mut self, frames: QuicFrames, len: u32) {
        self.packet.frames = self.packet.frames.with(frames);
        self.len += len;
    }
}

fn micros(span: SimDuration) -> u32 {
    (span.0 / 1_000) as u32
}

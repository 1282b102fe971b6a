//! QUIC packets as values: numbers, lengths and which frames there are, without content and without octets.
//!
//! Source: RFC 9000 sections 17 and 19; `ACK_FREQUENCY` of draft-ietf-quic-ack-frequency. Departures: one number space, in which
//! the client's Initial and its answer come first; of the ACK ranges the first lies here, and those below it travel beside the
//! packet ([`AckRange`]), which stays as short as a segment of TCP.

use crate::{Ecn, IPV4_HEADER};

/// Octets of a UDP header (RFC 768).
const UDP_HEADER: u32 = 8;

/// Packets that have arrived: from `smallest` to `largest`, both included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AckRange {
    /// The least packet number.
    pub smallest: u64,
    /// The largest packet number.
    pub largest: u64,
}

/// Set of the frames in a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QuicFrames(pub u8);

impl QuicFrames {
    /// CRYPTO: a message of the handshake.
    pub const CRYPTO: Self = Self(0x01);
    /// Bit of the PING frame.
    pub const PING: Self = Self(0x02);
    /// Bit of the ACK frame.
    pub const ACK: Self = Self(0x04);
    /// The ACK counts ECN marks.
    pub const ECN: Self = Self(0x08);
    /// Bit of the STREAM frame.
    pub const STREAM: Self = Self(0x10);
    /// The STREAM frame is the last of its stream.
    pub const FIN: Self = Self(0x20);
    /// Bit of the `MAX_DATA` frame.
    pub const MAX_DATA: Self = Self(0x40);
    /// Bit of the `ACK_FREQUENCY` frame.
    pub const ACK_FREQUENCY: Self = Self(0x80);

    /// True if all frames of `other` are there.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// The frames of both together.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Frames other than ACK: the receiver has to acknowledge the packet (RFC 9000 section 13.2).
    pub const fn is_ack_eliciting(self) -> bool {
        self.0 & !Self::ACK.with(Self::ECN).0 != 0
    }
}

/// A QUIC packet, alone in its UDP datagram.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QuicPacket {
    /// Offset of the STREAM frame in its stream.
    pub offset: u64,
    /// `MAX_DATA`; with CRYPTO `initial_max_data`.
    pub max_data: u64,
    /// The 32 lowest bits of the packet number ([`expand`]).
    pub number: u32,
    /// The 32 lowest bits of the largest packet number that the ACK acknowledges.
    pub largest_acked: u32,
    /// Number of packets below it in the first ACK range.
    pub first_range: u32,
    /// ACK delay, in microseconds.
    pub ack_delay: u32,
    /// Packets that have arrived with a CE mark, as the ACK counts them.
    pub ce_count: u32,
    /// `max_ack_delay` in microseconds: with CRYPTO the host's own, with `ACK_FREQUENCY` what it asks for.
    pub max_ack_delay: u32,
    /// Octets of the STREAM frame's data.
    pub payload: u16,
    /// Octets of UDP payload.
    pub len: u16,
    /// `ACK_FREQUENCY`: ack-eliciting packets that need no ACK yet.
    pub ack_threshold: u8,
    /// `ACK_FREQUENCY`: how far apart packets may arrive out of order before an ACK is due.
    pub reordering_threshold: u8,
    /// Frames of the packet.
    pub frames: QuicFrames,
    /// ECN field of the IP packet that carries it.
    pub ecn: Ecn,
}

impl QuicPacket {
    /// Octets of the IPv4 packet.
    pub const fn ip_len(&self) -> u32 {
        IPV4_HEADER + UDP_HEADER + self.len as u32
    }

    /// The first range of the ACK; `next` is the number of the packet to come at the end that it acknowledges.
    pub const fn first_ack_range(&self, next: u64) -> AckRange {
        let largest = expand(self.largest_acked, next);
        AckRange { smallest: largest.saturating_sub(self.first_range as u64), largest }
    }
}

/// The packet number whose lowest 32 bits these are, nearest to `expected` (RFC 9000 appendix A.3).
pub const fn expand(truncated: u32, expected: u64) -> u64 {
    const WINDOW: u64 = 1 << 32;
    let candidate = (expected & !(WINDOW - 1)) | truncated as u64;
    if candidate + WINDOW / 2 <= expected {
        candidate + WINDOW
    } else if candidate > expected + WINDOW / 2 && candidate >= WINDOW {
        candidate - WINDOW
    } else {
        candidate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_acknowledges_elicits_no_acknowledgement() {
        let ack = QuicFrames::ACK.with(QuicFrames::ECN);
        assert!(!ack.is_ack_eliciting() && ack.has(QuicFrames::ACK));
        assert!(ack.with(QuicFrames::PING).is_ack_eliciting() && QuicFrames::MAX_DATA.is_ack_eliciting());
    }

    #[test]
    fn numbers_are_found_again_where_their_lowest_bits_wrap() {
        let wrap = 1_u64 << 32;
        assert_eq!(expand(5, 7), 5);
        assert_eq!(expand(1, wrap - 1), wrap + 1); // nearer to 2^32 - 1 than 1 is
        assert_eq!(expand(u32::MAX, wrap + 3), wrap - 1); // a late packet of before
        assert_eq!(expand(9, 5 * wrap + 12), 5 * wrap + 9);
    }

    #[test]
    fn a_full_packet_fills_1500_octets() {
        assert_eq!(QuicPacket { len: 1_472, ..QuicPacket::default() }.ip_len(), 1_500); // 20 + 8 + 1472
    }
}

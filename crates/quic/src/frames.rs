//! Sizes of packets and their frames in octets.
//!
//! Source: RFC 9000 sections 16 (integers), 17.1 and appendix A.2 (packet numbers), 17.3 (short header), 19 (frames);
//! RFC 9001 section 5.3 (16 octets of AEAD); draft-ietf-quic-ack-frequency section 4. Departures: none. Connection
//! identifiers have 8 octets, the stream is number 0, a packet has one STREAM frame, which is its last, so that it
//! carries no length, and a packet number has two octets at least, as in quic-go: with one, a retransmission a little
//! later would often be an octet too long.

use ackclock_wire::quic::AckRange;

/// First octet and destination connection identifier of the short header.
const SHORT_HEADER: u32 = 1 + 8;

/// The length of the AEAD tag (RFC 9001 section 5.3).
const AEAD_TAG: u32 = 16;

/// ACK delays are in units of 8 microseconds (RFC 9000 section 18.2, `ack_delay_exponent` 3).
pub const ACK_DELAY_EXPONENT: u32 = 3;

/// Octets of an integer (section 16).
pub fn varint_len(value: u64) -> u32 {
    match value {
        0..=0x3f => 1,
        0x40..=0x3fff => 2,
        0x4000..=0x3fff_ffff => 4,
        _ => 8,
    }
}

/// Octets of a packet number where this is the largest that the peer has acknowledged (appendix A.2).
pub fn number_len(number: u64, largest_acked: Option<u64>) -> u32 {
    let unacknowledged = largest_acked.map_or(number + 1, |largest| number - largest);
    // A number has to tell twice as many apart.
    let bits = u64::BITS - unacknowledged.leading_zeros() + 1;
    // log2(unacknowledged) + 1, rounded up: an exact power of two has one bit less than its binary digits and one.
    let bits = if unacknowledged.is_power_of_two() { bits - 1 } else { bits };
    bits.div_ceil(8).clamp(2, 4)
}

/// Octets of a packet with a short header, without its frames.
pub fn packet_overhead(number: u64, largest_acked: Option<u64>) -> u32 {
    SHORT_HEADER + number_len(number, largest_acked) + AEAD_TAG
}

/// Octets of an ACK frame (section 19.3), with the counts of ECN if they are given: ECT(0), ECT(1), CE. `ranges` come in falling
/// order.
pub fn ack_len(ranges: &[AckRange], delay_us: u32, ecn: Option<[u64; 3]>) -> u32 {
    let Some(first) = ranges.first() else { return 0 };
    let delay = u64::from(delay_us >> ACK_DELAY_EXPONENT);
    let mut len = 1 + varint_len(first.largest) + varint_len(delay) + varint_len(ranges.len() as u64 - 1);
    len += varint_len(first.largest - first.smallest);
    for pair in ranges.windows(2) {
        // Section 19.3.1: the gap is one less than the packets that are missing.
        len += varint_len(pair[0].smallest - pair[1].largest - 2);
        len += varint_len(pair[1].largest - pair[1].smallest);
    }
    len + ecn.map_or(0, |counts| counts.into_iter().map(varint_len).sum())
}

/// Octets of a STREAM frame before its data (section 19.8).
pub fn stream_header_len(offset: u64) -> u32 {
    2 + if offset > 0 { varint_len(offset) } else { 0 }
}

/// Octets of a `MAX_DATA` frame (section 19.9).
pub fn max_data_len(maximum: u64) -> u32 {
    1 + varint_len(maximum)
}

/// Octets of an `ACK_FREQUENCY` frame: its type has two octets, its sequence number, which is 0, one.
pub fn ack_frequency_len(threshold: u8, max_ack_delay_us: u32, reordering: u8) -> u32 {
    3 + varint_len(threshold.into()) + varint_len(max_ack_delay_us.into()) + varint_len(reordering.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_take_one_two_four_or_eight_octets() {
        // RFC 9000 appendix A.1: 37 in one octet, 15 293 in two, 494 878 333 in four, 151 288 809 941 952 652 in eight.
        assert_eq!([37, 15_293, 494_878_333, 151_288_809_941_952_652].map(varint_len), [1, 2, 4, 8]);
        assert_eq!([63, 64, 16_383, 16_384].map(varint_len), [1, 2, 2, 4]);
    }

    #[test]
    fn packet_numbers_are_as_long_as_those_of_appendix_a_2() {
        // "0xac5c02 ... has received an acknowledgment for packet 0xabe8b3: 29 519 outstanding, at least 16 bits;
        // 0xace8fe: 131 222, 24 bits".
        assert_eq!(number_len(0xac_5c02, Some(0xab_e8b3)), 2);
        assert_eq!(number_len(0xac_e8fe, Some(0xab_e8b3)), 3);
        assert_eq!([number_len(0x8000, Some(0)), number_len(0x8001, Some(0)), number_len(1, Some(0))], [2, 3, 2]);
    }

    #[test]
    fn an_ack_frame_has_a_gap_and_a_length_for_each_further_range() {
        let range = |smallest, largest| AckRange { smallest, largest };
        // Type, largest 100 (2 octets), delay 0, count, first range.
        assert_eq!(ack_len(&[range(90, 100)], 0, None), 6);
        // Gap 90 - 50 - 2 = 38 in one octet, length 100 in two; a delay of 8 ms is 1000 units.
        let two = [range(100, 190), range(0, 60)];
        assert_eq!(ack_len(&two, 8_000, None), 1 + 2 + 2 + 1 + 2 + 1 + 1);
        assert_eq!(ack_len(&[range(0, 9)], 0, Some([1_000, 0, 3])), 5 + 2 + 1 + 1);
    }

    #[test]
    fn the_smallest_headers_are_counted_octet_by_octet() {
        assert_eq!(packet_overhead(1, Some(0)), 1 + 8 + 2 + 16);
        assert_eq!([stream_header_len(0), stream_header_len(1), stream_header_len(20_000)], [2, 3, 6]);
        assert_eq!(max_data_len(15_000_000), 5);
        assert_eq!(ack_frequency_len(9, 25_000, 1), 3 + 1 + 4 + 1);
    }
}

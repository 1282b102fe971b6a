//! A TCP segment as a value: header fields, options and the length of the payload (the simulator carries no content).

use crate::accurate::AccurateEcn;
use crate::{Seq, option};

/// TCP header flags (RFC 9293 section 3.1, RFC 3168, RFC 9768).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(pub u16);

impl Flags {
    /// No more data from the sender.
    pub const FIN: Self = Self(0x01);
    /// The sequence numbers are synchronised: a connection opens.
    pub const SYN: Self = Self(0x02);
    /// The connection is reset.
    pub const RST: Self = Self(0x04);
    /// The application wants the data pushed through.
    pub const PSH: Self = Self(0x08);
    /// The acknowledgement field is valid.
    pub const ACK: Self = Self(0x10);
    /// ECN echo: the receiver has seen a mark.
    pub const ECE: Self = Self(0x40);
    /// The sender has reduced its congestion window.
    pub const CWR: Self = Self(0x80);
    /// Accurate ECN (RFC 9768), the bit that was NS.
    pub const AE: Self = Self(0x100);

    /// True if all flags of `other` are set.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// True if any flag of `other` is set.
    pub const fn has_any(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// The flags of both together.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// The ECN field of the IP header (RFC 3168 section 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Ecn {
    /// The transport is not ECN-capable.
    #[default]
    NotEct = 0,
    /// ECN-capable transport, ECT(1): the identifier of L4S (RFC 9331).
    Ect1 = 1,
    /// The transport is ECN-capable, ECT(0).
    Ect0 = 2,
    /// Congestion experienced: a queue has marked the packet.
    Ce = 3,
}

impl Ecn {
    /// The field in the two lowest bits of the octet that it shares with the traffic class.
    pub const fn of_bits(traffic_class: u8) -> Self {
        match traffic_class & 3 {
            0 => Self::NotEct,
            1 => Self::Ect1,
            2 => Self::Ect0,
            _ => Self::Ce,
        }
    }
}

/// Timestamps option (RFC 7323 section 3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timestamps {
    /// TSval: the sender's clock when the segment left.
    pub value: u32,
    /// The peer's clock, echoed.
    pub echo: u32,
}

/// One SACK block: `[start, end)` (RFC 2018).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlock {
    /// First sequence number of the block.
    pub start: Seq,
    /// The sequence number after its last.
    pub end: Seq,
}

/// Up to four SACK blocks, the most recent first; beside no more than three of them an option of accurate ECN may lie
/// ([`AccurateEcn`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlocks {
    blocks: [SackBlock; 4],
    /// Number of blocks, in its lowest bits; the rest belongs to the option beside them. As wide as the field beside
    /// it: a byte written alone makes the copy of the whole wait.
    len: u32,
}

/// Bits of `SackBlocks::len`: the count, then the accurate option with its order and fields, and its 24 bits of CE.
const COUNT: u32 = 0b111;

impl SackBlocks {
    /// The first `len` of `blocks`; at most all four.
    pub fn new(blocks: [SackBlock; 4], len: usize) -> Self {
        Self { blocks, len: len.min(4) as u32 }
    }

    /// Appends a block; beyond the fourth, or the third beside an option of accurate ECN, it is left out.
    pub fn push(&mut self, block: SackBlock) {
        let is_full = self.len & COUNT == 3 && self.len > COUNT;
        if let Some(slot) = self.blocks.get_mut((self.len & COUNT) as usize).filter(|_| !is_full) {
            *slot = block;
            self.len += 1;
        }
    }

    /// The blocks, in the option's order.
    pub fn as_slice(&self) -> &[SackBlock] {
        &self.blocks[..(self.len & COUNT) as usize]
    }

    /// True if there are no blocks.
    pub fn is_empty(&self) -> bool {
        self.len & COUNT == 0
    }

    /// True if there is neither a block nor an option of accurate ECN.
    pub(crate) fn takes_no_space(&self) -> bool {
        self.len == 0
    }

    pub(crate) fn accurate(&self) -> Option<AccurateEcn> {
        AccurateEcn::unpacked(self.len, self.blocks[3])
    }

    pub(crate) fn remove_accurate(&mut self) {
        if self.len > COUNT {
            self.len &= COUNT;
            self.blocks[3] = SackBlock::default();
        }
    }

    /// Leaves the option out beside four blocks, for which the header has no space either.
    pub(crate) fn set_accurate(&mut self, option: AccurateEcn) {
        let count = self.len & COUNT;
        if count < 4 {
            let (rest, last) = option.packed();
            (self.len, self.blocks[3]) = (count | rest, last);
        }
    }
}

/// Options that only a SYN carries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SynOptions {
    /// Largest segment that the sender of the option takes (RFC 9293 section 3.7.1); zero is absent.
    pub mss: u16,
    /// Shift of the windows to come (RFC 7323 section 2).
    pub window_scale: Option<u8>,
    /// SACK permitted (RFC 2018 section 2).
    pub sack_permitted: bool,
    /// The ACKs of the option's sender may be controlled (RFC 5690 section 4.1).
    pub ack_control_permitted: bool,
}

/// A TCP segment. Fields that are read together lie together, and none of octets before words: segments are copied whole
/// for every hop, and a copy that straddles words just written waits for them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Segment {
    /// Sequence number of the first octet (or of SYN or FIN).
    pub seq: Seq,
    /// Acknowledgement number: the next octet that is expected.
    pub ack: Seq,
    /// Length of the payload, in octets.
    pub payload: u32,
    /// The window field as it is on the wire, unscaled.
    pub window: u16,
    /// The flags of the header.
    pub flags: Flags,
    /// The timestamps option, if there is one (RFC 7323).
    pub timestamps: Option<Timestamps>,
    /// The blocks of the SACK option (RFC 2018).
    pub sack: SackBlocks,
    /// Options of a SYN.
    pub syn: SynOptions,
    /// ECN field of the IP packet that carries it.
    pub ecn: Ecn,
    /// ACK Ratio option of a data segment: number of segments to an ACK (RFC 5690 section 4.2); zero is absent.
    pub ack_ratio: u8,
}

/// Octets of an IPv4 header without options.
pub const IPV4_HEADER: u32 = 20;

/// Octets of a TCP header without options.
pub const TCP_HEADER: u32 = 20;

impl Segment {
    /// The SACK blocks that the options have space for: three beside timestamps, and none on a SYN, which comes before
    /// SACK has been agreed.
    pub fn carried_sack_blocks(&self) -> &[SackBlock] {
        let space = match (self.flags.has(Flags::SYN), self.timestamps) {
            (true, _) => 0,
            (false, Some(_)) => 3,
            (false, None) => 4,
        };
        let blocks = self.sack.as_slice();
        &blocks[..blocks.len().min(space)]
    }

    /// The option of accurate ECN, if there is one.
    pub fn accurate_ecn(&self) -> Option<AccurateEcn> {
        self.sack.accurate()
    }

    /// Adds the option of accurate ECN with as many of its fields as there is space for beside timestamps and SACK blocks; with
    /// none, as beside an ACK Ratio, it is left out.
    pub fn set_accurate_ecn(&mut self, option: AccurateEcn) {
        let space = (option::SPACE - self.options_len()).saturating_sub(2) / 3;
        if space > 0 && self.ack_ratio == 0 {
            self.sack.set_accurate(option.shortened(space as u8));
        }
    }

    /// Octets of the options, padded to a multiple of four as stacks lay them out (timestamps: 2 NOPs + 10; SACK:
    /// 2 NOPs + 2 + 8 a block; on a SYN each option in its own four-octet slot). Beside an ACK Ratio of 3 octets the
    /// options follow each other without NOPs, so that as many SACK blocks have space.
    #[inline]
    pub fn options_len(&self) -> u32 {
        let timestamps = if self.timestamps.is_some() { 12 } else { 0 };
        let has_others = self.flags.has(Flags::SYN) || self.ack_ratio > 0 || !self.sack.takes_no_space();
        if has_others { self.options_len_beside(timestamps) } else { timestamps }
    }

    /// Length with options beside the timestamps, or in their place.
    fn options_len_beside(&self, timestamps: u32) -> u32 {
        if self.ack_ratio > 0 && !self.flags.has(Flags::SYN) {
            return self.tight_options_len().next_multiple_of(4);
        }
        let mut len = timestamps + self.accurate_ecn().map_or(0, |option| option.padded_len());
        let sack_blocks = self.carried_sack_blocks().len() as u32;
        if sack_blocks > 0 {
            len += 4 + 8 * sack_blocks;
        }
        if self.flags.has(Flags::SYN) {
            len += if self.syn.mss > 0 { 4 } else { 0 };
            len += if self.syn.window_scale.is_some() { 4 } else { 0 };
            // SACK-permitted takes the place of the two NOPs before the timestamps, where there are any.
            len += if self.syn.sack_permitted && self.timestamps.is_none() { 4 } else { 0 };
            len += if self.syn.ack_control_permitted { 4 } else { 0 };
        }
        len
    }

    fn tight_options_len(&self) -> u32 {
        let sack_blocks = self.carried_sack_blocks().len() as u32;
        let timestamps = if self.timestamps.is_some() { 10 } else { 0 };
        3 + timestamps + if sack_blocks > 0 { 2 + 8 * sack_blocks } else { 0 }
    }

    /// Octets of the IPv4 packet.
    #[inline]
    pub fn ip_len(&self) -> u32 {
        IPV4_HEADER + TCP_HEADER + self.options_len() + self.payload
    }

    /// Sequence numbers that the segment takes: payload, SYN and FIN.
    pub fn sequence_len(&self) -> u32 {
        self.payload + u32::from(self.flags.has(Flags::SYN)) + u32::from(self.flags.has(Flags::FIN))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_those_seen_on_a_wire() {
        let ack = Segment { flags: Flags::ACK, timestamps: Some(Timestamps::default()), ..Segment::default() };
        assert_eq!(ack.ip_len(), 52); // 20 + 20 + 12
        assert_eq!(Segment { payload: 1448, ..ack }.ip_len(), 1500);
        let syn = SynOptions { mss: 1460, window_scale: Some(7), sack_permitted: true, ..SynOptions::default() };
        assert_eq!(Segment { flags: Flags::SYN, syn, ..ack }.ip_len(), 60); // what Linux sends
        let syn = SynOptions { ack_control_permitted: true, ..syn };
        assert_eq!(Segment { flags: Flags::SYN, syn, ..ack }.ip_len(), 64); // + 2 NOPs, kind, length
        assert_eq!(Segment { ack_ratio: 4, payload: 1448, ..ack }.ip_len(), 1504); // 10 + 3 + 3 of padding
        let mut sack = SackBlocks::default();
        sack.push(SackBlock::default());
        assert_eq!(Segment { sack, ..ack }.ip_len(), 64); // + 2 NOPs, kind, length, 8
    }

    //= rfc2018-4-as-many-as-fit
    #[test]
    fn options_never_take_more_than_their_40_octets() {
        let mut sack = SackBlocks::default();
        (0..4).for_each(|_| sack.push(SackBlock::default()));
        let full = Segment { sack, ack_ratio: 2, ..Segment::default() };
        assert_eq!(full.options_len(), 40); // 3 + 2 + 4 * 8 = 37, padded
        let timestamps = Some(Timestamps::default());
        assert_eq!(Segment { timestamps, ..full }.options_len(), 40); // 10 + 3 + 2 + 3 * 8 = 39, padded
    }
}

//! The option of accurate ECN: octets of payload that have arrived, by the mark of their packets (RFC 9768 section 3.2.3).
//!
//! Kinds 172 (order 0: ECT(0), CE, ECT(1)) and 174 (order 1: ECT(1), CE, ECT(0)); each counter has its 24 lowest bits in a
//! field, and fields may be left out from the end.
//!
//! Departures: an option of one field is read, and sent where there is no space for two.

use crate::Seq;
use crate::segment::SackBlock;

pub(crate) const ORDER_0: u8 = 172;
pub(crate) const ORDER_1: u8 = 174;

/// Mask of the option's 24-bit counter fields.
const FIELD: u32 = 0xff_ffff;

/// Accurate ECN option (RFC 9768 section 3.2.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AccurateEcn {
    /// Order 1: the octets of ECT(1) come first, those of ECT(0) last.
    pub ect1_first: bool,
    /// Number of fields, three at most; counters whose field is left out are absent.
    pub fields: u8,
    /// Octets in packets marked ECT(0), modulo 2^24.
    pub ect0: u32,
    /// Octets in packets marked CE, modulo 2^24.
    pub ce: u32,
    /// Octets in packets marked ECT(1), modulo 2^24.
    pub ect1: u32,
}

impl AccurateEcn {
    /// An option with all three fields.
    pub fn full(ect1_first: bool, [ect0, ce, ect1]: [u32; 3]) -> Self {
        Self { ect1_first, fields: 3, ect0: ect0 & FIELD, ce: ce & FIELD, ect1: ect1 & FIELD }
    }

    /// The counter of ECT(0), if its field is there.
    pub fn ect0(&self) -> Option<u32> {
        let place = if self.ect1_first { 2 } else { 0 };
        (self.fields > place).then_some(self.ect0)
    }

    /// The counter of CE, if its field is there.
    pub fn ce(&self) -> Option<u32> {
        (self.fields > 1).then_some(self.ce)
    }

    /// The counter of ECT(1), if its field is there.
    pub fn ect1(&self) -> Option<u32> {
        let place = if self.ect1_first { 0 } else { 2 };
        (self.fields > place).then_some(self.ect1)
    }

    /// The option with at most this many fields; the counters of others are zero.
    pub(crate) fn shortened(self, fields: u8) -> Self {
        let fields = self.fields.min(fields);
        let (ect0, ce, ect1) = (self.ect0, self.ce, self.ect1);
        let [first, last] = if self.ect1_first { [ect1, ect0] } else { [ect0, ect1] };
        let kept = |place: u8, count: u32| if fields > place { count } else { 0 };
        let (first, ce, last) = (kept(0, first), kept(1, ce), kept(2, last));
        let (ect0, ect1) = if self.ect1_first { (last, first) } else { (first, last) };
        Self { ect1_first: self.ect1_first, fields, ect0, ce, ect1 }
    }

    fn in_order(&self) -> [u32; 3] {
        if self.ect1_first { [self.ect1, self.ce, self.ect0] } else { [self.ect0, self.ce, self.ect1] }
    }

    /// Octets of the option with the NOPs after it.
    pub(crate) fn padded_len(&self) -> u32 {
        (2 + 3 * u32::from(self.fields)).next_multiple_of(4)
    }

    pub(crate) fn emit(&self, out: &mut Vec<u8>) {
        out.extend([if self.ect1_first { ORDER_1 } else { ORDER_0 }, 2 + 3 * self.fields]);
        for field in &self.in_order()[..usize::from(self.fields)] {
            out.extend(&field.to_be_bytes()[1..]);
        }
    }

    /// The option with these octets after its length; `None` if that length is not possible. Of a longer one than all
    /// fields take, the known fields are read.
    pub(crate) fn parse(kind: u8, value: &[u8]) -> Option<Self> {
        let mut fields = [0; 3];
        for (field, octets) in fields.iter_mut().zip(value.chunks_exact(3)) {
            *field = u32::from_be_bytes([0, octets[0], octets[1], octets[2]]);
        }
        let ect1_first = kind == ORDER_1;
        let [first, ce, last] = fields;
        let (ect0, ect1) = if ect1_first { (last, first) } else { (first, last) };
        value.len().is_multiple_of(3).then_some(Self {
            ect1_first,
            fields: (value.len() / 3).min(3) as u8,
            ect0,
            ce,
            ect1,
        })
    }

    /// The option in the form in which it lies beside up to three SACK blocks: in their count's word and in the place
    /// of a fourth.
    pub(crate) fn packed(self) -> (u32, SackBlock) {
        let word = 0b1000 | u32::from(self.ect1_first) << 4 | u32::from(self.fields) << 5 | self.ce << 8;
        (word, SackBlock { start: Seq(self.ect0), end: Seq(self.ect1) })
    }

    pub(crate) fn unpacked(word: u32, last: SackBlock) -> Option<Self> {
        (word & 0b1000 != 0).then_some(Self {
            ect1_first: word & 0b1_0000 != 0,
            fields: (word >> 5 & 3) as u8,
            ect0: last.start.0,
            ce: word >> 8,
            ect1: last.end.0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::{Flags, SackBlocks, Segment, Timestamps};

    fn option() -> AccurateEcn {
        AccurateEcn::full(false, [1, 0x0203_0405, 0xff_fffe])
    }

    /// RFC 9768 figures 3 and 4, with the counters of [`option`]: 0x030405 is what 24 bits keep of the second.
    #[test]
    fn fields_come_in_the_order_of_the_kind() {
        let octets = |option: AccurateEcn| {
            let mut out = Vec::new();
            option.emit(&mut out);
            out
        };
        assert_eq!(octets(option()), [172, 11, 0, 0, 1, 3, 4, 5, 255, 255, 254]);
        let reversed = AccurateEcn { ect1_first: true, ..option() };
        assert_eq!(octets(reversed), [174, 11, 255, 255, 254, 3, 4, 5, 0, 0, 1]);
        assert_eq!(octets(AccurateEcn { fields: 2, ..reversed }), [174, 8, 255, 255, 254, 3, 4, 5]);
        assert_eq!(AccurateEcn::parse(174, &octets(reversed)[2..]), Some(reversed));
        assert_eq!(AccurateEcn::parse(172, &[0, 0, 1, 9]), None);
        assert_eq!(AccurateEcn::parse(174, &octets(reversed)[2..8]), Some(reversed.shortened(2)));
        let short = AccurateEcn::parse(174, &[0, 0, 7]).expect("one field");
        assert_eq!((short.ect1(), short.ce(), short.ect0()), (Some(7), None, None));
    }

    /// 40 octets of options: 12 of timestamps; 4 and 8 a block; 11 and a NOP, or 8, of the option.
    #[test]
    fn sack_blocks_leave_the_option_what_they_do_not_need() {
        let fields = |timestamps, blocks| {
            let mut segment = Segment { flags: Flags::ACK, timestamps, ..Segment::default() };
            for start in 0..blocks {
                segment.sack.push(SackBlock { start: Seq(start), end: Seq(start + 1) });
            }
            segment.set_accurate_ecn(option());
            assert!(segment.options_len() <= 40 && segment.sack.as_slice().len() == blocks as usize);
            segment.accurate_ecn().map(|option| option.fields)
        };
        let timestamps = Some(Timestamps::default());
        assert_eq!([0, 1, 2, 3].map(|blocks| fields(timestamps, blocks)), [Some(3), Some(3), Some(2), None]);
        assert_eq!([3, 4].map(|blocks| fields(None, blocks)), [Some(3), None]);
    }

    #[test]
    fn what_lies_beside_blocks_comes_back_as_it_was() {
        let mut blocks = SackBlocks::default();
        assert!(blocks.accurate().is_none());
        blocks.push(SackBlock { start: Seq(5), end: Seq(9) });
        blocks.set_accurate(option());
        assert_eq!((blocks.accurate(), blocks.as_slice().len()), (Some(option()), 1));
        let mut without = blocks;
        without.remove_accurate();
        let mut alone = SackBlocks::default();
        alone.push(SackBlock { start: Seq(5), end: Seq(9) });
        assert_eq!(without, alone, "nothing is left of it");
        (0..4).for_each(|_| blocks.push(SackBlock::default()));
        assert_eq!((blocks.accurate(), blocks.as_slice().len()), (Some(option()), 3));
    }
}

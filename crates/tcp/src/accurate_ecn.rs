//! The option of accurate ECN: what either half counts, and whether it may be used (RFC 9768 sections 3.2.1 and 3.2.3).
//!
//! Sources: RFC 9768; that nothing is sent before the peer's option has been seen, but on a SYN-ACK, is Linux's behaviour.
//!
//! Departures: the option comes with every segment that is not made longer than a full one by it, and never beside SACK blocks that
//! need its space; section 3.2.3.3 asks for it at changes, with some repetition. Where an ACK comes without it, marks are
//! counted by the ACE field alone.

use ackclock_wire::{AccurateEcn, Ecn};

/// Octets by mark: ECT(0), CE, ECT(1). Counters begin at 1 but for that of CE (section 3.2.1).
//= rfc9768-3.2.1-byte-counters
const FIRST: [u32; 3] = [1, 0, 1];

/// Mask of the option's 24-bit counter fields.
const FIELD: u32 = 0xff_ffff;

/// The place of a mark among the counters.
fn place(ecn: Ecn) -> Option<usize> {
    match ecn {
        Ecn::NotEct => None,
        Ecn::Ect0 => Some(0),
        Ecn::Ce => Some(1),
        Ecn::Ect1 => Some(2),
    }
}

/// Octets since a counter began, by mark: ECT(0), CE, ECT(1).
pub type OctetsByMark = [u64; 3];

/// The receiving half's counts of the peer's data, by mark.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OctetsReceived {
    octets: OctetsByMark,
    /// Mark of the last packet with payload.
    last: Option<Ecn>,
    /// Packets of ECT(1) were the last that were not marked: their counter comes first.
    ect1_first: bool,
    /// The peer's option has been seen, or this end begins.
    may_send: bool,
}

impl OctetsReceived {
    pub(crate) fn new() -> Self {
        Self { octets: [0; 3], last: None, ect1_first: false, may_send: false }
    }

    /// Takes in a packet. Returns true if its mark counts in another field than the one before, so that the peer must
    /// be informed at once.
    pub(crate) fn on_packet(&mut self, ecn: Ecn, payload: u32) -> bool {
        let Some(place) = place(ecn).filter(|_| payload > 0) else { return false };
        self.octets[place] += u64::from(payload);
        if ecn != Ecn::Ce {
            self.ect1_first = ecn == Ecn::Ect1;
        }
        //= rfc9768-3.2.3.3-change-triggered
        self.last.replace(ecn).is_some_and(|last| last != ecn)
    }

    pub(crate) fn allow(&mut self) {
        self.may_send = true;
    }

    /// The option that goes with a segment, if one may.
    pub(crate) fn option(&self) -> Option<AccurateEcn> {
        self.may_send.then(|| self.counters())
    }

    //= rfc9768-3.2.3-option
    pub(crate) fn counters(&self) -> AccurateEcn {
        let field = |place: usize| FIRST[place].wrapping_add(self.octets[place] as u32);
        AccurateEcn::full(self.ect1_first, [field(0), field(1), field(2)])
    }

    pub(crate) fn octets(&self) -> OctetsByMark {
        self.octets
    }
}

/// The sending half's counts of its own delivered data, by mark.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OctetsDelivered {
    octets: OctetsByMark,
    trust: Trust,
    /// Segments that were counted as marked by the ACE field alone, since the last option.
    counted_without: u64,
    /// Option of the segment that is being processed.
    option: Option<AccurateEcn>,
}

/// Whether the peer's option says what it means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Trust {
    /// None has been seen.
    #[default]
    Unseen,
    Given,
    /// The first had counters of zero, with which none begins: something on the way clears them.
    Refused,
}

impl OctetsDelivered {
    /// A segment came, with this option or without one.
    pub(crate) fn on_segment(&mut self, option: Option<AccurateEcn>) {
        self.option = option;
    }

    /// True if the segment's option, if any, reports no further octets marked CE.
    pub(crate) fn is_silent(&self) -> bool {
        let known = FIRST[1].wrapping_add(self.octets[1] as u32) & FIELD;
        self.option.and_then(|option| option.ce()).is_none_or(|ce| ce == known)
    }

    /// Number of octets newly marked CE, from the segment's option; `None` if the option does not say.
    pub(crate) fn take_told(&mut self) -> Option<u64> {
        let option = self.option.take()?;
        self.on_option(&option)
    }

    fn on_option(&mut self, option: &AccurateEcn) -> Option<u64> {
        if self.trust == Trust::Unseen && option.fields > 0 {
            //= rfc9768-3.2.3.2.4-zeroed-option
            let is_cleared = option.ect0() == Some(0) || option.ect1() == Some(0);
            self.trust = if is_cleared { Trust::Refused } else { Trust::Given };
        }
        if self.trust != Trust::Given {
            return None;
        }
        self.advance(0, option.ect0());
        self.advance(2, option.ect1());
        self.advance(1, option.ce())
    }

    /// Growth of a counter; one that is behind comes from an ACK that was overtaken.
    fn advance(&mut self, place: usize, field: Option<u32>) -> Option<u64> {
        let known = FIRST[place].wrapping_add(self.octets[place] as u32);
        let delta = field?.wrapping_sub(known) & FIELD;
        let delta = if delta > FIELD / 2 { 0 } else { u64::from(delta) };
        self.octets[place] += delta;
        Some(delta)
    }

    /// Number of newly marked packets: from the octets where an option counted them, else from the ACE field, whose
    /// difference is known modulo 8 (`ace`). Returns them with how far the packet counter goes on; packets without
    /// payload count there only.
    pub(crate) fn marked(&mut self, octets: Option<u64>, ace: u64, segments: u64, mss: u64) -> (u64, u64) {
        let Some(octets) = octets else {
            let marked = ace.min(segments.max(u64::from(ace > 0)));
            self.counted_without += marked;
            return (marked, ace);
        };
        let told = octets.div_ceil(mss);
        let marked = told.saturating_sub(std::mem::take(&mut self.counted_without));
        // The least count that leaves this remainder and is no less than the octets ask for.
        //= rfc9768-3.2.2.5.2-wraps
        let packets = ace + 8 * marked.saturating_sub(ace).div_ceil(8);
        (marked, packets)
    }

    pub(crate) fn octets(&self) -> OctetsByMark {
        self.octets
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    //= rfc9768-3.2.1-byte-counters
    //= rfc9768-3.2.3-option
    //= rfc9768-3.2.3.3-change-triggered
    #[test]
    fn octets_count_by_the_mark_of_their_packet_and_changes_are_told_at_once() {
        let mut received = OctetsReceived::new();
        assert!(received.option().is_none());
        received.allow();
        assert_eq!(received.option(), Some(AccurateEcn::full(false, [1, 0, 1])));
        let told =
            [(Ecn::Ect0, 1_000), (Ecn::Ect0, 500), (Ecn::Ce, 1_000), (Ecn::Ce, 1_000), (Ecn::Ect0, 0), (Ecn::Ect0, 1)]
                .map(|(ecn, payload)| received.on_packet(ecn, payload));
        assert_eq!(told, [false, false, true, false, false, true]);
        assert_eq!(received.option(), Some(AccurateEcn::full(false, [1_502, 2_000, 1])));
        received.on_packet(Ecn::Ect1, 7);
        assert_eq!(received.option(), Some(AccurateEcn::full(true, [1_502, 2_000, 8])));
    }

    #[test]
    fn counters_wrap_at_24_bits_and_none_goes_back() {
        let mut delivered = OctetsDelivered::default();
        let ce = |count: u32| AccurateEcn::full(false, [1, count, 1]);
        assert_eq!(delivered.on_option(&ce(0x70_0000)), Some(0x70_0000));
        assert_eq!(delivered.on_option(&ce(0xe0_0000)), Some(0x70_0000));
        assert_eq!(delivered.on_option(&ce(0x10_0000)), Some(0x30_0000)); // 0x110_0000
        assert_eq!(delivered.on_option(&ce(0x0f_ffff)), Some(0)); // of an ACK that was overtaken
        assert_eq!(delivered.octets(), [0, 0x110_0000, 0]);
    }

    //= rfc9768-3.2.3.2.4-zeroed-option
    #[test]
    fn an_option_that_begins_with_zero_is_not_believed() {
        let mut delivered = OctetsDelivered::default();
        assert_eq!(delivered.on_option(&AccurateEcn::full(false, [0, 0, 0])), None);
        assert_eq!(delivered.on_option(&AccurateEcn::full(false, [1, 5_000, 1])), None);
    }

    /// Twelve segments of 1000 octets were marked: the field, of three bits, says four.
    //= rfc9768-3.2.2.5.2-wraps
    #[test]
    fn octets_tell_how_often_the_field_has_wrapped() {
        let mut delivered = OctetsDelivered::default();
        assert_eq!(delivered.marked(Some(12_000), 4, 12, 1_000), (12, 12));
        assert_eq!(delivered.marked(None, 4, 12, 1_000), (4, 4));
        // What was counted without the option is not counted with the next again.
        assert_eq!(delivered.marked(Some(6_000), 2, 2, 1_000), (2, 2));
        // A marked packet without payload.
        assert_eq!(delivered.marked(Some(0), 1, 1, 1_000), (0, 1));
    }
}

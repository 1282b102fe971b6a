//! CAKE's ACK filter: on a narrow return path, pure ACKs that a later one makes superfluous need not be sent (Høiland-
//! Jørgensen, Täht and Morton 2018).
//!
//! An ACK is superfluous if it carries no data, if a later packet of its flow acknowledges more, or the same and more by
//! SACK, and if nothing else is lost with it: no flag but ACK and those of ECN, no SACK block that the later one does not
//! cover, no later timestamp.

use ackclock_declare::words;
use ackclock_wire::{Flags, SackBlock, Segment, Seq};

use crate::packet::Packet;
use crate::queue::Queued;

words! {
    /// The eagerness to drop ACKs.
    #[derive(Default)]
    pub enum AckFilter {
        /// No ACK is dropped.
        #[default]
        "off" = Off,
        /// The oldest superfluous ACK is dropped if there is a second one: at least one superfluous ACK stays.
        "conservative" = Conservative,
        /// A single superfluous ACK is also dropped, if the later packet follows it directly and carries the same ECN
        /// flags.
        "aggressive" = Aggressive,
    }
}

/// The flags that signal congestion.
const ECN_FLAGS: u16 = Flags::ECE.0 | Flags::CWR.0 | Flags::AE.0;

/// The position, among the packets `waiting` before it, of the ACK that this arrival allows to drop.
pub(super) fn superfluous<'a>(
    filter: AckFilter,
    arrival: &Packet,
    waiting: impl Iterator<Item = &'a Queued>,
) -> Option<usize> {
    let flags = arrival.segment()?.flags;
    if filter == AckFilter::Off || !flags.has(Flags::ACK) || flags.has(Flags::SYN) {
        return None;
    }
    let mut first = None;
    let mut packets = 0;
    for (position, earlier) in waiting.enumerate() {
        packets = position + 1;
        if let Some(earlier) = superfluous_ack(&earlier.packet, arrival) {
            if let Some((first, _)) = first {
                return Some(first);
            }
            first = Some((position, earlier.flags.0 & ECN_FLAGS));
        }
    }
    let (position, earlier) = first?;
    let alike = position + 1 == packets && earlier == flags.0 & ECN_FLAGS;
    (filter == AckFilter::Aggressive && alike).then_some(position)
}

/// The ACK that the earlier packet carries, if the later one makes it superfluous.
fn superfluous_ack<'a>(earlier: &'a Packet, later: &Packet) -> Option<&'a Segment> {
    let (old, new) = (earlier.segment()?, later.segment()?);
    let is_superfluous = earlier.to == later.to
        && old.payload == 0
        && old.flags.0 & !ECN_FLAGS == Flags::ACK.0
        && is_not_newer(old, new)
        && acknowledges_more(old, new);
    is_superfluous.then_some(old)
}

fn is_not_newer(old: &Segment, new: &Segment) -> bool {
    match (old.timestamps, new.timestamps) {
        (Some(old), Some(new)) => is_at_or_before(old.value, new.value) && is_at_or_before(old.echo, new.echo),
        (old, new) => old.is_none() && new.is_none(),
    }
}

fn acknowledges_more(old: &Segment, new: &Segment) -> bool {
    let covered = |block: &SackBlock| {
        is_at_or_before(block.end.0, new.ack.0) || new.carried_sack_blocks().iter().any(|by| contains(*by, *block))
    };
    if !is_at_or_before(old.ack.0, new.ack.0) || !old.carried_sack_blocks().iter().all(covered) {
        return false;
    }
    let same_blocks = |block: &SackBlock| old.carried_sack_blocks().contains(block);
    old.ack != new.ack || !new.carried_sack_blocks().iter().all(same_blocks)
}

fn contains(outer: SackBlock, inner: SackBlock) -> bool {
    let from = |seq: Seq| seq.0.wrapping_sub(outer.start.0);
    from(inner.start) <= from(inner.end) && from(inner.end) <= from(outer.end)
}

/// True if `earlier` is at or before `later`, modulo 2^32.
fn is_at_or_before(earlier: u32, later: u32) -> bool {
    later.wrapping_sub(earlier) as i32 >= 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::EndpointId;
    use crate::packet::Datagram;
    use ackclock_units::SimTime;
    use ackclock_wire::{Ecn, SackBlocks, Timestamps};

    fn packet(segment: Segment) -> Packet {
        Packet::tcp(segment, EndpointId::of_number(0))
    }

    fn segment(number: u32) -> Segment {
        Segment { ack: Seq(number), flags: Flags::ACK, ..Segment::default() }
    }

    fn ack(number: u32) -> Packet {
        packet(segment(number))
    }

    fn with_sack(number: u32, start: u32, end: u32) -> Packet {
        let mut sack = SackBlocks::default();
        sack.push(SackBlock { start: Seq(start), end: Seq(end) });
        packet(Segment { sack, ..segment(number) })
    }

    /// Lets packets arrive one after another, with the filter; returns those that stay.
    fn stay(filter: AckFilter, packets: &[Packet]) -> Vec<u32> {
        let mut queue: Vec<Queued> = Vec::new();
        for packet in packets {
            if let Some(position) = superfluous(filter, packet, queue.iter()) {
                queue.remove(position);
            }
            queue.push(Queued { packet: *packet, octets: 40, since: SimTime::ZERO });
        }
        queue.iter().filter_map(|queued| Some(queued.packet.segment()?.ack.0)).collect()
    }

    #[test]
    fn of_a_row_of_acks_the_last_or_the_last_two_stay() {
        let row: Vec<Packet> = (1..=100).map(|number| ack(number * 1448)).collect();
        assert_eq!(stay(AckFilter::Off, &row).len(), 100);
        assert_eq!(stay(AckFilter::Conservative, &row), [99 * 1448, 100 * 1448]);
        assert_eq!(stay(AckFilter::Aggressive, &row), [100 * 1448]);
    }

    #[test]
    fn duplicate_acks_stay() {
        assert_eq!(stay(AckFilter::Aggressive, &[ack(1448); 5]), [1448; 5]);
    }

    #[test]
    fn sack_advances_replace_each_other_and_lost_blocks_do_not() {
        let growing = [with_sack(10, 20, 30), with_sack(10, 20, 40), with_sack(10, 20, 50)];
        assert_eq!(stay(AckFilter::Aggressive, &growing).len(), 1);
        let apart = [with_sack(10, 20, 30), with_sack(10, 40, 50)];
        assert_eq!(stay(AckFilter::Aggressive, &apart).len(), 2);
        let passed = [with_sack(10, 20, 30), ack(30)];
        assert_eq!(stay(AckFilter::Aggressive, &passed), [30]);
    }

    #[test]
    fn what_carries_more_than_an_acknowledgement_stays() {
        let stamped = |clock| Some(Timestamps { value: clock, echo: clock });
        let data = packet(Segment { payload: 1, ..segment(10) });
        let fin = packet(Segment { flags: Flags::ACK.with(Flags::FIN), ..segment(11) });
        let other = Packet { to: EndpointId::of_number(2), ..ack(12) };
        let newer = packet(Segment { timestamps: stamped(5), ..segment(13) });
        let older = packet(Segment { timestamps: stamped(4), ..segment(100) });
        for (special, last) in [(data, ack(100)), (fin, ack(100)), (other, ack(100)), (newer, older)] {
            assert_eq!(stay(AckFilter::Aggressive, &[special, last]).len(), 2);
        }
    }

    #[test]
    fn an_echo_of_congestion_is_only_dropped_where_it_is_repeated() {
        let echo = packet(Segment { flags: Flags::ACK.with(Flags::ECE), ..segment(10) });
        assert_eq!(stay(AckFilter::Aggressive, &[echo, ack(20)]), [10, 20]);
    }

    #[test]
    fn datagrams_acknowledge_nothing() {
        let datagram = Datagram { number: 0, sent: SimTime::ZERO, payload: 0, ecn: Ecn::NotEct };
        let datagram = Packet::udp(datagram, EndpointId::of_number(0));
        assert_eq!(superfluous(AckFilter::Aggressive, &datagram, std::iter::empty()), None);
        let waiting = Queued { packet: datagram, octets: 28, since: SimTime::ZERO };
        assert_eq!(superfluous(AckFilter::Aggressive, &ack(1), std::iter::once(&waiting)), None);
    }

    #[test]
    fn acknowledgement_numbers_wrap() {
        assert_eq!(stay(AckFilter::Aggressive, &[ack(u32::MAX - 5), ack(5)]), [5]);
    }
}

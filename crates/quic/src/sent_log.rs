//! The sent packets, by number, until their fate is known.
//!
//! Source: RFC 9002 section 2 and appendix A.1. Departures: none. A number is used once; frames are retransmitted, in
//! packets of other numbers. Lost packets stay for a while, so that an ACK that comes late finds them.

use std::collections::VecDeque;

use ackclock_tcp::ranges::{Range, RangeSet};
use ackclock_units::{SimDuration, SimTime};
use ackclock_wire::quic::{AckRange, QuicFrames};

/// Fate of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// A packet with only ACKs, which nobody acknowledges.
    Unanswered,
    /// The fate is not known yet.
    InFlight,
    /// The packet has arrived.
    Delivered,
    /// The packet is marked lost.
    Lost,
}

/// Record of a packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SentPacket {
    /// The time of departure.
    pub at: SimTime,
    /// Octets that count as in flight: UDP payload.
    pub size: u32,
    /// Position in the order of all octets that were in flight.
    pub position: u64,
    /// Data of the stream in it.
    pub stream: Option<Range>,
    /// Frames of the packet.
    pub frames: QuicFrames,
    /// The largest number in its ACK frame.
    pub acked_up_to: Option<u64>,
    /// Fate of the packet.
    pub fate: Fate,
}

impl SentPacket {
    /// The packet's place in the order of octets.
    pub fn span(&self) -> Range {
        Range { start: self.position, end: self.position + u64::from(self.size) }
    }
}

/// Log of sent packets.
#[derive(Clone, Debug, Default)]
pub struct SentLog {
    /// Number of the first packet in the log.
    base: u64,
    packets: VecDeque<SentPacket>,
    /// Numbers that the peer has acknowledged, without those before `base`.
    acknowledged: RangeSet,
    largest_acked: Option<u64>,
    /// Number before which no packet is in flight.
    oldest: u64,
    in_flight: u64,
    /// Octets that were ever in flight.
    position: u64,
}

impl SentLog {
    /// Number of the next packet.
    pub fn next(&self) -> u64 {
        self.base + self.packets.len() as u64
    }

    /// The largest number that is acknowledged.
    pub fn largest_acked(&self) -> Option<u64> {
        self.largest_acked
    }

    /// Octets in flight (`bytes_in_flight`).
    pub fn in_flight(&self) -> u64 {
        self.in_flight
    }

    /// Octets that were ever in flight.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// The position before which all is acknowledged or lost.
    pub fn settled(&self) -> u64 {
        self.get(self.oldest).map_or(self.position, |packet| packet.position)
    }

    /// A packet of the log.
    pub fn get(&self, number: u64) -> Option<&SentPacket> {
        self.packets.get(number.checked_sub(self.base)? as usize)
    }

    /// Adds a packet that leaves; `position` and `fate` are filled in.
    pub fn push(&mut self, mut packet: SentPacket) {
        let is_in_flight = packet.frames.is_ack_eliciting();
        packet.position = self.position;
        (packet.size, packet.fate) = if is_in_flight { (packet.size, Fate::InFlight) } else { (0, Fate::Unanswered) };
        self.in_flight += u64::from(packet.size);
        self.position += u64::from(packet.size);
        self.packets.push_back(packet);
        self.settle_oldest();
    }

    /// Takes the peer's acknowledgement of these numbers; the new ones are added to `newly`.
    pub fn acknowledge(&mut self, range: AckRange, newly: &mut Vec<u64>) {
        let (start, end) = (range.smallest.max(self.base), (range.largest + 1).min(self.next()));
        if start < end {
            self.acknowledged.insert(start, end, |piece| newly.extend(piece.start..piece.end));
            self.largest_acked = self.largest_acked.max(Some(end - 1));
        }
    }

    /// Takes the arrival of a packet. Returns its record from before.
    pub fn deliver(&mut self, number: u64) -> SentPacket {
        self.settle(number, Fate::Delivered)
    }

    /// Sets the fate of a packet.
    fn settle(&mut self, number: u64, fate: Fate) -> SentPacket {
        let packet = &mut self.packets[(number - self.base) as usize];
        let before = *packet;
        packet.fate = fate;
        if before.fate == Fate::InFlight {
            self.in_flight -= u64::from(before.size);
        }
        self.settle_oldest();
        before
    }

    fn settle_oldest(&mut self) {
        let is_settled = |packet: &SentPacket| packet.fate != Fate::InFlight;
        while self.get(self.oldest).is_some_and(is_settled) {
            self.oldest += 1;
        }
    }

    /// Marks packets lost, and adds their numbers to `lost` (RFC 9002 section 6.1). Returns the time of the next
    /// possible loss.
    pub fn detect_losses(&mut self, now: SimTime, threshold: u64, delay: SimDuration, lost: &mut Vec<u64>) -> SimTime {
        let Some(largest) = self.largest_acked else { return SimTime::NEVER };
        // Older packets are lost before newer ones are: the first that is not ends it.
        for number in self.oldest..largest {
            let packet = self.packets[(number - self.base) as usize];
            if packet.fate != Fate::InFlight {
                continue;
            }
            let due = packet.at + delay;
            if due > now && largest < number + threshold {
                return due;
            }
            self.settle(number, Fate::Lost);
            lost.push(number);
        }
        SimTime::NEVER
    }

    /// Packets in flight of numbers before `end`, the oldest first.
    pub fn outstanding(&self, end: u64) -> impl Iterator<Item = &SentPacket> {
        let numbers = self.oldest..end.min(self.next()).max(self.oldest);
        numbers.filter_map(|number| self.get(number)).filter(|packet| packet.fate == Fate::InFlight)
    }

    /// Forgets settled packets; lost ones only if they left before `before`.
    pub fn forget(&mut self, before: SimTime) {
        let is_over = |packet: &SentPacket| match packet.fate {
            Fate::InFlight => false,
            Fate::Lost => packet.at < before,
            Fate::Unanswered | Fate::Delivered => true,
        };
        while self.packets.front().is_some_and(is_over) {
            self.packets.pop_front();
            self.base += 1;
        }
        self.oldest = self.oldest.max(self.base);
        self.acknowledged.remove_below(self.base);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn log(count: u64) -> SentLog {
        let mut log = SentLog::default();
        for number in 0..count {
            let stream = Some(Range { start: number * 1_000, end: (number + 1) * 1_000 });
            let (at, frames) = (SimTime(number * MS), QuicFrames::STREAM);
            log.push(SentPacket {
                at,
                size: 1_000,
                position: 0,
                stream,
                frames,
                acked_up_to: None,
                fate: Fate::InFlight,
            });
        }
        log
    }

    fn acknowledge(log: &mut SentLog, smallest: u64, largest: u64) -> Vec<u64> {
        let mut newly = Vec::new();
        log.acknowledge(AckRange { smallest, largest }, &mut newly);
        for number in &newly {
            log.deliver(*number);
        }
        newly
    }

    #[test]
    fn three_packets_later_or_nine_eighths_of_a_round_trip_mean_a_loss() {
        let mut log = log(6);
        assert_eq!(acknowledge(&mut log, 4, 4), [4]);
        // RFC 9002 section 6.1.1: 0 and 1 were sent three before 4; 2 left at 2 ms and is lost by time 90 ms later.
        let mut lost = Vec::new();
        let next = log.detect_losses(SimTime(40 * MS), 3, SimDuration::from_millis(90), &mut lost);
        assert_eq!((lost.as_slice(), next, log.in_flight()), (&[0, 1][..], SimTime(92 * MS), 3_000));
        lost.clear();
        let next = log.detect_losses(SimTime(92 * MS), 3, SimDuration::from_millis(90), &mut lost);
        assert_eq!((lost.as_slice(), next), (&[2][..], SimTime(93 * MS)));
    }

    #[test]
    fn nothing_is_lost_that_left_after_the_largest_acknowledged() {
        let mut log = log(6);
        acknowledge(&mut log, 1, 1);
        let mut lost = Vec::new();
        assert_eq!(log.detect_losses(SimTime(500 * MS), 3, SimDuration::from_millis(90), &mut lost), SimTime::NEVER);
        assert_eq!(lost, [0]);
    }

    #[test]
    fn each_number_is_new_once_and_a_late_one_is_found() {
        let mut log = log(6);
        assert_eq!(acknowledge(&mut log, 3, 5), [3, 4, 5]);
        log.detect_losses(SimTime(6 * MS), 3, SimDuration::from_millis(90), &mut Vec::new());
        log.forget(SimTime(0));
        let mut newly = Vec::new();
        log.acknowledge(AckRange { smallest: 0, largest: 5 }, &mut newly);
        assert_eq!(newly, [0, 1, 2]);
        assert_eq!((log.deliver(0).fate, log.deliver(1).fate), (Fate::Lost, Fate::Lost));
        assert_eq!((log.deliver(2).fate, log.in_flight(), log.settled()), (Fate::Lost, 0, 6_000)); // 5 - 2 = 3
        log.forget(SimTime(0));
        assert_eq!(log.next(), 6);
    }
}

//! Packets that have been sent, and their reports.
//!
//! Source of the reordering window: draft-ietf-ccwg-rfc8298bis-screamv2, "Detecting Lost Data Units". A packet that a
//! report lists as missing, although one with a higher number has arrived, is lost once the window has passed. The
//! window is zero at first, and then the lateness of the latest packet that was marked lost. Departures: the window is
//! at most a second; packets that no report covers, because reports were lost, are neither.

use std::collections::VecDeque;

use ackclock_units::{Bytes, SimDuration, SimTime};

use crate::control::PacketResult;
use crate::report::Report;

/// Number of packets, behind the highest that has arrived, that reports may still cover.
const KEPT: u32 = 1_024;
/// Age at which libwebrtc forgets packets.
const OLD: SimDuration = SimDuration::from_secs(60);
const WIDEST_WINDOW: SimDuration = SimDuration::from_secs(1);

/// A packet that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// The time of departure.
    pub at: SimTime,
    /// Size of the packet.
    pub size: u32,
    /// The frame of the packet.
    pub frame: u32,
    /// True if it is the last packet of that frame.
    pub is_last: bool,
    /// Octets sent before it.
    before: u64,
    fate: Fate,
    /// True if it has reached the receiver once, whether or not the sender knows.
    has_come: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Unknown,
    /// Missing in a report, for the first time at this time.
    Missing(SimTime),
    Lost(SimTime),
    Arrived,
}

/// The new information of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct News {
    pub(crate) advanced: Bytes,
    pub(crate) rtt: Option<SimDuration>,
    pub(crate) held: SimDuration,
}

/// Packets sent, for as long as reports may cover them.
#[derive(Clone, Debug, Default)]
pub(crate) struct History {
    packets: VecDeque<Sent>,
    /// Number of the first packet in the list.
    first: u32,
    /// Octets sent so far.
    octets: u64,
    /// Octets up to the highest number that has arrived, and the number after it.
    acknowledged: u64,
    next: u32,
    /// Number before which all packets have arrived or are lost.
    open: u32,
    window: SimDuration,
}

impl History {
    /// Number of the next packet.
    pub(crate) fn number(&self) -> u32 {
        self.first + self.packets.len() as u32
    }

    /// Octets sent beyond the highest number that has arrived.
    pub(crate) fn in_flight(&self) -> Bytes {
        Bytes(self.octets - self.acknowledged)
    }

    pub(crate) fn send(&mut self, now: SimTime, size: u32, frame: u32, is_last: bool) {
        let before = self.octets;
        self.packets.push_back(Sent { at: now, size, frame, is_last, before, fate: Fate::Unknown, has_come: false });
        self.octets += u64::from(size);
        self.forget(now);
    }

    /// Takes a packet that reaches the receiver for the first time.
    pub(crate) fn come(&mut self, number: u32) -> Option<Sent> {
        let packet = self.get_mut(number)?;
        (!std::mem::replace(&mut packet.has_come, true)).then_some(*packet)
    }

    fn get_mut(&mut self, number: u32) -> Option<&mut Sent> {
        let index = number.checked_sub(self.first)?;
        self.packets.get_mut(index as usize)
    }

    /// Takes a report. Adds its news about packets to `results`.
    pub(crate) fn on_report(&mut self, now: SimTime, report: &Report, results: &mut Vec<PacketResult>) -> News {
        results.clear();
        let mut news = News::default();
        for (number, arrival) in (report.first..).zip(&report.packets) {
            let is_highest = number >= self.next;
            let Some(packet) = self.get_mut(number) else { continue };
            let Some(at) = arrival.at else {
                if packet.fate == Fate::Unknown {
                    packet.fate = Fate::Missing(now);
                }
                continue;
            };
            let fate = std::mem::replace(&mut packet.fate, Fate::Arrived);
            if fate == Fate::Arrived {
                continue;
            }
            let Sent { at: sent, size, before, .. } = *packet;
            let is_marked = arrival.is_marked;
            results.push(PacketResult { number, size: Bytes(size.into()), sent, arrived: Some(at), is_marked });
            if let Fate::Lost(since) = fate {
                self.window = now.saturating_since(since).min(WIDEST_WINDOW);
            }
            if is_highest {
                self.next = number + 1;
                let octets = before + u64::from(size);
                news.advanced += Bytes(octets - self.acknowledged);
                self.acknowledged = octets;
                (news.rtt, news.held) = (Some(now.saturating_since(sent)), report.sent.saturating_since(at));
            }
        }
        self.find_losses(now, results);
        results.sort_unstable_by_key(|packet| packet.number);
        news
    }

    fn find_losses(&mut self, now: SimTime, results: &mut Vec<PacketResult>) {
        let (window, next) = (self.window, self.next);
        let mut open = self.open.max(self.first).max(next.saturating_sub(KEPT));
        let (mut number, mut is_closed) = (open, true);
        while number < next {
            let Some(packet) = self.get_mut(number) else { break };
            if let Fate::Missing(since) = packet.fate
                && now.saturating_since(since) >= window
            {
                packet.fate = Fate::Lost(now);
                let size = Bytes(packet.size.into());
                results.push(PacketResult { number, size, sent: packet.at, arrived: None, is_marked: false });
            }
            is_closed &= matches!(packet.fate, Fate::Arrived | Fate::Lost(_));
            number += 1;
            if is_closed {
                open = number;
            }
        }
        self.open = open;
    }

    fn forget(&mut self, now: SimTime) {
        while let Some(front) = self.packets.front()
            && (self.first + KEPT < self.next || now.saturating_since(front.at) > OLD)
        {
            self.packets.pop_front();
            self.first += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Arrival;

    const MS: u64 = 1_000_000;

    fn report(sent: u64, first: u32, arrivals: &[Option<u64>]) -> Report {
        let arrival = |at: &Option<u64>| Arrival { at: at.map(|ms| SimTime(ms * MS)), is_marked: false };
        Report { sent: SimTime(sent * MS), first, packets: arrivals.iter().map(arrival).collect() }
    }

    /// Six packets of 1000 octets, one a millisecond.
    fn history() -> History {
        let mut history = History::default();
        for at in 0..6 {
            history.send(SimTime(at * MS), 1_000, 0, false);
        }
        history
    }

    #[test]
    fn what_is_under_way_lies_beyond_the_highest_number_that_arrived() {
        // The draft's example: N, then N + 3: the sizes of N + 1, N + 2 and N + 3, though N + 2 is lost.
        let (mut history, mut results) = (history(), Vec::new());
        history.on_report(SimTime(60 * MS), &report(30, 0, &[Some(25)]), &mut results);
        assert_eq!((results.len(), history.in_flight()), (1, Bytes(5_000)));
        let news = history.on_report(SimTime(70 * MS), &report(35, 1, &[Some(26), None, Some(28)]), &mut results);
        assert_eq!((news.advanced, history.in_flight()), (Bytes(3_000), Bytes(2_000)));
        assert_eq!((news.rtt, news.held), (Some(SimDuration(67 * MS)), SimDuration(7 * MS)));
        let fates: Vec<_> = results.iter().map(|packet| (packet.number, packet.arrived.is_some())).collect();
        assert_eq!(fates, [(1, true), (2, false), (3, true)]);
    }

    #[test]
    fn a_packet_that_comes_late_widens_the_window() {
        let (mut history, mut results) = (history(), Vec::new());
        history.on_report(SimTime(60 * MS), &report(30, 0, &[Some(25), None, Some(27)]), &mut results);
        assert_eq!(results[1].arrived, None); // at once: the window is nothing
        history.on_report(SimTime(80 * MS), &report(50, 1, &[Some(45), Some(27)]), &mut results);
        assert_eq!((results.len(), results[0].number), (1, 1)); // and 20 ms from now on
        history.on_report(SimTime(90 * MS), &report(60, 3, &[None, Some(55)]), &mut results);
        assert_eq!(results.len(), 1);
        history.on_report(SimTime(109 * MS), &report(79, 5, &[Some(78)]), &mut results);
        assert_eq!(results.len(), 1);
        history.on_report(SimTime(110 * MS), &report(80, 5, &[Some(78)]), &mut results);
        assert_eq!((results.len(), results[0].number, results[0].arrived), (1, 3, None)); // 90 + 20
    }

    #[test]
    fn what_no_report_speaks_of_is_not_lost() {
        let (mut history, mut results) = (history(), Vec::new());
        history.on_report(SimTime(60 * MS), &report(30, 4, &[Some(29)]), &mut results);
        assert_eq!((results.len(), history.in_flight()), (1, Bytes(1_000)));
    }

    #[test]
    fn a_copy_comes_to_nobody() {
        let mut history = history();
        assert!(history.come(2).is_some());
        assert!(history.come(2).is_none() && history.come(99).is_none());
    }
}

//! The receiving end of a flow of media: it notes arriving packets, and reports them.
//!
//! Sources: draft-ietf-ccwg-rfc8298bis-screamv2, "Receiver Requirements on Feedback Intensity", for reports after a
//! number of packets and with each frame; libwebrtc for an interval with which reports take a twentieth of the arriving
//! rate (the constants from memory: reports of 68 octets, 50 to 250 ms, 100 ms at first).

use std::collections::VecDeque;

use ackclock_units::{SimDuration, SimTime};

use crate::report::{Arrival, Report, Reporting};

/// Largest number of packets in a report.
const LONGEST: u32 = 512;
/// Octets of a report with its headers, as the adaptive interval supposes.
const TYPICAL_OCTETS: f64 = 68.0;
/// Share of the arriving octets that reports may take.
const SHARE: f64 = 0.05;
const SHORTEST_INTERVAL: SimDuration = SimDuration::from_millis(50);
const LONGEST_INTERVAL: SimDuration = SimDuration::from_millis(250);
const FIRST_INTERVAL: SimDuration = SimDuration::from_millis(100);

/// Receiver of media, which reports the arrivals.
#[derive(Clone, Debug)]
pub struct Receiver {
    reporting: Reporting,
    log: VecDeque<Arrival>,
    /// Number of the first packet in the log.
    first: u32,
    /// The lowest number that arrived since the last report.
    news: Option<u32>,
    /// One more than the highest number in a report.
    reported: u32,
    /// Packets and octets since the last report.
    packets: u32,
    octets: u64,
    last_report: Option<SimTime>,
    /// Time of the next report.
    due: SimTime,
    interval: SimDuration,
}

impl Receiver {
    /// A receiver with this reporting.
    pub fn new(reporting: Reporting) -> Self {
        Self {
            reporting,
            log: VecDeque::new(),
            first: 0,
            news: None,
            reported: 0,
            packets: 0,
            octets: 0,
            last_report: None,
            due: SimTime::NEVER,
            interval: reporting.interval.unwrap_or(FIRST_INTERVAL),
        }
    }

    /// Time at which the next report is due.
    pub fn deadline(&self) -> SimTime {
        self.due
    }

    /// Takes a packet that has arrived.
    pub fn on_packet(&mut self, now: SimTime, number: u32, size: u32, is_marked: bool, is_frame_end: bool) {
        let Some(index) = number.checked_sub(self.first) else { return };
        let (index, missing) = (index as usize, Arrival { at: None, is_marked: false });
        if index >= self.log.len() {
            self.log.resize(index + 1, missing);
        }
        if self.log[index].at.is_some() {
            return; // a copy
        }
        self.log[index] = Arrival { at: Some(now), is_marked };
        self.news = Some(self.news.map_or(number, |news| news.min(number)));
        (self.packets, self.octets) = (self.packets + 1, self.octets + u64::from(size));
        let is_enough = self.reporting.packets.is_some_and(|most| self.packets >= most);
        let regular = self.last_report.map_or(now, |last| now.max(last + self.interval));
        let at_once = is_enough || (self.reporting.at_frame_ends && is_frame_end);
        self.due = self.due.min(if at_once { now } else { regular });
    }

    /// The pending report, in `packets`, whose memory is reused.
    pub fn report(&mut self, now: SimTime, mut packets: Vec<Arrival>) -> Option<Report> {
        if now < self.due {
            return None;
        }
        self.due = SimTime::NEVER;
        let news = self.news.take()?;
        let end = self.first + self.log.len() as u32;
        let again = self.reported.saturating_sub(self.reporting.overlap);
        let first = news.min(again).max(end.saturating_sub(LONGEST)).max(self.first);
        packets.clear();
        packets.extend(self.log.range((first - self.first) as usize..));
        self.reported = end;
        self.pace(now);
        while self.log.len() > LONGEST as usize {
            self.log.pop_front();
            self.first += 1;
        }
        let mut report = Report { sent: now, first, packets };
        report.round(self.reporting.format);
        Some(report)
    }

    /// Schedules the next report.
    fn pace(&mut self, now: SimTime) {
        if let (None, Some(last)) = (self.reporting.interval, self.last_report) {
            let seconds = now.saturating_since(last).as_secs_f64().max(1e-3);
            let rate = self.octets as f64 * 8.0 / seconds;
            let wanted = SimDuration::from_secs_f64((TYPICAL_OCTETS * 8.0 / (SHARE * rate.max(1.0))).min(1.0));
            self.interval = wanted.clamp(SHORTEST_INTERVAL, LONGEST_INTERVAL);
        }
        (self.packets, self.octets) = (0, 0);
        self.last_report = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::ReportFormat;

    const MS: u64 = 1_000_000;

    fn reporting() -> Reporting {
        Reporting {
            format: ReportFormat::TransportWide,
            interval: Some(SimDuration::from_millis(20)),
            packets: None,
            at_frame_ends: false,
            overlap: 0,
        }
    }

    fn numbers(report: &Report) -> Vec<u32> {
        (report.first..).zip(&report.packets).filter(|(_, one)| one.at.is_some()).map(|(number, _)| number).collect()
    }

    fn at(ms: u64) -> SimTime {
        SimTime(ms * MS)
    }

    #[test]
    fn reports_tell_of_what_came_since_the_last() {
        let mut receiver = Receiver::new(reporting());
        receiver.on_packet(at(0), 0, 1_000, false, false);
        assert_eq!(receiver.deadline(), at(0)); // the first at once
        receiver.report(at(0), Vec::new()).expect("it is due");
        assert_eq!(receiver.deadline(), SimTime::NEVER);
        for number in [1, 3, 4] {
            receiver.on_packet(at(5 + u64::from(number)), number, 1_000, false, false);
        }
        assert_eq!(receiver.deadline(), at(20));
        assert!(receiver.report(at(19), Vec::new()).is_none());
        let report = receiver.report(at(20), Vec::new()).expect("it is due");
        assert_eq!((report.first, report.packets.len(), numbers(&report)), (1, 4, vec![1, 3, 4]));
        // A late packet: the next report reaches back to it.
        receiver.on_packet(at(50), 2, 1_000, false, false);
        let report = receiver.report(at(50), Vec::new()).expect("it is due");
        assert_eq!((report.first, numbers(&report)), (2, vec![2, 3, 4]));
    }

    #[test]
    fn reports_come_with_frames_and_after_so_many_packets_and_overlap() {
        let eager = Reporting { packets: Some(3), at_frame_ends: true, overlap: 2, ..reporting() };
        let mut receiver = Receiver::new(eager);
        receiver.on_packet(at(0), 0, 1_000, false, false);
        receiver.report(at(0), Vec::new()).expect("it is due");
        receiver.on_packet(at(1), 1, 1_000, false, true);
        assert_eq!(receiver.deadline(), at(1));
        receiver.report(at(1), Vec::new()).expect("a frame has ended");
        for number in 2..5 {
            receiver.on_packet(at(2), number, 1_000, true, false);
        }
        let report = receiver.report(at(2), Vec::new()).expect("three packets");
        assert_eq!(numbers(&report), [0, 1, 2, 3, 4]);
        assert!(report.packets[4].is_marked && !report.packets[1].is_marked);
    }

    #[test]
    fn an_adaptive_interval_takes_a_twentieth() {
        let mut receiver = Receiver::new(Reporting { interval: None, ..reporting() });
        // 16 packets of 68 octets in 100 ms are 87 kbit/s, a twentieth of which is 4352 bit/s: a report of 544 bits in 125 ms.
        receiver.on_packet(at(0), 0, 68, false, false);
        receiver.report(at(0), Vec::new()).expect("it is due");
        for number in 1..17 {
            receiver.on_packet(at(50), number, 68, false, false);
        }
        assert_eq!(receiver.deadline(), at(100));
        receiver.report(at(100), Vec::new()).expect("it is due");
        receiver.on_packet(at(101), 17, 68, false, false);
        assert_eq!(receiver.deadline(), at(225));
    }
}

//! Reports of a media receiver: the packets that have arrived, their times, and their marks.
//!
//! Sources: RFC 8888 (one SSRC a report); draft-holmer-rmcat-transport-wide-cc-extensions-01, from memory. Departures:
//! only the content of a report and its number of octets are modelled; its bits are not written. Arrival times are as
//! coarse as the formats have them: 1/1024 s before the report was sent, or a quarter of a millisecond. Of the status
//! chunks of the transport-wide format, a report has one run where all have arrived soon after each other, and
//! otherwise vectors of seven symbols.

use ackclock_units::{SimDuration, SimTime};

/// Octets of RTCP before the entries of packets: the same in both formats.
const FIXED: u32 = 20;
/// RFC 8888 section 3.1: arrival times count in this part of a second.
const ATO_A_SECOND: u128 = 1024;
/// The transport-wide format's tick.
const TICK: u64 = 250_000;
/// The largest difference of arrival times, in ticks, that takes one octet there.
const SMALL_DELTA: u64 = 255;

/// Format of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportFormat {
    /// RFC 8888: two octets a packet, with its mark.
    CongestionControl,
    /// Transport-wide feedback: an octet or two for each packet that has arrived.
    TransportWide,
}

/// Times and format of a receiver's reports.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reporting {
    /// Format of the reports.
    pub format: ReportFormat,
    /// Interval between reports while packets arrive. `None`: such that reports take a twentieth of the arriving rate,
    /// 50 to 250 ms.
    pub interval: Option<SimDuration>,
    /// Number of packets after which a report leaves immediately.
    pub packets: Option<u32>,
    /// True if a report leaves immediately with the last packet of a frame.
    pub at_frame_ends: bool,
    /// Number of packets before the first new one that are reported again.
    pub overlap: u32,
}

/// Entry of a packet in a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Time of arrival, by the receiver's clock; `None` if it has not arrived.
    pub at: Option<SimTime>,
    /// True if it was marked (CE).
    pub is_marked: bool,
}

/// A report under way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Time of departure, by the receiver's clock.
    pub sent: SimTime,
    /// Number of its first packet.
    pub first: u32,
    /// Entries of that packet and of those after it; the last has arrived.
    pub packets: Vec<Arrival>,
}

impl Report {
    /// Octets of its RTCP packet.
    pub fn octets(&self, format: ReportFormat) -> u32 {
        let count = self.packets.len() as u32;
        let body = match format {
            ReportFormat::CongestionControl => 2 * count,
            ReportFormat::TransportWide => self.transport_wide(count),
        };
        (FIXED + body).next_multiple_of(4)
    }

    /// Octets of chunks and differences.
    fn transport_wide(&self, count: u32) -> u32 {
        let mut last = None;
        let (mut deltas, mut are_alike) = (0, true);
        for arrival in &self.packets {
            let Some(at) = arrival.at else {
                are_alike = false;
                continue;
            };
            let since = last.replace(at).map_or(Some(0), |last: SimTime| at.0.checked_sub(last.0));
            let is_small = since.is_some_and(|since| since / TICK <= SMALL_DELTA);
            are_alike &= is_small;
            deltas += if is_small { 1 } else { 2 };
        }
        deltas + if are_alike { 2 } else { 2 * count.div_ceil(7) }
    }

    /// Rounds its times to the resolution of the format.
    pub(crate) fn round(&mut self, format: ReportFormat) {
        let sent = self.sent;
        for at in self.packets.iter_mut().filter_map(|arrival| arrival.at.as_mut()) {
            *at = match format {
                ReportFormat::CongestionControl => {
                    let offset = u128::from(sent.saturating_since(*at).0) * ATO_A_SECOND / 1_000_000_000;
                    SimTime(sent.0 - (offset * 1_000_000_000 / ATO_A_SECOND) as u64)
                }
                ReportFormat::TransportWide => SimTime((at.0 + TICK / 2) / TICK * TICK),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn report(arrivals: &[Option<u64>]) -> Report {
        let arrival = |at: &Option<u64>| Arrival { at: at.map(|ms| SimTime(ms * MS)), is_marked: false };
        Report { sent: SimTime(1_000 * MS), first: 0, packets: arrivals.iter().map(arrival).collect() }
    }

    #[test]
    fn sizes_are_those_of_the_formats() {
        // RFC 8888, figure 1: 8 octets of header with the sender's SSRC, 8 of the block's, 2 a packet, 4 of time; padded to words.
        assert_eq!(report(&[Some(1)]).octets(ReportFormat::CongestionControl), 24); // 22
        assert_eq!(report(&[Some(1); 64]).octets(ReportFormat::CongestionControl), 148);
        // Ten packets at once: one chunk and ten differences, 20 + 2 + 10 = 32.
        assert_eq!(report(&[Some(1); 10]).octets(ReportFormat::TransportWide), 32);
        // One of ten lost: two vectors of seven and nine differences, 20 + 4 + 9 = 33.
        let mut lost = [Some(1); 10];
        lost[4] = None;
        assert_eq!(report(&lost).octets(ReportFormat::TransportWide), 36);
        // 100 ms apart is more than 255 ticks of 0.25 ms: 20 + 2 + 1 + 2 = 25.
        assert_eq!(report(&[Some(1), Some(101)]).octets(ReportFormat::TransportWide), 28);
    }

    #[test]
    fn times_are_as_coarse_as_on_the_wire() {
        // 10 ms before the report are 10.24 / 1024 s: 10 of them, which are 9.765625 ms.
        let mut one = report(&[Some(990)]);
        one.round(ReportFormat::CongestionControl);
        assert_eq!(one.packets[0].at, Some(SimTime(1_000 * MS - 9_765_625)));
        let mut other = report(&[None]);
        other.packets[0].at = Some(SimTime(990 * MS + 130_000));
        other.round(ReportFormat::TransportWide);
        assert_eq!(other.packets[0].at, Some(SimTime(990 * MS + 250_000)));
    }
}

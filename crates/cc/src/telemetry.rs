//! In-band telemetry: the records of links on the path in the data that an ACK acknowledges.
//!
//! Source: Li et al., HPCC, SIGCOMM 2019, section 3.1 and figure 4; Kim et al., In-band Network Telemetry, 2015.
//!
//! Departures: octets and times do not wrap, and a record takes no space in a packet.

use ackclock_units::{Bandwidth, Bytes, SimDuration, SimTime};

/// The record that a link writes when it begins to send the packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HopRecord {
    /// The number of the link in the network.
    pub link: u32,
    /// The octets queued behind the packet (`qlen`).
    pub queue: Bytes,
    /// The octets that the link has sent before the packet (`txBytes`).
    pub sent: Bytes,
    /// The time of the record (`ts`).
    pub at: SimTime,
    /// The rate of the link (`B`).
    pub rate: Bandwidth,
}

/// The interval between two packets' records of one link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Between {
    pub(crate) time: SimDuration,
    /// The link's throughput in the interval, octets/s.
    pub(crate) sent_rate: f64,
    /// The queued octets at its beginning and at its end.
    pub(crate) queues: (f64, f64),
    /// The rate of the link, octets/s.
    pub(crate) rate: f64,
}

/// The records of the previous packet, and those of the next.
#[derive(Clone, Debug, Default)]
pub(crate) struct Telemetry {
    previous: Vec<HopRecord>,
    latest: Vec<HopRecord>,
    is_new: bool,
}

impl Telemetry {
    /// Takes the records of an ACK.
    pub(crate) fn take(&mut self, hops: &[HopRecord]) {
        self.latest.clear();
        self.latest.extend_from_slice(hops);
        self.is_new = !hops.is_empty();
    }

    /// True once for the records of an ACK.
    pub(crate) fn take_new(&mut self) -> bool {
        std::mem::take(&mut self.is_new)
    }

    /// The largest window, octets: the host's link over the base RTT, or without its rate the slowest link and a
    /// segment more. The base RTT may be that of a small packet, or from before a rate fell; it then lacks the time to
    /// send a segment.
    pub(crate) fn most(&self, line_rate: Option<Bandwidth>, base_rtt: f64, mss: f64) -> f64 {
        if let Some(rate) = line_rate {
            return (octets_per_second(rate) * base_rtt).max(mss);
        }
        let rates = self.latest.iter().map(|hop| octets_per_second(hop.rate));
        rates.min_by(f64::total_cmp).map_or(f64::INFINITY, |rate| rate * base_rtt + mss)
    }

    /// The interval of each link since the previous packet, except for links that it did not cross, or crossed after
    /// this one.
    pub(crate) fn between(&self) -> impl Iterator<Item = Between> {
        let known = self.previous.len() == self.latest.len();
        let pairs = self.previous.iter().zip(&self.latest).filter(move |_| known);
        pairs.filter(|(before, after)| before.link == after.link && before.at < after.at).map(|(before, after)| {
            let time = after.at - before.at;
            Between {
                time,
                sent_rate: (after.sent.0 - before.sent.0) as f64 / time.as_secs_f64(),
                queues: (before.queue.0 as f64, after.queue.0 as f64),
                rate: octets_per_second(after.rate),
            }
        })
    }

    /// Makes these the previous records, unless their packet was overtaken.
    pub(crate) fn settle(&mut self) {
        let is_late = |(before, after): (&HopRecord, &HopRecord)| before.link == after.link && before.at > after.at;
        if !self.previous.iter().zip(&self.latest).any(is_late) {
            self.previous.clone_from(&self.latest);
        }
    }
}

fn octets_per_second(rate: Bandwidth) -> f64 {
    rate.0.max(1) as f64 / 8.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hop(link: u32, at_us: u64, sent: u64, queue: u64) -> HopRecord {
        HopRecord {
            link,
            queue: Bytes(queue),
            sent: Bytes(sent),
            at: SimTime(at_us * 1_000),
            rate: Bandwidth(8_000_000_000),
        }
    }

    #[test]
    fn two_packets_tell_what_a_link_sent_between_them() {
        let mut telemetry = Telemetry::default();
        telemetry.take(&[hop(3, 10, 1_000, 50)]);
        assert_eq!((telemetry.between().count(), telemetry.take_new(), telemetry.take_new()), (0, true, false));
        telemetry.settle();
        telemetry.take(&[hop(3, 12, 2_500, 80)]);
        let between: Vec<Between> = telemetry.between().collect();
        // 1500 octets in 2 us of a link of 1e9 octets/s
        let expected = Between { time: SimDuration(2_000), sent_rate: 7.5e8, queues: (50.0, 80.0), rate: 1e9 };
        assert_eq!(between, [expected]);
        // 1e9 octets/s over 10 us, and a segment.
        assert!((telemetry.most(None, 1e-5, 1_000.0) - 11_000.0).abs() < 1e-6);
    }

    #[test]
    fn another_path_and_a_packet_overtaken_tell_nothing() {
        let mut telemetry = Telemetry::default();
        telemetry.take(&[hop(3, 10, 1_000, 50)]);
        telemetry.settle();
        for other in [&[hop(4, 12, 0, 0)][..], &[hop(3, 12, 1_500, 0), hop(4, 13, 0, 0)], &[hop(3, 8, 500, 0)]] {
            telemetry.take(other);
            assert_eq!(telemetry.between().count(), 0);
        }
        telemetry.settle(); // the last left before the first did
        telemetry.take(&[hop(3, 12, 1_600, 0)]);
        assert_eq!(telemetry.between().map(|between| between.time).collect::<Vec<_>>(), [SimDuration(2_000)]);
    }
}

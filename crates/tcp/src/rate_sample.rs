//! Samples of the delivery rate, kept beside the scoreboard for controllers that want them.
//!
//! Source: draft-cheng-iccrg-delivery-rate-estimation-02, sections 3.1 to 3.4, with its names C (connection), P (packet),
//! RS (rate sample); `tx_in_flight` and `lost` are those of draft-ietf-ccwg-bbr section 4.1.
//!
//! Departures: none. Everything counts octets; on Linux, where `C.delivered` counts segments, each counts for a full one.

use std::collections::VecDeque;

use ackclock_cc::{RateSample, SegmentReport};
use ackclock_units::{Bytes, SimDuration, SimTime};

use crate::clock::SegmentClock;
use crate::config::{AppLimitedFrom, TcpConfig};
use crate::ranges::Range;

/// P: what is kept of a segment.
#[derive(Clone, Copy, Debug)]
struct Record {
    end: u64,
    len: u32,
    is_app_limited: bool,
    is_retransmission: bool,
    is_delivered: bool,
    sent_at: SimTime,
    /// Connection's state at departure: `P.first_send_time`, `P.delivered_time`, `P.delivered`
    first_sent_at: SimTime,
    delivered_at: SimTime,
    delivered: u64,
    /// `C.lost` when it left, and what was in flight then, itself included.
    lost: u64,
    tx_in_flight: u64,
}

/// RS, while an ACK is being taken in: of the delivered segment that was sent last.
#[derive(Clone, Copy, Debug)]
struct Newest {
    record: Record,
    ack_elapsed: SimDuration,
}

/// Samples the delivery rate of a connection.
#[derive(Clone, Debug, Default)]
pub struct RateSampler {
    /// Records in the order of the stream.
    records: VecDeque<Record>,
    /// Expected index of the next delivered segment: the one behind the last.
    expected: usize,
    clock: SegmentClock,
    /// Delivery count and time of the connection C.
    delivered: u64,
    delivered_at: SimTime,
    first_sent_at: SimTime,
    lost: u64,
    /// Delivered octets up to which samples are limited by the application (`C.app_limited`).
    app_limited_until: Option<u64>,
    newest: Option<Newest>,
}

impl RateSampler {
    /// Nothing has been sent. On Linux samples are limited by the application until something has been delivered.
    pub(crate) fn new(config: &TcpConfig) -> Self {
        let app_limited_until = (config.app_limited_from == AppLimitedFrom::Write).then_some(0);
        Self { clock: SegmentClock::of(&config.rto), app_limited_until, ..Self::default() }
    }

    /// Octets delivered (`C.delivered`).
    pub fn delivered(&self) -> u64 {
        self.delivered
    }

    /// Octets lost (`C.lost`).
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// True while samples are limited by the application (`C.app_limited`).
    pub fn is_app_limited(&self) -> bool {
        self.app_limited_until.is_some()
    }

    /// A segment left; `inflight` includes it. Whether it begins a flight is for the transport to say: in TCP if
    /// nothing was outstanding, as what is taken for lost may be in the network all the same.
    pub fn on_sent(&mut self, now: SimTime, range: Range, inflight: u64, begins_flight: bool, is_retransmission: bool) {
        if begins_flight {
            (self.first_sent_at, self.delivered_at) = (now, now);
        }
        let record = Record {
            end: range.end,
            len: range.len() as u32,
            is_app_limited: self.is_app_limited(),
            is_retransmission,
            is_delivered: false,
            sent_at: now,
            first_sent_at: self.first_sent_at,
            delivered_at: self.delivered_at,
            delivered: self.delivered,
            lost: self.lost,
            tx_in_flight: inflight,
        };
        if !is_retransmission {
            self.records.push_back(record);
        } else if let Some(index) = self.index_of(range.start) {
            let kept = self.records[index];
            self.records[index] = Record { end: kept.end, len: kept.len, ..record };
        }
    }

    /// Nothing is left to send, with `inflight` in the network.
    pub fn on_application_limited(&mut self, inflight: u64) {
        self.app_limited_until = Some((self.delivered + inflight).max(1));
    }

    /// Report of the segment at `range`, which the receiver now has, and which counts for `weight` octets.
    pub fn on_delivered(&mut self, range: Range, weight: u64, now: SimTime) -> Option<SegmentReport> {
        self.delivered += weight;
        self.delivered_at = now;
        let index = self.index_of(range.start)?;
        self.expected = index + 1;
        let record = self.records[index];
        self.records[index].is_delivered = true;
        let left = |record: &Record| (self.clock.read(record.sent_at), record.end);
        let is_newer = |newest: &Newest| left(&record) > left(&newest.record);
        if !record.is_delivered && self.newest.as_ref().is_none_or(is_newer) {
            let ack_elapsed = self.clock.between(record.delivered_at, now);
            self.newest = Some(Newest { record, ack_elapsed });
            self.first_sent_at = record.sent_at;
        }
        Some(self.report(&record, range, now))
    }

    /// Takes in octets that count as delivered, though no segment is known to be: they arrived once more, or a duplicate ACK stands for them.
    pub(crate) fn count(&mut self, now: SimTime, octets: u64) {
        self.delivered += octets;
        self.delivered_at = now;
    }

    /// So many of the octets just delivered had been counted.
    pub(crate) fn uncount(&mut self, octets: u64) {
        self.delivered -= octets;
    }

    /// Report of the segment at `range`, which is considered lost, and which counts for `weight` octets.
    pub fn on_lost(&mut self, range: Range, weight: u64, now: SimTime) -> Option<SegmentReport> {
        self.lost += weight;
        let record = self.records[self.index_of(range.start)?];
        Some(self.report(&record, range, now))
    }

    fn report(&self, record: &Record, range: Range, now: SimTime) -> SegmentReport {
        SegmentReport {
            now,
            sent_at: record.sent_at,
            start: range.start,
            size: Bytes(range.len()),
            delivered: Bytes(self.delivered),
            prior_delivered: Bytes(record.delivered),
            tx_in_flight: Bytes(record.tx_in_flight),
            lost: Bytes(self.lost - record.lost),
            is_app_limited: record.is_app_limited,
            is_retransmission: record.is_retransmission,
        }
    }

    /// The sample of the ACK just taken in, which acknowledges everything below `una`.
    pub fn take_sample(&mut self, min_rtt: SimDuration, una: u64) -> Option<RateSample> {
        while self.records.front().is_some_and(|record| record.end <= una) {
            self.records.pop_front();
            self.expected = self.expected.saturating_sub(1);
        }
        if self.app_limited_until.is_some_and(|until| self.delivered > until) {
            self.app_limited_until = None;
        }
        let Newest { record, ack_elapsed } = self.newest.take()?;
        let send_elapsed = self.clock.between(record.first_sent_at, record.sent_at);
        let interval = send_elapsed.max(ack_elapsed);
        Some(RateSample {
            delivered: Bytes(self.delivered - record.delivered),
            // Acknowledgements that arrive sooner than a round trip after the data say nothing of the path.
            interval: if interval < min_rtt { SimDuration::ZERO } else { interval },
            prior_delivered: Bytes(record.delivered),
            is_app_limited: record.is_app_limited,
            tx_in_flight: Bytes(record.tx_in_flight),
            lost: Bytes(self.lost - record.lost),
        })
    }

    /// The record of the segment that begins at `start`, or in which it lies.
    fn index_of(&self, start: u64) -> Option<usize> {
        let is_in = |record: &Record| record.end - u64::from(record.len) <= start && start < record.end;
        if self.records.get(self.expected).is_some_and(is_in) {
            return Some(self.expected);
        }
        let index = self.records.partition_point(|record| record.end <= start);
        self.records.get(index).filter(|record| is_in(record)).map(|_| index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{RtoConfig, RtoEstimator};

    const MS: u64 = 1_000_000;

    fn segment(number: u64) -> Range {
        Range { start: 1 + number * 1_000, end: 1 + (number + 1) * 1_000 }
    }

    /// Sends segments 0 to 3 at 0, 1, 2 and 3 ms, and delivers each 10 ms later.
    fn four_segments(sampler: &mut RateSampler) -> Vec<RateSample> {
        for number in 0..4 {
            sampler.on_sent(SimTime(number * MS), segment(number), (number + 1) * 1_000, number == 0, false);
        }
        let deliver = |number| {
            sampler.on_delivered(segment(number), 1_000, SimTime((10 + number) * MS));
            sampler.take_sample(SimDuration::ZERO, segment(number).end).expect("its record is there")
        };
        (0..4).map(deliver).collect()
    }

    #[test]
    fn the_interval_is_the_longer_of_sending_and_acknowledging() {
        let mut sampler = RateSampler::default();
        let taken = four_segments(&mut sampler);
        // All left before anything was delivered: 1 to 4 segments since time 0, where the flight began.
        for (number, sample) in (0..).zip(&taken) {
            assert_eq!(sample.delivered, Bytes((number + 1) * 1_000));
            assert_eq!(sample.interval, SimDuration((10 + number) * MS));
        }
        // The next leaves at 14 ms, when 4 segments have been delivered (the last at 13 ms); its flight starts anew.
        sampler.on_sent(SimTime(14 * MS), segment(4), 1_000, true, false);
        sampler.on_delivered(segment(4), 1_000, SimTime(24 * MS));
        let sample = sampler.take_sample(SimDuration::ZERO, segment(4).end).expect("a sample");
        assert_eq!((sample.delivered, sample.interval), (Bytes(1_000), SimDuration(10 * MS)));
    }

    #[test]
    fn acks_that_come_sooner_than_a_round_trip_tell_no_rate() {
        let mut sampler = RateSampler::default();
        sampler.on_sent(SimTime(0), segment(0), 1_000, true, false);
        sampler.on_delivered(segment(0), 1_000, SimTime(2 * MS));
        let sample = sampler.take_sample(SimDuration(10 * MS), segment(0).end).expect("a sample");
        assert_eq!(sample.rate(), None);
    }

    #[test]
    fn the_application_limits_samples_until_what_was_in_flight_is_delivered() {
        let mut sampler = RateSampler::default();
        let is_limited = |sampler: &mut RateSampler, number: u64| {
            sampler.on_delivered(segment(number), 1_000, SimTime((10 + number) * MS));
            sampler.take_sample(SimDuration::ZERO, segment(number).end).expect("a sample").is_app_limited
        };
        sampler.on_sent(SimTime(0), segment(0), 1_000, true, false);
        sampler.on_application_limited(1_000);
        sampler.on_sent(SimTime(1), segment(1), 2_000, false, false);
        assert!(!is_limited(&mut sampler, 0));
        assert!(is_limited(&mut sampler, 1)); // 2000 delivered, more than the 1000 in flight at the limit
        sampler.on_sent(SimTime(12 * MS), segment(2), 1_000, true, false);
        assert!(!is_limited(&mut sampler, 2));
    }

    #[test]
    fn on_linux_the_first_flight_is_limited_by_the_application() {
        let mut sampler =
            RateSampler::new(&TcpConfig { app_limited_from: AppLimitedFrom::Write, ..TcpConfig::default() });
        let is_limited = |sampler: &mut RateSampler, number: u64| {
            sampler.on_delivered(segment(number), 1_000, SimTime((10 + number) * MS));
            sampler.take_sample(SimDuration::ZERO, segment(number).end).expect("a sample").is_app_limited
        };
        sampler.on_sent(SimTime(0), segment(0), 1_000, true, false);
        sampler.on_sent(SimTime(0), segment(1), 2_000, false, false);
        assert!(is_limited(&mut sampler, 0));
        sampler.on_sent(SimTime(10 * MS), segment(2), 2_000, false, false);
        assert!(is_limited(&mut sampler, 1));
        assert!(!is_limited(&mut sampler, 2));
    }

    /// `tcp_stamp_us_delta` of `tcp_mstamp` and `tcp_skb_timestamp_us`: 20 us from 0 (0.999) to 20 us, where 19.501 have passed.
    #[test]
    fn on_linux_an_interval_is_of_whole_microseconds() {
        let rto = RtoConfig::of(RtoEstimator::Linux);
        let mut sampler = RateSampler::new(&TcpConfig { rto, ..TcpConfig::default() });
        sampler.on_sent(SimTime(999), segment(0), 1_000, true, false);
        sampler.on_delivered(segment(0), 1_000, SimTime(20_500));
        let sample = sampler.take_sample(SimDuration::ZERO, segment(0).end).expect("its record is there");
        assert_eq!(sample.interval, SimDuration(20_000));
    }

    /// Controllers compare them with the times of other calls.
    #[test]
    fn on_linux_the_times_of_a_report_are_exact() {
        let rto = RtoConfig::of(RtoEstimator::Linux);
        let mut sampler = RateSampler::new(&TcpConfig { rto, ..TcpConfig::default() });
        sampler.on_sent(SimTime(999), segment(0), 1_000, true, false);
        let report = sampler.on_delivered(segment(0), 1_000, SimTime(20_500)).expect("its record is there");
        assert_eq!((report.sent_at, report.now), (SimTime(999), SimTime(20_500)));
    }

    #[test]
    fn a_duplicate_that_counts_as_delivered_is_in_the_next_sample() {
        let mut sampler = RateSampler::default();
        sampler.on_sent(SimTime(0), segment(0), 1_000, true, false);
        sampler.on_sent(SimTime(1), segment(1), 2_000, false, false);
        sampler.count(SimTime(9 * MS), 1_000);
        sampler.on_delivered(segment(0), 1_000, SimTime(10 * MS));
        let sample = sampler.take_sample(SimDuration::ZERO, segment(0).end).expect("a sample");
        assert_eq!((sample.delivered, sampler.delivered()), (Bytes(2_000), 2_000));
    }

    /// `tcp_add_reno_sack` counts a segment for each duplicate ACK, and `tcp_remove_reno_sacks` one for the hole.
    #[test]
    fn what_duplicate_acks_stood_for_is_delivered_once() {
        let mut sampler = RateSampler::default();
        for number in 0..3 {
            sampler.on_sent(SimTime(0), segment(number), (number + 1) * 1_000, number == 0, false);
        }
        sampler.count(SimTime(9 * MS), 1_000);
        sampler.count(SimTime(10 * MS), 1_000);
        for number in 0..3 {
            sampler.on_delivered(segment(number), 1_000, SimTime(20 * MS));
        }
        sampler.uncount(2_000);
        let sample = sampler.take_sample(SimDuration::ZERO, segment(2).end).expect("a sample");
        assert_eq!((sample.delivered, sampler.delivered()), (Bytes(3_000), 3_000));
    }

    #[test]
    fn a_loss_tells_what_was_in_flight_and_what_was_lost_since() {
        let mut sampler = RateSampler::default();
        for number in 0..3 {
            sampler.on_sent(SimTime(number), segment(number), (number + 1) * 1_000, number == 0, false);
        }
        sampler.on_lost(segment(0), 1_000, SimTime(9));
        let report = sampler.on_lost(segment(1), 1_000, SimTime(9)).expect("a report");
        assert_eq!((report.tx_in_flight, report.lost, report.sent_at), (Bytes(2_000), Bytes(2_000), SimTime(1)));
        // A retransmission is a new departure: nothing has been lost since.
        sampler.on_sent(SimTime(10), segment(0), 2_000, false, true);
        let report = sampler.on_delivered(segment(0), 1_000, SimTime(20)).expect("a report");
        assert_eq!((report.lost, report.sent_at, report.is_retransmission), (Bytes(0), SimTime(10), true));
    }
}

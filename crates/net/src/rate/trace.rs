//! A recorded trace of delivery opportunities, as mahimahi replays it.
//!
//! Source: Netravali et al., "Mahimahi: Accurate Record-and-Replay for HTTP", USENIX ATC 2015, section 4.1, and the
//! behaviour of its `mm-link`. A line is an instant in whole milliseconds at which one full packet can leave; several
//! lines with one number are several packets. Packets share opportunities octet by octet: a packet leaves at the
//! opportunity that takes its last octet, and what is left of that serves the next packet, if one waits; an opportunity
//! that finds nothing to send is lost. At its end the trace begins again, the last instant being the new zero.
//!
//! Departures: mahimahi counts opportunities of 1504 octets and four octets of its tunnel with each packet; here an
//! opportunity is of the size given, and framing is the link's.

use std::fmt;
use std::sync::Arc;

use ackclock_units::interrupt::InterruptPoll;
use ackclock_units::{Bandwidth, Bytes, SimDuration, SimTime};

use super::{Outage, WORK_OF_OCTET};

const NS_PER_MS: u64 = 1_000_000;

/// The longest trace: a year of milliseconds. Instants in nanoseconds stay within 64 bits over many repetitions.
const MAX_MS: u64 = 366 * 24 * 3600 * 1000;

/// The largest number of reported errors: a trace has millions of lines.
const MOST_ERRORS: usize = 100;

/// The longest wait for an opportunity, a year, which is longer than any run: sums stay within 64 bits.
const LONGEST_WAIT: SimDuration = SimDuration(MAX_MS * NS_PER_MS);

/// A trace, read once and shared by the links that replay it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// Instants in milliseconds, not descending.
    instants: Vec<u64>,
    /// The octets of one opportunity.
    opportunity: Bytes,
    /// True if the trace begins again at its end.
    repeats: bool,
}

/// The reason why a text is not a trace. Lines count from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceError {
    /// The line is not a whole number of milliseconds.
    NotANumber {
        /// The number of the line, from 1.
        line: usize,
    },
    /// The line's instant is before that of the line above.
    Descending {
        /// The number of the line, from 1.
        line: usize,
    },
    /// The line's instant is after a year.
    TooLate {
        /// The number of the line, from 1.
        line: usize,
    },
    /// No line has an instant after zero.
    Empty,
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotANumber { line } => write!(f, "line {line} is not a whole number of milliseconds, less than 2^64"),
            Self::Descending { line } => write!(f, "line {line} is earlier than the line above it"),
            Self::TooLate { line } => write!(f, "line {line} is more than a year after the start"),
            Self::Empty => write!(f, "no line holds a time after 0 ms"),
        }
    }
}

impl Trace {
    /// Reads a trace; blank lines do not count.
    ///
    /// # Errors
    ///
    /// Fails with every line that is wrong, of many with the first.
    pub fn parse(text: &str, opportunity: Bytes, repeats: bool) -> Result<Self, Vec<TraceError>> {
        let (mut instants, mut errors) = (Vec::new(), Vec::new());
        for (index, written) in text.lines().map(str::trim).enumerate().filter(|(_, written)| !written.is_empty()) {
            let line = index + 1;
            let last = instants.last().copied().unwrap_or(0);
            match written.parse::<u64>() {
                Err(_) => errors.push(TraceError::NotANumber { line }),
                Ok(instant) if instant > MAX_MS => errors.push(TraceError::TooLate { line }),
                Ok(instant) if instant < last => errors.push(TraceError::Descending { line }),
                Ok(instant) => instants.push(instant),
            }
            if errors.len() > MOST_ERRORS {
                break;
            }
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        if instants.last().is_none_or(|last| *last == 0) {
            return Err(vec![TraceError::Empty]);
        }
        Ok(Self { instants, opportunity, repeats })
    }

    /// Length of one repetition, in milliseconds.
    fn period(&self) -> u64 {
        *self.instants.last().expect("a trace has at least one line")
    }

    /// The mean rate of its opportunities over its length, rounded down.
    pub fn mean_rate(&self) -> Bandwidth {
        let work = self.instants.len() as u128 * u128::from(self.opportunity.0) * u128::from(WORK_OF_OCTET);
        Bandwidth((work / (u128::from(self.period()) * u128::from(NS_PER_MS))) as u64)
    }
}

/// A trace being replayed.
#[derive(Clone, Debug)]
pub struct TraceReader {
    trace: Arc<Trace>,
    outage: Option<Outage>,
    /// The next opportunity: its position in the trace, and the beginning of this repetition, in milliseconds.
    next: usize,
    base: u64,
    /// The octets left of the last used opportunity, and its time.
    left: u64,
    left_at: SimTime,
    /// The opportunity that [`Self::service_start`] returned last.
    promised: SimTime,
    /// The time after which trace and outages repeat their relative position: without an opportunity by then there is
    /// none. At most [`LONGEST_WAIT`].
    horizon: SimDuration,
}

impl TraceReader {
    pub(super) fn new(trace: Arc<Trace>, outage: Option<Outage>) -> Self {
        let period = trace.period() * NS_PER_MS;
        let horizon = outage.map_or(period, |outage| least_common_multiple(period, outage.period().0));
        let horizon = SimDuration(horizon).min(LONGEST_WAIT);
        Self { trace, outage, next: 0, base: 0, left: 0, left_at: SimTime::ZERO, promised: SimTime::ZERO, horizon }
    }

    /// See [`super::RateProcess::service_start`]: the next opportunity, which is at `now` only if the packet has waited
    /// for it or if octets of it are left.
    pub(super) fn service_start(&mut self, now: SimTime) -> SimTime {
        if self.left > 0 && self.left_at == now {
            return now;
        }
        if now < self.promised {
            return self.promised; // nothing has been sent since that was said
        }
        if self.promised != now && self.left_at != now {
            self.skip_to(now);
        }
        self.promised = self.peek(now).unwrap_or(SimTime::NEVER);
        self.promised
    }

    /// The last result of [`Self::service_start`].
    pub(super) fn promised(&self) -> SimTime {
        self.promised
    }

    /// The end of a service: see [`super::RateProcess::service_end`].
    pub(super) fn service_end(&mut self, start: SimTime, mut octets: u64) -> SimTime {
        if start != self.left_at {
            self.left = 0;
        }
        while octets > self.left {
            octets -= self.left;
            let Some(instant) = self.peek(start.max(self.left_at)) else { return SimTime::NEVER };
            self.next += 1;
            (self.left, self.left_at) = (self.trace.opportunity.0, instant);
        }
        self.left -= octets;
        self.left_at
    }

    /// The octets of the opportunities at zero, with which a trace may begin.
    pub(super) fn capacity_at_zero(&self) -> f64 {
        self.trace.instants.partition_point(|instant| *instant == 0) as f64 * self.trace.opportunity.0 as f64
    }

    /// True if the last used opportunity is at `instant`.
    pub(super) fn has_used(&self, instant: SimTime) -> bool {
        self.left_at == instant
    }

    /// The octets left of the last used opportunity.
    pub(super) fn to_spare(&self) -> f64 {
        self.left as f64
    }

    /// The octets of the opportunities after `from` and until `until`.
    pub(super) fn capacity(&self, from: SimTime, until: SimTime) -> f64 {
        let mut reader = Self::new(Arc::clone(&self.trace), self.outage);
        reader.skip_to(from);
        let (mut count, mut last) = (0_u64, from);
        let mut rounds = InterruptPoll::default();
        while let Some(instant) = reader.peek(last).filter(|instant| *instant <= until) {
            rounds.poll();
            reader.next += 1;
            count += 1;
            last = instant;
        }
        count as f64 * self.trace.opportunity.0 as f64
    }

    /// Passes the opportunities until `start`, inclusive.
    fn skip_to(&mut self, start: SimTime) {
        let start_ms = start.0 / NS_PER_MS;
        let period = self.trace.period();
        if self.trace.repeats && start_ms.saturating_sub(self.base) >= period {
            self.base = start_ms - start_ms % period;
            self.next = 0;
        }
        let passed = self.trace.instants[self.next..].partition_point(|instant| self.base + instant <= start_ms);
        self.next += passed;
    }

    /// Goes to the next opportunity outside outages and returns its time; the last one was at `now` or before.
    fn peek(&mut self, now: SimTime) -> Option<SimTime> {
        let mut rounds = InterruptPoll::default();
        loop {
            if self.next == self.trace.instants.len() {
                if !self.trace.repeats {
                    return None;
                }
                self.base += self.trace.period();
                self.next = 0;
            }
            let instant = SimTime((self.base + self.trace.instants[self.next]) * NS_PER_MS);
            if self.outage.is_none_or(|outage| !outage.at(instant).0) {
                return Some(instant);
            }
            rounds.poll();
            self.next += 1;
            if instant > now + self.horizon {
                return None;
            }
        }
    }
}

fn least_common_multiple(one: u64, other: u64) -> u64 {
    let (mut divisor, mut rest) = (one, other);
    while rest > 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    (one / divisor).saturating_mul(other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rate::{RateConfig, RateProcess};

    fn trace(text: &str, repeats: bool) -> Arc<Trace> {
        Arc::new(Trace::parse(text, Bytes(1500), repeats).expect("a trace"))
    }

    fn replay(text: &str) -> RateProcess {
        RateProcess::new(&RateConfig::Trace(trace(text, true)), None)
    }

    fn ms(time: u64) -> SimTime {
        SimTime(time * NS_PER_MS)
    }

    /// The departure of a packet that waits from `now` on.
    fn serve(process: &mut RateProcess, now: SimTime, octets: u64) -> SimTime {
        let start = process.service_start(now);
        if start == SimTime::NEVER { start } else { process.service_end(start, octets) }
    }

    /// The departures of packets of this size that wait from zero on.
    fn ends(process: &mut RateProcess, octets: u64, count: usize) -> Vec<u64> {
        let end = |at: &mut SimTime, _| {
            *at = serve(process, *at, octets);
            Some(at.0 / NS_PER_MS)
        };
        (0..count).scan(SimTime::ZERO, end).collect()
    }

    #[test]
    fn a_full_packet_takes_an_opportunity() {
        // five opportunities in 10 ms, then again from 10 ms on
        assert_eq!(ends(&mut replay("3\n3\n7\n9\n10\n"), 1500, 8), [3, 3, 7, 9, 10, 13, 13, 17]);
    }

    #[test]
    fn packets_share_opportunities_by_the_octet() {
        // 500 octets: three leave at each opportunity
        assert_eq!(ends(&mut replay("1\n5\n"), 500, 7), [1, 1, 1, 5, 5, 5, 6]);
        // 1000 octets: the second begins in the first opportunity and ends in the second, with the third behind it
        assert_eq!(ends(&mut replay("1\n5\n8\n"), 1000, 4), [1, 5, 5, 8]);
    }

    #[test]
    fn an_opportunity_that_finds_nothing_is_lost() {
        let mut process = replay("1\n5\n8\n");
        assert_eq!(serve(&mut process, ms(6), 100), ms(8)); // 1 and 5 are over
        // what is left at 8 ms is lost to a packet that comes at 8.1 ms; the trace begins again at 8 ms
        assert_eq!(serve(&mut process, SimTime(8_100_000), 100), ms(9));
        assert_eq!(serve(&mut process, ms(9), 1400), ms(9)); // 1500 - 100 are left
        assert_eq!(serve(&mut process, ms(9), 1), ms(13));
        assert_eq!(serve(&mut process, ms(8_000_000), 1500), ms(8_000_001)); // a million repetitions later
    }

    #[test]
    fn a_packet_waits_for_an_opportunity_before_its_service() {
        let mut process = replay("4\n9\n");
        assert_eq!(process.service_start(ms(2)), ms(4)); // who comes at 2 ms begins at 4
        assert_eq!(process.service_start(ms(4)), ms(4)); // it has waited
        assert_eq!(process.service_end(ms(4), 1500), ms(4));
        assert_eq!(process.service_start(ms(4)), ms(9)); // nothing is left
        let mut process = replay("4\n9\n");
        assert_eq!(process.service_start(ms(4)), ms(9)); // who comes at 4 ms comes too late
        assert_eq!(process.capacity(ms(4), ms(13)), Some(3_000.0)); // 9 and 13 ms
    }

    #[test]
    fn capacity_is_opportunities_over_length() {
        let text = "2\n2\n2\n5\n11\n20\n20\n";
        // 7 * 1500 * 8 bit in 20 ms = 4.2 Mbit/s
        assert_eq!(trace(text, true).mean_rate(), Bandwidth(4_200_000));
        // a backlog of 7000 packets takes 1000 repetitions of 20 ms, of 14 000 half packets too
        assert_eq!(ends(&mut replay(text), 1500, 7_000).last(), Some(&20_000));
        assert_eq!(ends(&mut replay(text), 750, 14_000).last(), Some(&20_000));
    }

    #[test]
    fn a_trace_that_does_not_repeat_ends() {
        let mut process = RateProcess::new(&RateConfig::Trace(trace("1\n2\n", false)), None);
        assert_eq!(serve(&mut process, ms(0), 2500), ms(2));
        assert_eq!(serve(&mut process, ms(2), 501), SimTime::NEVER);
    }

    #[test]
    fn opportunities_in_an_outage_are_lost() {
        let outage = |length| Some(Outage::new(SimDuration::from_millis(10), SimDuration::from_millis(length)));
        let mut process = RateProcess::new(&RateConfig::Trace(trace("2\n5\n", true)), outage(3));
        // 2, 5, 7, then 10 and 12 fall into the outage from 10 until 13 ms
        assert_eq!(ends(&mut process, 1500, 4), [2, 5, 7, 15]);
        // three until 10 ms, then two in each of 99 periods: 10 k + 5 and 10 k + 7
        assert_eq!(process.capacity(ms(0), ms(1_000)), Some(201.0 * 1_500.0));
        let mut process = RateProcess::new(&RateConfig::Trace(trace("10\n", true)), outage(1));
        assert_eq!(serve(&mut process, ms(0), 1500), SimTime::NEVER);
    }

    #[test]
    fn opportunities_that_are_all_in_outages_end_the_search_before_the_numbers_do() {
        // a trace of a year, and of every hour and millisecond all but the last millisecond is an outage; the two stand to each other
        // as before after 8784 * 3,600,001 hours, which are more nanoseconds than 64 bits hold
        let outage = Some(Outage::new(SimDuration::from_millis(3_600_001), SimDuration::from_millis(3_600_000)));
        let mut process = RateProcess::new(&RateConfig::Trace(trace("31622400000\n", true)), outage);
        for now in [ms(0), ms(1), ms(MAX_MS)] {
            assert_eq!(serve(&mut process, now, 1500), SimTime::NEVER);
        }
    }

    #[test]
    fn mistakes_are_found_at_their_line() {
        let error = |text| Trace::parse(text, Bytes(1500), true).expect_err("a mistake")[0];
        assert_eq!(error("1\n\n2.5\n"), TraceError::NotANumber { line: 3 });
        assert_eq!(error("5\n4\n"), TraceError::Descending { line: 2 });
        assert_eq!(error("99999999999999\n"), TraceError::TooLate { line: 1 });
        assert_eq!(error("0\n0\n"), TraceError::Empty);
        assert_eq!(error(""), TraceError::Empty);
    }
}

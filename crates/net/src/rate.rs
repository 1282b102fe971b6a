//! Rate of a link: constant, by a schedule, or by a recorded trace.
//!
//! Departures: none from the two sources that `rate/trace.rs` names; a schedule and a constant rate are exact.

mod changing;
mod outage;
pub mod trace;

use std::sync::Arc;

use ackclock_units::interrupt::InterruptPoll;
use ackclock_units::{Bandwidth, SimDuration, SimTime};

use crate::clock::{LinkClock, Pace};
use crate::schedule::Schedule;

pub use changing::{ChangingRate, RateStep};
pub use outage::{HandoverConfig, Outage};
#[doc(inline)]
pub use trace::{Trace, TraceError, TraceReader};

/// The rate of a link over time.
#[derive(Clone, Debug, PartialEq)]
pub enum RateConfig {
    /// A constant rate.
    Constant(Bandwidth),
    /// A list of rates, one after the other; zero is an outage.
    Schedule(Schedule<Bandwidth>),
    /// A recorded trace of delivery opportunities.
    Trace(Arc<Trace>),
}

impl RateConfig {
    /// The rate for which buffers are sized: of a schedule its highest, of a trace its mean.
    pub fn nominal(&self) -> Bandwidth {
        match self {
            Self::Constant(rate) => *rate,
            Self::Schedule(steps) => steps.values().max().unwrap_or_default(),
            Self::Trace(trace) => trace.mean_rate(),
        }
    }
}

/// A rate in operation, which gives the times of departures.
#[derive(Clone, Debug)]
pub struct RateProcess {
    source: Source,
}

#[derive(Clone, Debug)]
enum Source {
    Constant(Pace, LinkClock),
    Steps(StepClock),
    Trace(TraceReader),
}

impl RateProcess {
    /// The rate process of a link that has sent nothing yet. During an outage it sends nothing at all.
    pub fn new(config: &RateConfig, outage: Option<Outage>) -> Self {
        let source = match (config, outage) {
            (RateConfig::Constant(rate), None) => Source::Constant(Pace::of(*rate), LinkClock::default()),
            (RateConfig::Constant(rate), _) => Source::Steps(StepClock::new(Schedule::constant(*rate), outage)),
            (RateConfig::Schedule(steps), _) => Source::Steps(StepClock::new(steps.clone(), outage)),
            (RateConfig::Trace(trace), _) => Source::Trace(TraceReader::new(Arc::clone(trace), outage)),
        };
        Self { source }
    }

    /// Time at which a packet that waits at `now` can begin to leave, if the link is free; it must be taken from the
    /// queue then, not before. [`SimTime::NEVER`] if it never can.
    pub fn service_start(&mut self, now: SimTime) -> SimTime {
        match &mut self.source {
            Source::Constant(..) => now,
            Source::Steps(clock) => clock.service_start(now),
            Source::Trace(reader) => reader.service_start(now),
        }
    }

    /// The instant that the last call of [`Self::service_start`] returned, if it is still to come; `None` for a rate
    /// that lets packets leave at any time.
    pub(crate) fn promised(&self) -> Option<SimTime> {
        match &self.source {
            Source::Constant(..) | Source::Steps(_) => None,
            Source::Trace(reader) => Some(reader.promised()),
        }
    }

    /// Time at which the last bit of a packet has left whose first bit leaves at `start`, which [`Self::service_start`]
    /// has returned. [`SimTime::NEVER`] if it never does. A packet that starts at the end of the last one continues
    /// without a gap.
    pub fn service_end(&mut self, start: SimTime, octets: u64) -> SimTime {
        match &mut self.source {
            Source::Constant(pace, clock) => clock.serve(*pace, start, octets),
            Source::Steps(clock) => clock.service_end(start, octets),
            Source::Trace(reader) => reader.service_end(start, octets),
        }
    }

    /// Changes the rate from `from` on, beyond which no packet has been served. Only for a rate of steps.
    pub(crate) fn change(&mut self, from: SimTime, rate: Bandwidth) {
        let Source::Steps(clock) = &mut self.source else { unreachable!("a link that is changed has a rate of steps") };
        clock.steps.push(from, rate);
        clock.ever_sends |= rate.0 > 0;
    }

    /// Octets that the link can still send at the last [`Self::service_end`]; of a constant rate nothing that counts.
    pub(crate) fn to_spare(&self) -> f64 {
        match &self.source {
            Source::Constant(..) => 0.0,
            Source::Steps(clock) => clock.spare as f64 / WORK_OF_OCTET as f64,
            Source::Trace(reader) => reader.to_spare(),
        }
    }

    /// Octets of a packet that have left by `now`; its service lasts from `start` to `end`, when the link could still send `to_spare`.
    /// `None` if they leave evenly.
    pub(crate) fn sent_of(
        &self,
        (octets, to_spare): (u64, f64),
        (start, end): (SimTime, SimTime),
        now: SimTime,
    ) -> Option<f64> {
        let octets = octets as f64;
        if end == SimTime::NEVER {
            return Some(self.capacity(start, now)?.min(octets));
        }
        // What the link could send until `end` is this packet's, but for what is to spare then.
        let to_come = self.capacity(now.min(end), end)? - to_spare;
        Some((octets - to_come).clamp(0.0, octets)) // sums of parts of octets are not exact
    }

    /// Checks that a changing rate allows as many octets until `now` as have been sent.
    pub(crate) fn check_capacity(&self, sent: f64, now: SimTime) {
        let at_zero = if let Source::Trace(reader) = &self.source { reader.capacity_at_zero() } else { 0.0 };
        if let Some(capacity) = self.capacity(SimTime::ZERO, now).map(|capacity| capacity + at_zero) {
            assert!(sent <= capacity * (1.0 + 1e-9) + 1.0, "{sent} octets sent where {capacity} could have been");
        }
    }

    /// The rate at `now`, without outages, and the end of its step; `None` if it does not change at given instants.
    pub(crate) fn step_at(&self, now: SimTime) -> Option<(Bandwidth, SimTime)> {
        if let Source::Steps(clock) = &self.source { Some(clock.steps.at(now)) } else { None }
    }

    /// True if the rate changes.
    pub fn changes(&self) -> bool {
        !matches!(self.source, Source::Constant(..))
    }

    /// Checks, in builds with assertions, that a constant rate has not been exceeded.
    pub(crate) fn check_rate(&self) {
        if let Source::Constant(pace, clock) = &self.source {
            clock.check_pace(*pace);
        }
    }

    /// The instant up to which a window that begins or ends at `now` includes events: with a trace, whose packets leave
    /// at instants, the nanosecond before.
    pub(crate) fn just_before(&self, now: SimTime) -> SimTime {
        if let Source::Trace(_) = &self.source { SimTime(now.0.saturating_sub(1)) } else { now }
    }

    /// True if the last used opportunity is at `instant`; only traces have opportunities.
    pub(crate) fn has_used(&self, instant: SimTime) -> bool {
        matches!(&self.source, Source::Trace(reader) if reader.has_used(instant))
    }

    /// The link's capacity from `from` until `until`, in octets; `until` is included if departures at it have happened.
    /// `None` if that is its rate times the span.
    pub(crate) fn capacity_within(&self, from: SimTime, until: SimTime, has_left: bool) -> Option<f64> {
        let Source::Trace(reader) = &self.source else { return self.capacity(from, until) };
        let at_zero = if from == SimTime::ZERO { reader.capacity_at_zero() } else { 0.0 };
        let last = if has_left { until } else { self.just_before(until) };
        Some(at_zero + reader.capacity(self.just_before(from), last))
    }

    /// The link's capacity after `from` and until `until`, in octets; `None` if that is its rate times the span.
    pub fn capacity(&self, from: SimTime, until: SimTime) -> Option<f64> {
        match &self.source {
            Source::Constant(..) => None,
            Source::Steps(clock) => Some(clock.capacity(from, until)),
            Source::Trace(reader) => Some(reader.capacity(from, until)),
        }
    }
}

/// Nanoseconds in a second times bits in an octet: one octet's work, in bit/s times nanoseconds.
const WORK_OF_OCTET: u64 = 8_000_000_000;

/// Number of consecutive changes without a rate after which there will never be one: outages cover all that a repeated
/// list sends.
const MOST_CHANGES: u32 = 1_000_000;

/// A rate that changes at instants. Work is counted in bit/s times nanoseconds, so that only the end of a packet is
/// rounded, up; the capacity left in that last nanosecond goes to the packet behind.
#[derive(Clone, Debug)]
struct StepClock {
    steps: Schedule<Bandwidth>,
    outage: Option<Outage>,
    /// True if some step has a rate above zero.
    ever_sends: bool,
    free_at: SimTime,
    /// The work that still fits before `free_at`.
    spare: u64,
}

impl StepClock {
    fn new(steps: Schedule<Bandwidth>, outage: Option<Outage>) -> Self {
        let ever_sends = steps.values().any(|rate| rate.0 > 0);
        Self { steps, outage, ever_sends, free_at: SimTime::ZERO, spare: 0 }
    }

    fn service_end(&mut self, start: SimTime, octets: u64) -> SimTime {
        let spare = if start == self.free_at { self.spare } else { 0 };
        let work = octets * WORK_OF_OCTET;
        (self.free_at, self.spare) = match work.checked_sub(spare) {
            None | Some(0) => (start, spare - work),
            Some(work) => self.send(start, work),
        };
        self.free_at
    }

    fn service_start(&self, mut now: SimTime) -> SimTime {
        for _ in 0..MOST_CHANGES {
            if now == SimTime::NEVER || !self.ever_sends {
                break;
            }
            let (rate, until) = self.rate_at(now);
            if rate.0 > 0 {
                return now;
            }
            now = until;
        }
        SimTime::NEVER
    }

    fn capacity(&self, mut from: SimTime, until: SimTime) -> f64 {
        let mut work = 0_u128;
        let mut rounds = InterruptPoll::default();
        while from < until {
            rounds.poll();
            if let Some((length, in_period)) = self.period_at(from) {
                let periods = (until - from).0 / length.0;
                work += u128::from(in_period) * u128::from(periods);
                from += length * periods;
            }
            let (rate, change) = self.rate_at(from);
            let change = change.min(until);
            work += u128::from(rate.0) * u128::from((change - from).0);
            from = change;
        }
        work as f64 / WORK_OF_OCTET as f64
    }

    /// The end of `work` begun at `now`, and the spare work then.
    fn send(&self, mut now: SimTime, mut work: u64) -> (SimTime, u64) {
        let mut silent = 0;
        let mut rounds = InterruptPoll::default();
        while now != SimTime::NEVER && self.ever_sends && silent < MOST_CHANGES {
            rounds.poll();
            if let Some((length, in_period)) = self.period_at(now).filter(|(_, in_period)| *in_period > 0) {
                let periods = (work - 1) / in_period; // something is left, so that the packet ends while the link sends
                work -= periods * in_period;
                now = SimTime(now.0.saturating_add(length.0.saturating_mul(periods)));
            }
            let (rate, until) = self.rate_at(now);
            silent = if rate.0 > 0 { 0 } else { silent + 1 };
            if rate.0 > 0 {
                let needed = SimDuration(work.div_ceil(rate.0));
                if now + needed <= until {
                    return (now + needed, needed.0 * rate.0 - work);
                }
                work -= rate.0 * (until - now).0;
            }
            now = until;
        }
        (SimTime::NEVER, 0)
    }

    /// The period of a rate that only outages change: the time from `now` until the state repeats, and the work that
    /// fits in between. The first period has no outage.
    fn period_at(&self, now: SimTime) -> Option<(SimDuration, u64)> {
        let outage = self.outage.filter(|outage| now.0 >= outage.period().0)?;
        let rate = self.steps.only_value()?;
        Some((outage.period(), rate.0.checked_mul(outage.sends_for().0)?))
    }

    fn rate_at(&self, now: SimTime) -> (Bandwidth, SimTime) {
        let (rate, until) = self.steps.at(now);
        if rate.0 == 0 {
            return (rate, until); // which outages change nothing of
        }
        match self.outage.map(|outage| outage.at(now)) {
            Some((true, end)) => (Bandwidth(0), end),
            Some((false, begin)) => (rate, until.min(begin)),
            None => (rate, until),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MBIT: u64 = 1_000_000;

    fn schedule(steps: &[(u64, u64)], period_ms: Option<u64>) -> RateProcess {
        let steps = steps.iter().map(|&(ms, mbit)| (SimDuration::from_millis(ms), Bandwidth(mbit * MBIT))).collect();
        let steps = Schedule::new(steps, period_ms.map(SimDuration::from_millis));
        RateProcess::new(&RateConfig::Schedule(steps), None)
    }

    #[test]
    fn a_packet_caught_by_a_change_ends_at_the_new_rate() {
        // 12 Mbit/s until 10 ms, 3 Mbit/s after. 1500 octets = 12 000 bit, begun at 9.5 ms: 6000 bit go at the old
        // rate, the other 6000 take 2 ms at the new one.
        let mut rate = schedule(&[(0, 12), (10, 3)], None);
        assert_eq!(rate.service_end(SimTime(9_500_000), 1500), SimTime(12_000_000));
        // faster: 6000 bit in the last 2 ms at 3 Mbit/s, 6000 in 0.5 ms at 12 Mbit/s
        let mut rate = schedule(&[(0, 3), (10, 12)], None);
        assert_eq!(rate.service_end(SimTime(8_000_000), 1500), SimTime(10_500_000));
    }

    #[test]
    fn a_packet_may_span_many_changes() {
        // 1 and 2 Mbit/s by turns, each for 1 ms: 3000 bit in 2 ms. 12 000 bit take 8 ms.
        let mut rate = schedule(&[(0, 1), (1, 2)], Some(2));
        assert_eq!(rate.service_end(SimTime(0), 1500), SimTime(8_000_000));
        // begun in the middle of a slow ms: 500 bit, then 2000, 1000, ...: 11 500 left at 9 ms, 9 000 of them in three
        // periods until 15 ms, 2000 until 16 ms, and the last 500 in 0.5 ms at 1 Mbit/s
        assert_eq!(rate.service_end(SimTime(8_500_000), 1500), SimTime(16_500_000));
    }

    #[test]
    fn nothing_leaves_at_rate_zero() {
        let mut rate = schedule(&[(0, 12), (10, 0), (60, 12)], None);
        assert_eq!(rate.service_end(SimTime(9_500_000), 1500), SimTime(60_500_000));
        let mut rate = schedule(&[(0, 12), (10, 0)], None);
        assert_eq!(rate.service_end(SimTime(9_500_000), 1500), SimTime::NEVER);
    }

    #[test]
    fn the_long_run_rate_is_exact_whatever_the_rounding() {
        // 7 Gbit/s: 1500 octets take 1714.2857 ns. 7000 packets: 12 000 000 ns.
        let mut rate = RateProcess::new(&RateConfig::Constant(Bandwidth(7_000 * MBIT)), None);
        let end = (0..7_000).fold(SimTime(0), |start, _| rate.service_end(start, 1500));
        assert_eq!(end, SimTime(12_000_000));
    }

    #[test]
    fn packets_shorter_than_a_nanosecond_share_one() {
        // 100 Tbit/s sends 12 500 octets in a nanosecond: 250 packets of 50
        let mut rate = RateProcess::new(&RateConfig::Constant(Bandwidth(100_000_000 * MBIT)), None);
        let ends: Vec<u64> = (0..251)
            .scan(SimTime(0), |at, _| {
                *at = rate.service_end(*at, 50);
                Some(at.0)
            })
            .collect();
        assert_eq!((ends[0], ends[249], ends[250]), (1, 1, 2));
    }

    #[test]
    fn an_outage_stops_the_clock() {
        // every 100 ms from 100 ms on, 20 ms long; 12 000 bit at 12 Mbit/s take 1 ms
        let outage = Outage::new(SimDuration::from_millis(100), SimDuration::from_millis(20));
        let mut rate = RateProcess::new(&RateConfig::Constant(Bandwidth(12 * MBIT)), Some(outage));
        assert_eq!(rate.service_end(SimTime(0), 1500), SimTime(1_000_000));
        assert_eq!(rate.service_end(SimTime(99_600_000), 1500), SimTime(120_600_000));
        assert_eq!(rate.service_end(SimTime(219_000_000), 1500), SimTime(221_000_000));
    }

    /// Half a million outages within three seconds without a rate have no effect: 12 000 bit begun at 1.999 s have 1 ms
    /// at half of 5 Mbit/s, 2500 bit, and the other 9500 take 3.8 ms from 5 s on.
    #[test]
    fn outages_while_nothing_is_sent_count_for_nothing() {
        let outage = Outage::new(SimDuration(4_000), SimDuration(2_000));
        let steps =
            [(0, 5), (2_000, 0), (5_000, 5)].map(|(ms, mbit)| (SimDuration::from_millis(ms), Bandwidth(mbit * MBIT)));
        let steps = Schedule::new(steps.to_vec(), None);
        let mut rate = RateProcess::new(&RateConfig::Schedule(steps), Some(outage));
        let end = rate.service_end(SimTime(1_999_000_000), 1_500);
        assert!(end.0.abs_diff(5_003_800_000) <= 4_000, "{end:?}");
    }

    #[test]
    fn many_outages_are_passed_over_at_once() {
        // 1 bit/s for one nanosecond of two, but for the first period: 8 bit take 16 s less one nanosecond
        let outage = Outage::new(SimDuration(2), SimDuration(1));
        let mut rate = RateProcess::new(&RateConfig::Constant(Bandwidth(1)), Some(outage));
        let second = 1_000_000_000;
        // 2 ns of the first period, then one of two: work of 8e9 - 2 in pairs, the last of which ends with its second half
        assert_eq!(rate.service_end(SimTime(0), 1), SimTime(16 * second - 2));
        assert_eq!(rate.capacity(SimTime(2), SimTime(16 * second + 2)), Some(1.0));
        // begun in an outage, at an even time: the first bit leaves after a nanosecond
        let mut rate = RateProcess::new(&RateConfig::Constant(Bandwidth(1)), Some(outage));
        assert_eq!(rate.service_end(SimTime(10), 1), SimTime(10 + 16 * second));
    }

    #[test]
    fn nothing_begins_at_rate_zero() {
        let mut rate = schedule(&[(0, 12), (10, 0), (60, 12)], Some(70));
        assert_eq!(rate.service_start(SimTime(9_999_999)), SimTime(9_999_999));
        assert_eq!(rate.service_start(SimTime(10_000_000)), SimTime(60_000_000));
        // 20 ms of 70 at 12 Mbit/s: 30 000 octets, 15 000 of them in the first 10 ms
        assert_eq!(rate.capacity(SimTime(0), SimTime(70_000_000)), Some(30_000.0));
        assert_eq!(rate.capacity(SimTime(5_000_000), SimTime(65_000_000)), Some(15_000.0));
        let mut over = schedule(&[(0, 12), (10, 0)], None);
        assert_eq!(over.service_start(SimTime(10_000_000)), SimTime::NEVER);
    }

    #[test]
    fn buffers_are_sized_for_the_highest_rate() {
        let steps = vec![(SimDuration(0), Bandwidth(10)), (SimDuration(30), Bandwidth(50))];
        assert_eq!(RateConfig::Schedule(Schedule::new(steps, None)).nominal(), Bandwidth(50));
    }

    #[test]
    fn a_repeated_list_of_nothing_never_sends() {
        let mut rate = schedule(&[(0, 0), (7, 0)], Some(14));
        assert_eq!(rate.service_start(SimTime(3)), SimTime::NEVER);
        assert_eq!(rate.service_end(SimTime(3), 1500), SimTime::NEVER);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// A backlogged link sends all that its rates allow, at most a nanosecond's worth less, and never more.
        #[test]
        fn a_backlog_takes_all_of_the_capacity(
            rates in proptest::collection::vec(0_u64..50, 1..6),
            sizes in proptest::collection::vec(40_u64..1501, 1..200),
            repeats in proptest::bool::ANY,
        ) {
            let steps: Vec<(u64, u64)> = (0..).zip(&rates).map(|(index, rate)| (index * 7, *rate)).collect();
            let mut rate = schedule(&steps, repeats.then_some(7 * rates.len() as u64));
            let mut now = SimTime::ZERO;
            let mut sent = 0;
            for octets in sizes {
                let start = rate.service_start(now);
                if start == SimTime::NEVER {
                    break;
                }
                now = rate.service_end(start, octets);
                if now == SimTime::NEVER {
                    break;
                }
                sent += octets;
                let capacity = rate.capacity(SimTime::ZERO, now).expect("its rate changes");
                // 50 Mbit/s send 0.00625 octets in a nanosecond
                prop_assert!((0.0..0.007).contains(&(capacity - sent as f64)), "{capacity} {sent}");
            }
        }
    }
}

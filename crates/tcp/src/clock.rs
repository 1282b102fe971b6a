//! The clock behind the timestamps option: ticks, an offset and a skew (RFC 7323 section 5.4).
//!
//! A host notes by another clock when segments leave and arrive.
//!
//! Departures: it may be set back, and begins at a time that is no secret. A tick is one granularity on a clock that may run too fast or too slow and may be set once; the
//! offset is what the clock shows at time zero, and the peer knows nothing of it. Set back, it shows times that PAWS at the
//! peer refuses until it has caught up (section 5.4 asks for a clock that only goes on).

use ackclock_units::{SimDuration, SimTime};

use crate::config::{ClockConfig, ClockStep, RtoConfig, RtoEstimator};

/// Timestamp clock of an endpoint.
#[derive(Clone, Debug)]
pub(crate) struct TimestampClock {
    granularity: u64,
    offset: u32,
    /// The last tick, and the time from which the clock shows it: dozens of packets share a tick, and a division is
    /// expensive.
    tick: u32,
    shown_from: u64,
    /// Error of a clock that does not show the true time.
    error: Option<Box<ClockError>>,
}

/// Error of a clock: a wrong speed, and a step.
#[derive(Clone, Copy, Debug)]
struct ClockError {
    /// Its seconds in a second, if that is not one.
    speed: Option<f64>,
    step: Option<ClockStep>,
}

impl TimestampClock {
    pub(crate) fn new(config: ClockConfig) -> Self {
        let ClockConfig { granularity, offset, skew_ppm, step } = config;
        let speed = (skew_ppm != 0.0).then_some(1.0 + skew_ppm * 1e-6);
        Self {
            granularity: granularity.0,
            offset,
            tick: offset,
            shown_from: 0,
            error: (speed.is_some() || step.is_some()).then(|| Box::new(ClockError { speed, step })),
        }
    }

    /// Length of a tick.
    pub(crate) fn granularity(&self) -> SimDuration {
        SimDuration(self.granularity)
    }

    /// Reading of the clock at `now`
    #[inline]
    pub(crate) fn tick(&mut self, now: SimTime) -> u32 {
        let own = self.error.as_ref().map_or(now.0, |error| error.show(now));
        if own.wrapping_sub(self.shown_from) >= self.granularity {
            self.turn_to(own);
        }
        self.tick
    }

    /// Time between `echo` and `now` by this clock: the round trip that a peer measures which sent `echo` back.
    pub(crate) fn ticks_since(&mut self, echo: u32, now: SimTime) -> SimDuration {
        SimDuration(u64::from(self.tick(now).wrapping_sub(echo)).saturating_mul(self.granularity))
    }

    fn turn_to(&mut self, own: u64) {
        //= rfc7323-5.4-clock
        let count = own / self.granularity;
        self.tick = (count as u32).wrapping_add(self.offset);
        self.shown_from = count * self.granularity;
    }

    /// The instant at which the clock began to show `tick`, the latest one not after `now`.
    pub(crate) fn time_of(&mut self, tick: u32, now: SimTime) -> SimTime {
        let ago = u64::from(self.tick(now).wrapping_sub(tick)) * self.granularity;
        let speed = self.error.as_ref().and_then(|error| error.speed);
        let ago = speed.map_or(ago, |speed| (ago as f64 / speed) as u64);
        SimTime(now.0.saturating_sub(ago)) // a tick of before the run
    }
}

impl ClockError {
    fn show(&self, now: SimTime) -> u64 {
        let own = self.speed.map_or(now.0, |speed| (now.0 as f64 * speed) as u64);
        self.step.filter(|step| now >= SimTime::ZERO + step.at).map_or(own, |step| stepped(own, step))
    }
}

fn stepped(own: u64, step: ClockStep) -> u64 {
    //= rfc7323-5.4-monotonic
    // A clock stops at its ends.
    let by = |span: Option<SimDuration>| span.unwrap_or_default().0;
    own.saturating_add(by(step.forward)).saturating_sub(by(step.back))
}

/// The clock that notes when segments leave and arrive: exact, or in whole microseconds as on Linux (`tcp_mstamp`,
/// `tcp_skb_timestamp_us`). Round trips and delivery rates are differences of its readings.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SegmentClock {
    is_whole_microseconds: bool,
}

impl SegmentClock {
    pub(crate) fn of(config: &RtoConfig) -> Self {
        Self { is_whole_microseconds: config.estimator == RtoEstimator::Linux }
    }

    /// Its reading at a time.
    #[inline]
    pub(crate) fn read(self, time: SimTime) -> SimTime {
        if self.is_whole_microseconds { SimTime(time.0 / 1_000 * 1_000) } else { time }
    }

    /// Time between two readings.
    #[inline]
    pub(crate) fn between(self, from: SimTime, to: SimTime) -> SimDuration {
        self.read(to).saturating_since(self.read(from))
    }
}

/// True if timestamp `a` lies before `b`, on a clock that wraps (RFC 7323 section 5.2).
pub(crate) fn is_before(a: u32, b: u32) -> bool {
    //= rfc7323-5.2-wraps
    (a.wrapping_sub(b) as i32) < 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(offset: u32, skew_ppm: f64) -> TimestampClock {
        TimestampClock::new(ClockConfig { granularity: SimDuration::from_millis(1), offset, skew_ppm, step: None })
    }

    //= rfc7323-7.1-offset
    //= rfc7323-5.4-clock
    #[test]
    fn ticks_count_from_the_offset_and_wrap() {
        assert_eq!(clock(7, 0.0).tick(SimTime(3_999_999)), 10); // three whole milliseconds
        assert_eq!(clock(u32::MAX, 0.0).tick(SimTime(2_000_000)), 1);
    }

    #[test]
    fn a_clock_100_ppm_fast_gains_a_tick_in_ten_seconds() {
        assert_eq!(clock(0, 100.0).tick(SimTime(10_000_000_000)), 10_001); // 10 s * 1.0001
    }

    /// The kernel subtracts whole microseconds: 1.001 us that begin at 0.999 us are two, and those that begin at 1 us are one.
    #[test]
    fn on_linux_segments_leave_and_arrive_at_whole_microseconds() {
        let spans = |estimator| {
            let clock = SegmentClock::of(&RtoConfig::of(estimator));
            [999, 1_000].map(|from| clock.between(SimTime(from), SimTime(from + 1_001)).0)
        };
        assert_eq!(spans(RtoEstimator::Linux), [2_000, 1_000]);
        assert_eq!(spans(RtoEstimator::Rfc6298), [1_001, 1_001]);
    }

    //= rfc7323-5.4-monotonic
    #[test]
    fn a_clock_that_is_set_goes_on_from_there() {
        let at = SimTime(10_000_000);
        let by = Some(SimDuration::from_millis(7));
        let set = |is_forward| {
            let (forward, back) = if is_forward { (by, None) } else { (None, by) };
            let step = Some(ClockStep { at: SimDuration(at.0), forward, back });
            let granularity = SimDuration::from_millis(1);
            let mut clock = TimestampClock::new(ClockConfig { granularity, offset: 100, skew_ppm: 0.0, step });
            [clock.tick(SimTime(9_999_999)), clock.tick(at), clock.tick(SimTime(12_000_000))]
        };
        assert_eq!(set(true), [109, 117, 119]);
        assert_eq!(set(false), [109, 103, 105]);
    }

    #[test]
    fn a_tick_is_found_again() {
        let mut clock = clock(u32::MAX - 5, 0.0);
        let tick = clock.tick(SimTime(4_000_000));
        assert_eq!(clock.time_of(tick, SimTime(104_000_000)), SimTime(4_000_000));
    }
}

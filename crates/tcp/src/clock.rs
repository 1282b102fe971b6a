//! The clock behind the timestamps option: ticks, an offset and a skew (RFC 7323 section 5.4).
//!
//! Departures: none. A tick is one granularity on a clock that may run too fast or too slow; the offset is what the
//! clock shows at time zero, and the peer knows nothing of it.

use ackclock_units::{SimDuration, SimTime};

use crate::config::ClockConfig;

/// See the module.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimestampClock {
    config: ClockConfig,
    /// The tick last asked for, and the span of nanoseconds in which the clock shows it: packets come by the dozen in
    /// one, and a division is dear.
    tick: u32,
    shown_from: u64,
    shown_until: u64,
}

impl TimestampClock {
    pub(crate) fn new(config: ClockConfig) -> Self {
        Self { config, tick: 0, shown_from: 0, shown_until: 0 }
    }

    /// One tick.
    pub(crate) fn granularity(&self) -> SimDuration {
        self.config.granularity
    }

    /// What the clock shows at `now`.
    pub(crate) fn tick(&mut self, now: SimTime) -> u32 {
        let own = if self.config.skew_ppm == 0.0 { now.0 } else { (now.0 as f64 * self.speed()) as u64 };
        if !(self.shown_from..self.shown_until).contains(&own) {
            let count = own / self.config.granularity.0;
            self.tick = (count as u32).wrapping_add(self.config.offset);
            self.shown_from = count * self.config.granularity.0;
            self.shown_until = self.shown_from + self.config.granularity.0;
        }
        self.tick
    }

    /// The instant at which the clock began to show `tick`, the latest one not after `now`.
    pub(crate) fn time_of(&mut self, tick: u32, now: SimTime) -> SimTime {
        let ago = u64::from(self.tick(now).wrapping_sub(tick)) * self.config.granularity.0;
        let ago = if self.config.skew_ppm == 0.0 { ago } else { (ago as f64 / self.speed()) as u64 };
        SimTime(now.0.saturating_sub(ago))
    }

    fn speed(&self) -> f64 {
        1.0 + self.config.skew_ppm * 1e-6
    }
}

/// True if timestamp `a` lies before `b`, on a clock that wraps (RFC 7323 section 5.2).
pub(crate) fn is_before(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(offset: u32, skew_ppm: f64) -> TimestampClock {
        TimestampClock::new(ClockConfig { granularity: SimDuration::from_millis(1), offset, skew_ppm })
    }

    #[test]
    fn ticks_count_from_the_offset_and_wrap() {
        assert_eq!(clock(7, 0.0).tick(SimTime(3_999_999)), 10); // three whole milliseconds
        assert_eq!(clock(u32::MAX, 0.0).tick(SimTime(2_000_000)), 1);
    }

    #[test]
    fn a_clock_100_ppm_fast_gains_a_tick_in_ten_seconds() {
        assert_eq!(clock(0, 100.0).tick(SimTime(10_000_000_000)), 10_001); // 10 s * 1.0001
    }

    #[test]
    fn a_tick_is_found_again() {
        let mut clock = clock(u32::MAX - 5, 0.0);
        let tick = clock.tick(SimTime(4_000_000));
        assert_eq!(clock.time_of(tick, SimTime(104_000_000)), SimTime(4_000_000));
    }
}

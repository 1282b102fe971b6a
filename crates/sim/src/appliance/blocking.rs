//! Head-of-line blocking: the time that data waits at a receiver for lost data before it.

use ackclock_units::{Histogram, SimDuration, SimTime};

use crate::config::MeasureWindow;

/// Times during which a receiver held data out of order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Blocking {
    since: Option<SimTime>,
    /// Durations in nanoseconds of the episodes that ended within the window.
    episodes: Histogram,
    /// Time of the finished episodes within the window.
    total: SimDuration,
}

impl Blocking {
    /// Takes note of arriving data, and whether the receiver holds data out of order.
    pub(crate) fn on_data(&mut self, now: SimTime, is_blocked: bool, window: &MeasureWindow) {
        match (self.since, is_blocked) {
            (None, true) => self.since = Some(now),
            (Some(since), false) => {
                self.since = None;
                self.total += window.overlap(since, now);
                if window.holds(now) {
                    self.episodes.add(now.saturating_since(since).0);
                }
            }
            _ => {}
        }
    }

    pub(crate) fn episodes(&self) -> &Histogram {
        &self.episodes
    }

    /// The time in such episodes within the window up to `now`.
    pub(crate) fn total(&self, now: SimTime, window: &MeasureWindow) -> SimDuration {
        self.total + self.since.map_or(SimDuration::ZERO, |since| window.overlap(since, now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_is_that_of_the_window_and_an_episode_counts_where_it_ends() {
        let window = MeasureWindow { from: Some(SimTime(100)), until: Some(SimTime(200)) };
        let mut blocking = Blocking::default();
        blocking.on_data(SimTime(50), true, &window);
        blocking.on_data(SimTime(130), false, &window); // 30 within; 80 in all
        blocking.on_data(SimTime(180), true, &window); // 20 within, under way
        let total = SimDuration(50);
        assert_eq!((blocking.total(SimTime(300), &window), blocking.episodes().max()), (total, 80));
        blocking.on_data(SimTime(400), false, &window);
        assert_eq!((blocking.total(SimTime(500), &window), blocking.episodes().weight()), (total, 1));
    }
}

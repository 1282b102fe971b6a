//! How long data waits at a receiver for what was lost before it (head-of-line blocking).

use ackclock_units::{Histogram, SimDuration, SimTime};

/// Times during which a receiver held data out of order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Blocking {
    since: Option<SimTime>,
    /// Nanoseconds, one for each time.
    episodes: Histogram,
    total: SimDuration,
}

impl Blocking {
    /// Data has arrived; does the receiver hold any out of order?
    pub(crate) fn on_data(&mut self, now: SimTime, is_blocked: bool, counts: bool) {
        match (self.since, is_blocked) {
            (None, true) => self.since = Some(now),
            (Some(since), false) => {
                self.since = None;
                let lasted = now.saturating_since(since);
                if counts {
                    self.episodes.add(lasted.0);
                    self.total += lasted;
                }
            }
            _ => {}
        }
    }

    pub(crate) fn episodes(&self) -> &Histogram {
        &self.episodes
    }

    pub(crate) fn total(&self) -> SimDuration {
        self.total
    }
}

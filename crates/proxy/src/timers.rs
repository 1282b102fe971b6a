//! Timers of a thread's connections.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::{Duration, Instant};

/// Reason of a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// Nothing may have happened for too long.
    Idle,
    /// Its wait for another check is over.
    Retry,
    /// The octets that it keeps must be updated.
    Tick,
    /// Connections that were left waiting may be taken.
    Accept,
}

/// A thread's timers. None is ever taken back: whoever is woken looks whether there is anything to do.
#[derive(Debug, Default)]
pub struct Timers {
    heap: BinaryHeap<Reverse<(Instant, u64, Cause)>>,
}

impl Timers {
    /// Wakes the connection `token` at `at`.
    pub fn set(&mut self, at: Instant, token: u64, cause: Cause) {
        self.heap.push(Reverse((at, token, cause)));
    }

    /// Removes and returns a timer that is due.
    pub fn pop_due(&mut self, now: Instant) -> Option<(u64, Cause)> {
        let Reverse((at, token, cause)) = *self.heap.peek()?;
        (at <= now).then(|| {
            self.heap.pop();
            (token, cause)
        })
    }

    /// Time until the next timer.
    pub fn until_next(&self, now: Instant) -> Option<Duration> {
        self.heap.peek().map(|Reverse((at, ..))| at.saturating_duration_since(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_soonest_first_and_none_early() {
        let (mut timers, now) = (Timers::default(), Instant::now());
        let later = |millis| now + Duration::from_millis(millis);
        timers.set(later(20), 2, Cause::Idle);
        timers.set(later(10), 1, Cause::Tick);
        assert_eq!(timers.pop_due(later(9)), None);
        assert_eq!(timers.until_next(later(4)), Some(Duration::from_millis(6)));
        assert_eq!(timers.pop_due(later(30)), Some((1, Cause::Tick)));
        assert_eq!(timers.pop_due(later(30)), Some((2, Cause::Idle)));
    }
}

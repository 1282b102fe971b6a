//! Limits of new connections a second: a token bucket that threads share without a lock.
//!
//! Source: the virtual scheduling algorithm of ITU-T I.371 annex A, which admits what a bucket of `burst` tokens admits, and keeps one
//! number: the time at which the bucket will be full.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A bucket, full at first.
#[derive(Debug)]
pub struct Rate {
    /// Nanoseconds in which a token comes.
    interval: u64,
    /// Nanoseconds in which all tokens but one come.
    depth: u64,
    start: Instant,
    /// Time at which the bucket will be full, in nanoseconds from `start`.
    full_at: AtomicU64,
}

impl Rate {
    /// A bucket of `burst` tokens into which `per_second` come each second; both are at least one.
    pub fn new(per_second: u32, burst: u32) -> Self {
        let interval = 1_000_000_000_u64.div_ceil(u64::from(per_second.max(1)));
        let depth = interval * u64::from(burst.saturating_sub(1));
        Self { interval, depth, start: Instant::now(), full_at: AtomicU64::new(0) }
    }

    /// Takes a token; the error is the wait until there is one.
    pub fn take(&self, now: Instant) -> Result<(), Duration> {
        let now = now.saturating_duration_since(self.start).as_nanos() as u64;
        let taken = |full_at: u64| {
            let from = full_at.max(now);
            (from - now <= self.depth).then_some(from + self.interval)
        };
        let updated = self.full_at.fetch_update(Ordering::Relaxed, Ordering::Relaxed, taken);
        updated.map(|_| ()).map_err(|full_at| Duration::from_nanos(full_at - self.depth - now))
    }

    /// Returns a token that was taken and not used.
    pub fn give_back(&self) {
        self.full_at.fetch_sub(self.interval, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 10 a second with 3 at once: three at the start, then one each 100 ms; after a pause no more than three again.
    #[test]
    fn a_burst_then_the_rate() {
        let rate = Rate::new(10, 3);
        let at = |millis| rate.start + Duration::from_millis(millis);
        assert!((0..3).all(|_| rate.take(at(0)).is_ok()));
        assert_eq!(rate.take(at(0)), Err(Duration::from_millis(100)));
        assert_eq!(rate.take(at(60)), Err(Duration::from_millis(40)));
        assert_eq!(rate.take(at(100)), Ok(()));
        assert_eq!(rate.take(at(100)), Err(Duration::from_millis(100)));
        rate.give_back();
        assert_eq!(rate.take(at(100)), Ok(()));
        assert_eq!((0..10).filter(|_| rate.take(at(60_000)).is_ok()).count(), 3);
    }

    #[test]
    fn threads_share_a_bucket() {
        let (rate, now) = (Rate::new(1, 50), Instant::now());
        let taken: usize = std::thread::scope(|scope| {
            let takers: Vec<_> =
                (0..4).map(|_| scope.spawn(|| (0..100).filter(|_| rate.take(now).is_ok()).count())).collect();
            takers.into_iter().map(|taker| taker.join().unwrap()).sum()
        });
        assert_eq!(taken, 50);
    }
}

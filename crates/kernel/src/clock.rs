//! The clock on the wall as the time of a run: nanoseconds since it began.

use std::fs;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use ackclock_units::SimTime;

/// A clock that reads zero when it is made; it never goes back (`CLOCK_MONOTONIC`).
#[derive(Clone, Copy, Debug)]
pub struct WallClock {
    start: Instant,
}

impl WallClock {
    /// A clock that begins now.
    pub fn start() -> Self {
        Self { start: Instant::now() }
    }

    /// Reads zero at a moment to come.
    pub fn start_in(wait: Duration) -> Self {
        Self { start: Instant::now() + wait }
    }

    /// Time since the begin of the run; zero before it.
    pub fn now(&self) -> SimTime {
        SimTime(Instant::now().saturating_duration_since(self.start).as_nanos() as u64)
    }

    /// Time from now until `time`; zero if that has passed.
    pub fn until(&self, time: SimTime) -> Duration {
        (self.start + Duration::from_nanos(time.0)).saturating_duration_since(Instant::now())
    }

    /// Sleeps until `time` of the run.
    pub fn sleep_until(&self, time: SimTime) {
        std::thread::sleep(self.until(time));
    }
}

/// True if the kernel's time is virtual: it stands still while anything computes, and jumps to the next timer when all wait.
/// A user-mode kernel that was started with `time-travel` has such a time.
pub fn is_virtual() -> bool {
    static IS_VIRTUAL: LazyLock<bool> = LazyLock::new(|| {
        let text = fs::read_to_string("/proc/cmdline").unwrap_or_default();
        text.split_whitespace().any(|word| word.starts_with("time-travel="))
    });
    *IS_VIRTUAL
}

//! Sleep of an emulator's thread: until the next event or packet, but for the last moments before an event.
//!
//! In [virtual time](is_virtual) a thread wakes exactly when it wanted to, so that it sleeps until the event itself, and never rests.

use std::io;
use std::os::fd::BorrowedFd;
use std::thread;
use std::time::{Duration, Instant};

use ackclock_units::SimTime;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;

use crate::clock::{WallClock, is_virtual};
use crate::sys;

/// Closer than this to an event, the thread does not sleep.
const AWAKE: Duration = Duration::from_micros(20);
/// Time without sleep after which the thread rests for `REST`. The kernel throttles a real-time thread that never
/// sleeps, in favour of ordinary ones, for up to 50 ms at a time (the real-time throttle, and the fair server of Linux
/// 6.12). The rest leaves it no more than three quarters of a processor.
const SPELL: Duration = Duration::from_micros(300);
const REST: Duration = Duration::from_micros(100);
/// The longest sleep, after which a wish to stop is heard.
const NAP: Duration = Duration::from_millis(50);
/// Before ordinary threads, and behind what else is real-time on the machine.
const PRIORITY: i32 = 10;

/// Sleep of an emulator's thread.
#[derive(Debug)]
pub(super) struct Pace {
    clock: WallClock,
    rested: Instant,
    /// True if the thread runs before all ordinary ones.
    pub(super) is_real_time: bool,
}

impl Pace {
    /// Puts the calling thread before all ordinary ones, where it may.
    pub(super) fn begin(clock: WallClock) -> Self {
        let is_real_time = sys::become_fifo(PRIORITY).is_ok();
        // A thread of SCHED_FIFO has no slack; an ordinary one has 50 us unless it says otherwise.
        let _ = nix::sys::prctl::set_timerslack(1);
        Self { clock, rested: Instant::now(), is_real_time }
    }

    /// After a round that was busy or not: sleeps until shortly before `next`, or until a device has something.
    pub(super) fn rest(&mut self, was_busy: bool, next: SimTime, devices: &[BorrowedFd<'_>]) -> io::Result<()> {
        if !was_busy && self.wait(next, devices)? {
            self.rested = Instant::now();
        } else if !is_virtual() && self.rested.elapsed() > SPELL {
            thread::sleep(REST);
            self.rested = Instant::now();
        }
        Ok(())
    }

    /// False if `time` is too close for sleep.
    fn wait(&self, time: SimTime, devices: &[BorrowedFd<'_>]) -> io::Result<bool> {
        let left = self.clock.until(time).saturating_sub(if is_virtual() { Duration::ZERO } else { AWAKE });
        if left.is_zero() {
            return Ok(false);
        }
        let nap = TimeSpec::from_duration(left.min(NAP));
        let mut ready: Vec<PollFd<'_>> = devices.iter().map(|fd| PollFd::new(*fd, PollFlags::POLLIN)).collect();
        match ppoll(&mut ready, Some(nap), None) {
            Ok(_) | Err(nix::Error::EINTR) => Ok(true),
            Err(error) => Err(error.into()),
        }
    }
}

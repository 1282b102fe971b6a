//! Sleep of an emulator's thread: until the next event or packet, but for the last moments before an event.
//!
//! In [virtual time](is_virtual) a thread wakes exactly when it wanted to, so that it sleeps until the event itself and never rests.
//! Each call to such a kernel costs some microseconds of this machine's time, and so it looks only at devices that have something.

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
        Self { clock, rested: Instant::now(), is_real_time }
    }

    /// After a round at `now` that was busy or not: sleeps until shortly before `next`, or until a device has something. Sets which
    /// devices may have something.
    pub(super) fn rest(
        &mut self,
        was_busy: bool,
        (now, next): (SimTime, SimTime),
        devices: &[BorrowedFd<'_>],
        are_ready: &mut [bool],
    ) -> io::Result<()> {
        if is_virtual() {
            return wait(Duration::from_nanos(next.saturating_since(now).0), devices, are_ready);
        }
        let left = self.clock.until(next).saturating_sub(AWAKE);
        // Too close for sleep, the round begins anew at once.
        if !was_busy && !left.is_zero() {
            wait(left, devices, are_ready)?;
            self.rested = Instant::now();
        } else if self.rested.elapsed() > SPELL {
            thread::sleep(REST);
            self.rested = Instant::now();
        }
        // Something may have come since.
        are_ready.fill(true);
        Ok(())
    }
}

/// Sleeps until a device has something, no longer than `left`, and sets which have.
fn wait(left: Duration, devices: &[BorrowedFd<'_>], are_ready: &mut [bool]) -> io::Result<()> {
    let nap = TimeSpec::from_duration(left.min(NAP));
    let mut polled: Vec<PollFd<'_>> = devices.iter().map(|fd| PollFd::new(*fd, PollFlags::POLLIN)).collect();
    match ppoll(&mut polled, Some(nap), None) {
        Ok(_) | Err(nix::Error::EINTR) => {}
        Err(error) => return Err(error.into()),
    }
    for (is_ready, device) in are_ready.iter_mut().zip(polled) {
        *is_ready = device.any().unwrap_or(true);
    }
    Ok(())
}

//! Spin-wait: polls for another thread's progress for a while, before letting go of the core.
//!
//! Threads that work by turns wait microseconds for each other. Waking one that sleeps takes as long, or many times that on a virtual
//! machine, whose core sleeps with its thread. So a thread polls for a while before it sleeps, and for longer than waking takes: or one
//! sleep would make the other thread sleep in its turn, and so on. Polls in vain, as where waits are long or other programs have the
//! cores, halve the next one, until now and then it begins anew.

use std::hint::spin_loop;
use std::num::NonZero;
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

/// Polls between two readings of the clock.
const LOOKS_AT_A_TIME: u32 = 16;

/// Number of consecutive waits with polls in vain after which it polls as long as at first.
const TRIES_ANEW: u32 = 64;

/// A wait for another thread that polls before it sleeps; one for each thing that is waited for again and again.
#[derive(Clone, Debug)]
pub struct SpinWait {
    longest: Duration,
    /// Consecutive waits in which polls were in vain.
    in_vain: u32,
}

impl SpinWait {
    /// Spin-wait of one of `threads` threads, each of which polls for `longest` at most. Without a core for each of
    /// them, none polls: it would poll while the thread that it waits for waits for its core.
    pub fn among(threads: usize, longest: Duration) -> Self {
        let cores = available_parallelism().map_or(1, NonZero::get);
        Self::new(if threads > cores { Duration::ZERO } else { longest })
    }

    const fn new(longest: Duration) -> Self {
        Self { longest, in_vain: 0 }
    }

    /// Polls until there is an answer, for as long as that pays; `None` if it is time to sleep.
    #[allow(clippy::disallowed_methods, reason = "the time of polling is not part of a simulation")]
    pub fn poll<T>(&mut self, mut look: impl FnMut() -> Option<T>) -> Option<T> {
        let most = self.longest / 1_u32.checked_shl(self.in_vain).unwrap_or(u32::MAX);
        let begun = Instant::now();
        loop {
            for _ in 0..LOOKS_AT_A_TIME {
                if let Some(found) = look() {
                    self.in_vain = 0;
                    return Some(found);
                }
                spin_loop();
            }
            if begun.elapsed() >= most {
                self.in_vain = (self.in_vain + 1) % TRIES_ANEW;
                return None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONGEST: Duration = Duration::from_millis(4);

    /// Time for which it polls for an event that never comes.
    #[allow(clippy::disallowed_methods, reason = "that is what is measured")]
    fn in_vain(spin_wait: &mut SpinWait) -> Duration {
        let begun = Instant::now();
        assert_eq!(spin_wait.poll(|| None::<()>), None);
        begun.elapsed()
    }

    /// The least of several, as a thread may lose its core amid any.
    fn least(looks: impl Fn(&mut SpinWait) -> Duration) -> Duration {
        (0..20).map(|_| looks(&mut SpinWait::new(LONGEST))).min().expect("twenty of them")
    }

    #[test]
    fn looks_in_vain_make_it_look_half_as_long() {
        assert!(least(in_vain) >= LONGEST);
        let second = least(|spin_wait| {
            in_vain(spin_wait);
            in_vain(spin_wait)
        });
        assert!((LONGEST / 2..LONGEST).contains(&second), "{second:?}");
    }

    #[test]
    fn what_is_found_makes_it_patient_again() {
        let mut spin_wait = SpinWait::new(LONGEST);
        for _ in 0..10 {
            in_vain(&mut spin_wait);
        }
        let mut looks = 0;
        let found = spin_wait.poll(|| {
            looks += 1;
            (looks == 3).then_some(looks)
        });
        assert_eq!(found, Some(3));
        assert!(in_vain(&mut spin_wait) >= LONGEST);
    }

    #[test]
    fn where_threads_have_no_core_each_none_looks_for_long() {
        let looks = |threads| {
            let mut looks = 0;
            let mut look = || {
                looks += 1;
                None::<()>
            };
            SpinWait::among(threads, 25 * LONGEST).poll(&mut look); // for longer than a thread loses its core
            looks
        };
        assert_eq!(looks(usize::MAX), LOOKS_AT_A_TIME);
        assert!(looks(1) > LOOKS_AT_A_TIME);
    }

    #[test]
    fn it_tries_anew_now_and_then() {
        let mut spin_wait = SpinWait::new(LONGEST);
        for _ in 0..TRIES_ANEW {
            in_vain(&mut spin_wait);
        }
        assert!(in_vain(&mut spin_wait) >= LONGEST);
    }
}

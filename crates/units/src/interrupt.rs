//! Interruption of long work: it checks now and then, and unwinds from there if it must end.
//!
//! Nothing of a result depends on it: work goes on as if it had not asked, or is lost.

use std::cell::RefCell;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// Payload with which an interrupted thread unwinds, if there is no other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interrupted;

/// Function that the program calls at each check, on any thread.
static LISTENER: OnceLock<fn()> = OnceLock::new();

thread_local! {
    /// Ends the work of this thread.
    static STOP: RefCell<Option<Arc<AtomicBool>>> = const { RefCell::new(None) };
}

/// Sets the function `listener` that work calls at each check, and that unwinds to end it. The first one stays; false
/// if there is one already.
pub fn listen(listener: fn()) -> bool {
    LISTENER.set(listener).is_ok()
}

/// The work of this thread ends, at the next [`check`], once `stop` is set.
pub fn stop_by(stop: Arc<AtomicBool>) {
    STOP.set(Some(stop));
}

/// Asks whether this work is still wanted; it unwinds from here if it is not. To be called some hundred times a second
/// or more: what it costs, some ten nanoseconds, is nothing then.
pub fn check() {
    if STOP.with_borrow(|stop| stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed))) {
        resume_unwind(Box::new(Interrupted));
    }
    if let Some(listener) = LISTENER.get() {
        listener();
    }
}

/// Counts the rounds of a loop, and checks once in many.
#[derive(Debug, Default)]
pub struct InterruptPoll {
    count: u32,
}

impl InterruptPoll {
    /// Rounds of some nanoseconds to some hundred between two checks.
    const BETWEEN: u32 = 1 << 14;

    /// Counts a round.
    #[inline]
    pub fn poll(&mut self) {
        self.count += 1;
        if self.count >= Self::BETWEEN {
            self.count = 0;
            check();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_is_stopped_unwinds_when_it_asks() {
        let stop = Arc::new(AtomicBool::new(false));
        let theirs = Arc::clone(&stop);
        let (asked, has_asked) = std::sync::mpsc::channel();
        let work = std::thread::spawn(move || {
            stop_by(theirs);
            let mut rounds = InterruptPoll::default();
            loop {
                rounds.poll();
                let _ = asked.send(());
            }
        });
        has_asked.recv().expect("it works until it is stopped");
        stop.store(true, Ordering::Relaxed);
        let payload = work.join().expect_err("it was stopped");
        assert_eq!(payload.downcast_ref(), Some(&Interrupted));
    }

    #[test]
    fn nobody_else_is_stopped() {
        check();
    }
}

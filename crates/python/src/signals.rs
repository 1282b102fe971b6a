//! Handles Ctrl-C and SIGTERM while the core works, and a caller's function that may end the work.

use std::cell::{Cell, RefCell};
use std::panic::resume_unwind;
use std::time::{Duration, Instant};

use ackclock_units::interrupt;
use pyo3::prelude::*;

use crate::failure::PartFailure;

/// The longest that a signal waits before Python sees it; taking Python's lock this often costs nothing.
const BETWEEN: Duration = Duration::from_millis(50);

thread_local! {
    /// The moment at which Python was last asked, while this thread works for Python.
    static ASKED: Cell<Option<Instant>> = const { Cell::new(None) };
    /// The caller's function, called as well.
    static CHECK: RefCell<Option<Py<PyAny>>> = const { RefCell::new(None) };
}

/// Makes long work of the core ask Python regularly.
pub(crate) fn listen() {
    interrupt::listen(heed);
}

/// Makes long work of this thread call `check` too.
pub(crate) fn set_check(check: Option<Py<PyAny>>) {
    CHECK.set(check);
}

/// A guard: while it lives, this thread works for Python, so that it can be interrupted.
#[derive(Debug)]
pub(crate) struct Listening {
    before: Option<Instant>,
}

impl Listening {
    #[allow(clippy::disallowed_methods, reason = "the moment at which a signal is seen does not affect a simulation")]
    pub(crate) fn begin() -> Self {
        let before = ASKED.get();
        ASKED.set(before.or_else(|| Some(Instant::now())));
        Self { before }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        ASKED.set(self.before.and(ASKED.get()));
    }
}

/// Lets Python act on signals. An exception, mostly KeyboardInterrupt, unwinds the work.
#[allow(clippy::disallowed_methods, reason = "the moment at which a signal is seen does not affect a simulation")]
fn heed() {
    let Some(asked) = ASKED.get() else { return };
    if asked.elapsed() < BETWEEN {
        return;
    }
    let heard = Python::attach(|py| {
        py.check_signals()?;
        let check = CHECK.with_borrow(|check| check.as_ref().map(|check| check.clone_ref(py)));
        check.map_or(Ok(()), |check| check.call0(py).map(drop))
    });
    ASKED.set(Some(Instant::now()));
    if let Err(error) = heard {
        resume_unwind(Box::new(PartFailure::of(error)));
    }
}

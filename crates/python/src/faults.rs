//! Panics of the core, reported in a line.

use std::panic::{PanicHookInfo, set_hook, take_hook};
use std::sync::{Mutex, PoisonError};

/// The first panic and its place, until somebody asks.
static FAULT: Mutex<Option<String>> = Mutex::new(None);

/// Keeps panics from now on instead of printing them; `RUST_BACKTRACE` or `ACKCLOCK_DEBUG=1` prints them too.
pub(crate) fn keep() {
    let print = take_hook();
    set_hook(Box::new(move |panic| {
        FAULT.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(|| in_a_line(panic));
        let is_set = |name, off| std::env::var_os(name).is_some_and(|value| value != off);
        if is_set("RUST_BACKTRACE", "0") || is_set("ACKCLOCK_DEBUG", "") {
            print(panic);
        }
    }));
}

/// The first panic since the last call.
pub(crate) fn take() -> Option<String> {
    FAULT.lock().unwrap_or_else(PoisonError::into_inner).take()
}

fn in_a_line(panic: &PanicHookInfo<'_>) -> String {
    let message = panic.payload_as_str().unwrap_or("no message").lines().collect::<Vec<_>>().join(" ");
    panic.location().map_or(message.clone(), |place| format!("{message} ({}:{})", place.file(), place.line()))
}

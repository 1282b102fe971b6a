//! The three functions that a page calls, and the octets between them.
//!
//! The page asks for room ([`studio_input`]), writes its question there, calls [`studio_call`] and reads the answer at
//! [`studio_output`]. Room and answer stay where they are until the next call of either. A browser's worker is one thread, so
//! that the engine lies in a variable of the thread. A panic ends the program; what it said is the answer then.
#![allow(unsafe_code)] // for the names of exported functions alone

use std::cell::RefCell;
use std::sync::Once;

use crate::engine::Engine;
use crate::protocol::answer;

#[derive(Default)]
struct State {
    engine: Engine,
    input: Vec<u8>,
    output: Vec<u8>,
}

thread_local! {
    static STATE: RefCell<State> = RefCell::default();
    /// Message of a panic: the state may be borrowed then.
    static LAST_WORDS: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

static HOOK: Once = Once::new();

/// Room for `len` octets of a question.
#[unsafe(no_mangle)]
pub extern "C" fn studio_input(len: usize) -> *mut u8 {
    HOOK.call_once(|| std::panic::set_hook(Box::new(|panic| keep(&panic.to_string()))));
    STATE.with_borrow_mut(|state| {
        state.input.resize(len, 0);
        state.input.as_mut_ptr()
    })
}

/// Answers the question, which is of this operation ([`crate::protocol::Operation`]). Returns how many octets the answer has.
#[unsafe(no_mangle)]
pub extern "C" fn studio_call(operation: u32) -> usize {
    STATE.with_borrow_mut(|State { engine, input, output }| {
        output.clear();
        answer(engine, operation, input, output);
        output.len()
    })
}

/// Address of the answer.
#[unsafe(no_mangle)]
pub extern "C" fn studio_output() -> *const u8 {
    STATE.with_borrow(|state| state.output.as_ptr())
}

/// Length of a panic's message in octets; to be called when [`studio_call`] did not return.
#[unsafe(no_mangle)]
pub extern "C" fn studio_last_words_len() -> usize {
    LAST_WORDS.with_borrow(Vec::len)
}

/// Address of the panic's message.
#[unsafe(no_mangle)]
pub extern "C" fn studio_last_words() -> *const u8 {
    LAST_WORDS.with_borrow(Vec::as_ptr)
}

fn keep(words: &str) {
    LAST_WORDS.with_borrow_mut(|kept| words.as_bytes().clone_into(kept));
}

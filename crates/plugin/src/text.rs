//! Texts across the boundary.

#[cfg(feature = "host")]
use std::ffi::c_void;

use crate::abi::{Sink, Text};

impl Text {
    /// A text that lives as long as the call it is handed to.
    pub(crate) fn of(text: &str) -> Self {
        Self { data: text.as_ptr(), len: text.len() }
    }

    /// What the text says.
    ///
    /// # Safety
    ///
    /// The other side keeps it alive for the time of the call, and it is UTF-8.
    pub(crate) unsafe fn read<'a>(self) -> &'a str {
        // SAFETY: as above; what is no UTF-8 is empty.
        std::str::from_utf8(unsafe { std::slice::from_raw_parts(self.data, self.len) }).unwrap_or_default()
    }
}

impl Sink {
    /// A sink into `text`, which outlives the call that it is handed to.
    #[cfg(feature = "host")]
    pub(crate) fn into(text: &mut String) -> Self {
        Self { context: std::ptr::from_mut(text).cast(), write: take }
    }

    /// Leaves a text for the caller.
    pub(crate) fn put(self, text: &str) {
        (self.write)(self.context, Text::of(text));
    }
}

#[cfg(feature = "host")]
extern "C" fn take(context: *mut c_void, text: Text) {
    // SAFETY: the context is the `String` of `Sink::into`, which nobody else uses during the call.
    let out = unsafe { &mut *context.cast::<String>() };
    // SAFETY: a callee hands over a text that it keeps alive.
    out.push_str(unsafe { text.read() });
}

//! Texts across the boundary.

#[cfg(feature = "host")]
use std::ffi::c_void;

use crate::abi::{Sink, Text};

impl Text {
    /// A text that lives as long as the call that takes it.
    pub(crate) fn of(text: &str) -> Self {
        Self { data: text.as_ptr(), len: text.len() }
    }

    /// The content of the text. A text that C writes as `{NULL, 0}` is empty, and so is one that is not UTF-8.
    ///
    /// # Safety
    ///
    /// The other side keeps it alive for the time of the call.
    pub(crate) unsafe fn read<'a>(self) -> &'a str {
        if self.data.is_null() {
            return "";
        }
        // SAFETY: as above, and a slice may not begin at null.
        std::str::from_utf8(unsafe { std::slice::from_raw_parts(self.data, self.len) }).unwrap_or_default()
    }
}

impl Sink {
    /// A sink into `text`, which outlives the call that takes it.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// C's usual empty text; `std::slice::from_raw_parts` says that null is undefined behaviour "even for zero-length slices".
    #[test]
    fn a_text_of_null_is_empty() {
        let text = Text { data: std::ptr::null(), len: 0 };
        // SAFETY: there is nothing to keep alive.
        assert_eq!(unsafe { text.read() }, "");
    }
}

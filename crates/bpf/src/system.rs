//! What needs `unsafe` beside calls of C: values as octets, and system calls that no crate here wraps.

#![allow(unsafe_code)]

use crate::exchange::Exchange;

/// An exchange as the octets that a program gets.
pub(crate) fn octets_of_mut(exchange: &mut Exchange) -> &mut [u8] {
    // SAFETY: `Exchange` is `repr(C)`, of integers only and without gaps, so that any octets are a value of it.
    unsafe { std::slice::from_raw_parts_mut(std::ptr::from_mut(exchange).cast(), size_of::<Exchange>()) }
}

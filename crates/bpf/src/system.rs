//! Code that needs `unsafe` beside calls of C: values as octets, and system calls that no crate here wraps.

#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use crate::exchange::Exchange;
use crate::flight::Flight;

/// An exchange as the octets that a program gets.
pub(crate) fn octets_of_mut(exchange: &mut Exchange) -> &mut [u8] {
    // SAFETY: `Exchange` is `repr(C)`, of integers only and without gaps, so that any octets are a value of it.
    unsafe { std::slice::from_raw_parts_mut(std::ptr::from_mut(exchange).cast(), size_of::<Exchange>()) }
}

/// A flight as the octets that a program gets.
pub(crate) fn octets_of_flight(flight: &mut Flight) -> &mut [u8] {
    // SAFETY: `Flight` is `repr(C)`, of integers only and without gaps, so that any octets are a value of it.
    unsafe { std::slice::from_raw_parts_mut(std::ptr::from_mut(flight).cast(), size_of::<Flight>()) }
}

/// Makes a link stand for another map of operations.
pub(crate) fn update_link(link: BorrowedFd<'_>, map: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: both descriptors are open for the call, and no options are a null pointer.
    let answer = unsafe { libbpf_sys::bpf_link_update(link.as_raw_fd(), map.as_raw_fd(), std::ptr::null()) };
    if answer == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(-answer)) }
}

/// The machine's monotonic clock as programs in the kernel read it, ns.
pub(crate) fn monotonic_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a place for what the call writes.
    let answer = unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    assert_eq!(answer, 0, "every Linux has this clock");
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Makes the kernel count the time that programs take, for as long as what is returned is open.
pub(crate) fn count_time_of_programs() -> io::Result<OwnedFd> {
    // SAFETY: the call takes a number only.
    let answer = unsafe { libbpf_sys::bpf_enable_stats(libbpf_sys::BPF_STATS_RUN_TIME) };
    if answer < 0 {
        return Err(io::Error::from_raw_os_error(-answer));
    }
    // SAFETY: a descriptor that the kernel has just opened, which nothing else has.
    Ok(unsafe { OwnedFd::from_raw_fd(answer) })
}

//! Sources of traffic, as a host calls them.

use std::ffi::c_void;

use ackclock_sim::{ExternalSource, SourceStart, Supply, Then};
use ackclock_units::{Bytes, SimTime};

use super::{Config, config, guarded, status_of};
use crate::abi::{NONE, SourceTable, Status, SupplyC};

pub(super) const TABLE: SourceTable = SourceTable { make, clone, drop: free, next };

type Instance = Box<dyn ExternalSource>;

fn leaked(source: Instance) -> *mut c_void {
    Box::into_raw(Box::new(source)).cast()
}

extern "C" fn make(parameters: *const c_void, seed: u64) -> *mut c_void {
    // SAFETY: the host passes what `read` returned.
    let parameters = unsafe { config(parameters) };
    let made = guarded(|| match parameters {
        Config::Source(external) => leaked(external.make(&SourceStart { seed })),
        _ => unreachable!("a host makes what it has read"),
    });
    made.unwrap_or(std::ptr::null_mut())
}

extern "C" fn clone(source: *const c_void) -> *mut c_void {
    // SAFETY: the host passes what `make` or `clone` returned.
    let source = unsafe { &*source.cast::<Instance>() };
    guarded(|| leaked(source.clone())).unwrap_or(std::ptr::null_mut())
}

extern "C" fn free(source: *mut c_void) {
    // SAFETY: the host passes what `make` or `clone` returned, once.
    let source = unsafe { Box::from_raw(source.cast::<Instance>()) };
    guarded(|| drop(source));
}

extern "C" fn next(source: *mut c_void, now: u64, unsent: u64, supply: *mut SupplyC) -> Status {
    // SAFETY: the host passes what `make` or `clone` returned, and a place for the answer, which nothing else uses during
    // the call.
    let (source, out) = unsafe { (&mut *source.cast::<Instance>(), &mut *supply) };
    status_of(|| {
        let Supply { write, then } = source.next(SimTime(now), Bytes(unsent));
        let at = if let Then::At(time) = then { time.0 } else { NONE };
        *out = SupplyC { write: write.0, at, closes: then == Then::Close };
    })
}

//! The rules of controllers as compiled C on this machine's own processor: what the kernel's programs compute, without a kernel.

#![allow(unsafe_code)]

use crate::exchange::Exchange;
use crate::flight::Flight;
use crate::highspeed::Curve;

macro_rules! rules {
    ($($name:literal = $function:ident),*) => {
        unsafe extern "C" {
            $(fn $function(exchange: *mut Exchange);)*
            fn ackclock_curve_highspeed(curve: *const Curve);
        }

        /// Gives an event to the rules of this name. Returns `false` if there are none of the name.
        pub fn drive(name: &str, exchange: &mut Exchange) -> bool {
            match name {
                // SAFETY: `Exchange` has the layout of `struct exchange`, and the function keeps no pointer to it.
                $($name => unsafe { $function(exchange) },)*
                _ => return false,
            }
            true
        }
    };
}

unsafe extern "C" {
    fn ackclock_drive_bbr3(flight: *mut Flight);
    fn ackclock_drive_copa(flight: *mut Flight);
}

/// Gives an event to the rules of a controller with a rate of its own. Returns `false` if there are none of the name.
pub fn fly(name: &str, flight: &mut Flight) -> bool {
    match name {
        // SAFETY: `Flight` has the layout of `struct flight`, and the function keeps no pointer to it.
        "bbr3" => unsafe { ackclock_drive_bbr3(flight) },
        // SAFETY: the same.
        "copa" => unsafe { ackclock_drive_copa(flight) },
        _ => return false,
    }
    true
}

rules! {
    "aimd" = ackclock_drive_aimd,
    "scalable" = ackclock_drive_scalable,
    "highspeed" = ackclock_drive_highspeed,
    "htcp" = ackclock_drive_htcp,
    "westwood" = ackclock_drive_westwood,
    "illinois" = ackclock_drive_illinois,
    "vegas" = ackclock_drive_vegas,
    "vegas_modified" = ackclock_drive_vegas_modified
}

/// Sets the response of `HighSpeed` that [`drive`] goes by, for all threads.
pub fn set_curve(curve: &Curve) {
    // SAFETY: `Curve` has the layout of `struct curve`, which is copied. Tests that call it do so from one thread.
    unsafe { ackclock_curve_highspeed(curve) }
}

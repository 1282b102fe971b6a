//! Congestion controllers written in Python.
//!
//! A user's class derives from `ackclock.CongestionController`, which derives from [`PyControllerState`]. What the sender
//! wants to know (window, threshold, pacing rate) lies in atomics that both sides share, so that the sender asks without
//! calling Python, and a wrong value raises where it is assigned. Python is called for events only, and only for those
//! whose method the class overrides.

/// The read-only attributes of a class that holds an event of `ackclock_cc`: documentation, name, type and value.
macro_rules! attributes {
    ($class:ident, $event:ident: $($(#[$($documentation:tt)*])* $name:ident: $type:ty = $value:expr;)+) => {
        #[pymethods]
        impl $class {
            $(
                $(#[$($documentation)*])*
                #[getter]
                fn $name(&self) -> $type {
                    let $event = &self.0;
                    $value
                }
            )+
        }
    };
}

mod delivery;
mod events;
mod extensions;
mod hook;
mod python;
mod state;

pub(crate) use delivery::{PyDeliveryReport, PyRateSample, PySegmentReport};
pub(crate) use events::{PyAckEvent, PyCongestionEvent, PyRestartEvent, PySendEvent, PyStart};
pub(crate) use extensions::{Modules, Wants, extensions};
pub(crate) use python::PythonController;
pub(crate) use state::PyControllerState;

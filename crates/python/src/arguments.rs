//! Whole numbers as arguments from Python. Each type has the argument's name, for the message about a wrong value.

use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;

macro_rules! arguments {
    ($($name:ident($type:ty) = $word:literal;)*) => {
        $(
            pub(crate) struct $name(pub(crate) $type);

            impl<'a, 'py> FromPyObject<'a, 'py> for $name {
                type Error = PyErr;

                fn extract(value: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
                    value.extract::<$type>().map(Self).map_err(|error| refused(&value, $word, <$type>::MAX, error))
                }
            }
        )*
    };
}

arguments! {
    Seed(u64) = "seed";
    Threads(usize) = "threads";
    Count(usize) = "count";
    RateBps(u64) = "rate_bps";
    WriteBytes(u64) = "write_bytes";
    AtNs(u64) = "at_ns";
    MssBytes(u64) = "mss_bytes";
    InitialWindowBytes(u64) = "initial_window_bytes";
    InitialSsthreshBytes(u64) = "initial_ssthresh_bytes";
    Flow(usize) = "flow";
    Sequence(u32) = "sequence";
    Acknowledgment(u32) = "acknowledgment";
    PayloadBytes(u32) = "payload_bytes";
    Octets(u64) = "octets";
    SinceNs(u64) = "since_ns";
    SegmentsPerLoss(u64) = "segments_per_loss";
    Cycles(u64) = "cycles";
    Decisions(u64) = "decisions";
}

#[cold]
fn refused(value: &Bound<'_, PyAny>, name: &str, most: impl std::fmt::Display, error: PyErr) -> PyErr {
    let shown = value.repr().map_or_else(|_| "?".to_owned(), |text| text.to_string());
    let message = format!("{name} must be a whole number from 0 to {most}, not {shown}");
    if error.is_instance_of::<PyOverflowError>(value.py()) {
        PyValueError::new_err(message)
    } else if error.is_instance_of::<PyTypeError>(value.py()) {
        PyTypeError::new_err(message)
    } else {
        error
    }
}

//! `ControllerState`: the state that a controller of Python and the sender share.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use ackclock_cc::Start;
use ackclock_units::{Bandwidth, Bytes, SimTime};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::PyStart;

/// The number that stands for `None`.
const NONE: u64 = u64::MAX;

/// The largest window, as the scenario's check has it for every other window.
const MAX_WINDOW: u64 = 1 << 40;

/// The highest pacing rate, 1 Pbit/s: more than any link, and far from where sums overflow.
const MAX_RATE: u64 = 1_000_000_000_000_000;

/// The latest time, far beyond the end of any run.
const MAX_TIME: u64 = u64::MAX / 2;

/// The memory order. One thread at a time runs the simulation, so the order is that of the program.
const ORDER: Ordering = Ordering::Relaxed;

/// The numbers that the controller sets and the sender reads.
#[derive(Debug)]
pub(crate) struct Window {
    cwnd: AtomicU64,
    ssthresh: AtomicU64,
    pacing_rate: AtomicU64,
    deadline: AtomicU64,
    limits_itself: AtomicBool,
    /// The place of a name among [`NAMES`], or [`UNNAMED`].
    state: AtomicUsize,
}

/// Names of states, each once, for as long as the program lives.
static NAMES: Mutex<Vec<&'static str>> = Mutex::new(Vec::new());

/// The place of a state without a name.
const UNNAMED: usize = usize::MAX;

/// The longest name of a state, in octets.
const LONGEST_NAME: usize = 64;

impl Window {
    fn new(start: &Start) -> Self {
        Self {
            cwnd: AtomicU64::new(start.initial_window.0),
            ssthresh: AtomicU64::new(start.initial_ssthresh.map_or(NONE, |bytes| bytes.0)),
            pacing_rate: AtomicU64::new(NONE),
            deadline: AtomicU64::new(NONE),
            limits_itself: AtomicBool::new(false),
            state: AtomicUsize::new(UNNAMED),
        }
    }

    pub(crate) fn cwnd(&self) -> Bytes {
        Bytes(self.cwnd.load(ORDER))
    }

    pub(crate) fn ssthresh(&self) -> Option<Bytes> {
        known(&self.ssthresh).map(Bytes)
    }

    pub(crate) fn pacing_rate(&self) -> Option<Bandwidth> {
        known(&self.pacing_rate).map(Bandwidth)
    }

    pub(crate) fn deadline(&self) -> SimTime {
        known(&self.deadline).map_or(SimTime::NEVER, SimTime)
    }

    /// Clears the deadline, as the controller is about to be called.
    pub(crate) fn clear_deadline(&self) {
        self.deadline.store(NONE, ORDER);
    }

    pub(crate) fn limits_itself(&self) -> bool {
        self.limits_itself.load(ORDER)
    }

    /// The name of the controller's state, if it gave one.
    pub(crate) fn state(&self) -> Option<&'static str> {
        let place = self.state.load(ORDER);
        (place != UNNAMED).then(|| NAMES.lock().unwrap_or_else(PoisonError::into_inner)[place])
    }

    pub(crate) fn set_cwnd(&self, cwnd: Bytes) {
        self.cwnd.store(cwnd.0, ORDER);
    }

    pub(crate) fn set_ssthresh(&self, ssthresh: Option<Bytes>) {
        self.ssthresh.store(ssthresh.map_or(NONE, |bytes| bytes.0), ORDER);
    }

    /// Copies the numbers of another window.
    pub(crate) fn copy_from(&self, other: &Self) {
        for (to, from) in [
            (&self.cwnd, &other.cwnd),
            (&self.ssthresh, &other.ssthresh),
            (&self.pacing_rate, &other.pacing_rate),
            (&self.deadline, &other.deadline),
        ] {
            to.store(from.load(ORDER), ORDER);
        }
        self.limits_itself.store(other.limits_itself(), ORDER);
        self.state.store(other.state.load(ORDER), ORDER);
    }
}

fn known(value: &AtomicU64) -> Option<u64> {
    Some(value.load(ORDER)).filter(|value| *value != NONE)
}

/// The state that a controller and the sender share; `ackclock.CongestionController` derives from it.
///
/// Assigned values are checked at once, and count from then on.
///
/// Args:
///     start: The initial values. Further arguments are those of the derived class.
#[pyclass(module = "ackclock._core", name = "ControllerState", subclass, frozen)]
pub(crate) struct PyControllerState {
    pub(crate) window: Arc<Window>,
    start: Start,
}

#[pymethods]
impl PyControllerState {
    /// Makes a state; the derived class interprets the further arguments.
    #[new]
    #[pyo3(signature = (start, *_arguments, **_parameters))]
    fn new(start: &PyStart, _arguments: &Bound<'_, PyTuple>, _parameters: Option<&Bound<'_, PyDict>>) -> Self {
        Self { window: Arc::new(Window::new(&start.0)), start: start.0 }
    }

    /// Payload of a full segment, in bytes.
    #[getter]
    fn mss_bytes(&self) -> u64 {
        self.start.mss.0
    }

    /// The congestion window, in bytes, 1 to 2^40; the initial window to begin with.
    ///
    /// Raises:
    ///     TypeError: On assigning anything but a whole number.
    ///     ValueError: On assigning a number out of range.
    #[getter]
    fn cwnd_bytes(&self) -> u64 {
        self.window.cwnd.load(ORDER)
    }

    #[setter]
    fn set_cwnd_bytes(&self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        self.window.cwnd.store(whole(value, "cwnd_bytes", "bytes", MAX_WINDOW)?, ORDER);
        Ok(())
    }

    /// The slow-start threshold, in bytes, 1 to 2^40; None while it is arbitrarily high.
    ///
    /// Raises:
    ///     TypeError: On assigning anything but None or a whole number.
    ///     ValueError: On assigning a number out of range.
    #[getter]
    fn ssthresh_bytes(&self) -> Option<u64> {
        known(&self.window.ssthresh)
    }

    #[setter]
    fn set_ssthresh_bytes(&self, value: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let value = value.map(|value| whole(value, "ssthresh_bytes", "bytes", MAX_WINDOW)).transpose()?;
        self.window.ssthresh.store(value.unwrap_or(NONE), ORDER);
        Ok(())
    }

    /// Pacing rate of payload, in bits per second, 1 to 10^15; None leaves pacing to the stack.
    ///
    /// It applies from the second ACK on.
    ///
    /// Raises:
    ///     TypeError: On assigning anything but None or a whole number.
    ///     ValueError: On assigning a number out of range.
    #[getter]
    fn pacing_rate_bps(&self) -> Option<u64> {
        known(&self.window.pacing_rate)
    }

    #[setter]
    fn set_pacing_rate_bps(&self, value: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let value = value.map(|value| whole(value, "pacing_rate_bps", "bits per second", MAX_RATE)).transpose()?;
        self.window.pacing_rate.store(value.unwrap_or(NONE), ORDER);
        Ok(())
    }

    /// Time at which `on_timer` is to be called, in nanoseconds of simulated time, below 2^63; None for never.
    ///
    /// It is None again when `on_timer` is called.
    ///
    /// Raises:
    ///     TypeError: On assigning anything but None or a whole number.
    ///     ValueError: On assigning a number out of range.
    #[getter]
    fn deadline_ns(&self) -> Option<u64> {
        known(&self.window.deadline)
    }

    #[setter]
    fn set_deadline_ns(&self, value: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let value = value.map(|value| whole(value, "deadline_ns", "nanoseconds", MAX_TIME)).transpose()?;
        self.window.deadline.store(value.unwrap_or(NONE), ORDER);
        Ok(())
    }

    /// True while it deliberately sends below the path's capacity; its samples are then application-limited.
    ///
    /// Raises:
    ///     TypeError: On assigning anything but a bool.
    #[getter]
    fn limits_itself(&self) -> bool {
        self.window.limits_itself()
    }

    #[setter]
    fn set_limits_itself(&self, value: bool) {
        self.window.limits_itself.store(value, ORDER);
    }

    /// The name of the controller's state, recorded as an event when it changes; None has ssthresh decide the name.
    ///
    /// Raises:
    ///     TypeError: On assigning anything but None or a string.
    ///     ValueError: On assigning an empty text, or one of more than 64 octets.
    #[getter]
    fn state_name(&self) -> Option<&'static str> {
        self.window.state()
    }

    #[setter]
    fn set_state_name(&self, value: Option<&str>) -> PyResult<()> {
        self.window.state.store(value.map(place_of).transpose()?.unwrap_or(UNNAMED), ORDER);
        Ok(())
    }
}

/// The place of a name among [`NAMES`], to which it is added.
fn place_of(name: &str) -> PyResult<usize> {
    if name.is_empty() || name.len() > LONGEST_NAME {
        return Err(PyValueError::new_err(format!(
            "state_name = {name:?}: assign a string of 1 to {LONGEST_NAME} bytes"
        )));
    }
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(names.iter().position(|known| *known == name).unwrap_or_else(|| {
        names.push(String::from(name).leak());
        names.len() - 1
    }))
}

/// A whole number from 1 to `most`. Decimals are refused, since rounding them would go unnoticed.
fn whole(value: &Bound<'_, PyAny>, field: &str, unit: &str, most: u64) -> PyResult<u64> {
    match value.extract::<u64>() {
        Ok(number) if (1..=most).contains(&number) => Ok(number),
        Ok(number) => {
            Err(PyValueError::new_err(format!("{field} = {number} is out of range; assign 1 to {most} {unit}")))
        }
        Err(error) => Err(not_whole(value, field, unit, most, error)),
    }
}

#[cold]
fn not_whole(value: &Bound<'_, PyAny>, field: &str, unit: &str, most: u64, error: PyErr) -> PyErr {
    let shown = value.repr().map_or_else(|_| "?".to_owned(), |text| text.to_string());
    if error.is_instance_of::<PyTypeError>(value.py()) {
        let kind = value.get_type().name().map_or_else(|_| "?".to_owned(), |name| name.to_string());
        let fractions = if field == "cwnd_bytes" { "; self.grow(...) adds a fraction and keeps it" } else { "" };
        PyTypeError::new_err(format!(
            "{field} = {shown} ({kind}) is not a whole number; assign whole {unit}, as int(...) makes them{fractions}"
        ))
    } else {
        PyValueError::new_err(format!("{field} = {shown} is out of range; assign 1 to {most} {unit}"))
    }
}

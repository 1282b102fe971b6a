//! A queue discipline written in Python, as the link uses it.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use ackclock_net::PartStart;
use ackclock_net::queue::{QueueDiscipline, Queued, Tally, Treatment};
use ackclock_units::{Bandwidth, SimTime};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::packet::{PyPacket, Token, Whereabouts};
use crate::arguments::{RateBps, Seed};
use crate::class::{Class, wrong_answer};

/// The initial values of a queue or an effect of a link: the first argument of its constructor.
///
/// Args:
///     rate_bps: Rate of the link, bits per second; where it changes, the rate for which buffers are sized.
///     seed: Seed of the part's random numbers, 0 to 2^64 - 1: each link's own, from the scenario's.
///
/// Raises:
///     ValueError: If a number is negative, or 2^64 or more.
#[pyclass(module = "ackclock._core", name = "LinkStart", frozen)]
pub(crate) struct PyLinkStart(pub(super) PartStart);

#[pymethods]
impl PyLinkStart {
    #[new]
    #[pyo3(signature = (*, rate_bps, seed=Seed(0)), text_signature = "(*, rate_bps, seed=0)")]
    fn new(rate_bps: RateBps, seed: Seed) -> Self {
        Self(PartStart { rate: Bandwidth(rate_bps.0), seed: seed.0 })
    }

    /// Rate of the link, in bits per second; where it changes, the rate for which buffers are sized.
    #[getter]
    fn rate_bps(&self) -> u64 {
        self.0.rate.0
    }

    /// Seed of the part's random numbers: each link's own, from the scenario's.
    #[getter]
    fn seed(&self) -> u64 {
        self.0.seed
    }

    /// Return this object itself, as it cannot be changed.
    ///
    /// Args:
    ///     _memo: Not used.
    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }
}

/// The drops and marks of a call, in order.
type Treated = Mutex<Vec<(Token, Treatment)>>;

/// The state that a queue in Python and the link share; `ackclock.parts.Queue` derives from it.
///
/// Args:
///     start: The initial values. Further arguments are those of the derived class.
#[pyclass(module = "ackclock._core", name = "QueueState", subclass, frozen)]
pub(crate) struct PyQueueState {
    treated: Arc<Treated>,
    rate_bps: AtomicU64,
}

impl PyQueueState {
    fn note(&self, packet: &PyPacket, treatment: Treatment) {
        self.treated.lock().unwrap_or_else(PoisonError::into_inner).push((packet.token, treatment));
    }
}

#[pymethods]
impl PyQueueState {
    /// Makes a state; the derived class interprets the further arguments.
    #[new]
    #[pyo3(signature = (start, *_arguments, **_parameters))]
    fn new(start: &PyLinkStart, _arguments: &Bound<'_, PyTuple>, _parameters: Option<&Bound<'_, PyDict>>) -> Self {
        Self { treated: Arc::default(), rate_bps: AtomicU64::new(start.0.rate.0) }
    }

    /// Present rate of the link, in bits per second: the last one above zero, or the mean of a trace.
    #[getter]
    fn rate_bps(&self) -> u64 {
        self.rate_bps.load(Ordering::Relaxed)
    }

    /// Drop a packet that has just arrived or waits; it counts as a drop of the link.
    ///
    /// Args:
    ///     packet: The packet, which the queue must no longer hold.
    ///
    /// Raises:
    ///     ValueError: If it has been dropped or has left already.
    fn drop(&self, packet: &PyPacket) -> PyResult<()> {
        packet.goes(Whereabouts::Dropped)?;
        self.note(packet, Treatment::Dropped);
        Ok(())
    }

    /// Set the ECN field of a packet to CE, if it is ECN-capable (RFC 3168 section 5).
    ///
    /// Args:
    ///     packet: A packet that has just arrived or waits.
    ///
    /// Returns:
    ///     True if it was marked. If not, drop it to signal congestion.
    fn mark(&self, packet: &PyPacket) -> bool {
        let is_marked = packet.set_ce();
        if is_marked {
            self.note(packet, Treatment::Marked);
        }
        is_marked
    }
}

/// An instance of a user's class. The packets stay here; Python has an object for each, with its place.
pub(super) struct PythonQueue {
    class: Arc<Class>,
    object: Py<PyAny>,
    enqueue: Py<PyAny>,
    dequeue: Py<PyAny>,
    ready_at: Option<Py<PyAny>>,
    set_rate: Option<Py<PyAny>>,
    treated: Arc<Treated>,
    places: Vec<Option<(u64, Queued)>>,
    free: Vec<usize>,
    octets: u64,
    tally: Tally,
    start: PartStart,
    /// Time at which it was last asked for a packet, if packets waited and it handed none out.
    none_at: Option<SimTime>,
}

const NOTHING: &str = "it must be None: keep the packet in an attribute, or drop it with self.drop(packet)";

impl PythonQueue {
    pub(super) fn new(class: &Arc<Class>, start: &PartStart) -> Self {
        Python::attach(|py| {
            let made = class.instance(py, PyLinkStart(*start)).and_then(|object| Self::around(class, &object, *start));
            made.unwrap_or_else(|error| class.leave(py, error, "__init__", None))
        })
    }

    fn around(class: &Arc<Class>, object: &Bound<'_, PyAny>, start: PartStart) -> PyResult<Self> {
        let method = |name: &str| object.getattr(name).map(Bound::unbind);
        let overridden = |name: &str| class.overrides(name).then(|| method(name)).transpose();
        Ok(Self {
            treated: Arc::clone(&object.cast::<PyQueueState>()?.get().treated),
            object: object.clone().unbind(),
            enqueue: method("enqueue")?,
            dequeue: method("dequeue")?,
            ready_at: overridden("ready_at")?,
            set_rate: overridden("set_rate")?,
            class: Arc::clone(class),
            places: Vec::new(),
            free: Vec::new(),
            octets: 0,
            tally: Tally::default(),
            start,
            none_at: None,
        })
    }

    fn keep(&mut self, arrival: Queued) -> Token {
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push(None);
            self.places.len() - 1
        });
        let token = Token::at(place);
        self.places[place] = Some((token.number, arrival));
        self.octets += arrival.octets;
        token
    }

    fn waiting(&mut self, token: Token) -> PyResult<&mut Queued> {
        match self.places.get_mut(token.place) {
            Some(Some((number, queued))) if *number == token.number => Ok(queued),
            _ => {
                Err(PyValueError::new_err("the packet is not in this queue: hand out and drop what enqueue was given"))
            }
        }
    }

    /// Removes a packet.
    fn take(&mut self, token: Token) -> PyResult<Queued> {
        let queued = *self.waiting(token)?;
        self.places[token.place] = None;
        self.free.push(token.place);
        self.octets -= queued.octets;
        Ok(queued)
    }

    /// Carries out the drops and marks of the last call.
    fn settle(&mut self) -> PyResult<()> {
        let shared = Arc::clone(&self.treated);
        let mut treated = shared.lock().unwrap_or_else(PoisonError::into_inner);
        for (token, treatment) in treated.drain(..) {
            match treatment {
                Treatment::Dropped => {
                    let dropped = self.take(token)?;
                    self.tally.drop(&dropped.packet);
                }
                Treatment::Marked => {
                    let mut marked = self.waiting(token)?.packet;
                    self.tally.mark(&mut marked);
                    self.waiting(token)?.packet = marked;
                }
            }
        }
        Ok(())
    }

    fn try_set_rate(&mut self, py: Python<'_>, now: SimTime, rate: Bandwidth) -> PyResult<()> {
        self.object.bind(py).cast::<PyQueueState>()?.get().rate_bps.store(rate.0, Ordering::Relaxed);
        let Some(method) = &self.set_rate else { return Ok(()) };
        let method = method.bind(py);
        let answer = method.call1((now.0, rate.0))?;
        if !answer.is_none() {
            return Err(wrong_answer(&answer, method, "it must be None"));
        }
        self.settle()
    }

    fn try_enqueue(&mut self, py: Python<'_>, now: SimTime, arrival: Queued) -> PyResult<()> {
        let packet = PyPacket::waiting(&arrival, self.keep(arrival));
        let method = self.enqueue.bind(py);
        let answer = method.call1((now.0, Py::new(py, packet)?))?;
        if !answer.is_none() {
            return Err(wrong_answer(&answer, method, NOTHING));
        }
        self.settle()
    }

    fn try_dequeue(&mut self, py: Python<'_>, now: SimTime) -> PyResult<Option<Queued>> {
        let method = self.dequeue.bind(py);
        let answer = method.call1((now.0,))?;
        let Ok(packet) = answer.cast::<PyPacket>() else {
            let is_none = answer.is_none();
            let wrong = (!is_none).then(|| wrong_answer(&answer, method, "it must be a packet or None"));
            return wrong.map_or_else(|| self.settle().map(|()| None), Err);
        };
        self.settle()?;
        packet.get().goes(Whereabouts::Left)?;
        self.take(packet.get().token).map(Some)
    }

    fn try_ready_at(&self, py: Python<'_>, now: SimTime) -> PyResult<Option<SimTime>> {
        let time = self.ready_at.as_ref().map_or(Ok(Some(now)), |method| self.told_ready_at(py, method, now))?;
        if self.none_at == Some(now) && time.is_some_and(|time| time <= now) {
            return Err(PyValueError::new_err(format!(
                "dequeue returned None, and {} packets wait that may leave at once; return one of them, drop those that \
                 the queue does not keep, or define ready_at to say when the first may leave",
                self.len()
            )));
        }
        Ok(time)
    }

    fn told_ready_at(&self, py: Python<'_>, method: &Py<PyAny>, now: SimTime) -> PyResult<Option<SimTime>> {
        let method = method.bind(py);
        let answer = method.call1((now.0,))?;
        let Ok(time) = answer.extract::<Option<u64>>() else {
            return Err(wrong_answer(&answer, method, "it must be a time in whole nanoseconds or None"));
        };
        match time {
            None => Err(PyValueError::new_err(format!(
                "ready_at returned None, and {} packets wait; return when the first of them may leave",
                self.len()
            ))),
            time => Ok(time.map(SimTime)),
        }
    }

    fn copy(&self, py: Python<'_>) -> PyResult<Self> {
        let object = Class::copy(py, &self.object, PyLinkStart(self.start))?;
        let fresh = Self::around(&self.class, &object, self.start)?;
        let (places, free, tally) = (self.places.clone(), self.free.clone(), self.tally.clone());
        Ok(Self { places, free, tally, octets: self.octets, ..fresh })
    }
}

impl QueueDiscipline for PythonQueue {
    fn enqueue(&mut self, now: SimTime, arrival: Queued) {
        Python::attach(|py| {
            let done = self.try_enqueue(py, now, arrival);
            done.unwrap_or_else(|error| self.class.leave(py, error, "enqueue", Some(now)));
        });
    }

    fn dequeue(&mut self, now: SimTime) -> Option<Queued> {
        let found = Python::attach(|py| {
            let found = self.try_dequeue(py, now);
            found.unwrap_or_else(|error| self.class.leave(py, error, "dequeue", Some(now)))
        });
        self.none_at = (found.is_none() && self.len() > 0).then_some(now);
        found
    }

    fn ready_at(&self, now: SimTime) -> Option<SimTime> {
        if self.len() == 0 {
            return None;
        }
        if self.ready_at.is_none() && self.none_at != Some(now) {
            return Some(now);
        }
        Python::attach(|py| {
            let time = self.try_ready_at(py, now);
            let call = if self.ready_at.is_some() { "ready_at" } else { "dequeue" };
            time.unwrap_or_else(|error| self.class.leave(py, error, call, Some(now)))
        })
    }

    fn set_rate(&mut self, now: SimTime, rate: Bandwidth) {
        self.start.rate = rate;
        Python::attach(|py| {
            let done = self.try_set_rate(py, now, rate);
            done.unwrap_or_else(|error| self.class.leave(py, error, "set_rate", Some(now)));
        });
    }

    fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }

    fn octets(&self) -> u64 {
        self.octets
    }

    ackclock_net::accounts!();
}

impl Clone for PythonQueue {
    fn clone(&self) -> Self {
        Python::attach(|py| self.copy(py).unwrap_or_else(|error| self.class.leave(py, error, "a copy", None)))
    }
}

impl fmt::Debug for PythonQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PythonQueue").field("class", &self.class.name).field("len", &self.len()).finish_non_exhaustive()
    }
}

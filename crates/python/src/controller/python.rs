//! A user's class as the sender sees it.

use std::fmt;
use std::sync::Arc;

use ackclock_cc::{
    AckEvent, CongestionController, CongestionEvent, Demands, RestartEvent, SegmentReport, SendEvent, Start,
};
use ackclock_units::{Bandwidth, Bytes, SimTime};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::hook::{Event, Hook, nothing, yes_or_no};
use super::state::{PyControllerState, Window};
use super::{PyAckEvent, PyCongestionEvent, PyRestartEvent, PySegmentReport, PySendEvent, PyStart};
use crate::class::Class;

/// An instance of a user's class.
pub(crate) struct PythonController {
    class: Arc<Class>,
    object: Py<PyAny>,
    window: Arc<Window>,
    on_ack: Hook<PyAckEvent>,
    on_congestion: Hook<PyCongestionEvent>,
    on_send: Option<Hook<PySendEvent>>,
    on_delivered: Option<Hook<PySegmentReport>>,
    on_lost: Option<Hook<PySegmentReport>>,
    start: Start,
}

/// The method `name`, if the class overrides it.
fn hook_of<E: Event>(class: &Class, object: &Bound<'_, PyAny>, name: &str) -> PyResult<Option<Hook<E>>> {
    class.overrides(name).then(|| Hook::new(object, name)).transpose()
}

impl PythonController {
    pub(crate) fn new(class: &Arc<Class>, start: &Start) -> Self {
        Python::attach(|py| {
            let made = class.instance(py, PyStart(*start)).and_then(|object| Self::around(class, &object, start));
            made.unwrap_or_else(|error| class.leave(py, error, "__init__", None))
        })
    }

    fn around(class: &Arc<Class>, object: &Bound<'_, PyAny>, start: &Start) -> PyResult<Self> {
        let window = Arc::clone(&object.cast::<PyControllerState>()?.get().window);
        Ok(Self {
            class: Arc::clone(class),
            object: object.clone().unbind(),
            window,
            on_ack: Hook::new(object, "on_ack")?,
            on_congestion: Hook::new(object, "on_congestion")?,
            on_send: hook_of(class, object, "on_send")?,
            on_delivered: hook_of(class, object, "on_delivered")?,
            on_lost: hook_of(class, object, "on_lost")?,
            start: *start,
        })
    }

    /// Calls a method by name; for methods that are called rarely.
    fn call(&self, name: &str, argument: u64, now: SimTime) {
        Python::attach(|py| {
            let argument = argument.into_pyobject(py).map(|number| number.into_any().unbind());
            let answer = argument.map_err(PyErr::from).and_then(|argument| self.call_on(py, name, argument));
            answer.unwrap_or_else(|error| self.class.leave(py, error, name, Some(now)));
        });
    }

    fn call_on(&self, py: Python<'_>, name: &str, argument: Py<PyAny>) -> PyResult<()> {
        let method = self.object.bind(py).getattr(name)?;
        nothing(&method.call1((argument,))?, &method)
    }

    /// Does as `CongestionController.on_restart`, with the setters that it calls where a class has its own.
    fn assign_restart(&self, restart: &RestartEvent) {
        match restart.ssthresh {
            Some(ssthresh) if self.class.overrides("set_ssthresh") => {
                self.call("set_ssthresh", ssthresh.0, restart.now);
            }
            Some(ssthresh) => self.window.set_ssthresh(Some(ssthresh)),
            None => {}
        }
        if self.class.overrides("set_cwnd") {
            self.call("set_cwnd", restart.window.0, restart.now);
        } else {
            self.window.set_cwnd(restart.window);
        }
    }

    fn copy(&self, py: Python<'_>) -> PyResult<Self> {
        let object = Class::copy(py, &self.object, PyStart(self.start))?;
        let copy = Self::around(&self.class, &object, &self.start)?;
        copy.window.copy_from(&self.window);
        Ok(copy)
    }
}

impl CongestionController for PythonController {
    fn on_feedback(&mut self, counted: bool) -> bool {
        const NAME: &str = "on_feedback";
        if !self.class.overrides(NAME) {
            return true;
        }
        Python::attach(|py| {
            let method = self.object.bind(py).getattr(NAME);
            let answer = method.and_then(|method| yes_or_no(&method.call1((counted,))?, &method));
            answer.unwrap_or_else(|error| self.class.leave(py, error, NAME, None))
        })
    }

    fn on_ack(&mut self, ack: &AckEvent) {
        Python::attach(|py| {
            if let Err(error) = self.on_ack.call(py, PyAckEvent(*ack)) {
                self.class.leave(py, error, "on_ack", Some(ack.now));
            }
        });
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        Python::attach(|py| {
            if let Err(error) = self.on_congestion.call(py, PyCongestionEvent(*event)) {
                self.class.leave(py, error, "on_congestion", Some(event.now));
            }
        });
    }

    fn on_spurious(&mut self, now: SimTime) {
        if self.class.overrides("on_spurious") {
            self.call("on_spurious", now.0, now);
        }
    }

    fn on_send(&mut self, sent: &SendEvent) {
        let Some(hook) = &mut self.on_send else { return };
        Python::attach(|py| {
            if let Err(error) = hook.call(py, PySendEvent(*sent)) {
                self.class.leave(py, error, "on_send", Some(sent.now));
            }
        });
    }

    fn keeps_window_on_send(&self) -> bool {
        self.on_send.is_none()
    }

    fn demands(&self) -> Demands {
        self.class.demands
    }

    fn on_delivered(&mut self, segment: &SegmentReport) {
        let Some(hook) = &mut self.on_delivered else { return };
        Python::attach(|py| {
            if let Err(error) = hook.call(py, PySegmentReport(*segment)) {
                self.class.leave(py, error, "on_delivered", Some(segment.now));
            }
        });
    }

    fn on_lost(&mut self, segment: &SegmentReport) {
        let Some(hook) = &mut self.on_lost else { return };
        Python::attach(|py| {
            if let Err(error) = hook.call(py, PySegmentReport(*segment)) {
                self.class.leave(py, error, "on_lost", Some(segment.now));
            }
        });
    }

    fn limits_itself(&self) -> bool {
        self.window.limits_itself()
    }

    fn deadline(&self) -> SimTime {
        self.window.deadline()
    }

    fn state(&self) -> &'static str {
        self.window.state().unwrap_or(if self.is_in_slow_start() { "slow_start" } else { "congestion_avoidance" })
    }

    fn on_timer(&mut self, now: SimTime) {
        self.window.clear_deadline();
        if self.class.overrides("on_timer") {
            self.call("on_timer", now.0, now);
        }
        let next = self.deadline();
        if next <= now {
            let error = PyValueError::new_err(format!(
                "deadline_ns = {} has passed already; assign a time after now_ns = {}, or None",
                next.0, now.0
            ));
            Python::attach(|py| self.class.leave(py, error, "on_timer", Some(now)));
        }
    }

    fn cwnd(&self) -> Bytes {
        self.window.cwnd()
    }

    fn on_restart(&mut self, restart: &RestartEvent) {
        if !self.class.overrides("on_restart") {
            return self.assign_restart(restart);
        }
        Python::attach(|py| {
            let argument = Py::new(py, PyRestartEvent(*restart)).map(Py::into_any);
            let answer = argument.and_then(|argument| self.call_on(py, "on_restart", argument));
            answer.unwrap_or_else(|error| self.class.leave(py, error, "on_restart", Some(restart.now)));
        });
    }

    fn ssthresh(&self) -> Option<Bytes> {
        self.window.ssthresh()
    }

    fn pacing_rate(&self) -> Option<Bandwidth> {
        self.window.pacing_rate()
    }
}

impl Clone for PythonController {
    fn clone(&self) -> Self {
        Python::attach(|py| self.copy(py).unwrap_or_else(|error| self.class.leave(py, error, "a copy", None)))
    }
}

impl fmt::Debug for PythonController {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PythonController")
            .field("class", &self.class.name)
            .field("window", &self.window)
            .finish_non_exhaustive()
    }
}

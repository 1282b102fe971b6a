//! Controllers, as a host calls them.

use std::ffi::c_void;

use ackclock_cc::{
    CongestionEvent, ControllerConfig, Demands, ExternalController, RestartEvent, SegmentReport, SendEvent, Start,
};
use ackclock_units::SimTime;

use super::{Config, config, guarded, status_of};
use crate::abi::{
    AckC, CongestionC, ControllerHead, ControllerTable, InspectC, NONE, RestartC, SegmentC, SendC, StartC, Status,
    Text, WatchedC, or_none,
};

pub(super) const TABLE: ControllerTable = ControllerTable {
    make,
    clone,
    drop: free,
    on_feedback,
    on_ack,
    on_congestion,
    on_spurious,
    on_restart,
    on_send,
    on_delivered,
    on_lost,
    on_timer,
    watched,
    inspect,
};

/// A controller behind its visible state.
#[repr(C)]
struct Instance {
    head: ControllerHead,
    inner: Box<dyn ExternalController>,
}

impl Instance {
    fn of(inner: Box<dyn ExternalController>) -> *mut ControllerHead {
        let Demands { samples, timer, recovery_window, marks, own_loss_window, no_ecn, at_once } = inner.demands();
        let mut instance = Box::new(Self { head: ControllerHead::default(), inner });
        instance.head.wants_samples = samples;
        instance.head.wants_recovery_window = recovery_window;
        instance.head.wants_marks = marks;
        instance.head.wants_timer = timer;
        instance.head.has_own_loss_window = own_loss_window;
        instance.head.wants_no_ecn = no_ecn;
        instance.head.wants_at_once = at_once;
        instance.show();
        Box::into_raw(instance).cast()
    }

    fn show(&mut self) {
        let Self { head, inner } = self;
        head.cwnd = inner.cwnd().0;
        head.ssthresh = or_none(inner.ssthresh().map(|bytes| bytes.0));
        head.pacing_rate = or_none(inner.pacing_rate().map(|rate| rate.0));
        let deadline = inner.deadline();
        head.deadline = if deadline == SimTime::NEVER { NONE } else { deadline.0 };
        head.limits_itself = inner.limits_itself();
    }
}

extern "C" fn make(parameters: *const c_void, start: *const StartC) -> *mut ControllerHead {
    // SAFETY: the host passes what `read` returned, and a start that lives during the call.
    let (parameters, start) = unsafe { (config(parameters), Start::from(&*start)) };
    let made = guarded(|| match parameters {
        Config::Controller(ControllerConfig::External(external)) => {
            let seeded = ControllerConfig::External(external.clone()).seeded(start.seed);
            let ControllerConfig::External(external) = seeded else { unreachable!("a seed changes no kind") };
            Instance::of(external.start(&start))
        }
        _ => unreachable!("a host makes what it has read"),
    });
    made.unwrap_or(std::ptr::null_mut())
}

extern "C" fn clone(head: *const ControllerHead) -> *mut ControllerHead {
    // SAFETY: the host passes what `make` or `clone` returned.
    let instance = unsafe { &*head.cast::<Instance>() };
    guarded(|| Instance::of(instance.inner.boxed_clone())).unwrap_or(std::ptr::null_mut())
}

extern "C" fn free(head: *mut ControllerHead) {
    // SAFETY: the host passes what `make` or `clone` returned, once.
    let instance = unsafe { Box::from_raw(head.cast::<Instance>()) };
    guarded(|| drop(instance));
}

/// Sends the controller an event, and updates its visible state.
fn tell(head: *mut ControllerHead, of: impl FnOnce(&mut dyn ExternalController)) -> Status {
    // SAFETY: the host passes what `make` or `clone` returned, and nothing else uses it during the call.
    let instance = unsafe { &mut *head.cast::<Instance>() };
    status_of(|| {
        of(instance.inner.as_mut());
        instance.show();
    })
}

extern "C" fn on_feedback(head: *mut ControllerHead, counted: bool) -> Status {
    let mut takes_marks = true;
    let status = tell(head, |controller| takes_marks = controller.on_feedback(counted) && !controller.demands().no_ecn);
    if status == Status::Done && !takes_marks { Status::Nothing } else { status }
}

extern "C" fn on_ack(head: *mut ControllerHead, ack: *const AckC) -> Status {
    // SAFETY: the host passes an event, and with it maybe a report, that live during the call.
    let event = unsafe { (*ack).event((*ack).delivery.as_ref()) };
    tell(head, |controller| controller.on_ack(&event))
}

extern "C" fn on_congestion(head: *mut ControllerHead, event: *const CongestionC) -> Status {
    // SAFETY: the host passes an event that lives during the call.
    let event = CongestionEvent::from(unsafe { &*event });
    tell(head, |controller| controller.on_congestion(&event))
}

extern "C" fn on_spurious(head: *mut ControllerHead, now: u64) -> Status {
    tell(head, |controller| controller.on_spurious(SimTime(now)))
}

extern "C" fn on_restart(head: *mut ControllerHead, restart: *const RestartC) -> Status {
    // SAFETY: the host passes an event that lives during the call.
    let restart = RestartEvent::from(unsafe { &*restart });
    tell(head, |controller| controller.on_restart(&restart))
}

extern "C" fn on_send(head: *mut ControllerHead, sent: *const SendC) -> Status {
    // SAFETY: the host passes an event that lives during the call.
    let sent = SendEvent::from(unsafe { &*sent });
    tell(head, |controller| controller.on_send(&sent))
}

extern "C" fn on_delivered(head: *mut ControllerHead, segment: *const SegmentC) -> Status {
    // SAFETY: the host passes a report that lives during the call.
    let segment = SegmentReport::from(unsafe { &*segment });
    tell(head, |controller| controller.on_delivered(&segment))
}

extern "C" fn on_lost(head: *mut ControllerHead, segment: *const SegmentC) -> Status {
    // SAFETY: the host passes a report that lives during the call.
    let segment = SegmentReport::from(unsafe { &*segment });
    tell(head, |controller| controller.on_lost(&segment))
}

extern "C" fn on_timer(head: *mut ControllerHead, now: u64) -> Status {
    tell(head, |controller| controller.on_timer(SimTime(now)))
}

extern "C" fn watched(head: *const ControllerHead, out: *mut WatchedC) -> Status {
    // SAFETY: the host passes what `make` or `clone` returned, and a place for the answer.
    let (instance, out) = unsafe { (&*head.cast::<Instance>(), &mut *out) };
    status_of(|| {
        let (exit_at, exit_sign) = WatchedC::exit_of(instance.inner.early_exit());
        let (state, is_in_slow_start) = (Text::of(instance.inner.state()), instance.inner.is_in_slow_start());
        *out = WatchedC { state, is_in_slow_start, exit_at, exit_sign };
    })
}

extern "C" fn inspect(head: *const ControllerHead, context: *mut c_void, record: InspectC) -> Status {
    // SAFETY: the host passes what `make` or `clone` returned.
    let instance = unsafe { &*head.cast::<Instance>() };
    status_of(|| instance.inner.inspect(&mut |name, value| record(context, Text::of(name), value)))
}

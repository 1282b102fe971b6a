//! Events at a sender, for observers: kept until the endpoint hands them over, which it does before the next segment
//! leaves and at the end of a call.

use ackclock_cc::{CongestionController, Controller, ExitSign};
use ackclock_events::{ControllerState, Event, EventKind, EventKinds, SlowStartExit};
use ackclock_units::{Bytes, SimTime};

/// Events of a sender that have not been handed over.
#[derive(Clone, Debug)]
pub struct EventLog {
    kinds: EventKinds,
    events: Vec<Event>,
    /// The controller must be compared whenever it may have changed.
    follows_controller: bool,
    /// State of the controller at the last check.
    state: &'static str,
    is_in_slow_start: bool,
    ssthresh: Option<Bytes>,
}

impl EventLog {
    /// Keeps events of these kinds.
    pub fn new(kinds: EventKinds, controller: &Controller) -> Self {
        let follows_controller = kinds.has(EventKind::ControllerState) || kinds.has(EventKind::SlowStartExited);
        let events = Vec::new();
        let mut log = Self { kinds, events, follows_controller, state: "", is_in_slow_start: true, ssthresh: None };
        log.begin(controller);
        log
    }

    /// This is the controller from now on.
    pub fn begin(&mut self, controller: &Controller) {
        self.state = controller.state();
        self.is_in_slow_start = controller.is_in_slow_start();
        self.ssthresh = controller.ssthresh();
    }

    /// True if each ACK must be reported.
    pub fn wants_every_ack(&self) -> bool {
        self.kinds.has(EventKind::AckArrived)
    }

    /// True if each segment must be reported.
    pub fn wants_every_segment(&self) -> bool {
        self.kinds.has(EventKind::SegmentSent)
    }

    /// Appends an event.
    pub fn push(&mut self, event: Event) {
        self.insert(self.events.len(), event);
    }

    /// Inserts an event before those that happened since there were `place` events.
    pub fn insert(&mut self, place: usize, event: Event) {
        if self.kinds.has(event.kind()) {
            self.events.insert(place, event);
        }
    }

    /// Number of events kept.
    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// True if no event is kept.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// All that is to be handed over, which whoever takes it empties.
    pub fn events(&mut self) -> &mut Vec<Event> {
        &mut self.events
    }

    /// Notes that the controller was informed of congestion.
    pub fn on_congestion(&mut self, controller: &Controller, cause: SlowStartExit) {
        if self.is_in_slow_start && !controller.is_in_slow_start() {
            self.is_in_slow_start = false;
            self.push(Event::SlowStartExited { cause, cwnd: controller.cwnd() });
        }
    }

    /// Notes changes of the controller after an event or its timer.
    pub fn record_controller(&mut self, now: SimTime, controller: &Controller) {
        if !self.follows_controller {
            return;
        }
        let was_in_slow_start = std::mem::replace(&mut self.is_in_slow_start, controller.is_in_slow_start());
        let ssthresh = std::mem::replace(&mut self.ssthresh, controller.ssthresh());
        if was_in_slow_start && !self.is_in_slow_start {
            let cause = exit_cause(now, controller, ssthresh);
            self.push(Event::SlowStartExited { cause, cwnd: controller.cwnd() });
        }
        let from = std::mem::replace(&mut self.state, controller.state());
        if from != self.state {
            self.push(Event::ControllerState(ControllerState { from, to: self.state }));
        }
    }
}

/// Cause of an end of slow start without congestion; `ssthresh` is the value at that time.
fn exit_cause(now: SimTime, controller: &Controller, ssthresh: Option<Bytes>) -> SlowStartExit {
    match controller.early_exit().filter(|exit| exit.at == now) {
        Some(exit) if exit.sign == ExitSign::AckTrain => SlowStartExit::AckTrain,
        Some(_) => SlowStartExit::Delay,
        None if ssthresh.is_some_and(|ssthresh| controller.cwnd() >= ssthresh) => SlowStartExit::Threshold,
        None => SlowStartExit::PathFull,
    }
}

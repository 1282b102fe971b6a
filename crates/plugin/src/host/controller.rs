//! A controller of a plug-in, as the sender sees it.

use std::ffi::c_void;
use std::sync::Arc;

use ackclock_cc::{
    AckEvent, CongestionController, CongestionEvent, Demands, EarlyExit, RestartEvent, SegmentReport, SendEvent, Start,
};
use ackclock_units::{Bandwidth, Bytes, SimTime};

use super::declaration::Config;
use crate::abi::{
    AckC, CongestionC, ControllerHead, ControllerTable, DeliveryC, NONE, RestartC, SegmentC, SendC, StartC, Status,
    Text, WatchedC, known, known_rate,
};

/// Congestion controller of a plug-in.
#[derive(Debug)]
pub(super) struct PluginController {
    config: Arc<Config>,
    head: *mut ControllerHead,
}

// SAFETY: a plug-in's controllers are `Send`.
unsafe impl Send for PluginController {}
// SAFETY: a plug-in's controllers are `Sync`; what changes one takes `&mut self` here as there.
unsafe impl Sync for PluginController {}

impl PluginController {
    pub(super) fn new(config: &Arc<Config>, start: &Start) -> Self {
        let origin = config.origin();
        let head = (origin.table.controller.make)(config.pointer(), &StartC::from(start));
        Self { config: Arc::clone(config), head: origin.made(head, "making") }
    }

    #[inline]
    fn calls(&self) -> &'static ControllerTable {
        &self.config.origin().table.controller
    }

    #[inline]
    fn shown(&self) -> &ControllerHead {
        // SAFETY: the plug-in keeps it until `drop` frees it, and writes it in calls with `&mut self` only.
        unsafe { &*self.head }
    }

    fn watched(&self) -> WatchedC {
        let mut watched = WatchedC { state: Text::of(""), is_in_slow_start: false, exit_at: NONE, exit_sign: 0 };
        let status = (self.calls().watched)(self.head, &raw mut watched);
        self.expect(status, "state");
        watched
    }

    #[inline]
    fn expect(&self, status: Status, call: &'static str) {
        self.config.origin().expect(status, call);
    }
}

impl CongestionController for PluginController {
    fn on_feedback(&mut self, counted: bool) -> bool {
        let status = (self.calls().on_feedback)(self.head, counted);
        self.expect(status, "on_feedback");
        status == Status::Done
    }

    fn on_ack(&mut self, ack: &AckEvent) {
        let delivery = ack.delivery.as_ref().map(DeliveryC::from);
        let status = (self.calls().on_ack)(self.head, &AckC::new(ack, delivery.as_ref()));
        self.expect(status, "on_ack");
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        let status = (self.calls().on_congestion)(self.head, &CongestionC::from(event));
        self.expect(status, "on_congestion");
    }

    fn on_spurious(&mut self, now: SimTime) {
        let status = (self.calls().on_spurious)(self.head, now.0);
        self.expect(status, "on_spurious");
    }

    fn on_restart(&mut self, restart: &RestartEvent) {
        let status = (self.calls().on_restart)(self.head, &RestartC::from(restart));
        self.expect(status, "on_restart");
    }

    fn on_send(&mut self, sent: &SendEvent) {
        let status = (self.calls().on_send)(self.head, &SendC::from(sent));
        self.expect(status, "on_send");
    }

    fn on_delivered(&mut self, segment: &SegmentReport) {
        let status = (self.calls().on_delivered)(self.head, &SegmentC::from(segment));
        self.expect(status, "on_delivered");
    }

    fn on_lost(&mut self, segment: &SegmentReport) {
        let status = (self.calls().on_lost)(self.head, &SegmentC::from(segment));
        self.expect(status, "on_lost");
    }

    fn on_timer(&mut self, now: SimTime) {
        let status = (self.calls().on_timer)(self.head, now.0);
        self.expect(status, "on_timer");
    }

    fn cwnd(&self) -> Bytes {
        Bytes(self.shown().cwnd)
    }

    fn ssthresh(&self) -> Option<Bytes> {
        known(self.shown().ssthresh).map(Bytes)
    }

    fn pacing_rate(&self) -> Option<Bandwidth> {
        known_rate(self.shown().pacing_rate)
    }

    fn deadline(&self) -> SimTime {
        known(self.shown().deadline).map_or(SimTime::NEVER, SimTime)
    }

    fn limits_itself(&self) -> bool {
        self.shown().limits_itself
    }

    fn demands(&self) -> Demands {
        let head = self.shown();
        Demands {
            samples: head.wants_samples,
            timer: head.wants_timer,
            recovery_window: head.wants_recovery_window,
            marks: head.wants_marks,
            own_loss_window: head.has_own_loss_window,
            no_ecn: head.wants_no_ecn,
            at_once: head.wants_at_once,
        }
    }

    fn state(&self) -> &'static str {
        // SAFETY: the names of states are static in the plug-in, which stays loaded.
        unsafe { self.watched().state.read() }
    }

    fn is_in_slow_start(&self) -> bool {
        self.watched().is_in_slow_start
    }

    fn early_exit(&self) -> Option<EarlyExit> {
        self.watched().exit()
    }

    fn inspect(&self, record: &mut dyn FnMut(&'static str, f64)) {
        let mut record = Record(record);
        let status = (self.calls().inspect)(self.head, std::ptr::from_mut(&mut record).cast(), note);
        self.expect(status, "inspect");
    }
}

impl Clone for PluginController {
    fn clone(&self) -> Self {
        let head = (self.calls().clone)(self.head);
        Self { config: Arc::clone(&self.config), head: self.config.origin().made(head, "a copy") }
    }
}

impl Drop for PluginController {
    fn drop(&mut self) {
        (self.calls().drop)(self.head);
    }
}

/// Receiver of a part's internal values.
pub(super) struct Record<'a>(pub(super) &'a mut dyn FnMut(&'static str, f64));

pub(super) extern "C" fn note(context: *mut c_void, name: Text, value: f64) {
    // SAFETY: the context is a `Record` that lives during the call; names are static in the plug-in, which stays loaded.
    let (record, name) = unsafe { (&mut *context.cast::<Record<'_>>(), name.read()) };
    (record.0)(name, value);
}

//! The calls that TCP and QUIC make of a controller, in the order of the documentation of `CongestionController`.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use crate::common::Dumbbell;
use ackclock_cc::{
    AckEvent, CongestionCause, CongestionController, CongestionEvent, ControllerConfig, Demands, EchoEvent,
    ExternalConfig, HandshakeEvent, RestartEvent, SegmentReport, SendEvent, Start,
};
use ackclock_net::{PacketClass, QueueConfig, QueueLimit, Selection, ThresholdConfig};
use ackclock_quic::QuicConfig;
use ackclock_sim::Simulation;
use ackclock_tcp::{EcnConfig, EcnMode, TcpConfig, UndoConfig};
use ackclock_units::{Bandwidth, Bytes, SimDuration, SimTime};

/// Calls of one moment, in the order in which they are to come; those of a rank may come in any.
const RANKS: [&[&str]; 6] =
    [&["delivered"], &["echo"], &["lost"], &["recovery end"], &["mark", "loss", "loss in answer"], &["ack"]];

/// Names of calls in order, with their times where they have one.
type Calls = Arc<Mutex<Vec<(&'static str, Option<SimTime>)>>>;

/// Grows fast and halves its window, so that marks and losses come often.
#[derive(Clone, Debug)]
struct Logging {
    calls: Calls,
    cwnd: Bytes,
    ssthresh: Option<Bytes>,
}

impl Logging {
    fn note(&self, call: &'static str, time: Option<SimTime>) {
        self.calls.lock().expect("no call panics").push((call, time));
    }
}

impl CongestionController for Logging {
    fn on_feedback(&mut self, _counted: bool) -> bool {
        self.note("feedback", None);
        true
    }
    fn on_handshake(&mut self, _handshake: &HandshakeEvent) {
        self.note("handshake", None);
    }
    fn on_delivered(&mut self, segment: &SegmentReport) {
        self.note("delivered", Some(segment.now));
    }
    fn on_echo(&mut self, _echo: &EchoEvent) {
        self.note("echo", None);
    }
    fn on_lost(&mut self, segment: &SegmentReport) {
        self.note("lost", Some(segment.now));
    }
    fn on_recovery_end(&mut self, now: SimTime) {
        self.note("recovery end", Some(now));
    }
    fn on_congestion(&mut self, event: &CongestionEvent) {
        let call = match event.cause {
            CongestionCause::Ecn => "mark",
            CongestionCause::Loss => "loss",
            CongestionCause::Timeout { .. } => "timeout",
        };
        self.note(call, Some(event.now));
        self.cwnd = Bytes((self.cwnd.0 / 2).max(6_000));
        self.ssthresh = Some(self.cwnd);
    }
    fn on_loss_in_answer(&mut self, window: Bytes) {
        assert!(window > Bytes::ZERO);
        self.note("loss in answer", None);
    }
    fn on_restart(&mut self, restart: &RestartEvent) {
        self.note("restart", Some(restart.now));
        self.cwnd = restart.window;
    }
    fn on_spurious(&mut self, now: SimTime) {
        self.note("spurious", Some(now));
    }
    fn on_ack(&mut self, ack: &AckEvent) {
        self.note("ack", Some(ack.now));
        let delivery = ack.delivery.expect("it is asked for");
        assert_eq!(delivery.prior_inflight, delivery.inflight + ack.newly_acked + ack.lost_now(), "{ack:?}");
        self.cwnd += Bytes(ack.newly_acked.0 / 2);
    }
    fn on_send(&mut self, sent: &SendEvent) {
        self.note("sent", Some(sent.now));
    }
    fn demands(&self) -> Demands {
        Demands { samples: true, ..Demands::default() }
    }
    fn cwnd(&self) -> Bytes {
        self.cwnd
    }
    fn ssthresh(&self) -> Option<Bytes> {
        self.ssthresh
    }
}

/// Calls of a flow over a link that marks above five packets, and loses one in a hundred.
fn calls(quic: bool) -> Vec<(&'static str, Option<SimTime>)> {
    let calls = Calls::default();
    let kept = Arc::clone(&calls);
    let make = move |start: &Start| Logging { calls: Arc::clone(&kept), cwnd: start.initial_window, ssthresh: None };
    let span = SimDuration::from_secs(20);
    let mut path = Dumbbell::new(Bandwidth(10_000_000), SimDuration::from_millis(20), QueueLimit::Unlimited, span);
    path.controllers = vec![ControllerConfig::External(ExternalConfig::new("logging", make))];
    let (threshold, limit) = (QueueLimit::Packets(5), QueueLimit::Unlimited);
    path.queue = Some(QueueConfig::Threshold(ThresholdConfig { threshold, limit }));
    path.discard = Some((PacketClass::Data, Selection::Every(100)));
    let ecn = EcnConfig { mode: EcnMode::Request, ..path.tcp.ecn };
    let undo = UndoConfig { eifel: false, dsack: false, frto: false };
    path.tcp = TcpConfig { ecn, undo, ..path.tcp };
    let mut config = path.config();
    config.flows[0].quic = quic.then(|| Arc::new(QuicConfig { ecn: true, ..QuicConfig::default() }));
    Simulation::new(&config).run_until(SimTime(span.0));
    calls.lock().expect("no call panics").clone()
}

/// Holds the calls of each moment to their order.
fn check_order(calls: &[(&'static str, Option<SimTime>)]) {
    let (mut now, mut reached) = (None, 0);
    for (place, (call, time)) in calls.iter().enumerate() {
        let rank = RANKS.iter().position(|of_rank| of_rank.contains(call));
        if time.is_some() && *time != now {
            (now, reached) = (*time, 0);
        }
        let Some(rank) = rank else {
            reached = 0; // what leaves, or a timer, ends the calls of an ACK
            continue;
        };
        assert!(rank >= reached, "{call} at {now:?} comes too late: {:?}", &calls[place.saturating_sub(6)..=place]);
        reached = if *call == "ack" { 0 } else { rank };
    }
}

#[test]
fn each_transport_makes_every_call_in_order() {
    let both = ["feedback", "sent", "delivered", "echo", "lost", "mark", "loss", "loss in answer", "ack"];
    for (quic, own) in [(false, &["handshake", "recovery end"][..]), (true, &[])] {
        let calls = calls(quic);
        let made: BTreeSet<_> = calls.iter().map(|(call, _)| *call).collect();
        let expected: BTreeSet<_> = both.iter().chain(own).copied().collect();
        let missing: Vec<_> = expected.difference(&made).collect();
        assert!(missing.is_empty(), "quic {quic}: {missing:?}");
        check_order(&calls);
        let in_answer = calls.iter().position(|(call, _)| *call == "loss in answer").expect("there is one");
        assert_eq!(calls[in_answer - 1].0, "lost", "quic {quic}");
    }
}

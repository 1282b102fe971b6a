//! Order of a controller's events, and the time at which it is created. Segments of 1000 octets; the round trip is 100
//! ms.

use std::sync::{Arc, Mutex};

use crate::common::{OPENER, Pair, plain, with_recovery};
use ackclock_cc::{
    AckEvent, CongestionController, CongestionEvent, ControllerConfig, ExternalConfig, RestartCause, RestartEvent,
    Start,
};
use ackclock_tcp::{IdleRestart, LossRecovery, TcpConfig};
use ackclock_units::{Bytes, SimDuration};

/// Calls in order, each with a number that matters.
type Log = Arc<Mutex<Vec<(&'static str, u64)>>>;

/// Keeps a log; its window grows by the acknowledged octets, and restarts at the value that it is given.
#[derive(Clone, Debug)]
struct Logging {
    log: Log,
    cwnd: Bytes,
}

impl Logging {
    fn note(&self, call: &'static str, value: u64) {
        self.log.lock().expect("no test panics with it").push((call, value));
    }
}

impl CongestionController for Logging {
    fn on_ack(&mut self, ack: &AckEvent) {
        self.note("ack", ack.newly_acked.0);
        self.cwnd += ack.newly_acked;
    }
    fn on_congestion(&mut self, event: &CongestionEvent) {
        self.note(if event.is_timeout() { "timeout" } else { "loss" }, event.flight_size.0);
    }
    fn on_restart(&mut self, restart: &RestartEvent) {
        let call = match restart.cause {
            RestartCause::SynLost => "restart: syn lost",
            RestartCause::Timeout => "restart: timeout",
            RestartCause::Idle => "restart: idle",
            RestartCause::Unused => "restart: unused",
            RestartCause::Outer => "restart: outer",
        };
        self.note(call, restart.window.0);
        self.cwnd = restart.window;
    }
    fn cwnd(&self) -> Bytes {
        self.cwnd
    }
}

fn logging() -> (ControllerConfig, Log) {
    let log = Log::default();
    let kept = Arc::clone(&log);
    let make = move |start: &Start| {
        let made = Logging { log: Arc::clone(&kept), cwnd: start.initial_window };
        made.note("made for segments of", start.mss.0);
        made
    };
    (ControllerConfig::External(ExternalConfig::new("logging", make)), log)
}

/// A pair whose opener has the controller that logs.
fn pair(opener: &TcpConfig, acceptor: &TcpConfig) -> (Pair, Log) {
    let (controller, log) = logging();
    let mut pair = Pair::new(opener, acceptor);
    pair.ends[OPENER] = ackclock_tcp::Endpoint::new(*opener, &controller, ackclock_tcp::Reading::AtOnce);
    (pair, log)
}

fn taken(log: &Log) -> Vec<(&'static str, u64)> {
    std::mem::take(&mut *log.lock().expect("no test panics with it"))
}

#[test]
fn it_is_made_once_for_the_segment_size_that_the_handshake_settles() {
    let (mut pair, log) = pair(&plain(), &TcpConfig { mss: 600, ..plain() });
    assert_eq!(pair.ends[OPENER].cwnd(), Bytes(10_000)); // configured: ten segments of 1000
    assert_eq!(taken(&log), []);
    pair.open();
    // The smaller of 1000 and the 600 that the peer's MSS option says, and ten segments of those.
    assert_eq!(taken(&log), [("made for segments of", 600)]);
    assert_eq!((pair.ends[OPENER].cwnd(), pair.ends[OPENER].mss()), (Bytes(6_000), 600));
}

#[test]
fn a_lost_syn_restarts_from_one_segment() {
    let (mut pair, log) = pair(&plain(), &plain());
    pair.drop = Box::new(|end, sent, _| end == OPENER && sent == 0);
    pair.open();
    pair.run_for(SimDuration::from_millis(2_000));
    // RFC 5681 section 3.1: IW is one segment if the SYN or SYN-ACK is lost.
    assert_eq!(taken(&log), [("made for segments of", 1_000), ("restart: syn lost", 1_000)]);
}

#[test]
fn a_timeout_is_an_episode_first_and_a_loss_window_then() {
    let (mut pair, log) = pair(&with_recovery(LossRecovery::NewReno), &with_recovery(LossRecovery::NewReno));
    pair.open();
    taken(&log);
    pair.drop = Box::new(|end, sent, segment| end == OPENER && segment.payload > 0 && sent < 6);
    pair.write(OPENER, 4_000); // 4 segments, all lost; the SYN and an ACK left before them
    pair.run_for(SimDuration::from_millis(1_200));
    // FlightSize is the 4000; the loss window one segment, with nothing left in the network. Its ACK follows.
    assert_eq!(taken(&log)[..3], [("timeout", 4_000), ("restart: timeout", 1_000), ("ack", 1_000)]);
}

#[test]
fn idle_time_ends_with_the_restart_window() {
    let config = TcpConfig { idle_restart: IdleRestart::Rfc5681, ..plain() };
    let (mut pair, log) = pair(&config, &plain());
    pair.open();
    pair.write(OPENER, 1_000);
    pair.run_for(SimDuration::from_millis(5_000));
    taken(&log);
    pair.write(OPENER, 1_000);
    pair.run_for(SimDuration::from_millis(200));
    // RFC 5681 section 4.1: RW = min(IW, cwnd), of 10 000 and 11 000, after more than an RTO (1 s).
    assert_eq!(taken(&log), [("restart: idle", 10_000), ("ack", 1_000)]);
}

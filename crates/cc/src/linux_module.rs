//! Modules of Linux whose rules differ from their papers': whole segments and integers, and the states of a sender.
//!
//! Source: the behaviour of Linux 6.12. The clock ticks at 1000 Hz, one of the rates that a kernel may be built with; round trips
//! are those of the segment sent last of those that an ACK acknowledges.
//!
//! Departures: those of a window of whole segments, which an ACK moves by whole segments (`segment_window.rs`). The ACK
//! that begins an episode is measured after the decrease.

mod bic;
mod highspeed;
mod htcp;
mod scalable;
mod yeah;

use std::fmt::Debug;

use ackclock_units::{Bytes, SimDuration, SimTime};

use crate::controller::{CongestionController, Controller, Start};
use crate::delivery::{Demands, SegmentReport};
use crate::event::{AckEvent, CongestionEvent, RestartCause, RestartEvent, SendEvent};
use crate::segment_window::SegmentWindow;
use crate::slow_start::{Hystart, SlowStart};

pub(crate) use bic::Bic;
pub(crate) use highspeed::HighSpeed;
pub(crate) use htcp::Htcp;
pub(crate) use scalable::Scalable;
pub(crate) use yeah::Yeah;

/// The ticks of the clock in a second.
const HZ: u64 = 1_000;

fn ticks(now: SimTime) -> u64 {
    now.0 / (1_000_000_000 / HZ)
}

/// An ACK as a module finds it.
#[derive(Clone, Copy, Debug)]
struct Acked {
    now: SimTime,
    /// The segments that it acknowledges cumulatively.
    segments: u64,
    /// The round trip of the segment that was sent last; `None` under Karn's rule.
    rtt: Option<SimDuration>,
    state: State,
    /// The congestion window before it grows, segments.
    cwnd: u64,
}

/// An ACK that lets the window grow.
#[derive(Clone, Copy, Debug)]
struct Growth {
    now: SimTime,
    /// True if it found the window below ssthresh.
    in_slow_start: bool,
    /// The segments that slow start left over: all of them in congestion avoidance.
    segments: u64,
    snd_una: u64,
    snd_nxt: u64,
}

/// The state of the sender (`icsk_ca_state`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Open,
    /// Data is selectively acknowledged, and nothing is lost yet. It ends here at the latest.
    Disorder(u64),
    /// Fast recovery, or the answer to a mark.
    Reducing,
    /// Recovery from a timeout, until this is acknowledged.
    Loss(u64),
}

/// The rules of a module; windows are whole segments.
trait Module: Debug + Send + Sync {
    /// True if it measures round trips.
    fn measures(&self) -> bool {
        false
    }

    /// Takes every ACK before the window grows (`pkts_acked`).
    fn on_ack(&mut self, _acked: &Acked) {}

    /// Grows the window (`cong_avoid`), where slow start has already taken its part.
    fn grow(&mut self, window: &mut SegmentWindow, growth: &Growth);

    /// The window that an episode leaves of `cwnd` (`ssthresh`).
    fn decrease(&mut self, now: SimTime, cwnd: u64) -> u64;

    /// An episode has begun, after its decrease.
    fn on_episode(&mut self, _now: SimTime) {}

    /// The retransmission timer has expired.
    fn on_timeout(&mut self) {}

    /// The last episode was spurious.
    fn on_spurious(&mut self) {}

    /// An episode, or disorder, is over; the next segment is `snd_nxt`.
    fn on_open(&mut self, _now: SimTime, _snd_nxt: u64) {}

    /// A segment at `snd_nxt` leaves while nothing is in the network.
    fn on_idle(&mut self, _snd_nxt: u64) {}

    /// Reports internals: see [`CongestionController::inspect`].
    fn inspect(&self, _record: &mut dyn FnMut(&'static str, f64)) {}

    fn boxed_clone(&self) -> Box<dyn Module>;
}

impl Clone for Box<dyn Module> {
    fn clone(&self) -> Self {
        self.as_ref().boxed_clone()
    }
}

/// A module of Linux with the window of whole segments that all share. Source and departures:
/// [`mod@crate::linux_module`].
#[derive(Clone, Debug)]
pub struct LinuxModule {
    module: Box<dyn Module>,
    mss: u64,
    window: SegmentWindow,
    slow_start: SlowStart,
    state: State,
    /// The time of the last episode, and the state before it.
    before: (SimTime, State),
    /// SND.UNA and SND.NXT, octets.
    una: u64,
    nxt: u64,
    /// The octets selectively acknowledged.
    sacked: u64,
    /// The octets acknowledged that make no segment yet.
    fraction: u64,
    /// The latest departure of what the next ACK delivers.
    sent_at: Option<SimTime>,
    /// True from a timeout to the next segment: nothing is thought to be in the network.
    is_all_lost: bool,
}

impl LinuxModule {
    /// Starts the controller of a module.
    #[allow(private_bounds, reason = "the modules are those of this crate")]
    pub(crate) fn start(module: impl Module + 'static, start: Start) -> Controller {
        Controller::LinuxModule(Box::new(Self {
            module: Box::new(module),
            mss: start.mss.0,
            window: SegmentWindow::new(start),
            slow_start: SlowStart::new(Hystart::Off),
            state: State::Open,
            before: (SimTime::NEVER, State::Open),
            una: 0,
            nxt: 0,
            sacked: 0,
            fraction: 0,
            sent_at: None,
            is_all_lost: false,
        }))
    }

    /// Takes the sequence numbers of an ACK; returns the segments that it acknowledges cumulatively.
    fn advance(&mut self, ack: &AckEvent) -> u64 {
        let octets = ack.snd_una.saturating_sub(self.una);
        self.sacked = (self.sacked + ack.newly_acked.0).saturating_sub(octets);
        (self.una, self.nxt) = (ack.snd_una, self.nxt.max(ack.snd_nxt));
        let counted = octets + self.fraction;
        self.fraction = counted % self.mss;
        counted / self.mss
    }

    /// The state after an ACK, which may end an episode or disorder.
    fn state_after(&self, ack: &AckEvent) -> State {
        let in_order = if self.sacked == 0 { State::Open } else { State::Disorder(ack.snd_nxt) };
        match self.state {
            State::Disorder(end) if self.sacked > 0 && ack.snd_una < end => State::Disorder(end),
            State::Reducing if ack.in_recovery && !ack.growth.is_due => State::Reducing,
            State::Loss(end) if ack.snd_una < end => State::Loss(end),
            State::Disorder(_) => State::Open,
            State::Open | State::Reducing | State::Loss(_) => in_order,
        }
    }

    fn enter(&mut self, now: SimTime, state: State) {
        if self.before.0 != now {
            self.before = (now, self.state);
        }
        self.state = state;
    }
}

impl CongestionController for LinuxModule {
    fn on_ack(&mut self, ack: &AckEvent) {
        let segments = self.advance(ack);
        let sent_at = self.sent_at.take();
        let rtt = ack.rtt_sample.map(|oldest| sent_at.map_or(oldest, |at| ack.now.saturating_since(at)));
        let state = if self.before.0 == ack.now { self.before.1 } else { self.state };
        self.module.on_ack(&Acked { now: ack.now, segments, rtt, state, cwnd: self.window.cwnd });
        let after = self.state_after(ack);
        if after == State::Open && self.state != State::Open {
            self.module.on_open(ack.now, ack.snd_nxt);
        }
        self.state = after;
        let in_slow_start = self.window.in_bytes().in_slow_start();
        let left = self.window.on_ack(&mut self.slow_start, ack, None);
        if ack.may_grow() {
            let (snd_una, snd_nxt) = (ack.snd_una, ack.snd_nxt);
            let growth = Growth { now: ack.now, in_slow_start, segments: left, snd_una, snd_nxt };
            self.module.grow(&mut self.window, &growth);
        }
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        self.slow_start.on_congestion(event);
        let from = self.window.decrease_from(event);
        let kept = if event.is_repeated() { from } else { self.module.decrease(event.now, from) };
        self.window.reduce(event, kept);
        self.enter(event.now, if event.is_timeout() { State::Loss(self.nxt) } else { State::Reducing });
        self.module.on_episode(event.now);
    }

    fn on_spurious(&mut self, _now: SimTime) {
        self.window.undo();
        self.module.on_spurious();
        if let State::Loss(_) = self.state {
            self.state = State::Loss(0);
        }
    }

    fn on_delivered(&mut self, segment: &SegmentReport) {
        if !segment.is_retransmission {
            self.sent_at = self.sent_at.max(Some(segment.sent_at));
        }
    }

    fn demands(&self) -> Demands {
        Demands { samples: self.module.measures(), ..Demands::default() }
    }

    fn on_send(&mut self, sent: &SendEvent) {
        let end = self.una + sent.flight_size.0;
        if sent.flight_size <= sent.size || std::mem::take(&mut self.is_all_lost) {
            self.module.on_idle(end.saturating_sub(sent.size.0));
        }
        self.nxt = self.nxt.max(end);
    }

    fn keeps_window_on_send(&self) -> bool {
        true
    }

    fn cwnd(&self) -> Bytes {
        self.window.cwnd_bytes()
    }

    fn on_restart(&mut self, restart: &RestartEvent) {
        self.slow_start.on_restart(restart);
        self.window.on_restart(restart);
        match restart.cause {
            RestartCause::Timeout => {
                self.enter(restart.now, State::Loss(self.nxt));
                self.is_all_lost = true;
                self.module.on_timeout();
            }
            RestartCause::Idle => self.module.on_idle(self.nxt),
            RestartCause::SynLost | RestartCause::Unused | RestartCause::Outer => {}
        }
    }

    fn ssthresh(&self) -> Option<Bytes> {
        self.window.ssthresh_bytes()
    }

    fn inspect(&self, record: &mut dyn FnMut(&'static str, f64)) {
        self.module.inspect(record);
    }
}

#[cfg(test)]
mod tests;

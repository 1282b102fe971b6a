//! Modules of Linux whose rules differ from their papers': whole segments and integers, and the states of a sender.
//!
//! Source: the behaviour of Linux 6.12; that of 7.3 for CDG, TCP-LP and TCP-NV. Modules that read the kernel's clock do so in whole
//! ticks (`tick`).
//!
//! Departures: those of a window of whole segments, which an ACK moves by whole segments (`segment_window.rs`). The ACK
//! that begins an episode is measured after the decrease.

mod bic;
mod cdg;
mod dctcp;
mod highspeed;
mod htcp;
mod hybla;
mod illinois;
mod lp;
mod nv;
mod scalable;
mod vegas;
mod veno;
mod westwood;
mod yeah;

use std::fmt::Debug;

use ackclock_units::{Bytes, SimDuration, SimTime};

use crate::controller::{CongestionController, Controller, Start};
use crate::delivery::{Demands, SegmentReport};
use crate::event::{
    AckEvent, CongestionCause, CongestionEvent, EchoEvent, HandshakeEvent, RestartCause, RestartEvent,
    SegmentTimestamps, SendEvent,
};
use crate::segment_window::SegmentWindow;

#[doc(inline)]
pub use cdg::{CdgConfig, CdgHystart};
#[doc(inline)]
pub use lp::LpConfig;
#[doc(inline)]
pub use nv::NvConfig;

pub(crate) use bic::Bic;
pub(crate) use dctcp::Dctcp;
pub(crate) use highspeed::HighSpeed;
pub(crate) use htcp::Htcp;
pub(crate) use hybla::Hybla;
pub(crate) use illinois::Illinois;
pub(crate) use scalable::Scalable;
pub(crate) use vegas::Vegas;
pub(crate) use veno::Veno;
pub(crate) use westwood::Westwood;
pub(crate) use yeah::Yeah;

/// A round trip that is not known, microseconds.
const UNKNOWN: u64 = i32::MAX as u64;

/// An ACK as a module finds it.
#[derive(Clone, Copy, Debug)]
struct Acked {
    now: SimTime,
    /// The segments that it acknowledges cumulatively.
    segments: u64,
    /// The octets that it acknowledges cumulatively, and the size of a segment.
    octets: u64,
    mss: u64,
    snd_una: u64,
    snd_nxt: u64,
    /// The octets delivered since the segment left that its sample of the delivery rate is of.
    delivered: u64,
    /// True if some data is selectively acknowledged.
    has_sacked: bool,
    /// True if it reports neither data out of order nor a mark.
    is_plain: bool,
    /// The round trip of the newest segment, or by the timestamp where one was sent again (`rs->rtt_us`).
    rtt: Option<SimDuration>,
    timestamps: Option<SegmentTimestamps>,
    state: State,
}

impl Acked {
    /// The round trip in whole microseconds, and one more, so that it is never zero.
    fn rtt_us(&self) -> Option<u64> {
        self.rtt.map(|rtt| rtt.0 / 1_000 + 1)
    }
}

/// An ACK after which the window may grow.
#[derive(Clone, Copy, Debug)]
struct Growth {
    now: SimTime,
    /// The segments that it delivers.
    segments: u64,
    /// True if the window is in use (`tcp_is_cwnd_limited`).
    is_in_use: bool,
    srtt: SimDuration,
    snd_una: u64,
    snd_nxt: u64,
}

impl Growth {
    /// Grows a window below ssthresh up to it; returns the segments left over for congestion avoidance.
    fn slow_start(&self, window: &mut SegmentWindow) -> u64 {
        window.grow_to_ssthresh(self.segments)
    }

    /// Grows a window below ssthresh up to it, and leaves nothing over; false if the window is not below.
    fn slow_start_alone(&self, window: &mut SegmentWindow) -> bool {
        let applies = window.in_slow_start();
        window.grow_to_ssthresh(self.segments);
        applies
    }

    /// Grows the window as Reno does (`tcp_reno_cong_avoid`).
    fn reno(&self, window: &mut SegmentWindow) {
        if self.is_in_use {
            let left = self.slow_start(window);
            if left > 0 {
                window.avoid_congestion(window.cwnd, left);
            }
        }
    }
}

/// The beginning of an episode.
#[derive(Clone, Copy, Debug)]
struct Episode {
    now: SimTime,
    /// The window from which it decreases, segments.
    cwnd: u64,
    cause: CongestionCause,
}

/// A change of the state, or another timeout in the state of loss.
#[derive(Clone, Copy, Debug)]
struct Change {
    now: SimTime,
    to: State,
    snd_una: u64,
    snd_nxt: u64,
    /// True if the reduction of an episode is complete (`CA_EVENT_COMPLETE_CWR`), and not undone on the way.
    completes: bool,
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
    /// Takes every ACK before the window grows (`pkts_acked`).
    fn on_ack(&mut self, _window: &mut SegmentWindow, _acked: &Acked) {}

    /// Takes every ACK on a connection with ECN, before an episode that begins with it (`in_ack_event`).
    fn on_echo(&mut self, _echo: &EchoEvent) {}

    /// The ssthresh after a loss that is found while a mark is being answered, with a window of `cwnd`.
    fn on_loss_in_answer(&mut self, _cwnd: u64) -> Option<u64> {
        None
    }

    /// Takes the first round trip, that of the handshake (`init`).
    fn on_handshake(&mut self, _window: &mut SegmentWindow, _handshake: &HandshakeEvent) {}

    /// Grows the window (`cong_avoid`) in the state after the ACK. Only a module that [`grows_unused`](Self::grows_unused) is asked
    /// where the window is not in use.
    fn grow(&mut self, window: &mut SegmentWindow, growth: &Growth);

    /// True if it takes ACKs also while the window is not in use.
    fn grows_unused(&self) -> bool {
        false
    }

    /// True if the last ACK begins a reduction of the module's own accord (`tcp_enter_cwr`).
    fn begins_reduction(&mut self) -> bool {
        false
    }

    /// The window that an episode leaves of `cwnd` (`ssthresh`).
    fn decrease(&mut self, episode: &Episode) -> u64;

    /// The retransmission timer has expired.
    fn on_timeout(&mut self) {}

    /// The last episode was spurious.
    fn on_spurious(&mut self) {}

    /// The state has changed, after the decrease of an episode (`set_state`).
    fn on_state(&mut self, _window: &mut SegmentWindow, _change: &Change) {}

    /// The window of `cwnd` segments is about to restart after idle time (`CA_EVENT_CWND_RESTART`).
    fn on_restart(&mut self, _cwnd: u64, _snd_nxt: u64) {}

    /// A segment at `snd_nxt` leaves while nothing is in the network.
    fn on_idle(&mut self, _now: SimTime, _snd_nxt: u64) {}

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
    state: State,
    /// The time of the last episode, and the state before it.
    before: (SimTime, State),
    /// The end of what was outstanding when the last episode began, and the time at which one was last undone.
    reduces_until: u64,
    undone: SimTime,
    /// SND.UNA and SND.NXT, octets.
    una: u64,
    nxt: u64,
    /// The beginnings of the segments that have arrived and are not yet acknowledged cumulatively.
    arrived: Vec<u64>,
    /// True if some of them are selectively acknowledged.
    has_sacked: bool,
    /// The connection has SACK.
    has_sack: bool,
    /// The octets acknowledged that make no segment yet, where nothing is reported of segments.
    fraction: u64,
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
            state: State::Open,
            before: (SimTime::NEVER, State::Open),
            reduces_until: 0,
            undone: SimTime::NEVER,
            una: 0,
            nxt: 0,
            arrived: Vec::new(),
            has_sacked: false,
            fraction: 0,
            is_all_lost: false,
            has_sack: true,
        }))
    }

    /// Takes the sequence numbers of an ACK; returns the octets and segments that it acknowledges cumulatively.
    fn advance(&mut self, ack: &AckEvent) -> (u64, u64) {
        let octets = ack.snd_una.saturating_sub(self.una);
        (self.una, self.nxt) = (ack.snd_una, ack.snd_nxt);
        let arrived = self.arrived.len();
        self.arrived.retain(|start| *start >= ack.snd_una);
        // Without SACK a duplicate ACK stands for a segment.
        let has_sack = ack.delivery.is_some_and(|delivery| delivery.has_sack);
        self.has_sack = has_sack || ack.delivery.is_none();
        let is_duplicate = !has_sack && octets == 0 && ack.newly_acked > Bytes::ZERO;
        self.has_sacked = is_duplicate || !self.arrived.is_empty();
        if self.arrived.len() < arrived {
            return (octets, (arrived - self.arrived.len()) as u64);
        }
        let counted = octets + self.fraction;
        self.fraction = counted % self.mss;
        (octets, counted / self.mss)
    }

    /// The state after an ACK, which may end an episode or disorder.
    fn state_after(&self, ack: &AckEvent) -> State {
        let in_order = if self.has_sacked { State::Disorder(ack.snd_nxt) } else { State::Open };
        match self.state {
            State::Disorder(end) if self.has_sacked && ack.snd_una < end => State::Disorder(end),
            State::Reducing if ack.in_recovery && !ack.growth.is_due => State::Reducing,
            // Without SACK the old state is held until something above its end is acknowledged.
            State::Loss(end) if ack.snd_una < end + u64::from(!self.has_sack && end > 0) => State::Loss(end),
            State::Disorder(_) => State::Open,
            State::Open | State::Reducing | State::Loss(_) => in_order,
        }
    }

    fn enter(&mut self, now: SimTime, state: State) {
        if self.before.0 != now {
            self.before = (now, self.state);
        }
        self.change(now, state);
    }

    fn change(&mut self, now: SimTime, to: State) {
        let is_undone_partly = self.undone == now && self.una < self.reduces_until;
        let change = Change {
            now,
            to,
            snd_una: self.una,
            snd_nxt: self.nxt,
            completes: self.state == State::Reducing && !matches!(to, State::Loss(_)) && !is_undone_partly,
        };
        self.state = to;
        self.module.on_state(&mut self.window, &change);
    }
}

impl CongestionController for LinuxModule {
    fn on_ack(&mut self, ack: &AckEvent) {
        let (octets, segments) = self.advance(ack);
        let state = if self.before.0 == ack.now { self.before.1 } else { self.state };
        let sample = ack.delivery.and_then(|delivery| delivery.sample);
        let acked = Acked {
            now: ack.now,
            segments,
            octets,
            mss: self.mss,
            snd_una: ack.snd_una,
            snd_nxt: ack.snd_nxt,
            delivered: sample.map_or(0, |sample| sample.delivered.0),
            has_sacked: self.has_sacked,
            is_plain: !self.has_sacked && ack.newly_ce_marked == Bytes::ZERO,
            rtt: ack.rtt_sample,
            timestamps: ack.timestamps,
            state,
        };
        self.module.on_ack(&mut self.window, &acked);
        let after = self.state_after(ack);
        if std::mem::discriminant(&after) == std::mem::discriminant(&self.state) {
            self.state = after;
        } else {
            self.change(ack.now, after);
        }
        if ack.growth.is_due && (ack.growth.is_in_use || self.module.grows_unused()) {
            let growth = Growth {
                now: ack.now,
                segments: self.window.whole_segments(ack),
                is_in_use: ack.growth.is_in_use,
                srtt: ack.rtt.srtt,
                snd_una: ack.snd_una,
                snd_nxt: ack.snd_nxt,
            };
            self.module.grow(&mut self.window, &growth);
        }
    }

    fn on_echo(&mut self, echo: &EchoEvent) {
        self.module.on_echo(echo);
    }

    fn on_loss_in_answer(&mut self, window: Bytes) {
        if let Some(ssthresh) = self.module.on_loss_in_answer(window.0 / self.mss) {
            self.window.set(ssthresh.max(2));
        }
    }

    fn on_handshake(&mut self, handshake: &HandshakeEvent) {
        self.module.on_handshake(&mut self.window, handshake);
    }

    fn begins_reduction(&mut self) -> bool {
        self.module.begins_reduction()
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        let cwnd = self.window.decrease_from(event);
        let episode = Episode { now: event.now, cwnd, cause: event.cause };
        let kept = if event.is_repeated() { cwnd } else { self.module.decrease(&episode) };
        self.window.reduce(event, kept);
        self.reduces_until = self.nxt;
        self.enter(event.now, if event.is_timeout() { State::Loss(self.nxt) } else { State::Reducing });
    }

    fn on_spurious(&mut self, now: SimTime) {
        self.undone = now;
        self.window.undo();
        self.module.on_spurious();
        if let State::Loss(_) = self.state {
            self.state = State::Loss(0);
        }
    }

    fn on_recovery_end(&mut self, now: SimTime) {
        if self.state == State::Reducing {
            self.before = (now, self.state);
            self.change(now, State::Open);
        }
    }

    fn on_delivered(&mut self, segment: &SegmentReport) {
        self.arrived.push(segment.start);
    }

    fn demands(&self) -> Demands {
        Demands { samples: true, ..Demands::default() }
    }

    fn on_send(&mut self, sent: &SendEvent) {
        if sent.flight_size <= sent.size || std::mem::take(&mut self.is_all_lost) {
            self.module.on_idle(sent.now, self.nxt);
        }
        self.nxt = sent.snd_nxt;
    }

    fn keeps_window_on_send(&self) -> bool {
        true
    }

    fn cwnd(&self) -> Bytes {
        self.window.cwnd_bytes()
    }

    fn on_restart(&mut self, restart: &RestartEvent) {
        if restart.cause == RestartCause::Idle {
            self.module.on_restart(self.window.cwnd, self.nxt);
        }
        self.window.on_restart(restart);
        match restart.cause {
            RestartCause::Timeout => {
                // One that begins an episode has entered the state with it.
                if self.before.0 != restart.now || !matches!(self.state, State::Loss(_)) {
                    self.enter(restart.now, State::Loss(self.nxt));
                }
                self.is_all_lost = true;
                self.module.on_timeout();
            }
            RestartCause::Idle => self.module.on_idle(restart.now, self.nxt),
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

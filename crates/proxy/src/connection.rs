//! A connection through the proxy: two sockets and what goes either way between them.
//!
//! Each side sees what the other does in the same order: octets, then a FIN or a reset. A direction ends by itself, so that a
//! connection that is closed one way carries on the other way. A reset is passed on once everything before it has been
//! acknowledged: closing a socket at once would throw away what it still holds.

use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use socket2::SockRef;

use crate::config::Treatment;
use crate::direction::{Carrier, Direction, End, Endpoint, Pause};
use crate::end_reason::{Ending, Failure};
use crate::latency::Bounded;
use crate::service::Service;
use crate::sys;
use crate::upstream::Upstream;

/// Label of the servers of listeners that intercept.
const INTERCEPTED: &str = "intercepted";

/// Stage of a connection: what it waits for.
#[derive(Debug)]
pub enum Stage {
    /// The client's header of the PROXY protocol.
    Header,
    /// The client's first message of TLS, for a rule that asks for its server name.
    Hello,
    /// The server's answer; those that did not give one.
    Connecting(Vec<SocketAddr>),
    /// Both sides are open, and octets may come from either.
    Open,
    /// A reset is to be passed on to this side, once what came before it is acknowledged.
    Resetting(Side),
}

/// One of the two sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The client's side.
    Near,
    /// The server's side.
    Far,
}

/// Next action for a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum After {
    /// It waits for its sockets.
    Wait,
    /// It has more to do, after others.
    Again,
    /// It has more to do a little later.
    Later(Duration),
    /// It is over.
    Over(Ending),
}

/// A connection between a client and a server.
#[derive(Debug)]
pub struct Connection {
    /// Distinguishes it from earlier connections in its place.
    pub generation: u32,
    /// Socket to the client.
    pub near: Endpoint,
    /// The server's socket, once there is one.
    pub far: Option<Endpoint>,
    /// Direction from client to server.
    pub up: Direction,
    /// Direction from server to client.
    pub down: Direction,
    /// Current stage.
    pub stage: Stage,
    /// The client, as it is known to be.
    pub client: SocketAddr,
    /// The address that the client connected to, where a header of the PROXY protocol named it.
    pub destination: Option<SocketAddr>,
    /// Address of the server.
    pub server: SocketAddr,
    /// Descriptor that is set aside for the server's socket while the client is waited for.
    pub spare: Option<OwnedFd>,
    /// Time of its last event.
    pub active_at: Instant,
    /// Time of the next check for silence: other timers for that are stale.
    pub silent_at: Option<Instant>,
    /// Time at which it was taken.
    pub opened_at: Instant,
    /// The listener that took it.
    pub service: Arc<Service>,
    /// Its server, where there are several.
    pub upstream: Option<Arc<Upstream>>,
    /// The client's round trip as its handshake took it, if a rule asks for it.
    pub near_rtt: Duration,
    /// The place of its servers among the listener's pools.
    pub pool: usize,
    /// Server name that the client has sent by TLS, where a rule asks for it.
    pub sni: Option<Box<str>>,
    /// Bounds on the octets kept, in both directions.
    pub bounded: Option<Box<[Bounded; 2]>>,
    /// Its sockets' settings, until it is open.
    pub treatment: Option<Box<Treatment>>,
    /// Octets are being carried, and the next update of `bounded` has its timer.
    pub is_ticking: bool,
    /// It waits for a timer to be advanced again.
    pub is_retrying: bool,
    /// It is in the queue of those that have more to do.
    pub is_queued: bool,
    /// Wait before the next check whether a reset may be passed on.
    pub patience: Duration,
    /// The client against whose limit it counts; none until a header of the PROXY protocol has named it.
    pub source: Option<SocketAddr>,
    /// Time at which the first server was tried.
    pub asked_at: Option<Instant>,
    /// Time from then to a server's answer.
    pub connected_after: Option<Duration>,
    /// The side whose direction ended first.
    pub first_ended: Option<Side>,
    /// The side that was gone first.
    pub first_gone: Option<Side>,
}

impl Connection {
    /// Carries what can be carried now.
    pub fn advance(&mut self, carrier: &mut Carrier, now: Instant) -> After {
        match self.stage {
            Stage::Open => self.carry(carrier, now),
            Stage::Resetting(side) => self.pass_reset(side, carrier, now),
            Stage::Header | Stage::Hello | Stage::Connecting(_) => After::Wait,
        }
    }

    fn carry(&mut self, carrier: &mut Carrier, now: Instant) -> After {
        let before = self.progress();
        let (up, down) = self.pump(carrier);
        self.note(before, now);
        self.note_ends();
        let Some(far) = &self.far else { return After::Over(self.gone()) };
        match (self.near.is_reset, far.is_reset) {
            (true, true) => return After::Over(self.gone()),
            (true, false) if self.up.end == End::Reset => return self.begin_reset(Side::Far, carrier, now),
            (false, true) if self.down.end == End::Reset => return self.begin_reset(Side::Near, carrier, now),
            _ => {}
        }
        if self.up.is_done() && self.down.is_done() {
            return After::Over(Ending::Closed(self.first_ended.unwrap_or(Side::Near)));
        }
        match (up, down) {
            (Pause::Turn, _) | (_, Pause::Turn) => After::Again,
            _ => After::Wait,
        }
    }

    fn pump(&mut self, carrier: &mut Carrier) -> (Pause, Pause) {
        let Self { near, far: Some(far), up, down, .. } = self else { return (Pause::Blocked, Pause::Blocked) };
        let first = up.pump(near, far, carrier);
        let second = down.pump(far, near, carrier);
        // Writing may have found that a peer is gone: what it sent before is still to be read.
        Self::settle_reset(near, up, down, carrier);
        Self::settle_reset(far, down, up, carrier);
        // Who takes nothing for now is waited for, whatever has become of the other side.
        let again = |direction: &Direction, from: &Endpoint, to: &Endpoint, pause| match direction.end {
            End::Open if from.is_reset && from.is_readable && to.is_writable => Pause::Turn,
            _ => pause,
        };
        (again(up, near, far, first), again(down, far, near, second))
    }

    /// Settles the directions of a side that is gone: nothing can be sent to it, and its data ends with a reset.
    fn settle_reset(gone: &Endpoint, from_it: &mut Direction, to_it: &mut Direction, carrier: &mut Carrier) {
        if gone.is_reset {
            to_it.abandon(carrier);
            if from_it.end == End::Fin {
                from_it.end = End::Reset;
            }
        }
    }

    fn begin_reset(&mut self, side: Side, carrier: &mut Carrier, now: Instant) -> After {
        self.stage = Stage::Resetting(side);
        self.patience = Duration::from_micros(500);
        self.active_at = now;
        self.pass_reset(side, carrier, now)
    }

    /// Resets a side as soon as everything that came before is acknowledged.
    fn pass_reset(&mut self, side: Side, carrier: &mut Carrier, now: Instant) -> After {
        let gone = self.gone();
        let Self { near, far: Some(far), up, down, .. } = self else { return After::Over(gone) };
        let (from, to, direction) = match side {
            Side::Near => (far, near, down),
            Side::Far => (near, far, up),
        };
        direction.pump(from, to, carrier);
        let left = sys::not_acknowledged(&to.socket).unwrap_or(0);
        let is_late = now - self.active_at > self.service.timeouts.reset;
        if to.is_reset || is_late || direction.pending() == 0 && left == 0 {
            return After::Over(gone);
        }
        self.patience = (self.patience * 2).min(Duration::from_millis(100));
        After::Later(self.patience)
    }

    /// Records which side was the first to end, and which the first to be gone.
    fn note_ends(&mut self) {
        let first = |near: bool, far: bool| near.then_some(Side::Near).or(far.then_some(Side::Far));
        let ended = first(self.up.end != End::Open, self.down.end != End::Open);
        let gone = first(self.near.is_reset, self.far.as_ref().is_some_and(|far| far.is_reset));
        self.first_ended = self.first_ended.or(ended);
        self.first_gone = self.first_gone.or(gone);
    }

    /// The end of a connection that a side has left.
    fn gone(&self) -> Ending {
        let side = self.first_gone.unwrap_or(Side::Near);
        let end = if side == Side::Near { Some(&self.near) } else { self.far.as_ref() };
        if end.is_some_and(|end| end.is_lost) { Ending::Lost(side) } else { Ending::Reset(side) }
    }

    /// True if its client has gone before a server has answered, and left nothing to hand on: or no server can be asked.
    pub fn is_forsaken(&self) -> bool {
        let has_octets = || rustix::io::ioctl_fionread(&self.near.socket).is_ok_and(|octets| octets > 0);
        let is_connecting = matches!(self.stage, Stage::Connecting(_));
        is_connecting && self.near.is_reset && (self.far.is_none() || !has_octets() && !self.up.is_urgent)
    }

    /// The end of a connection whose client has gone before a server has answered.
    pub fn forsaken(&mut self) -> Ending {
        let error = SockRef::from(&self.near.socket).take_error().ok().flatten();
        self.near.on_error(error.and_then(|error| Errno::from_io_error(&error)));
        self.gone()
    }

    /// The end of a connection that was silent for too long.
    pub fn silent(&self) -> Ending {
        match self.stage {
            // One whose server name does not come is carried without it.
            Stage::Header | Stage::Hello => Ending::HeaderLate,
            Stage::Connecting(_) => Ending::Unconnected(Failure::TimedOut),
            Stage::Resetting(_) => self.gone(),
            Stage::Open if self.has_ended() => Ending::HalfClosed,
            Stage::Open => Ending::Idle,
        }
    }

    /// True if a direction has ended.
    fn has_ended(&self) -> bool {
        self.up.end != End::Open || self.down.end != End::Open
    }

    /// Label of its server in the metrics. Servers that clients choose are any number, and have one in common.
    pub fn upstream_label(&self) -> String {
        self.upstream.as_ref().map_or_else(|| INTERCEPTED.to_owned(), |upstream| upstream.address.to_string())
    }

    /// Octets so far, both ways.
    fn progress(&self) -> [u64; 4] {
        [self.up.taken, self.up.written, self.down.taken, self.down.written]
    }

    fn note(&mut self, before: [u64; 4], now: Instant) {
        let after = self.progress();
        if after != before {
            self.active_at = now;
            self.service.metrics.sides[0].octets.inc_by(after[0] - before[0]);
            self.service.metrics.sides[1].octets.inc_by(after[2] - before[2]);
        }
    }

    /// Longest time without an event.
    pub fn idle_limit(&self) -> Duration {
        let timeouts = &self.service.timeouts;
        match self.stage {
            Stage::Header => timeouts.header,
            Stage::Hello => timeouts.hello,
            Stage::Connecting(_) => timeouts.connect,
            Stage::Resetting(_) => timeouts.reset,
            Stage::Open if self.has_ended() => timeouts.half_closed,
            Stage::Open => timeouts.idle,
        }
    }

    /// Looks after what is kept of both directions; when to look again.
    pub fn tick(&mut self, now: Instant, start: Instant) -> Option<Duration> {
        let Self { near, far: Some(far), up, down, bounded: Some(bounded), service, .. } = self else { return None };
        let [of_up, of_down] = &mut **bounded;
        let sides = &service.metrics.sides;
        let first = of_up.update(up, (near, far), (now, start), &sides[0].waited);
        let second = of_down.update(down, (far, near), (now, start), &sides[1].waited);
        first.into_iter().chain(second).min()
    }

    /// Ends it: in order, or with resets.
    pub fn close(&mut self, is_in_order: bool, carrier: &mut Carrier) {
        self.up.abandon(carrier);
        self.down.abandon(carrier);
        let ends = [Some(&self.near), self.far.as_ref()];
        for (end, side) in ends.into_iter().zip(&self.service.metrics.sides) {
            let Some(end) = end else { continue };
            if let Ok(info) = sys::tcp_info(&end.socket)
                && info.tcpi_bytes_sent > 0
            {
                side.retransmitted.inc_by(info.tcpi_bytes_retrans);
                side.rtt.observe(f64::from(info.tcpi_rtt) * 1e-6);
                side.cwnd.observe(f64::from(info.tcpi_snd_cwnd));
            }
            if is_in_order {
                let _ = sys::set_reset_on_close(&end.socket, false);
            }
        }
    }
}

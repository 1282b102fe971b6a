//! A thread that carries connections: one epoll, its own listening sockets, its own pipes.
//!
//! Sockets tell of changes once (edge-triggered); what could not be finished in a connection's turn is queued behind the others.

mod accept;
mod commands;
mod connect;

use std::collections::VecDeque;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use rustix::event::Timespec;
use rustix::event::epoll::{self, EventData, EventFlags};
use slab::Slab;

pub use commands::{Backlog, Command, ConnectionInfo, Handle, Pair, SideInfo};

use crate::config::Config;
use crate::connection::{After, Connection, Side, Stage};
use crate::direction::{Carrier, End, Endpoint};
use crate::end_reason::{Ending, Failure};
use crate::log;
use crate::pipes::Pipes;
use crate::service::{Service, Shared};
use crate::sys;
use crate::timers::{Cause, Timers};

/// Events that are taken from the kernel at a time.
const EVENTS: usize = 512;

/// Tokens of listeners and of the thread's own descriptor have this bit.
const IS_LISTENER: u64 = 1 << 63;
const WAKE: u64 = u64::MAX;

/// Generations of connections have the bits below it, above their place and side.
const GENERATIONS: u32 = u32::MAX >> 1;

/// Events of each socket that epoll reports.
const INTEREST: EventFlags =
    EventFlags::IN.union(EventFlags::OUT).union(EventFlags::PRI).union(EventFlags::RDHUP).union(EventFlags::ET);

/// A listening socket of this thread.
#[derive(Debug)]
pub struct Listening {
    /// Listener to which the socket belongs.
    pub service: Arc<Service>,
    socket: OwnedFd,
    is_paused: bool,
    /// It is over its limit of connections a second until then.
    waits_until: Option<Instant>,
    /// It takes those that wait and no others: the limit does not count.
    is_closing: bool,
}

/// State of a thread.
#[derive(Debug)]
pub struct Worker {
    epoll: OwnedFd,
    wake: OwnedFd,
    commands: Receiver<Command>,
    shared: Arc<Shared>,
    listeners: Slab<Listening>,
    connections: Slab<Connection>,
    carrier: Carrier,
    timers: Timers,
    queue: VecDeque<u64>,
    /// Connections for whose server's side no descriptor was left.
    starved: VecDeque<u64>,
    /// Descriptor that is set aside for the server's side of the next connection.
    spare: Option<OwnedFd>,
    /// Time at which those that wait for room are tried again; other timers for that are stale.
    retries_at: Option<Instant>,
    generation: u32,
    start: Instant,
    ended: commands::Ended,
    /// Octets held and pipes lent, as the gauges that all threads add to have them of this one.
    told: [i64; 2],
    surveys: Vec<commands::Survey>,
    is_draining: bool,
    /// Reason of the end of the connections that are left.
    stopped: Option<Ending>,
}

impl Worker {
    /// A worker without listeners, and the handle for its commands.
    pub fn new(config: &Config, shared: Arc<Shared>) -> io::Result<(Self, Handle)> {
        let limits = &config.file.limits;
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let (handle, wake, commands) = Handle::new()?;
        epoll::add(&epoll, &wake, EventData::new_u64(WAKE), EventFlags::IN)?;
        let spare = Some(wake.try_clone()?);
        let pipes = Pipes::new(limits.pipes, limits.pipe_size.0 as usize);
        let worker = Self {
            epoll,
            wake,
            commands,
            shared,
            listeners: Slab::new(),
            connections: Slab::new(),
            carrier: Carrier::new(pipes, limits.memory.0 as usize),
            timers: Timers::default(),
            queue: VecDeque::new(),
            starved: VecDeque::new(),
            spare,
            retries_at: None,
            generation: 0,
            start: Instant::now(),
            ended: commands::Ended::default(),
            told: [0; 2],
            surveys: Vec::new(),
            is_draining: false,
            stopped: None,
        };
        Ok((worker, handle))
    }

    /// Works until it is stopped or, when draining, until it has no connections left.
    pub fn run(mut self) {
        let mut events = vec![MaybeUninit::uninit(); EVENTS];
        while !(self.stopped.is_some() || self.is_draining && self.connections.is_empty()) {
            let timeout = self.timeout().and_then(|timeout| Timespec::try_from(timeout).ok());
            let Ok((happened, _)) = epoll::wait(&self.epoll, &mut events[..], timeout.as_ref()) else { continue };
            let now = Instant::now();
            for event in happened {
                self.on_event(event.data.u64(), event.flags, now);
            }
            self.take_turns(now);
            self.run_timers(Instant::now());
            self.go_on_surveying();
        }
        let why = self.stopped.unwrap_or(Ending::Stopped);
        let left: Vec<usize> = self.connections.iter().map(|(key, _)| key).collect();
        for key in left {
            self.end(key, why);
        }
    }

    fn timeout(&self) -> Option<Duration> {
        let is_idle = self.queue.is_empty() && self.surveys.is_empty();
        if is_idle { self.timers.until_next(Instant::now()) } else { Some(Duration::ZERO) }
    }

    fn on_event(&mut self, token: u64, flags: EventFlags, now: Instant) {
        if token == WAKE {
            self.on_commands();
        } else if token & IS_LISTENER != 0 {
            // The rest is reported again: listening sockets are level-triggered.
            self.accept((token & !IS_LISTENER) as usize, now);
        } else if let Some(key) = self.find(token) {
            let side = if token & 1 == 0 { Side::Near } else { Side::Far };
            self.on_socket(key, side, flags, now);
        }
    }

    /// The place of the connection with this token, if it is still there.
    fn find(&self, token: u64) -> Option<usize> {
        let (generation, key) = place_of(token);
        self.connections.get(key).filter(|connection| connection.generation == generation).map(|_| key)
    }

    fn token(&self, key: usize) -> u64 {
        token_of(self.connections[key].generation, key)
    }

    fn on_socket(&mut self, key: usize, side: Side, flags: EventFlags, now: Instant) {
        let token = self.token(key);
        let connection = &mut self.connections[key];
        if side == Side::Far && matches!(connection.stage, Stage::Connecting(_)) {
            self.on_connected(key, flags, now);
            return;
        }
        let is_open = matches!(connection.stage, Stage::Open | Stage::Resetting(_));
        let (end, direction) = match side {
            Side::Near => (Some(&mut connection.near), &mut connection.up),
            Side::Far => (connection.far.as_mut(), &mut connection.down),
        };
        let Some(end) = end else { return };
        if flags.intersects(EventFlags::IN | EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR) {
            end.is_readable = true;
        }
        if flags.contains(EventFlags::OUT) {
            end.is_writable = true;
        }
        if flags.contains(EventFlags::PRI) {
            direction.is_urgent = true;
        }
        // Reading reports a reset, but for a side that has said its last, or that is not read yet.
        if flags.contains(EventFlags::ERR) && (!is_open || direction.end != End::Open || direction.is_abandoned()) {
            end.on_reset();
        }
        let has_ended = flags.intersects(EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR);
        match connection.stage {
            Stage::Header => self.read_header(key, has_ended, now),
            Stage::Hello => self.read_hello(key, has_ended, now),
            Stage::Connecting(_) => {}
            Stage::Open | Stage::Resetting(_) => return self.advance(key, now),
        }
        if let Some(key) = self.find(token)
            && self.connections[key].is_forsaken()
        {
            let why = self.connections[key].forsaken();
            self.end(key, why);
        }
    }

    fn advance(&mut self, key: usize, now: Instant) {
        let token = self.token(key);
        let connection = &mut self.connections[key];
        match connection.advance(&mut self.carrier, now) {
            After::Wait => {}
            After::Again if connection.is_queued => {}
            After::Again => {
                connection.is_queued = true;
                self.queue.push_back(token);
            }
            After::Later(_) if connection.is_retrying => {}
            After::Later(wait) => {
                connection.is_retrying = true;
                self.timers.set(now + wait, token, Cause::Retry);
            }
            After::Over(why) => return self.end(key, why),
        }
        self.watch(key);
        let connection = &self.connections[key];
        if connection.bounded.is_some() && !connection.is_ticking && matches!(connection.stage, Stage::Open) {
            self.tick(key, now);
        }
    }

    fn tick(&mut self, key: usize, now: Instant) {
        let token = self.token(key);
        let connection = &mut self.connections[key];
        let next = connection.tick(now, self.start);
        connection.is_ticking = next.is_some();
        if let Some(wait) = next {
            self.timers.set(now + wait, token, Cause::Tick);
        }
    }

    /// Each connection of the queue has one turn.
    fn take_turns(&mut self, now: Instant) {
        for _ in 0..self.queue.len() {
            let Some(token) = self.queue.pop_front() else { return };
            if let Some(key) = self.find(token) {
                self.connections[key].is_queued = false;
                self.advance(key, now);
            }
        }
    }

    fn run_timers(&mut self, now: Instant) {
        while let Some((token, cause)) = self.timers.pop_due(now) {
            if cause == Cause::Accept {
                self.retries_at = self.retries_at.filter(|at| *at > now);
                self.resume(now);
                continue;
            }
            let Some(key) = self.find(token) else { continue };
            match cause {
                Cause::Idle => self.look_for_silence(key, now),
                Cause::Retry => {
                    self.connections[key].is_retrying = false;
                    self.advance(key, now);
                }
                Cause::Tick => {
                    self.tick(key, now);
                    if let Some(key) = self.find(token) {
                        self.advance(key, now);
                    }
                }
                Cause::Accept => {}
            }
        }
    }

    fn look_for_silence(&mut self, key: usize, now: Instant) {
        let connection = &mut self.connections[key];
        if connection.silent_at.is_some_and(|at| at > now) {
            return;
        }
        connection.silent_at = None;
        if connection.active_at + connection.idle_limit() > now {
            return self.watch(key);
        }
        if matches!(connection.stage, Stage::Connecting(_)) && connection.far.is_some() {
            self.on_unreachable(key, Failure::TimedOut, now);
        } else if matches!(connection.stage, Stage::Connecting(_)) {
            // There was no descriptor, and there is none for another server either.
            let (listener, failure) = (&connection.service.listener.name, Failure::Local);
            self.shared.metrics.count_failure(listener, &connection.upstream_label(), failure);
            self.end(key, Ending::Unconnected(failure));
        } else if matches!(connection.stage, Stage::Hello) {
            self.set_out(key, now);
        } else {
            let why = connection.silent();
            self.end(key, why);
        }
    }

    /// Has a timer look whether a connection has been silent for too long.
    fn watch(&mut self, key: usize) {
        let token = self.token(key);
        let connection = &mut self.connections[key];
        let until = connection.active_at + connection.idle_limit();
        if connection.silent_at.is_none_or(|at| until < at) {
            connection.silent_at = Some(until);
            self.timers.set(until, token, Cause::Idle);
        }
    }

    /// Ends a connection and forgets it.
    fn end(&mut self, key: usize, why: Ending) {
        let mut connection = self.connections.remove(key);
        self.ended.note(&connection);
        report(&connection, why);
        connection.close(matches!(why, Ending::Closed(_)), &mut self.carrier);
        let metrics = &connection.service.metrics;
        metrics.active.dec();
        metrics.count(why.outcome());
        if let Some(upstream) = &connection.upstream {
            upstream.connections.fetch_sub(1, Ordering::Relaxed);
        }
        self.shared.leave(connection.source);
        drop(connection);
        if self.has_starved() {
            // They come first, once this turn is over.
            self.retry_at(Instant::now());
        } else {
            self.resume_listeners(Instant::now());
        }
    }

    fn register(&self, end: &Endpoint, token: u64) -> io::Result<()> {
        Ok(epoll::add(&self.epoll, &end.socket, EventData::new_u64(token), INTEREST)?)
    }
}

/// Writes the line of a connection that has ended, if such lines are wanted.
fn report(connection: &Connection, why: Ending) {
    if !tracing::enabled!(target: log::CONNECTIONS, tracing::Level::INFO) {
        return;
    }
    // Until a server was tried it has the client's address.
    let server = connection.asked_at.map(|_| tracing::field::display(connection.server));
    let (near, far) = (side_info(&connection.near), connection.far.as_ref().map(side_info));
    tracing::info!(
        target: log::CONNECTIONS, listener = connection.service.listener.name, client = %connection.client, server,
        sni = connection.sni.as_deref(),
        near_congestion = near.congestion, far_congestion = far.as_ref().map(|far| far.congestion.as_str()),
        up_bytes = connection.up.written, down_bytes = connection.down.written,
        connect_s = connection.connected_after.map(|it| it.as_secs_f64()),
        duration_s = connection.opened_at.elapsed().as_secs_f64(),
        near_rtt_s = near.rtt_s, far_rtt_s = far.as_ref().map(|far| far.rtt_s),
        near_retransmitted_bytes = near.retransmitted_bytes,
        far_retransmitted_bytes = far.as_ref().map(|far| far.retransmitted_bytes),
        end = why.words(), "connection"
    );
}

/// The token of a connection's near side; that of the far side has one more.
fn token_of(generation: u32, key: usize) -> u64 {
    u64::from(generation) << 32 | (key as u64) << 1
}

/// The generation and the place that a token names.
fn place_of(token: u64) -> (u32, usize) {
    ((token >> 32) as u32, (token as u32 >> 1) as usize)
}

/// The generation after this one. A thread has used all of them once it has carried two thousand million connections.
fn next_generation(generation: u32) -> u32 {
    generation.wrapping_add(1) & GENERATIONS
}

/// Number of octets in a socket that wait to be read.
fn unread(end: &Endpoint) -> u64 {
    rustix::io::ioctl_fionread(&end.socket).unwrap_or(0)
}

/// Number of octets that wait in a connection, from client to server and back.
fn backlog(connection: &Connection) -> [u64; 2] {
    let unsent = |end: &Endpoint| sys::tcp_info(&end.socket).map_or(0, |info| u64::from(info.tcpi_notsent_bytes));
    let (near, far) = (&connection.near, connection.far.as_ref());
    [
        unread(near) + connection.up.pending() as u64 + far.map_or(0, unsent),
        far.map_or(0, unread) + connection.down.pending() as u64 + unsent(near),
    ]
}

/// The kernel's report on a side, for readers of the metrics.
fn side_info(end: &Endpoint) -> SideInfo {
    let info = sys::tcp_info(&end.socket).ok();
    let congestion = socket2::SockRef::from(&end.socket).tcp_congestion().unwrap_or_default();
    let congestion = String::from_utf8_lossy(&congestion).trim_end_matches('\0').to_owned();
    SideInfo {
        congestion,
        rtt_s: info.map_or(0.0, |info| f64::from(info.tcpi_rtt) / 1e6),
        cwnd_segments: info.map_or(0, |info| info.tcpi_snd_cwnd),
        retransmitted_bytes: info.map_or(0, |info| info.tcpi_bytes_retrans),
        unread_bytes: unread(end),
        unsent_bytes: info.map_or(0, |info| u64::from(info.tcpi_notsent_bytes)),
        unacknowledged_bytes: u64::from(sys::not_acknowledged(&end.socket).unwrap_or(0)),
        delivery_rate_bps: info.map_or(0, |info| info.tcpi_delivery_rate.saturating_mul(8)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_connection_is_taken_for_a_listener_however_many_there_were() {
        for generation in [0, 7, GENERATIONS - 1, GENERATIONS, next_generation(GENERATIONS)] {
            let token = token_of(generation, 12_345);
            assert_eq!(token & IS_LISTENER, 0, "{generation}");
            assert_eq!((place_of(token), place_of(token | 1)), ((generation, 12_345), (generation, 12_345)));
        }
        assert_eq!(next_generation(GENERATIONS), 0);
    }
}

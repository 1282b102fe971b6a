//! Connections are taken, as long as there is room for them.

use std::fmt::Display;
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SocketAddrAny, SocketFlags, acceptfrom_with, recv};
use socket2::SockRef;

use super::connect::{flow, near_rtt};
use super::{IS_LISTENER, Listening, Worker, next_generation};
use crate::client_hello::{self, Read as Hello};
use crate::connection::{Connection, Side, Stage};
use crate::direction::{Direction, Endpoint};
use crate::end_reason::{Ending, Refusal};
use crate::metrics::Outcome;
use crate::proxy_protocol::{self, Read};
use crate::service::Service;
use crate::timers::Cause;
use crate::trouble::Trouble;
use crate::{listener, log, sys};

/// Connections that are taken before others have their turn.
const AT_A_TIME: usize = 64;

/// Time after which connections left waiting for want of room are tried again, unless a connection has ended before.
const PAUSE: Duration = Duration::from_millis(100);

impl Worker {
    /// Takes connections at this socket from now on.
    pub(super) fn listen(&mut self, service: Arc<Service>, socket: OwnedFd) -> io::Result<()> {
        let key = self.listeners.insert(Listening {
            service,
            socket,
            is_paused: false,
            waits_until: None,
            is_closing: false,
        });
        let token = EventData::new_u64(IS_LISTENER | key as u64);
        Ok(epoll::add(&self.epoll, &self.listeners[key].socket, token, EventFlags::IN)?)
    }

    /// True if there may be more to take, once others have had their turn.
    pub(super) fn accept(&mut self, key: usize, now: Instant) -> bool {
        for _ in 0..AT_A_TIME {
            if self.has_starved() {
                return self.pause(key, Trouble::NoRoom, &"connections before them wait, too", now);
            }
            if self.shared.is_full() {
                return self.pause(key, Trouble::Full, &"others have to end first", now);
            }
            if let Err(error) = self.set_aside() {
                return self.pause(key, Trouble::NoRoom, &error, now);
            }
            let Some(listening) = self.listeners.get(key) else { return false };
            let rate = listening.service.rate.clone().filter(|_| !listening.is_closing);
            if let Some(Err(wait)) = rate.as_ref().map(|rate| rate.take(now)) {
                return self.hold_back(key, now + wait);
            }
            let unused = || rate.iter().for_each(|rate| rate.give_back());
            match acceptfrom_with(&listening.socket, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC) {
                // Accepting tells the address even of a client that has gone; asking later does not.
                Ok((socket, client)) => {
                    let service = Arc::clone(&listening.service);
                    self.on_accepted(socket, client, service, now);
                }
                Err(Errno::AGAIN) => {
                    unused();
                    return false;
                }
                Err(error @ (Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM)) => {
                    unused();
                    // Another thread may have the other of the two.
                    self.spare = None;
                    return self.pause(key, Trouble::NoRoom, &error, now);
                }
                // Connections that ended before they were taken.
                Err(_) => unused(),
            }
        }
        true
    }

    /// Sets a descriptor aside for the server's side, without which no client is taken.
    fn set_aside(&mut self) -> io::Result<()> {
        if self.spare.is_none() {
            self.spare = Some(self.wake.try_clone()?);
        }
        Ok(())
    }

    /// Leaves what comes in the kernel's queue until the limit of connections a second allows for one more.
    fn hold_back(&mut self, key: usize, until: Instant) -> bool {
        let Some(listening) = self.listeners.get_mut(key) else { return false };
        listening.service.metrics.rate_limited.inc();
        listening.waits_until = Some(until);
        listening.is_paused = true;
        let token = EventData::new_u64(IS_LISTENER | key as u64);
        let _ = epoll::modify(&self.epoll, &listening.socket, token, EventFlags::empty());
        self.timers.set(until, 0, Cause::Accept);
        false
    }

    /// Leaves what comes in the kernel's queue for a while; what is carried goes on.
    fn pause(&mut self, key: usize, trouble: Trouble, why: &dyn Display, now: Instant) -> bool {
        let Some(listening) = self.listeners.get_mut(key) else { return false };
        if !listening.is_paused {
            self.shared.troubles.show(trouble, why, now);
            listening.is_paused = true;
            let token = EventData::new_u64(IS_LISTENER | key as u64);
            let _ = epoll::modify(&self.epoll, &listening.socket, token, EventFlags::empty());
        }
        self.retry_at(now + PAUSE);
        false
    }

    /// Has what waits for room be tried again then, or before.
    pub(super) fn retry_at(&mut self, at: Instant) {
        if self.retries_at.is_none_or(|set| at < set) {
            self.retries_at = Some(at);
            self.timers.set(at, 0, Cause::Accept);
        }
    }

    /// Has a connection, which has no server's side for want of a descriptor, wait for one; others are not taken meanwhile.
    pub(super) fn starve(&mut self, key: usize, now: Instant) {
        let token = self.token(key);
        self.starved.push_back(token);
        self.retry_at(now + PAUSE);
    }

    /// True if a connection waits for a descriptor.
    pub(super) fn has_starved(&mut self) -> bool {
        while self.starved.front().is_some_and(|token| self.find(*token).is_none()) {
            self.starved.pop_front();
        }
        !self.starved.is_empty()
    }

    /// Opens the server's side of those that wait for a descriptor as long as there are some, then takes connections again.
    pub(super) fn resume(&mut self, now: Instant) {
        while let Some(token) = self.starved.pop_front() {
            if let Some(key) = self.find(token)
                && !self.open_server(key, now)
            {
                self.starved.push_front(token);
                return self.retry_at(now + PAUSE);
            }
        }
        self.resume_listeners(now);
    }

    /// Takes connections again at listeners that were paused, unless they are over their limit of connections a second.
    pub(super) fn resume_listeners(&mut self, now: Instant) {
        let may_go_on =
            |listening: &Listening| listening.is_paused && listening.waits_until.is_none_or(|until| until <= now);
        for (key, listening) in self.listeners.iter_mut().filter(|(_, listening)| may_go_on(listening)) {
            listening.is_paused = false;
            listening.waits_until = None;
            let token = EventData::new_u64(IS_LISTENER | key as u64);
            let _ = epoll::modify(&self.epoll, &listening.socket, token, EventFlags::IN);
        }
    }

    /// A connection was taken. Dropping its socket resets it: it inherited that from the listener.
    fn on_accepted(&mut self, socket: OwnedFd, client: Option<SocketAddrAny>, service: Arc<Service>, now: Instant) {
        service.metrics.accepted.inc();
        let client = client.and_then(|address| SocketAddr::try_from(address).ok());
        let awaits_header = client.is_some_and(|client| service.listener.awaits_header(client));
        let Some(client) = client else { return service.metrics.count(Outcome::Refused) };
        let refusal = match () {
            () if !service.listener.serves(client) => Some(Refusal::Client),
            () if !awaits_header && !self.shared.admit(client) => Some(Refusal::Crowd),
            () => None,
        };
        if let Some(why) = refusal.map(Ending::Refused) {
            service.metrics.count(why.outcome());
            let listener = &service.listener.name;
            tracing::info!(target: log::CONNECTIONS, listener, %client, end = why.words(), "connection");
            return;
        }
        self.shared.enter();
        service.metrics.active.inc();
        self.generation = next_generation(self.generation);
        let stage = if awaits_header { Stage::Header } else { Stage::Connecting(Vec::new()) };
        let key = self.connections.insert(Connection {
            generation: self.generation,
            near: Endpoint::new(socket, true),
            far: None,
            up: Direction::default(),
            down: Direction::default(),
            stage,
            client,
            destination: None,
            server: client,
            spare: None,
            active_at: now,
            silent_at: None,
            opened_at: now,
            service,
            upstream: None,
            pool: 0,
            near_rtt: Duration::ZERO,
            sni: None,
            bounded: None,
            treatment: None,
            is_ticking: false,
            is_retrying: false,
            is_queued: false,
            patience: Duration::ZERO,
            source: (!awaits_header).then_some(client),
            asked_at: None,
            connected_after: None,
            first_ended: None,
            first_gone: None,
        });
        let token = self.token(key);
        if self.register(&self.connections[key].near, token).is_err() {
            return self.end(key, Ending::NoRoom);
        }
        self.watch(key);
        if awaits_header {
            self.read_header(key, false, now);
        } else {
            self.go_on(key, false, now);
        }
        if let Some(key) = self.find(token)
            && matches!(self.connections[key].stage, Stage::Header | Stage::Hello)
        {
            self.connections[key].spare = self.spare.take();
        }
    }

    /// Looks for a header of the PROXY protocol. `has_ended`: nothing more comes from the client.
    pub(super) fn read_header(&mut self, key: usize, has_ended: bool, now: Instant) {
        let connection = &mut self.connections[key];
        let mut octets = [0; proxy_protocol::LONGEST];
        let peeked = recv(&connection.near.socket, &mut octets[..], RecvFlags::PEEK | RecvFlags::DONTWAIT);
        let read = match peeked {
            Ok((0, _)) => Read::Wrong,
            Ok((length, _)) => proxy_protocol::read(&octets[..length]),
            Err(Errno::AGAIN | Errno::INTR) => Read::Incomplete,
            // The kernel reports a reset once.
            Err(_) => return self.end(key, Ending::Reset(Side::Near)),
        };
        match read {
            Read::Incomplete if !has_ended => {}
            Read::Incomplete | Read::Wrong => self.end(key, Ending::Refused(Refusal::Header)),
            Read::Header(length, carried) => {
                // The octets are there: they were looked at.
                let _ = recv(&connection.near.socket, &mut octets[..length], RecvFlags::DONTWAIT);
                // IPv4-mapped addresses are IPv4's, to rules and networks as well.
                let client =
                    |it: proxy_protocol::Carried| SocketAddr::new(it.client.ip().to_canonical(), it.client.port());
                connection.client = carried.map_or(connection.client, client);
                connection.destination = carried.map(|it| it.destination);
                connection.active_at = now;
                if !self.shared.admit(connection.client) {
                    return self.end(key, Ending::Refused(Refusal::Crowd));
                }
                connection.source = Some(connection.client);
                self.go_on(key, has_ended, now);
            }
        }
    }

    /// Proceeds once the client is known: waits for the name of its server where that decides. `has_ended`: nothing more comes
    /// from the client.
    fn go_on(&mut self, key: usize, has_ended: bool, now: Instant) {
        let connection = &mut self.connections[key];
        connection.near_rtt = near_rtt(connection);
        let service = Arc::clone(&connection.service);
        let mut meant = None;
        if service.listener.is_intercepting() {
            let near = SockRef::from(&connection.near.socket);
            let found = listener::destination(&service.listener, &near).ok().flatten();
            meant = found.filter(|server| service.listener.may_reach(*server));
            let Some(server) = meant else {
                return self.end(key, Ending::Refused(Refusal::Destination));
            };
            connection.server = server;
        }
        if !service.listener.awaits_name(&flow(connection), meant) {
            return self.set_out(key, now);
        }
        connection.stage = Stage::Hello;
        connection.active_at = now;
        self.watch(key);
        self.read_hello(key, has_ended, now);
    }

    /// Looks for a server name in the client's first octets, which stay where they are. `has_ended`: nothing more comes from it.
    pub(super) fn read_hello(&mut self, key: usize, has_ended: bool, now: Instant) {
        let connection = &mut self.connections[key];
        let mut octets = [0; client_hello::LONGEST];
        let read = match recv(&connection.near.socket, &mut octets[..], RecvFlags::PEEK | RecvFlags::DONTWAIT) {
            Ok((0, _)) => Hello::Other,
            Ok((length, _)) => client_hello::read(&octets[..length]),
            Err(Errno::AGAIN | Errno::INTR) => Hello::Incomplete,
            // The kernel reports a reset once.
            Err(_) => return self.end(key, Ending::Reset(Side::Near)),
        };
        // Reading stops at an urgent octet, and where there is no room no more will come.
        let is_cut = || connection.up.is_urgent || sys::is_full(&connection.near.socket).unwrap_or(false);
        match read {
            Hello::Incomplete if !has_ended && !is_cut() => return,
            Hello::Name(name) => connection.sni = name.map(String::into_boxed_str),
            Hello::Incomplete | Hello::Other => {}
        }
        self.set_out(key, now);
    }

    /// Selects the server, once all is known that decides on it.
    pub(super) fn set_out(&mut self, key: usize, now: Instant) {
        let connection = &mut self.connections[key];
        connection.stage = Stage::Connecting(Vec::new());
        let service = Arc::clone(&connection.service);
        let server = connection.server;
        let known = service.listener.is_intercepting().then_some(server);
        if service.listener.refuses(&flow(connection), known) {
            return self.end(key, Ending::Refused(Refusal::Rule));
        }
        if known.is_some() {
            return self.try_server(key, server, now);
        }
        connection.pool = service.listener.pool(&flow(connection));
        self.try_next(key, Ending::NoServer, now);
    }

    /// Takes the waiting connections of a listener, then closes it.
    pub(super) fn stop_listening(&mut self, key: usize, now: Instant) {
        self.resume_listeners(now);
        if let Some(listening) = self.listeners.get_mut(key) {
            listening.is_closing = true;
        }
        // A listener may have 65535 that wait, and more come meanwhile.
        for _ in 0..2 * (1 << 16) / AT_A_TIME {
            if !self.accept(key, now) {
                break;
            }
        }
        if let Some(listening) = self.listeners.try_remove(key) {
            // Others may have the same socket, which closing does not take out of an epoll.
            let _ = epoll::delete(&self.epoll, &listening.socket);
        }
    }
}

/// The address of this host that a connection was made to.
pub(super) fn local_of(near: &Endpoint) -> Option<SocketAddr> {
    SockRef::from(&near.socket).local_addr().ok()?.as_socket()
}

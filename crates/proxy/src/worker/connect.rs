//! The server's side of a connection is opened. Until it answers nothing is read from the client but a header of the PROXY protocol; if
//! none does, it is reset.

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use rustix::event::epoll::EventFlags;
use socket2::SockRef;

use super::Worker;
use super::accept::local_of;
use crate::config::Flow;
use crate::config::file::Mode;
use crate::connection::{Connection, Stage};
use crate::direction::Endpoint;
use crate::end_reason::{Ending, Failure, Refusal};
use crate::latency::Bounded;
use crate::proxy_protocol::{self, Carried, Version};
use crate::trouble::Trouble;
use crate::upstream::is_lack;
use crate::{side, sys};

impl Worker {
    /// Tries the next server of a listener with several; the connection ends as `otherwise` where there is no other.
    pub(super) fn try_next(&mut self, key: usize, otherwise: Ending, now: Instant) {
        let connection = &mut self.connections[key];
        let tried = match &connection.stage {
            Stage::Connecting(tried) => tried.as_slice(),
            _ => &[],
        };
        let Some(upstream) = connection.service.upstreams.choose(connection.pool, tried) else {
            return self.end(key, otherwise);
        };
        upstream.connections.fetch_add(1, Ordering::Relaxed);
        let server = upstream.address;
        if let Some(last) = connection.upstream.replace(upstream) {
            last.connections.fetch_sub(1, Ordering::Relaxed);
        }
        self.try_server(key, server, now);
    }

    pub(super) fn try_server(&mut self, key: usize, server: SocketAddr, now: Instant) {
        let connection = &mut self.connections[key];
        connection.server = server;
        connection.active_at = now;
        self.watch(key);
        let connection = &mut self.connections[key];
        let treatment = connection.service.listener.treatment(&flow(connection), server, connection.pool);
        let Some(treatment) = treatment else {
            return self.end(key, Ending::Refused(Refusal::Rule));
        };
        connection.asked_at.get_or_insert(now);
        connection.treatment = Some(Box::new(treatment));
        if !self.open_server(key, now) {
            self.starve(key, now);
        }
    }

    /// Opens the socket to the server of a connection; false if there is no descriptor for it, by the one that was set aside either.
    pub(super) fn open_server(&mut self, key: usize, now: Instant) -> bool {
        let token = self.token(key);
        let opened = |connection: &Connection| match &connection.treatment {
            Some(treatment) => open(connection, &treatment.far),
            None => Err(io::ErrorKind::InvalidInput.into()),
        };
        let mut socket = opened(&self.connections[key]);
        if socket.as_ref().is_err_and(is_lack)
            && let Some(spare) = self.connections[key].spare.take().or_else(|| self.spare.take())
        {
            drop(spare);
            socket = opened(&self.connections[key]);
        }
        match socket {
            Ok(socket) => {
                let far = Endpoint::new(socket, false);
                let registered = self.register(&far, token | 1);
                let connection = &mut self.connections[key];
                connection.far = Some(far);
                connection.active_at = now;
                self.spare = self.spare.take().or_else(|| connection.spare.take());
                connection.spare = None;
                if registered.is_err() {
                    self.end(key, Ending::NoRoom);
                }
            }
            Err(error) => {
                let failure = Failure::of(&error);
                if failure == Failure::Local {
                    let name = self.connections[key].service.listener.name.clone();
                    self.shared.troubles.show(Trouble::Unopened(name), &error, now);
                }
                if is_lack(&error) {
                    return false;
                }
                self.on_unreachable(key, failure, now);
            }
        }
        true
    }

    /// No connection to a server came about: another is tried, or the client is reset.
    pub(super) fn on_unreachable(&mut self, key: usize, failure: Failure, now: Instant) {
        let connection = &mut self.connections[key];
        connection.far = None;
        let (server, listener) = (connection.server, &connection.service.listener.name);
        self.shared.metrics.count_failure(listener, &connection.upstream_label(), failure);
        if let Some(upstream) = connection.upstream.as_ref().filter(|_| failure != Failure::Local) {
            upstream.note(false);
            self.shared.troubles.show(Trouble::Unanswered(listener.clone(), server), &failure.label(), now);
        }
        if connection.near.is_reset {
            let why = connection.forsaken();
            return self.end(key, why);
        }
        let has_others = connection.upstream.is_some();
        match &mut connection.stage {
            Stage::Connecting(tried) if has_others => {
                tried.push(server);
                self.try_next(key, Ending::Unconnected(failure), now);
            }
            _ => self.end(key, Ending::Unconnected(failure)),
        }
    }

    /// Takes in an event of the server's socket while it connects.
    pub(super) fn on_connected(&mut self, key: usize, flags: EventFlags, now: Instant) {
        let connection = &mut self.connections[key];
        let Some(far) = &mut connection.far else { return };
        (far.is_readable, far.is_writable) = (true, true);
        if flags.intersects(EventFlags::ERR | EventFlags::HUP) {
            match SockRef::from(&far.socket).take_error() {
                // It had answered, and has sent what there may be to read before it was reset.
                Ok(Some(error)) if error.kind() == io::ErrorKind::ConnectionReset => far.on_reset(),
                Ok(None) if flags.contains(EventFlags::OUT) => {}
                Ok(None) => return,
                Ok(Some(error)) | Err(error) => {
                    let failure = Failure::of(&error);
                    return self.on_unreachable(key, failure, now);
                }
            }
        } else if !flags.contains(EventFlags::OUT) {
            return;
        }
        connection.stage = Stage::Open;
        let took = now - connection.active_at;
        connection.active_at = now;
        connection.connected_after = connection.asked_at.map(|asked| now - asked);
        if let Some(upstream) = &connection.upstream {
            upstream.note(true);
            self.shared.troubles.answered(&connection.service.listener.name, upstream.address);
        }
        self.shared.metrics.note_connect(&connection.service.listener.name, &connection.upstream_label(), took);
        self.treat(key, now);
        self.advance(key, now);
    }

    /// Puts what a connection gets into force, now that both sides are there.
    fn treat(&mut self, key: usize, now: Instant) {
        let connection = &mut self.connections[key];
        let Some(treatment) = connection.treatment.take() else { return };
        let service = Arc::clone(&connection.service);
        if treatment.near != service.listener.listen.near {
            let near = SockRef::from(&connection.near.socket);
            if let Err(error) = side::apply(&near, &treatment.near) {
                let name = service.listener.name.clone();
                self.shared.troubles.show(Trouble::Unsettled(name), &error, now);
            }
        }
        let policies = [(&treatment.policy, &treatment.far), (&treatment.policy_back, &treatment.near)];
        let is_bounded = policies.iter().any(|(policy, _)| **policy != ackclock_relay::DisciplineConfig::Socket);
        if is_bounded || service.measures {
            let seed = u64::from(connection.generation);
            let is_paced = |side: &crate::config::file::Side| {
                side.pacing_rate.is_some() || side.congestion.as_ref().is_some_and(|name| name.starts_with("bbr"))
            };
            let new = policies.map(|(policy, side)| Bounded::new(policy, is_paced(side), seed, now));
            connection.bounded = Some(Box::new(new));
        }
        if service.listener.listen.send_proxy_protocol
            && let Some(destination) = connection.destination.or_else(|| local_of(&connection.near))
        {
            let version = if service.listener.listen.proxy_protocol_version == 1 { Version::One } else { Version::Two };
            let header = proxy_protocol::header(Carried { client: connection.client, destination }, version);
            connection.up.begin_with(&header, &mut self.carrier);
        }
    }
}

/// The properties of a connection by which its rule is found.
pub(super) fn flow(connection: &Connection) -> Flow<'_> {
    Flow { client: connection.client, near_rtt: connection.near_rtt, sni: connection.sni.as_deref() }
}

/// The client's round trip, as its handshake took it, if some rule asks for it.
pub(super) fn near_rtt(connection: &Connection) -> Duration {
    let asked = connection.service.asks_rtt.then(|| sys::tcp_info(&connection.near.socket).ok()).flatten();
    asked.map_or(Duration::ZERO, |info| Duration::from_micros(u64::from(info.tcpi_rtt)))
}

/// A socket that connects to the server.
fn open(connection: &Connection, side: &crate::config::file::Side) -> io::Result<OwnedFd> {
    let listen = &connection.service.listener.listen;
    let new = || side::open_marked(connection.server, side, listen.mark);
    let mut socket = new()?;
    let is_transparent = listen.mode == Mode::Transparent;
    if is_transparent {
        side::bind_as(&socket, connection.client)?;
    }
    let mut connected = socket.connect(&connection.server.into());
    // The same four numbers may be in use by a connection that has just ended.
    let in_use = |error: &io::Error| matches!(error.raw_os_error(), Some(libc::EADDRNOTAVAIL | libc::EADDRINUSE));
    if is_transparent && connected.as_ref().is_err_and(in_use) {
        socket = new()?;
        side::make_transparent(&socket, connection.client.is_ipv6())?;
        side::bind_address(&socket, connection.client)?;
        connected = socket.connect(&connection.server.into());
    }
    match connected {
        Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => Err(error),
        _ => Ok(socket.into()),
    }
}

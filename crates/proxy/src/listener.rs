//! Sockets that take connections: one for each thread, at the same address.

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use rustix::net::sockopt::{ip_original_dst, ipv6_original_dst};
use socket2::{Domain, Protocol, Socket, Type};

use crate::config::Listener;
use crate::config::file::Mode;
use crate::{side, sys};

/// A listening socket. What it is set to, the connections that it takes inherit: they need no calls of their own.
pub fn listen(listener: &Listener) -> io::Result<OwnedFd> {
    let address = listener.listen.address.0;
    let kind = Type::STREAM.nonblocking().cloexec();
    let socket = Socket::new(Domain::for_address(address), kind, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(true)?;
    if address.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    configure(&socket, listener)?;
    socket.bind(&address.into())?;
    start(&socket, listener)?;
    Ok(socket.into())
}

/// Listens, or goes on listening with the backlog of these settings.
pub fn start(socket: &Socket, listener: &Listener) -> io::Result<()> {
    socket.listen(i32::try_from(listener.listen.backlog).unwrap_or(i32::MAX))
}

/// Puts the settings of a listener into force on a socket that listens, or will.
pub fn configure(socket: &Socket, listener: &Listener) -> io::Result<()> {
    let is_ipv6 = listener.listen.address.0.is_ipv6();
    if listener.listen.mode == Mode::Transparent {
        side::make_transparent(socket, is_ipv6)?;
    }
    side::apply(socket, &listener.listen.near)?;
    sys::set_reset_on_close(socket, true)
}

/// Address that a client meant to reach, if that is not this proxy itself.
pub fn destination(listener: &Listener, near: &Socket) -> io::Result<Option<SocketAddr>> {
    let local = near.local_addr()?.as_socket();
    let meant = match (listener.listen.mode, local) {
        (Mode::Forward, _) | (_, None) => None,
        (Mode::Transparent, Some(local)) => Some(local),
        // Without a redirection the kernel names none, or the address that was connected to.
        (Mode::Redirect, Some(SocketAddr::V4(_))) => ip_original_dst(near).ok().map(SocketAddr::V4),
        (Mode::Redirect, Some(SocketAddr::V6(_))) => ipv6_original_dst(near).ok().map(SocketAddr::V6),
    };
    let is_here = |address: &SocketAddr| {
        address.port() == listener.listen.address.0.port()
            && (Some(*address) == local && listener.listen.mode == Mode::Redirect)
            || crate::config::leads_back(*address, &listener.own)
    };
    Ok(meant.filter(|address| !is_here(address)))
}

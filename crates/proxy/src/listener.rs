//! Sockets that take connections: one for each thread, at the same address.

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use rustix::net::sockopt::{ip_original_dst, ipv6_original_dst};
use socket2::{Domain, Protocol, Socket, Type};

use crate::config::Listener;
use crate::config::file::{Listen, Mode};
use crate::{side, sys};

/// A listening socket. What it is set to, the connections that it takes inherit: they need no calls of their own.
pub fn listen(listener: &Listener) -> io::Result<OwnedFd> {
    let socket = bind(listener)?;
    start(&socket, listener).map_err(|error| named(listener, &error))?;
    Ok(socket.into())
}

/// A socket with a listener's address and settings, at which nothing is taken yet.
pub fn bind(listener: &Listener) -> io::Result<Socket> {
    open(listener, true).map_err(|error| named(listener, &error))
}

/// Fails where another process listens at a listener's address. One of the same user would share its connections otherwise
/// (`SO_REUSEPORT`, socket(7)).
pub fn claim(listener: &Listener) -> io::Result<()> {
    open(listener, false).map(drop).map_err(|error| named(listener, &error))
}

/// An error says of which listener it is, and what helps.
fn named(listener: &Listener, error: &io::Error) -> io::Error {
    let Listener { name, listen, .. } = listener;
    let of = if *name == listen.address.to_string() { String::new() } else { format!(" ({name})") };
    let told = format!("cannot listen at {}{of}: {error}{}", listen.address, remedy(listen, error));
    io::Error::new(error.kind(), told)
}

fn remedy(listen: &Listen, error: &io::Error) -> &'static str {
    match error.raw_os_error() {
        Some(libc::EACCES) => "; a port below net.ipv4.ip_unprivileged_port_start takes root or CAP_NET_BIND_SERVICE",
        Some(libc::EPERM) if listen.mode == Mode::Transparent => "; mode transparent takes root or CAP_NET_ADMIN",
        Some(libc::EADDRNOTAVAIL) => "; name an address that this host has",
        _ => "",
    }
}

fn open(listener: &Listener, is_shared: bool) -> io::Result<Socket> {
    let address = listener.listen.address.0;
    let kind = Type::STREAM.nonblocking().cloexec();
    let socket = Socket::new(Domain::for_address(address), kind, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(is_shared)?;
    if address.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    configure(&socket, listener)?;
    socket.bind(&address.into())?;
    Ok(socket)
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

//! Sockets as one side's settings want them.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;

use rustix::net::sockopt::set_ipv6_tclass;
use socket2::{Domain, Protocol, Socket, TcpKeepalive, Type};

use crate::config::file::Side;
use crate::config::{Listener, duration};
use crate::sys::{self, Buffer};

/// Puts the settings of a side into force on a socket. Buffers and segment size are of use before it is connected.
pub fn apply(socket: &Socket, side: &Side) -> io::Result<()> {
    if let Some(name) = &side.congestion {
        named("congestion", socket.set_tcp_congestion(name.as_bytes()))?;
    }
    if let Some(octets) = side.send_buffer {
        set_buffer(socket, Buffer::Send, octets.0)?;
    }
    if let Some(octets) = side.receive_buffer {
        set_buffer(socket, Buffer::Receive, octets.0)?;
    }
    if let Some(octets) = side.window_clamp {
        named("window_clamp", sys::set_window_clamp(socket, octets.0 as u32))?;
    }
    if let Some(octets) = side.notsent_lowat {
        named("notsent_lowat", socket.set_tcp_notsent_lowat(octets.0 as u32))?;
    }
    if let Some(rate) = side.pacing_rate {
        named("pacing_rate", sys::set_max_pacing_rate(socket, rate.0 / 8))?;
    }
    if let Some(mss) = side.mss {
        named("mss", socket.set_tcp_mss(mss))?;
    }
    socket.set_tcp_nodelay(side.nodelay.unwrap_or(true))?;
    of_the_peer(socket, side)?;
    if let Some(code_point) = side.dscp {
        let class = u32::from(code_point) << 2;
        let is_ipv6 = socket.domain()? == Domain::IPV6;
        let set = if is_ipv6 { set_ipv6_tclass(socket, class).map_err(Into::into) } else { socket.set_tos_v4(class) };
        named("dscp", set)?;
    }
    Ok(())
}

/// An error of the kernel's says which field it is about.
fn named(field: &str, done: io::Result<()>) -> io::Result<()> {
    done.map_err(|error| io::Error::new(error.kind(), format!("{field}: {error}")))
}

/// Sets the limits on a silent peer.
fn of_the_peer(socket: &Socket, side: &Side) -> io::Result<()> {
    if let Some(idle) = side.keep_alive.map(duration) {
        let every = (idle / 10).max(std::time::Duration::from_secs(1));
        let asked = TcpKeepalive::new().with_time(idle).with_interval(every).with_retries(6);
        named("keep_alive", socket.set_tcp_keepalive(&asked))?;
    }
    if let Some(timeout) = side.user_timeout.map(duration) {
        named("user_timeout", socket.set_tcp_user_timeout(Some(timeout)))?;
    }
    Ok(())
}

/// Gives a socket a buffer; an error if the kernel lets it have a smaller one only.
fn set_buffer(socket: &Socket, buffer: Buffer, octets: u64) -> io::Result<()> {
    let given = sys::set_buffer(socket, buffer, octets)?;
    // It counts in words.
    if given + 8 > octets {
        return Ok(());
    }
    let (name, limit) = match buffer {
        Buffer::Send => ("send_buffer", "wmem_max"),
        Buffer::Receive => ("receive_buffer", "rmem_max"),
    };
    Err(io::Error::other(format!(
        "{name}: the kernel gives {given} of {octets} octets; raise net.core.{limit}, or run it with CAP_NET_ADMIN"
    )))
}

/// A socket for a side, not connected. Closing it resets the connection until that option is changed: a process that
/// dies with octets in hand must not look like one that had no more.
pub fn open(address: SocketAddr, side: &Side) -> io::Result<Socket> {
    let kind = Type::STREAM.nonblocking().cloexec();
    let socket = Socket::new(Domain::for_address(address), kind, Some(Protocol::TCP))?;
    apply(&socket, side)?;
    sys::set_reset_on_close(&socket, true)?;
    Ok(socket)
}

/// An error if this process may not have the sockets that a listener and its rules ask for.
pub fn try_all(of: &Listener) -> io::Result<()> {
    let anyone = SocketAddr::new(of.listen.address.0.ip(), 0);
    let nears = of.rules.iter().filter_map(|rule| rule.near.as_ref()).map(|near| ("near", near, None));
    let fars = of.rules.iter().filter_map(|rule| rule.far.as_ref()).chain([&of.listen.far]);
    nears.chain(fars.map(|far| ("far", far, of.listen.mark))).try_for_each(|(which, side, mark)| {
        let named = |error: io::Error| {
            let remedy = match error.kind() {
                ErrorKind::PermissionDenied => "; run it as root or with CAP_NET_ADMIN",
                _ => "",
            };
            let told = format!("{which} of {}: the settings cannot be applied: {error}{remedy}", of.name);
            io::Error::new(error.kind(), told)
        };
        open_marked(anyone, side, mark).map(drop).map_err(named)
    })
}

/// A socket for a listener's servers: with its mark.
pub fn open_marked(address: SocketAddr, side: &Side, mark: Option<u32>) -> io::Result<Socket> {
    let socket = open(address, side)?;
    if let Some(mark) = mark {
        socket.set_mark(mark)?;
    }
    Ok(socket)
}

/// Lets a socket have addresses that are not this host's.
pub fn make_transparent(socket: &Socket, is_ipv6: bool) -> io::Result<()> {
    if is_ipv6 { socket.set_ip_transparent_v6(true) } else { socket.set_ip_transparent_v4(true) }
}

/// Binds a socket to the client's own address and port. Where that pair is in use, as after a connection that has just
/// ended, to the address alone.
pub fn bind_as(socket: &Socket, client: SocketAddr) -> io::Result<()> {
    make_transparent(socket, client.is_ipv6())?;
    socket.set_reuse_address(true)?;
    if socket.bind(&client.into()).is_ok() {
        return Ok(());
    }
    bind_address(socket, client)
}

/// Binds to the client's address; the port is chosen on connecting.
pub fn bind_address(socket: &Socket, client: SocketAddr) -> io::Result<()> {
    sys::set_bind_address_no_port(socket)?;
    socket.bind(&SocketAddr::new(client.ip(), 0).into())
}

#[cfg(test)]
mod tests {
    use ackclock_declare::{Context, Entry, Table};

    use super::*;

    /// tcp(7), socket(7): the kernel takes every value that the reference allows, or the limit that it is beyond is named. Which
    /// controllers there are is the machine's own.
    #[test]
    fn the_kernel_takes_what_a_field_allows() {
        let part = Side::part();
        let mut tried = 0;
        for field in part.fields.iter().filter(|field| field.name != "congestion") {
            for value in &field.inside {
                let table = Table::from_iter([(field.name.to_owned(), value.clone())]);
                let reading = part.read(&table, &Context::default());
                assert!(reading.mistakes.is_empty(), "{} = {value}: {:?}", field.name, reading.mistakes);
                let opened = open(SocketAddr::from(([127, 0, 0, 1], 1)), &reading.config);
                let is_taken = opened.as_ref().map_or_else(|error| error.to_string().contains("net.core."), |_| true);
                assert!(is_taken, "{} = {value}: {opened:?}", field.name);
                tried += 1;
            }
        }
        assert!(tried >= 20, "{tried} values");
    }

    #[test]
    fn an_error_names_its_field() {
        let side = Side { mss: Some(40_000), ..Side::default() };
        let error = open(SocketAddr::from(([127, 0, 0, 1], 1)), &side).expect_err("tcp.h: MAX_TCP_WINDOW is 32767");
        assert!(error.to_string().starts_with("mss: "), "{error}");
    }
}

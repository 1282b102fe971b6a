//! State that the threads of a connection share: its sockets, and the counts of each direction.

use std::io;
use std::net::{Shutdown, SocketAddrV4};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use ackclock_units::SimTime;
use nix::sys::socket::{setsockopt, sockopt};
use socket2::{Domain, Protocol, Socket, Type};

use crate::plan::SocketOptions;
use crate::sys::{CLOSED, TcpInfo, tcp_info};

/// The sockets of a connection, and its directions with data.
#[derive(Debug)]
pub struct Ends {
    /// The end that opens the connection.
    pub opener: Socket,
    /// Socket at which the other end waits for it.
    pub listener: Socket,
    /// The end that accepts it, once it has.
    pub acceptor: OnceLock<Socket>,
    /// Streams: from the opener; then from the acceptor, if that sends anything.
    pub streams: Vec<Stream>,
    /// State of the opener where its application reset the connection: the kernel clears a socket's counts with that.
    pub reset: OnceLock<TcpInfo>,
}

/// Counts of one direction.
#[derive(Debug)]
pub struct Stream {
    /// Its name in results.
    pub name: String,
    /// Octets that the receiving application has read.
    pub read: AtomicU64,
    /// Octets that the sending application has handed to the kernel.
    pub written: AtomicU64,
    /// Number of octets after whose reading the receiver notifies the application.
    pub wanted: AtomicU64,
    /// Time at which the receiver had everything, with the counts of that time.
    pub completion: Mutex<Option<Border>>,
    /// The connection was refused, reset or given up as its sender saw it.
    pub is_aborted: AtomicBool,
}

/// Counts at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Border {
    /// Time of the counts.
    pub time: SimTime,
    /// Octets read by the receiving application.
    pub read: u64,
    /// Octets of payload sent, retransmissions included.
    pub sent: u64,
}

/// A TCP socket as a flow wants it, of the namespace of the calling thread.
pub fn socket(options: &SocketOptions) -> io::Result<Socket> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP))?;
    // Closed, it is gone: nothing is kept for a peer that is gone, too.
    socket.set_linger(Some(Duration::ZERO))?;
    socket.set_tcp_mss(options.max_segment)?;
    socket.set_tcp_nodelay(options.no_delay)?;
    if let Some(octets) = options.receive_buffer {
        setsockopt(&socket, sockopt::RcvBufForce, &octets)?;
    }
    if let Some(octets) = options.send_buffer {
        setsockopt(&socket, sockopt::SndBufForce, &octets)?;
    }
    if let Some(timeout) = options.user_timeout {
        socket.set_tcp_user_timeout(Some(Duration::from_nanos(timeout.0)))?;
    }
    Ok(socket)
}

/// Chooses the controller, and reads back that it is in force.
pub fn set_controller(socket: &Socket, name: &str) -> io::Result<()> {
    socket
        .set_tcp_congestion(name.as_bytes())
        .map_err(|error| io::Error::new(error.kind(), format!("controller {name:?} of the kernel: {error}")))?;
    let found = socket.tcp_congestion()?;
    let found = found.split(|octet| *octet == 0).next().unwrap_or_default();
    if found == name.as_bytes() {
        return Ok(());
    }
    Err(io::Error::other(format!("the kernel runs {} where {name} was chosen", String::from_utf8_lossy(found))))
}

/// A socket at which nobody listens: the kernel answers what comes for it with a reset.
pub fn bind(options: &SocketOptions, controller: &str, address: SocketAddrV4) -> io::Result<Socket> {
    let socket = socket(options)?;
    set_controller(&socket, controller)?;
    socket.bind(&address.into())?;
    Ok(socket)
}

/// A socket that waits for one connection.
pub fn listen(options: &SocketOptions, controller: &str, address: SocketAddrV4) -> io::Result<Socket> {
    let socket = bind(options, controller, address)?;
    socket.listen(1)?;
    Ok(socket)
}

impl Stream {
    /// Nothing has been sent yet.
    pub fn new(name: String) -> Self {
        Self {
            name,
            read: AtomicU64::new(0),
            written: AtomicU64::new(0),
            wanted: AtomicU64::new(u64::MAX),
            completion: Mutex::new(None),
            is_aborted: AtomicBool::new(false),
        }
    }

    /// The receiver has all.
    pub fn complete(&self, border: Border) {
        self.completion.lock().expect("no thread panics with it").get_or_insert(border);
    }

    /// The sender's connection is no more, and not because all was done.
    pub fn abort(&self) {
        self.is_aborted.store(true, Ordering::Relaxed);
    }

    /// Time at which the receiver had everything, with the counts of that time.
    pub fn completed(&self) -> Option<Border> {
        *self.completion.lock().expect("no thread panics with it")
    }
}

impl Ends {
    /// The socket that sends a stream, if there is one yet.
    pub fn sender(&self, stream: usize) -> Option<&Socket> {
        if stream == 0 { Some(&self.opener) } else { self.acceptor.get() }
    }

    /// State of the socket that sends a stream.
    pub fn info(&self, stream: usize) -> Option<TcpInfo> {
        let kept = self.reset.get().filter(|_| stream == 0);
        kept.copied().or_else(|| tcp_info(self.sender(stream)?.as_fd()).ok())
    }

    /// The opener's application resets the connection.
    pub fn abort(&self) -> io::Result<()> {
        let _ = self.reset.set(TcpInfo { state: CLOSED, ..tcp_info(self.opener.as_fd())? });
        self.streams[0].abort();
        Ok(rustix::net::connect_unspec(&self.opener)?)
    }

    /// Whether the sender of a stream has been refused, or has lost its connection. Must be called once: the kernel
    /// clears the error when it is read.
    pub fn is_aborted(&self, stream: usize) -> bool {
        let error = self.sender(stream).and_then(|socket| socket.take_error().ok().flatten());
        error.is_some() || self.had_failed(stream)
    }

    /// True if a user of the socket saw an abort; other than [`Self::is_aborted`] this asks nothing of the kernel.
    pub fn had_failed(&self, stream: usize) -> bool {
        self.streams[stream].is_aborted.load(Ordering::Relaxed)
    }

    /// Octets of a stream that the receiving application has read.
    pub fn read(&self, stream: usize) -> u64 {
        self.streams[stream].read.load(Ordering::Relaxed)
    }

    /// The counts of a stream at this moment.
    pub fn border(&self, stream: usize, time: SimTime) -> Border {
        Border { time, read: self.read(stream), sent: self.info(stream).map_or(0, |info| info.bytes_sent) }
    }

    /// Wakes every thread that waits for a socket: the run is over.
    pub fn shut_down(&self) {
        for socket in [Some(&self.opener), Some(&self.listener), self.acceptor.get()].into_iter().flatten() {
            let _ = socket.shutdown(Shutdown::Both);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// socket(7): the kernel doubles a requested buffer size, and bounds it by `net.core.wmem_max` unless it is forced,
    /// for which `CAP_NET_ADMIN` is needed.
    #[test]
    fn a_send_buffer_is_as_large_as_the_scenario_says() {
        const OCTETS: usize = 64 << 20;
        let options = SocketOptions { max_segment: 1_460, send_buffer: Some(OCTETS), ..SocketOptions::default() };
        match socket(&options) {
            Ok(socket) => assert_eq!(socket.send_buffer_size().expect("told"), 2 * OCTETS),
            Err(error) => assert_eq!(error.kind(), io::ErrorKind::PermissionDenied, "{error}"),
        }
    }
}

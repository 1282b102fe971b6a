//! The two calls to the kernel that no library makes: `TCP_INFO` with its newer fields, and `SCHED_FIFO`. All `unsafe` code is here.
//!
//! Source: `struct tcp_info` of `include/uapi/linux/tcp.h`, as `libc` has it. The structure only grows at its end.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// A value of [`TcpInfo::ssthresh_segments`] that means "arbitrarily high".
pub const INFINITE_SSTHRESH: u32 = 0x7fff_ffff;

/// A value of [`TcpInfo::state`]: the connection is established; those of the handshake are [`SYN_SENT`] and [`LISTEN`].
pub const ESTABLISHED: u8 = 1;

/// A value of [`TcpInfo::state`]: the connection is being opened.
pub const SYN_SENT: u8 = 2;

/// A value of [`TcpInfo::state`]: the connection is awaited.
pub const LISTEN: u8 = 10;

/// A value of [`TcpInfo::state`]: there is no connection (any more).
pub const CLOSED: u8 = 7;

/// Congestion states of `tcpi_ca_state` (`enum tcp_ca_state`).
pub mod ca_state {
    /// The answer to a mark, or to congestion at the host itself.
    pub const CWR: u8 = 2;
    /// State of fast recovery.
    pub const RECOVERY: u8 = 3;
    /// State after a timeout.
    pub const LOSS: u8 = 4;
}

/// State of a TCP socket, as the kernel reports it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpInfo {
    /// State of the connection (`enum` in `net/tcp_states.h`; 1 is established).
    pub state: u8,
    /// Congestion state; see [`ca_state`].
    pub ca_state: u8,
    /// Retransmission timeout, microseconds.
    pub rto_us: u32,
    /// Payload of a segment, octets.
    pub snd_mss: u32,
    /// Segments sent and not cumulatively acknowledged.
    pub unacked: u32,
    /// Smoothed RTT, microseconds; 0 before the first sample.
    pub rtt_us: u32,
    /// Variation of the RTT, microseconds.
    pub rttvar_us: u32,
    /// Slow-start threshold, segments; [`INFINITE_SSTHRESH`] while arbitrarily high.
    pub ssthresh_segments: u32,
    /// Congestion window, segments.
    pub cwnd_segments: u32,
    /// Segments retransmitted since the beginning.
    pub total_retrans: u32,
    /// Payload received, octets.
    pub bytes_received: u64,
    /// Segments with payload sent, retransmissions included.
    pub data_segs_out: u32,
    /// Payload sent, octets, retransmissions included.
    pub bytes_sent: u64,
    /// Time with something outstanding or waiting to be sent, microseconds.
    pub busy_us: u64,
    /// The part of it in which the peer's window kept data from leaving, microseconds.
    pub rwnd_limited_us: u64,
    /// The part of it in which the send buffer was full of data that had left, microseconds.
    pub sndbuf_limited_us: u64,
    /// Segments that the peer reported as duplicates.
    pub dsack_dups: u32,
    /// Window that the peer advertised, octets; 0 before Linux 5.4.
    pub snd_wnd: u32,
    /// Expiries of the retransmission timer; 0 before Linux 6.7.
    pub total_rto: u16,
}

/// Reads the state of a TCP socket; what a kernel does not fill in is zero.
#[allow(unsafe_code, reason = "getsockopt is told the length of the structure that it fills")]
pub fn tcp_info(socket: BorrowedFd<'_>) -> io::Result<TcpInfo> {
    // SAFETY: a structure of integers may be zero in all of them.
    let mut raw: libc::tcp_info = unsafe { std::mem::zeroed() };
    let mut len = size_of::<libc::tcp_info>() as libc::socklen_t;
    let fd = socket.as_raw_fd();
    // SAFETY: `raw` has `len` octets, outlives the call, and may hold any octets.
    let result =
        unsafe { libc::getsockopt(fd, libc::IPPROTO_TCP, libc::TCP_INFO, (&raw mut raw).cast(), &raw mut len) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(TcpInfo::from(&raw)) }
}

impl From<&libc::tcp_info> for TcpInfo {
    fn from(raw: &libc::tcp_info) -> Self {
        Self {
            state: raw.tcpi_state,
            ca_state: raw.tcpi_ca_state,
            rto_us: raw.tcpi_rto,
            snd_mss: raw.tcpi_snd_mss,
            unacked: raw.tcpi_unacked,
            rtt_us: raw.tcpi_rtt,
            rttvar_us: raw.tcpi_rttvar,
            ssthresh_segments: raw.tcpi_snd_ssthresh,
            cwnd_segments: raw.tcpi_snd_cwnd,
            total_retrans: raw.tcpi_total_retrans,
            bytes_received: raw.tcpi_bytes_received,
            data_segs_out: raw.tcpi_data_segs_out,
            bytes_sent: raw.tcpi_bytes_sent,
            busy_us: raw.tcpi_busy_time,
            rwnd_limited_us: raw.tcpi_rwnd_limited,
            sndbuf_limited_us: raw.tcpi_sndbuf_limited,
            dsack_dups: raw.tcpi_dsack_dups,
            snd_wnd: raw.tcpi_snd_wnd,
            total_rto: raw.tcpi_total_rto,
        }
    }
}

impl TcpInfo {
    /// The congestion window in octets.
    pub fn cwnd(&self) -> u64 {
        u64::from(self.cwnd_segments) * u64::from(self.snd_mss)
    }

    /// The slow-start threshold in octets; `None` while arbitrarily high.
    pub fn ssthresh(&self) -> Option<u64> {
        (self.ssthresh_segments < INFINITE_SSTHRESH)
            .then(|| u64::from(self.ssthresh_segments) * u64::from(self.snd_mss))
    }

    /// Octets sent and not cumulatively acknowledged, in whole segments.
    pub fn flight_size(&self) -> u64 {
        u64::from(self.unacked) * u64::from(self.snd_mss)
    }
}

/// Makes the calling thread one of `SCHED_FIFO` with this priority, which runs before every ordinary thread.
#[allow(unsafe_code, reason = "the parameters are one structure, which the call only reads")]
pub fn become_fifo(priority: i32) -> io::Result<()> {
    let parameters = libc::sched_param { sched_priority: priority };
    // SAFETY: the structure outlives the call; 0 is the calling thread.
    let result = unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd;

    #[test]
    fn the_state_of_a_connection_is_read() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let mut client = TcpStream::connect(listener.local_addr().expect("bound")).expect("connects");
        let (mut server, _) = listener.accept().expect("a connection");
        client.write_all(&[0; 5_000]).expect("written");
        server.read_exact(&mut [0; 5_000]).expect("read");
        let (sender, receiver) = (tcp_info(client.as_fd()).expect("told"), tcp_info(server.as_fd()).expect("told"));
        assert_eq!((sender.state, sender.bytes_sent, receiver.bytes_received), (1, 5_000, 5_000));
        assert!(sender.cwnd_segments >= 10, "RFC 6928: {sender:?}");
        assert!(sender.snd_mss >= 500 && sender.data_segs_out >= 1 && sender.rto_us >= 200_000, "{sender:?}");
        assert_eq!((sender.ssthresh(), sender.total_retrans, sender.total_rto), (None, 0, 0));
        assert!(sender.snd_wnd > 5_000, "{sender:?}");
    }
}

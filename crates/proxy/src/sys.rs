//! Calls of the kernel for which no crate has a safe wrapper. The only file here with `unsafe`.
//!
//! Options whose numbers `libc` lacks are from the kernel's `include/uapi/linux/tcp.h`, written from memory of it and held by the tests below
//! to what sockets answer.
#![allow(unsafe_code)]

use std::ffi::CStr;
use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};

use libc::{c_int, c_ulong, socklen_t};

/// Asks for the octets that are not acknowledged; for those that were not sent; whether the next octet is urgent.
const SIOCOUTQ: c_ulong = 0x5411;
const SIOCOUTQNSD: c_ulong = 0x894b;
const SIOCATMARK: c_ulong = 0x8905;
const SO_MAX_PACING_RATE: c_int = 47;
const TCP_WINDOW_CLAMP: c_int = 10;
const IP_BIND_ADDRESS_NO_PORT: c_int = 24;

/// `getsockopt` answers with `SK_MEMINFO_VARS` numbers of the kernel's `include/uapi/linux/sock_diag.h`; these are the places of two.
const SO_MEMINFO: c_int = 55;
const SK_MEMINFO_RMEM_ALLOC: usize = 0;
const SK_MEMINFO_RCVBUF: usize = 1;

/// State of a socket in `TCP_INFO`; fields that the kernel does not fill are zero.
pub use libc::tcp_info as TcpInfo;

fn set<T>(fd: impl AsFd, level: c_int, option: c_int, value: &T) -> io::Result<()> {
    let (fd, size) = (fd.as_fd().as_raw_fd(), size_of::<T>() as socklen_t);
    // SAFETY: the pointer and the size are those of one value, which the kernel only reads.
    let result = unsafe { libc::setsockopt(fd, level, option, std::ptr::from_ref(value).cast(), size) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn ask(fd: impl AsFd, request: c_ulong) -> io::Result<u32> {
    let mut value: c_int = 0;
    // SAFETY: each of these requests writes one int.
    let result = unsafe { libc::ioctl(fd.as_fd().as_raw_fd(), request as _, &raw mut value) };
    if result == 0 { Ok(value.max(0) as u32) } else { Err(io::Error::last_os_error()) }
}

/// The kernel's `TCP_INFO` of a socket.
pub fn tcp_info(fd: impl AsFd) -> io::Result<TcpInfo> {
    // SAFETY: a structure of integers may be zero in all of them.
    let mut info: TcpInfo = unsafe { zeroed() };
    let mut size = size_of::<TcpInfo>() as socklen_t;
    let fd = fd.as_fd().as_raw_fd();
    // SAFETY: the kernel writes at most `size` octets into the structure.
    let result =
        unsafe { libc::getsockopt(fd, libc::IPPROTO_TCP, libc::TCP_INFO, (&raw mut info).cast(), &raw mut size) };
    if result == 0 { Ok(info) } else { Err(io::Error::last_os_error()) }
}

/// Octets (a FIN counts as one) handed to a socket and not acknowledged.
pub fn not_acknowledged(fd: impl AsFd) -> io::Result<u32> {
    ask(fd, SIOCOUTQ)
}

/// Octets handed to a socket and not sent once.
pub fn not_sent(fd: impl AsFd) -> io::Result<u32> {
    ask(fd, SIOCOUTQNSD)
}

/// Octets of memory that what lies in a socket to be read takes, the kernel's own structures included.
pub fn receive_memory(fd: impl AsFd) -> io::Result<u32> {
    Ok(memory(fd)?[SK_MEMINFO_RMEM_ALLOC])
}

/// True if a socket advertises no window until it is read: less than a sixteenth of its buffer or than a segment is left, of which the
/// kernel keeps half for its own structures (`__tcp_select_window` of `net/ipv4/tcp_output.c`).
pub fn is_full(fd: impl AsFd) -> io::Result<bool> {
    let memory = memory(&fd)?;
    let (used, limit) = (memory[SK_MEMINFO_RMEM_ALLOC], memory[SK_MEMINFO_RCVBUF]);
    let left = limit.saturating_sub(used);
    Ok(left < limit / 16 || left / 2 < tcp_info(fd)?.tcpi_rcv_mss)
}

fn memory(fd: impl AsFd) -> io::Result<[u32; 9]> {
    let mut values = [0_u32; 9];
    let mut size = size_of_val(&values) as socklen_t;
    let fd = fd.as_fd().as_raw_fd();
    // SAFETY: the kernel writes at most `size` octets into the array.
    let result =
        unsafe { libc::getsockopt(fd, libc::SOL_SOCKET, SO_MEMINFO, values.as_mut_ptr().cast(), &raw mut size) };
    if result == 0 { Ok(values) } else { Err(io::Error::last_os_error()) }
}

/// True if the next octet to be read is the urgent one.
pub fn is_at_mark(fd: impl AsFd) -> io::Result<bool> {
    ask(fd, SIOCATMARK).map(|value| value != 0)
}

/// The largest window that is advertised, in octets.
pub fn set_window_clamp(fd: impl AsFd, window: u32) -> io::Result<()> {
    set(fd, libc::IPPROTO_TCP, TCP_WINDOW_CLAMP, &(window.min(i32::MAX as u32) as c_int))
}

/// One of a socket's buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Buffer {
    /// Send buffer (`SO_SNDBUF`).
    Send,
    /// Receive buffer (`SO_RCVBUF`).
    Receive,
}

/// Sets the size of a buffer in octets, as the kernel counts them, and returns the new size: beyond `net.core.wmem_max`
/// and `rmem_max` with `CAP_NET_ADMIN` only.
pub fn set_buffer(fd: impl AsFd, buffer: Buffer, octets: u64) -> io::Result<u64> {
    let (force, within_limits) = match buffer {
        Buffer::Send => (libc::SO_SNDBUFFORCE, libc::SO_SNDBUF),
        Buffer::Receive => (libc::SO_RCVBUFFORCE, libc::SO_RCVBUF),
    };
    // The kernel doubles what it is asked for, to have room for its own structures.
    let half = c_int::try_from(octets / 2).unwrap_or(c_int::MAX / 2);
    set(&fd, libc::SOL_SOCKET, force, &half).or_else(|_| set(&fd, libc::SOL_SOCKET, within_limits, &half))?;
    let socket = socket2::SockRef::from(&fd);
    let given = if buffer == Buffer::Send { socket.send_buffer_size() } else { socket.recv_buffer_size() }?;
    Ok(given as u64)
}

/// Sets the largest pacing rate, in octets a second.
pub fn set_max_pacing_rate(fd: impl AsFd, rate: u64) -> io::Result<()> {
    set(fd, libc::SOL_SOCKET, SO_MAX_PACING_RATE, &rate)
}

/// Binding chooses no port: connecting does, when the other end is known.
pub fn set_bind_address_no_port(fd: impl AsFd) -> io::Result<()> {
    set(fd, libc::IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &1_i32)
}

/// Closing a socket resets the connection (`true`), or ends it in order.
pub fn set_reset_on_close(fd: impl AsFd, is_on: bool) -> io::Result<()> {
    let linger = libc::linger { l_onoff: c_int::from(is_on), l_linger: 0 };
    set(fd, libc::SOL_SOCKET, libc::SO_LINGER, &linger)
}

/// Commands of `bpf(2)`: `enum bpf_cmd` of the kernel's `include/uapi/linux/bpf.h`, and the parts of `union bpf_attr` that they take.
const BPF_MAP_UPDATE_ELEM: c_int = 2;
const BPF_OBJ_GET: c_int = 7;

#[repr(C)]
struct ObjectGet {
    path: u64,
    fd: u32,
    flags: u32,
}

#[repr(C)]
struct MapUpdate {
    map: u32,
    reserved: u32,
    key: u64,
    value: u64,
    flags: u64,
}

fn bpf<T>(command: c_int, attributes: &T) -> io::Result<c_int> {
    // SAFETY: the pointer and the size are those of one value; what it points to lives in the callers below until this returns.
    let result = unsafe { libc::syscall(libc::SYS_bpf, command, std::ptr::from_ref(attributes), size_of::<T>()) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result as c_int) }
}

/// A map of the kernel by the path under which it is pinned.
pub fn pinned_map(path: &CStr) -> io::Result<OwnedFd> {
    let fd = bpf(BPF_OBJ_GET, &ObjectGet { path: path.as_ptr() as u64, fd: 0, flags: 0 })?;
    // SAFETY: the kernel has just made it for this process.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Writes a number for a socket into a map of the storage of sockets.
pub fn write_for_socket(map: impl AsFd, socket: impl AsFd, value: u32) -> io::Result<()> {
    let (map, key) = (map.as_fd().as_raw_fd() as u32, socket.as_fd().as_raw_fd());
    let (key, value) = (std::ptr::from_ref(&key) as u64, std::ptr::from_ref(&value) as u64);
    bpf(BPF_MAP_UPDATE_ELEM, &MapUpdate { map, reserved: 0, key, value, flags: 0 }).map(|_| ())
}

/// Raises the limit of open files as far as it may be; what it is then.
pub fn raise_file_limit() -> u64 {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: both calls read or write one rlimit.
    unsafe {
        libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit);
        limit.rlim_cur = limit.rlim_max;
        libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit);
        libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit);
    }
    limit.rlim_cur
}

/// A descriptor that a parent process left open for this one.
pub fn inherited(number: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: F_GETFD touches no memory.
    if unsafe { libc::fcntl(number, libc::F_GETFD) } < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: it is open, and named in the environment for this process alone, which asks once.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    use super::*;

    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (client, listener.accept().unwrap().0)
    }

    #[test]
    fn the_fields_of_tcp_info_lie_where_the_kernel_puts_them() {
        let (mut client, mut server) = pair();
        client.write_all(&[7; 5000]).unwrap();
        server.read_exact(&mut [0; 5000]).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(60));
        let (sent, received) = (tcp_info(&client).unwrap(), tcp_info(&server).unwrap());
        // 5000 octets, nothing twice, nothing waiting; established is 1
        assert_eq!(
            (sent.tcpi_bytes_sent, sent.tcpi_bytes_retrans, sent.tcpi_notsent_bytes, sent.tcpi_state),
            (5000, 0, 0, 1)
        );
        assert_eq!((received.tcpi_bytes_received, received.tcpi_snd_wnd > 0), (5000, true));
        assert!(sent.tcpi_min_rtt < 1_000_000 && sent.tcpi_snd_cwnd >= 10, "{sent:?}");
        assert_eq!(not_acknowledged(&client).unwrap(), 0);
        assert!(received.tcpi_rcv_wnd > 0, "Linux 6.2 and later tell it");
    }

    #[test]
    fn what_lies_in_a_socket_takes_memory_and_what_was_sent_is_not_unsent() {
        let (mut client, mut server) = pair();
        assert_eq!(receive_memory(&server).unwrap(), 0);
        client.write_all(&[7; 5000]).unwrap();
        let mut octets = [0; 5000];
        rustix::net::recv(&server, &mut octets, rustix::net::RecvFlags::PEEK | rustix::net::RecvFlags::WAITALL)
            .unwrap();
        assert!(receive_memory(&server).unwrap() >= 5000);
        server.read_exact(&mut octets).unwrap();
        assert_eq!((receive_memory(&server).unwrap(), not_sent(&client).unwrap()), (0, 0));
    }

    /// A buffer of 4096 octets takes about half of these 2576: tcp(7), `tcp_adv_win_scale`.
    #[test]
    fn a_buffer_that_takes_no_more_is_full_and_no_other() {
        let hello = [7; 2576];
        for (size, fits) in [(Some(4096), false), (None, true)] {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            if let Some(size) = size {
                set_buffer(&listener, Buffer::Receive, size).unwrap();
            }
            let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let server = listener.accept().unwrap().0;
            assert!(!is_full(&server).unwrap(), "{size:?}");
            client.write_all(&hello).unwrap();
            let until = std::time::Instant::now() + std::time::Duration::from_mins(1);
            let is_over =
                || if fits { server.peek(&mut [0; 4096]).unwrap() == 2576 } else { is_full(&server).unwrap() };
            while !is_over() {
                assert!(std::time::Instant::now() < until, "{size:?}");
            }
            assert_eq!(is_full(&server).unwrap(), !fits, "{size:?}");
            assert_eq!(server.peek(&mut [0; 4096]).unwrap() == 2576, fits, "{size:?}");
        }
    }

    #[test]
    fn a_socket_that_was_told_to_reset_does() {
        let (client, mut server) = pair();
        set_reset_on_close(&client, true).unwrap();
        drop(client);
        let error = server.read(&mut [0]).expect_err("reset");
        assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
    }

    /// socket(7): `SO_SNDBUF` and `SO_RCVBUF` are bounded by `net.core.wmem_max` and `rmem_max`; the forms with FORCE are not.
    #[test]
    fn who_may_has_a_buffer_beyond_the_limits_and_others_are_told() {
        let (client, _server) = pair();
        let limit = |name: &str| -> u64 {
            std::fs::read_to_string(format!("/proc/sys/net/core/{name}")).unwrap().trim().parse().unwrap()
        };
        for (buffer, name) in [(Buffer::Send, "wmem_max"), (Buffer::Receive, "rmem_max")] {
            let (most, wanted) = (2 * limit(name), 4 * limit(name));
            let given = set_buffer(&client, buffer, wanted).unwrap();
            assert!([most, wanted].contains(&given), "{name}: {given} of {wanted}");
            if rustix::process::geteuid().is_root() {
                assert_eq!(given, wanted, "{name}");
            }
        }
    }
}

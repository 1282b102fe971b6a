//! A proxy under test, and the server behind it.

use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use socket2::{Domain, Socket, Type};

/// A proxy has to listen within this.
const START: Duration = Duration::from_secs(10);

/// A running proxy under test.
pub(crate) struct Proxy {
    child: Child,
    /// Address at which it listens.
    pub(crate) listen: SocketAddr,
    /// Address at which its server must be.
    pub(crate) upstream: SocketAddr,
}

/// A port that was free a moment ago, and that connections of others are not given.
fn free_port() -> io::Result<SocketAddr> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()
}

/// A listening socket at an address that may have been in use.
pub(crate) fn listen(at: SocketAddr, backlog: i32, receive_buffer: Option<usize>) -> io::Result<TcpListener> {
    let until = Instant::now() + Duration::from_secs(2);
    loop {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
        socket.set_reuse_address(true)?;
        if let Some(octets) = receive_buffer {
            socket.set_recv_buffer_size(octets)?;
        }
        match socket.bind(&at.into()).and_then(|()| socket.listen(backlog)) {
            Ok(()) => return Ok(socket.into()),
            Err(error) if error.kind() == ErrorKind::AddrInUse && Instant::now() < until => {
                thread::sleep(Duration::from_millis(5));
            }
            Err(error) => return Err(error),
        }
    }
}

impl Proxy {
    /// Runs the command, with at most `files` open files, and waits until it listens.
    pub(crate) fn start(command: &str, files: Option<u64>) -> io::Result<Self> {
        let (listen_at, upstream) = (free_port()?, free_port()?);
        let command = command.replace("{listen}", &listen_at.port().to_string());
        let command = command.replace("{upstream}", &upstream.port().to_string());
        let limit = files.map_or_else(String::new, |files| format!("ulimit -n {files}; "));
        let server = listen(upstream, 16, None)?;
        let mut child = Command::new("sh")
            .args(["-c", &format!("{limit}exec {command}")])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()?;
        let until = Instant::now() + START;
        loop {
            if let Some(status) = child.try_wait()? {
                return Err(io::Error::other(format!("the proxy ended before it listened: {status}: {command}")));
            }
            if TcpStream::connect(listen_at).is_ok() {
                break;
            }
            if Instant::now() > until {
                let _ = child.kill();
                return Err(io::Error::other(format!("the proxy does not listen: {command}")));
            }
            thread::sleep(Duration::from_millis(20));
        }
        thread::sleep(Duration::from_millis(50));
        drop(server);
        Ok(Self { child, listen: listen_at, upstream })
    }

    /// True if it is still there.
    pub(crate) fn is_alive(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Ends it and whatever it has started, at once.
    pub(crate) fn kill(&mut self) {
        if let Some(group) = rustix::process::Pid::from_raw(self.child.id() as i32) {
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
        let _ = self.child.wait();
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.kill();
    }
}

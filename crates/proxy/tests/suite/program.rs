//! A proxy that runs during a test.

use std::fs;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use socket2::{Domain, Socket, Type};
use tempfile::TempDir;

pub(crate) const PROXY: &str = env!("CARGO_BIN_EXE_ackclock-proxy");

/// Nothing takes as long.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

/// A proxy with its configuration in a folder of its own.
pub(crate) struct Proxy {
    pub(crate) child: Child,
    folder: TempDir,
}

/// An address that nobody else is given: a socket that does not listen keeps its port until the tests end. A proxy of the same user, whose
/// sockets share ports (`SO_REUSEPORT`, socket(7)), may listen there; until one does, whoever connects is refused.
pub(crate) fn free() -> SocketAddr {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.set_reuse_port(true).unwrap();
    socket.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
    let address = socket.local_addr().unwrap().as_socket().unwrap();
    // A proxy looks first whether it would be alone there: among sockets that do not listen it is (SO_REUSEADDR, socket(7)).
    socket.set_reuse_address(true).unwrap();
    std::mem::forget(socket);
    address
}

impl Proxy {
    /// Starts a proxy with this configuration; it listens when this returns.
    pub(crate) fn start(config: &str) -> Self {
        Self::start_with(config, &[], &[])
    }

    /// Starts a proxy with options and variables of the environment.
    pub(crate) fn start_with(config: &str, options: &[&str], variables: &[(&str, &str)]) -> Self {
        let mut command = Command::new(PROXY);
        command.args(options).envs(variables.iter().copied());
        Self::start_by(command, config)
    }

    /// Starts a proxy by a command to which only the configuration's path is missing.
    pub(crate) fn start_by(mut command: Command, config: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("proxy.toml"), config).unwrap();
        let log = fs::File::create(folder.path().join("log")).unwrap();
        command.arg(folder.path().join("proxy.toml"));
        let child = command.stderr(log).spawn().unwrap();
        let proxy = Self { child, folder };
        // It listens by then. To knock would be a connection, which some tests count.
        until("the proxy listens", || proxy.log().contains("ready"));
        proxy
    }

    pub(crate) fn write(&self, config: &str) {
        fs::write(self.path(), config).unwrap();
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("proxy.toml")
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Exit code of the proxy, once it has ended.
    pub(crate) fn wait(&mut self) -> Option<i32> {
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            thread::sleep(Duration::from_millis(5));
        }
        panic!("the proxy does not end");
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits until something holds.
pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < until, "{what}: not within {PATIENCE:?}");
        thread::sleep(Duration::from_millis(5));
    }
}

pub(crate) fn connect(to: SocketAddr) -> TcpStream {
    let socket = TcpStream::connect(to).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket
}

/// A [`connect`] that tries again: it may be reset, or wait in the queue of a socket that is about to be closed.
pub(crate) fn knock(to: SocketAddr) -> io::Result<TcpStream> {
    let socket = TcpStream::connect_timeout(&to, PATIENCE / 60)?;
    socket.set_read_timeout(Some(PATIENCE / 60))?;
    Ok(socket)
}

/// A server that answers with what it gets.
pub(crate) fn echo() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for socket in listener.incoming().flatten() {
            thread::spawn(move || {
                let (mut reader, mut writer) = (socket.try_clone().unwrap(), socket);
                let _ = std::io::copy(&mut reader, &mut writer);
                let _ = writer.shutdown(std::net::Shutdown::Write);
            });
        }
    });
    address
}

/// A server that says who it is to each client, and then answers with what it gets.
pub(crate) fn teller(address: SocketAddr, who: u8) -> SocketAddr {
    let listener = TcpListener::bind(address).unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for mut socket in listener.incoming().flatten() {
            thread::spawn(move || {
                let _ = socket.write_all(&[who]);
                let mut reader = socket.try_clone().unwrap();
                let _ = std::io::copy(&mut reader, &mut socket);
                let _ = socket.shutdown(std::net::Shutdown::Write);
            });
        }
    });
    address
}

/// True if what is sent comes back.
pub(crate) fn answers(socket: &mut TcpStream) -> bool {
    let mut octets = [0; 4];
    socket.write_all(b"ping").is_ok() && socket.read_exact(&mut octets).is_ok() && octets == *b"ping"
}

/// Runs a program to its end: its exit code, and what it wrote.
pub(crate) fn run(program: &str, arguments: &[&str]) -> (Option<i32>, String) {
    let done = Command::new(program).args(arguments).stdin(Stdio::null()).output().unwrap();
    let text = [done.stdout, done.stderr].concat();
    (done.status.code(), String::from_utf8(text).unwrap())
}

//! Listening sockets go from one process to its successor, so that no connection meets a closed door.
//!
//! On SIGUSR2 the program starts the binary at its own path anew, with the same arguments and its listening sockets, which an
//! environment variable names. The new one says on a pipe that it listens; then the old one takes no more connections and ends
//! when those it has have ended. If the new one ends before that, the old one goes on as before.

use std::collections::HashMap;
use std::env;
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, FdFlags, fcntl_setfd};
use rustix::pipe::{PipeFlags, pipe_with};

use serde_json::json;

use crate::app::Active;
use crate::config::Listener;
use crate::confine::CONFINED;
use crate::rules::Rules;
use crate::sys;

/// Names the sockets: `address=fd,fd;address=fd`.
const SOCKETS: &str = "ACKCLOCK_PROXY_SOCKETS";

/// Names the descriptor on which the successor says that it listens.
const READY: &str = "ACKCLOCK_PROXY_READY";

/// Names the descriptor that holds the claim to the rules of this host.
const CLAIM: &str = "ACKCLOCK_PROXY_CLAIM";

/// A successor has to listen within this; one that does not is killed.
const PATIENCE: Duration = Duration::from_secs(30);

/// Variable with the sockets' settings, by their addresses, and the rules that were put in, as JSON.
const SETTINGS: &str = "ACKCLOCK_PROXY_SETTINGS";
const RULES: &str = "ACKCLOCK_PROXY_RULES";

/// Resources that a process has from its predecessor.
#[derive(Debug, Default)]
pub struct Inherited {
    sockets: Vec<(SocketAddr, OwnedFd)>,
    settings: HashMap<String, String>,
    rules: Rules,
    claim: Option<OwnedFd>,
    ready: Option<OwnedFd>,
}

impl Inherited {
    /// Resources that the environment names. Must be called once, before any file is opened.
    pub fn from_environment() -> Self {
        let named = env::var(SOCKETS).unwrap_or_default();
        let sockets =
            read(&named).into_iter().filter_map(|(address, number)| Some((address, taken(number)?))).collect();
        let [ready, claim] =
            [READY, CLAIM].map(|name| env::var(name).ok().and_then(|number| taken(number.parse().ok()?)));
        let told = |name: &str| env::var(name).unwrap_or_default();
        let settings = serde_json::from_str(&told(SETTINGS)).unwrap_or_default();
        let [added, removal] = serde_json::from_str(&told(RULES)).unwrap_or_default();
        Self { sockets, settings, rules: Rules { added, removal }, claim, ready }
    }

    /// Takes the sockets that listen at a listener's address, if their settings are those that it wants: settings of a
    /// socket cannot be withdrawn. Connections to the others go to the predecessor, until it closes them.
    pub fn take(&mut self, listener: &Listener) -> Vec<OwnedFd> {
        let address = listener.listen.address.0;
        let all = std::mem::take(&mut self.sockets);
        let (meant, others): (Vec<_>, Vec<_>) = all.into_iter().partition(|(of, _)| *of == address);
        self.sockets = others;
        let is_as_wanted = self.settings.get(&address.to_string()) == Some(&settings_of(listener));
        meant.into_iter().filter(|_| is_as_wanted).map(|(_, socket)| socket).collect()
    }

    /// The rules that the predecessor has put in.
    pub fn take_rules(&mut self) -> Rules {
        std::mem::take(&mut self.rules)
    }

    /// True if there is a predecessor.
    pub fn is_successor(&self) -> bool {
        self.ready.is_some()
    }

    /// The claim to the rules that the predecessor has.
    pub fn take_claim(&mut self) -> Option<OwnedFd> {
        self.claim.take()
    }

    /// Descriptor at which the predecessor waits until this process is ready, if there is one.
    pub fn take_ready(&mut self) -> Option<OwnedFd> {
        self.ready.take()
    }
}

/// Informs the predecessor that it must take no more connections.
pub fn say_ready(ready: OwnedFd) {
    // A predecessor that is gone needs no word.
    let _ = std::fs::File::from(ready).write_all(b"1");
}

/// The settings of a listener's sockets, as a text that differs where any of them does.
fn settings_of(listener: &Listener) -> String {
    format!("{:?} {:?}", listener.listen.mode, listener.listen.near)
}

fn read(named: &str) -> Vec<(SocketAddr, RawFd)> {
    let of_listener = |part: &str| -> Option<Vec<(SocketAddr, RawFd)>> {
        let (address, numbers) = part.split_once('=')?;
        let address = address.parse().ok()?;
        Some(numbers.split(',').filter_map(|number| Some((address, number.parse().ok()?))).collect())
    };
    named.split(';').filter_map(of_listener).flatten().collect()
}

fn taken(number: RawFd) -> Option<OwnedFd> {
    let descriptor = sys::inherited(number).ok()?;
    fcntl_setfd(&descriptor, FdFlags::CLOEXEC).ok()?;
    Some(descriptor)
}

/// Starts a successor with these sockets, and waits until it listens. `has_confined` says that this process is, and so the other;
/// `rules` are those that it is to go on with, and the claim to them.
pub fn start_successor(active: &[Active], has_confined: bool, rules: Option<(&Rules, &OwnedFd)>) -> io::Result<Child> {
    let (word, ready) = pipe_with(PipeFlags::CLOEXEC)?;
    let numbers = |active: &Active| -> String {
        let numbers: Vec<String> = active.sockets.iter().map(|socket| socket.as_raw_fd().to_string()).collect();
        format!("{}={}", active.address, numbers.join(","))
    };
    let named: Vec<String> = active.iter().map(numbers).collect();
    let mut command = Command::new(program());
    if has_confined {
        command.env(CONFINED, "1");
    }
    let of_sockets = active.iter().map(|active| (active.address.to_string(), settings_of(&active.service.listener)));
    let (rules, claim) = rules.unzip();
    if let Some(claim) = claim {
        command.env(CLAIM, claim.as_raw_fd().to_string());
    }
    let rules = rules.map_or([""; 2], |rules| [&rules.added, &rules.removal]);
    command.args(env::args_os().skip(1)).env(SOCKETS, named.join(";")).env(READY, ready.as_raw_fd().to_string());
    command
        .env(SETTINGS, json!(of_sockets.collect::<HashMap<_, _>>()).to_string())
        .env(RULES, json!(rules).to_string());
    let all = || active.iter().flat_map(|active| &active.sockets).chain([&ready]).chain(claim);
    // Whatever else is started meanwhile would have them too; nothing else is.
    all().try_for_each(|descriptor| fcntl_setfd(descriptor, FdFlags::empty()))?;
    let started = command.spawn();
    all().try_for_each(|descriptor| fcntl_setfd(descriptor, FdFlags::CLOEXEC))?;
    let mut child = started?;
    drop(ready);
    match word_within(word, PATIENCE)? {
        Some(true) => Ok(child),
        Some(false) => {
            let status = child.wait()?;
            Err(io::Error::other(format!("the new process ended before it listened: {status}")))
        }
        None => {
            child.kill()?;
            child.wait()?;
            let told = format!("the new process did not listen within {PATIENCE:?}, and was killed");
            Err(io::Error::new(io::ErrorKind::TimedOut, told))
        }
    }
}

/// Whether the successor said that it listens, or closed the pipe without; `None` if it did neither within this time.
fn word_within(word: OwnedFd, time: Duration) -> io::Result<Option<bool>> {
    let until = Instant::now() + time;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let timeout = Timespec::try_from(left).map_err(io::Error::other)?;
        match poll(&mut [PollFd::new(&word, PollFlags::IN)], Some(&timeout)) {
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
            Ok(0) => return Ok(None),
            Ok(_) => return Ok(Some(std::fs::File::from(word).read(&mut [0])? == 1)),
        }
    }
}

/// The binary as it was called: what lies there now, not what this process was started from.
pub fn program() -> PathBuf {
    let called = env::args_os().next().map(PathBuf::from).filter(|path| path.components().count() > 1);
    let running = || env::current_exe().map(|path| path.to_string_lossy().trim_end_matches(" (deleted)").into());
    called.unwrap_or_else(|| running().unwrap_or_else(|_| "ackclock-proxy".into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_successor_that_says_nothing_is_not_waited_for_without_end() {
        let (word, ready) = pipe_with(PipeFlags::CLOEXEC).unwrap();
        assert_eq!(word_within(word.try_clone().unwrap(), Duration::from_millis(20)).unwrap(), None);
        say_ready(ready.try_clone().unwrap());
        assert_eq!(word_within(word.try_clone().unwrap(), PATIENCE).unwrap(), Some(true));
        drop(ready);
        assert_eq!(word_within(word, PATIENCE).unwrap(), Some(false));
    }

    #[test]
    fn sockets_are_named_by_their_addresses() {
        let (four, six) = ("127.0.0.1:80".parse().unwrap(), "[::1]:81".parse().unwrap());
        assert_eq!(read("127.0.0.1:80=5,6;[::1]:81=7"), [(four, 5), (four, 6), (six, 7)]);
        assert_eq!(read(""), []);
        assert_eq!(read("nonsense=x;127.0.0.1:80=y"), []);
    }
}

//! Commands that other threads send to a worker.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, eventfd};
use serde_json::{Value as Json, json};

use super::{Worker, backlog, side_info};
use crate::connection::{Connection, Stage};
use crate::direction::Endpoint;
use crate::end_reason::Ending;
use crate::service::Service;

/// Connections of a thread that are described; and as many are surveyed before others have their turn.
const DESCRIBED: usize = 1000;

/// Time after a request for pairs in which those of ended connections are kept for the next one, and their largest
/// number.
const PAIRS_WANTED: (Duration, usize) = (Duration::from_secs(5), 1 << 16);

/// Command for a worker.
#[derive(Debug)]
pub enum Command {
    /// Take connections at this socket.
    Listen(Arc<Service>, OwnedFd),
    /// A listener has other settings from now on.
    Replace(Arc<Service>),
    /// Take no more connections at the listener of this address.
    StopListening(std::net::SocketAddr),
    /// Take none at all, and end when those that are there have ended.
    Drain,
    /// The worker must end now, and its connections for this reason.
    Stop(Ending),
    /// Describe some of the connections.
    Describe(Sender<Vec<ConnectionInfo>>),
    /// Sum up what waits in all connections.
    Survey(Sender<Vec<Backlog>>),
    /// Say which sockets belong together, of connections that ended since the last question, too.
    Pair(Sender<Vec<Pair>>),
}

/// Two sockets of a connection, by the kernel's numbers for them (`SO_COOKIE`).
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the names say what they are")]
pub struct Pair {
    pub listener: String,
    pub client: String,
    pub server: String,
    pub near: Option<u64>,
    /// None before the server's side is opened.
    pub far: Option<u64>,
}

impl Pair {
    fn of(connection: &Connection) -> Self {
        let cookie = |end: &Endpoint| rustix::net::sockopt::socket_cookie(&end.socket).ok();
        Self {
            listener: connection.service.listener.name.clone(),
            client: connection.client.to_string(),
            server: connection.server.to_string(),
            near: cookie(&connection.near),
            far: connection.far.as_ref().and_then(cookie),
        }
    }

    /// Entry of `/pairs`.
    pub fn to_json(&self) -> Json {
        json!({
            "listener": self.listener, "client": self.client, "server": self.server, "near": self.near,
            "far": self.far,
        })
    }
}

/// Pairs of connections that have ended, while somebody asks for them.
#[derive(Debug, Default)]
pub(super) struct Ended {
    asked: Option<Instant>,
    pairs: Vec<Pair>,
}

impl Ended {
    /// Records one that ends, if it is wanted.
    pub(super) fn note(&mut self, connection: &Connection) {
        let Some(asked) = self.asked else { return };
        if asked.elapsed() > PAIRS_WANTED.0 {
            *self = Self::default();
        } else if self.pairs.len() < PAIRS_WANTED.1 {
            self.pairs.push(Pair::of(connection));
        }
    }
}

/// A side of a connection.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the names say what they are")]
pub struct SideInfo {
    pub congestion: String,
    pub rtt_s: f64,
    pub cwnd_segments: u32,
    pub retransmitted_bytes: u64,
    pub unread_bytes: u64,
    pub unsent_bytes: u64,
    pub unacknowledged_bytes: u64,
    pub delivery_rate_bps: u64,
}

/// State of a connection.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the names say what they are")]
pub struct ConnectionInfo {
    pub listener: String,
    pub client: String,
    pub server: String,
    /// Server name that the client has sent by TLS, where a rule asks for it.
    pub sni: Option<String>,
    pub age_s: f64,
    pub up_bytes: u64,
    pub down_bytes: u64,
    pub near: SideInfo,
    pub far: Option<SideInfo>,
    /// Octets that wait, from client to server and back.
    pub backlog_bytes: [u64; 2],
}

/// Octets that wait in a thread's connections of a listener, from client to server and back.
pub type Backlog = (String, [u64; 2]);

/// Sums of what waits, of the connections before `next`.
#[derive(Debug)]
pub(super) struct Survey {
    next: usize,
    sums: BTreeMap<String, [u64; 2]>,
    answer: Sender<Vec<Backlog>>,
}

impl SideInfo {
    fn to_json(&self) -> Json {
        json!({
            "congestion": self.congestion, "rtt_s": self.rtt_s, "cwnd_segments": self.cwnd_segments,
            "retransmitted_bytes": self.retransmitted_bytes, "unread_bytes": self.unread_bytes,
            "unsent_bytes": self.unsent_bytes, "unacknowledged_bytes": self.unacknowledged_bytes,
            "delivery_rate_bps": self.delivery_rate_bps,
        })
    }
}

impl ConnectionInfo {
    /// Entry of `/connections`.
    pub fn to_json(&self) -> Json {
        json!({
            "listener": self.listener, "client": self.client, "server": self.server, "sni": self.sni, "age_s": self.age_s,
            "up_bytes": self.up_bytes, "down_bytes": self.down_bytes, "backlog_bytes": self.backlog_bytes,
            "near": self.near.to_json(), "far": self.far.as_ref().map(SideInfo::to_json),
        })
    }
}

/// Sender of commands to a worker.
#[derive(Debug)]
pub struct Handle {
    commands: Sender<Command>,
    wake: OwnedFd,
}

impl Handle {
    pub(super) fn new() -> io::Result<(Self, OwnedFd, Receiver<Command>)> {
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let (commands, receiver) = channel();
        Ok((Self { commands, wake: wake.try_clone()? }, wake, receiver))
    }

    /// Another handle to the same worker.
    pub fn again(&self) -> io::Result<Self> {
        Ok(Self { commands: self.commands.clone(), wake: self.wake.try_clone()? })
    }

    /// Sends a command; nothing happens if the worker has ended.
    pub fn tell(&self, command: Command) {
        if self.commands.send(command).is_ok() {
            let _ = rustix::io::write(&self.wake, &1_u64.to_ne_bytes());
        }
    }
}

impl Worker {
    pub(super) fn on_commands(&mut self) {
        let _ = rustix::io::read(&self.wake, &mut [0; 8]);
        while let Ok(command) = self.commands.try_recv() {
            self.obey(command);
        }
    }

    fn obey(&mut self, command: Command) {
        let now = Instant::now();
        match command {
            Command::Listen(service, socket) => {
                let name = service.listener.name.clone();
                if let Err(error) = self.listen(service, socket) {
                    tracing::error!(listener = name, %error, "a thread cannot listen");
                }
            }
            Command::Replace(service) => {
                let address = service.listener.listen.address;
                for (_, listening) in &mut self.listeners {
                    if listening.service.listener.listen.address == address {
                        listening.service = Arc::clone(&service);
                    }
                }
            }
            Command::StopListening(address) => self.stop_where(now, |it| it.listener.listen.address.0 == address),
            Command::Drain => {
                self.is_draining = true;
                self.stop_where(now, |_| true);
            }
            Command::Stop(why) => self.stopped = Some(why),
            Command::Describe(answer) => {
                let _ = answer.send(self.describe(now));
            }
            Command::Survey(answer) => self.survey(answer),
            Command::Pair(answer) => {
                self.ended.asked = Some(now);
                let mut pairs = std::mem::take(&mut self.ended.pairs);
                pairs.extend(self.connections.iter().map(|(_, connection)| Pair::of(connection)));
                let _ = answer.send(pairs);
            }
        }
    }

    fn stop_where(&mut self, now: Instant, is_meant: impl Fn(&Service) -> bool) {
        let meant = self.listeners.iter().filter(|(_, listening)| is_meant(&listening.service));
        let keys: Vec<usize> = meant.map(|(key, _)| key).collect();
        for key in keys {
            self.stop_listening(key, now);
        }
    }

    fn describe(&self, now: Instant) -> Vec<ConnectionInfo> {
        let some = self.connections.iter().take(DESCRIBED);
        some.map(|(_, it)| ConnectionInfo {
            listener: it.service.listener.name.clone(),
            client: it.client.to_string(),
            server: it.server.to_string(),
            sni: it.sni.as_deref().map(str::to_owned),
            age_s: (now - it.opened_at).as_secs_f64(),
            up_bytes: it.up.written,
            down_bytes: it.down.written,
            near: side_info(&it.near),
            far: it.far.as_ref().filter(|_| !matches!(it.stage, Stage::Connecting(_))).map(side_info),
            backlog_bytes: backlog(it),
        })
        .collect()
    }

    fn survey(&mut self, answer: Sender<Vec<Backlog>>) {
        let holds = [self.carrier.held as i64, self.carrier.pipes.lent() as i64];
        let before = std::mem::replace(&mut self.told, holds);
        let metrics = &self.shared.metrics;
        metrics.held.inc_by(holds[0] - before[0]);
        metrics.pipes.inc_by(holds[1] - before[1]);
        self.surveys.push(Survey { next: 0, sums: BTreeMap::new(), answer });
    }

    /// Goes on with what was asked of all connections, some of them at a time, as each takes calls of the kernel.
    pub(super) fn go_on_surveying(&mut self) {
        let connections = &self.connections;
        self.surveys.retain_mut(|survey| {
            let until = survey.next + DESCRIBED;
            for connection in (survey.next..until).filter_map(|key| connections.get(key)) {
                let [up, down] = backlog(connection);
                let sum = survey.sums.entry(connection.service.listener.name.clone()).or_default();
                *sum = [sum[0] + up, sum[1] + down];
            }
            survey.next = until;
            let is_over = until >= connections.capacity();
            if is_over {
                let _ = survey.answer.send(std::mem::take(&mut survey.sums).into_iter().collect());
            }
            !is_over
        });
    }
}

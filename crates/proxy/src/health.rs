//! Health checks: every server of a listener with several is connected to, as often as the listener says.
//!
//! All connections are tried at the same time, so that a server which does not answer delays no other's check.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use socket2::Socket;

use crate::app::Active;
use crate::config::Listener;
use crate::config::duration;
use crate::end_reason::Failure;
use crate::service::Service;
use crate::trouble::{Trouble, Troubles};
use crate::upstream::{Upstream, is_own_failure};
use crate::{side, sys};

/// A server must answer within this, or within the listener's own timeout where that is shorter.
const LONGEST: Duration = Duration::from_secs(2);

/// Pause between two looks for checks that are due.
const GLANCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// Checks the servers of these listeners from now on.
pub fn look_after(active: Arc<Mutex<Vec<Active>>>, troubles: Arc<Troubles>) -> io::Result<()> {
    thread::Builder::new().name("health".to_owned()).spawn(move || {
        let mut checks = Checks { troubles, running: Vec::new(), tried: HashMap::new() };
        loop {
            let services: Vec<_> = {
                let active = active.lock().unwrap_or_else(PoisonError::into_inner);
                let several = active.iter().filter(|active| !active.service.upstreams.replaceable().is_empty());
                several.map(|active| (active.address, Arc::clone(&active.service))).collect()
            };
            checks.start_due(&services, Instant::now());
            checks.wait();
        }
    })?;
    Ok(())
}

/// Running health checks.
#[derive(Debug)]
struct Checks {
    troubles: Arc<Troubles>,
    running: Vec<Check>,
    /// Time of the last check of a listener's servers.
    tried: HashMap<SocketAddr, Instant>,
}

/// A connection to a server that is tried.
#[derive(Debug)]
struct Check {
    listener: String,
    upstream: Arc<Upstream>,
    socket: Socket,
    until: Instant,
}

impl Checks {
    /// Begins the checks of each listener whose time has come.
    fn start_due(&mut self, services: &[(SocketAddr, Arc<Service>)], now: Instant) {
        self.tried.retain(|address, _| services.iter().any(|(listener, _)| listener == address));
        for (address, service) in services {
            let every = duration(service.listener.listen.health_interval);
            if self.tried.get(address).is_some_and(|last| now - *last < every) {
                continue;
            }
            self.tried.insert(*address, now);
            let until = now + service.timeouts.connect.min(LONGEST);
            for upstream in service.upstreams.replaceable() {
                if !self.running.iter().any(|check| Arc::ptr_eq(&check.upstream, &upstream)) {
                    self.start(&upstream, &service.listener, until);
                }
            }
        }
    }

    /// Tries a server by a socket like those that carry connections to it: a mark decides on its way, too.
    fn start(&mut self, upstream: &Arc<Upstream>, of: &Listener, until: Instant) {
        let (listener, listen) = (of.name.clone(), &of.listen);
        let connected = side::open_marked(upstream.address, &listen.far, listen.mark).and_then(|socket| {
            // What is tried ends in order.
            sys::set_reset_on_close(&socket, false)?;
            match socket.connect(&upstream.address.into()) {
                Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => Err(error),
                _ => Ok(socket),
            }
        });
        match connected {
            Ok(socket) => self.running.push(Check { listener, upstream: Arc::clone(upstream), socket, until }),
            Err(error) if is_own_failure(&error) => {}
            Err(error) => failed(&self.troubles, listener, upstream, Failure::of(&error)),
        }
    }

    /// Waits for answers for a while, and records those that came and those that did not come in time.
    fn wait(&mut self) {
        let mut sockets: Vec<PollFd<'_>> =
            self.running.iter().map(|check| PollFd::new(&check.socket, PollFlags::OUT)).collect();
        // A signal, or too little memory: the answers are still there at the next look.
        let _ = poll(&mut sockets, Some(&GLANCE));
        let answered: Vec<bool> = sockets.iter().map(|socket| !socket.revents().is_empty()).collect();
        let (now, mut answered) = (Instant::now(), answered.into_iter());
        self.running.retain(|check| {
            let is_answered = answered.next().unwrap_or(false);
            let is_over = is_answered || now >= check.until;
            let outcome = if is_answered { check.socket.take_error() } else { Ok(None) };
            match outcome {
                Ok(None) if is_answered => {
                    check.upstream.note(true);
                    self.troubles.answered(&check.listener, check.upstream.address);
                }
                Ok(None) if !is_over => {}
                Ok(None) => failed(&self.troubles, check.listener.clone(), &check.upstream, Failure::TimedOut),
                Ok(Some(error)) | Err(error) => {
                    failed(&self.troubles, check.listener.clone(), &check.upstream, Failure::of(&error));
                }
            }
            !is_over
        });
    }
}

/// Records that a server could not be reached.
fn failed(troubles: &Troubles, listener: String, upstream: &Upstream, why: Failure) {
    upstream.note(false);
    troubles.show(Trouble::Unanswered(listener, upstream.address), &why.label(), Instant::now());
}

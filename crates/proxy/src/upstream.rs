//! The servers of a listener: which of them a connection gets, and which of them answer.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::config::file::Balance;

/// Tries in a row that must fail before a server is left out.
const FAILURES: usize = 2;

/// A server of a listener.
#[derive(Debug)]
pub struct Upstream {
    /// Address of the server.
    pub address: SocketAddr,
    /// It answered when it was last tried.
    pub is_healthy: AtomicBool,
    /// Connections that it has.
    pub connections: AtomicUsize,
    failures: AtomicUsize,
}

/// Servers of a listener.
#[derive(Debug)]
pub struct Upstreams {
    all: Vec<Arc<Upstream>>,
    balance: Balance,
    turn: AtomicUsize,
}

impl Upstreams {
    /// Servers of a listener: those of its settings `before` are as they were known to be, others are healthy until tried.
    pub fn new(addresses: &[SocketAddr], balance: Balance, before: Option<&Self>) -> Self {
        let new = |address: &SocketAddr| {
            let known = before.and_then(|before| before.all.iter().find(|upstream| upstream.address == *address));
            known.map_or_else(|| Arc::new(Upstream::new(*address)), Arc::clone)
        };
        let turn = before.map_or(0, |before| before.turn.load(Ordering::Relaxed));
        Self { all: addresses.iter().map(new).collect(), balance, turn: AtomicUsize::new(turn) }
    }

    /// The server for a connection that has failed with those of `tried`. Where none is healthy, one that was not tried.
    pub fn choose(&self, tried: &[SocketAddr]) -> Option<Arc<Upstream>> {
        let untried = || self.all.iter().filter(|upstream| !tried.contains(&upstream.address));
        let healthy: Vec<_> = untried().filter(|upstream| upstream.is_healthy.load(Ordering::Relaxed)).collect();
        let candidates: Vec<_> = if healthy.is_empty() { untried().collect() } else { healthy };
        let chosen = match self.balance {
            Balance::First => candidates.first(),
            Balance::RoundRobin if candidates.is_empty() => None,
            Balance::RoundRobin => candidates.get(self.turn.fetch_add(1, Ordering::Relaxed) % candidates.len()),
            Balance::LeastConnections => {
                candidates.iter().min_by_key(|upstream| upstream.connections.load(Ordering::Relaxed))
            }
        };
        chosen.map(|upstream| Arc::clone(upstream))
    }

    /// All servers.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Upstream>> {
        self.all.iter()
    }
}

impl Upstream {
    fn new(address: SocketAddr) -> Self {
        let (is_healthy, connections, failures) = (AtomicBool::new(true), AtomicUsize::new(0), AtomicUsize::new(0));
        Self { address, is_healthy, connections, failures }
    }

    /// Takes down whether it answered.
    pub fn note(&self, answered: bool) {
        let failures = if answered { 0 } else { self.failures.load(Ordering::Relaxed) + 1 };
        self.failures.store(failures, Ordering::Relaxed);
        let is_healthy = failures < FAILURES;
        if self.is_healthy.swap(is_healthy, Ordering::Relaxed) != is_healthy {
            tracing::warn!(upstream = %self.address, is_healthy, "a server's health changed");
        }
    }
}

/// This host has no descriptor, memory or port left for a connection, which says nothing of the server.
pub fn is_own_failure(error: &io::Error) -> bool {
    is_lack(error) || is_one_of(error, &[libc::EADDRNOTAVAIL, libc::EADDRINUSE, libc::EAGAIN])
}

/// This process has no descriptor or memory left for a connection to any server.
pub fn is_lack(error: &io::Error) -> bool {
    is_one_of(error, &[libc::EMFILE, libc::ENFILE, libc::ENOBUFS, libc::ENOMEM])
}

fn is_one_of(error: &io::Error, codes: &[i32]) -> bool {
    error.raw_os_error().is_some_and(|code| codes.contains(&code))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses() -> Vec<SocketAddr> {
        ["192.0.2.1:80", "192.0.2.2:80", "192.0.2.3:80"].iter().map(|text| text.parse().unwrap()).collect()
    }

    fn chosen(upstreams: &Upstreams, tried: &[SocketAddr]) -> Option<SocketAddr> {
        upstreams.choose(tried).map(|upstream| upstream.address)
    }

    #[test]
    fn each_in_its_turn_and_none_that_failed() {
        let all = addresses();
        let upstreams = Upstreams::new(&all, Balance::RoundRobin, None);
        let got: Vec<_> = (0..4).map(|_| chosen(&upstreams, &[]).unwrap()).collect();
        assert_eq!(got, [all[0], all[1], all[2], all[0]]);
        assert_eq!(chosen(&upstreams, &all[1..]), Some(all[0]));
        assert_eq!(chosen(&upstreams, &all), None);
    }

    #[test]
    fn a_server_is_out_after_two_failures_and_in_after_one_answer() {
        let all = addresses();
        let upstreams = Upstreams::new(&all, Balance::First, None);
        let first = upstreams.choose(&[]).unwrap();
        first.note(false);
        assert_eq!(chosen(&upstreams, &[]), Some(all[0]));
        first.note(false);
        assert_eq!(chosen(&upstreams, &[]), Some(all[1]));
        first.note(true);
        assert_eq!(chosen(&upstreams, &[]), Some(all[0]));
    }

    #[test]
    fn the_one_with_the_fewest_connections() {
        let all = addresses();
        let upstreams = Upstreams::new(&all, Balance::LeastConnections, None);
        upstreams.choose(&[]).unwrap().connections.fetch_add(1, Ordering::Relaxed);
        assert_eq!(chosen(&upstreams, &[]), Some(all[1]));
    }

    #[test]
    fn new_settings_forget_neither_health_nor_load() {
        let all = addresses();
        let before = Upstreams::new(&all, Balance::LeastConnections, None);
        let first = before.choose(&[]).unwrap();
        first.connections.fetch_add(1, Ordering::Relaxed);
        (0..FAILURES).for_each(|_| first.note(false));
        let after = Upstreams::new(&all[..2], Balance::LeastConnections, Some(&before));
        assert_eq!(chosen(&after, &[]), Some(all[1]), "the first is still known to be down");
        first.note(true);
        assert_eq!(chosen(&after, &[]), Some(all[1]), "and has a connection");
        first.connections.fetch_sub(1, Ordering::Relaxed);
        assert_eq!(chosen(&after, &[]), Some(all[0]));
    }
}

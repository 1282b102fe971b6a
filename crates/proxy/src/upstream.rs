//! The servers of a listener: which of them a connection gets, and which of them answer.

use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use crate::config::file::Balance;

/// Tries in a row that must fail before a server is left out.
const FAILURES: usize = 2;

/// A server.
#[derive(Debug)]
pub struct Upstream {
    /// Where it is.
    pub address: SocketAddr,
    /// It answered when it was last tried.
    pub is_healthy: AtomicBool,
    /// Connections that it has.
    pub connections: AtomicUsize,
    failures: AtomicUsize,
}

/// Those of a listener.
#[derive(Debug)]
pub struct Upstreams {
    all: Vec<Arc<Upstream>>,
    balance: Balance,
    turn: AtomicUsize,
}

impl Upstreams {
    /// Healthy until tried.
    pub fn new(addresses: &[SocketAddr], balance: Balance) -> Self {
        let new = |address: &SocketAddr| {
            let (is_healthy, connections, failures) = (AtomicBool::new(true), AtomicUsize::new(0), AtomicUsize::new(0));
            Arc::new(Upstream { address: *address, is_healthy, connections, failures })
        };
        Self { all: addresses.iter().map(new).collect(), balance, turn: AtomicUsize::new(0) }
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

    /// Every server.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Upstream>> {
        self.all.iter()
    }

    /// Tries each server once.
    pub fn try_all(&self, timeout: Duration) {
        for upstream in &self.all {
            upstream.note(TcpStream::connect_timeout(&upstream.address, timeout).is_ok());
        }
    }
}

impl Upstream {
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
        let upstreams = Upstreams::new(&all, Balance::RoundRobin);
        let got: Vec<_> = (0..4).map(|_| chosen(&upstreams, &[]).unwrap()).collect();
        assert_eq!(got, [all[0], all[1], all[2], all[0]]);
        assert_eq!(chosen(&upstreams, &all[1..]), Some(all[0]));
        assert_eq!(chosen(&upstreams, &all), None);
    }

    #[test]
    fn a_server_is_out_after_two_failures_and_in_after_one_answer() {
        let all = addresses();
        let upstreams = Upstreams::new(&all, Balance::First);
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
        let upstreams = Upstreams::new(&all, Balance::LeastConnections);
        upstreams.choose(&[]).unwrap().connections.fetch_add(1, Ordering::Relaxed);
        assert_eq!(chosen(&upstreams, &[]), Some(all[1]));
    }
}

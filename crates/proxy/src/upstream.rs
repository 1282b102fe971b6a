//! The servers of a listener: which of them a connection gets, and which of them answer.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::config::Server;
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
    balance: Balance,
    pool: Mutex<Pool>,
}

/// Servers among which each connection is given one.
#[derive(Debug)]
struct Pool {
    /// Hosts as written, with the addresses that they are known to have.
    servers: Vec<Server>,
    /// A member for each address, however many hosts have it.
    members: Vec<Arc<Upstream>>,
    turn: usize,
}

/// Addresses that a name has come to stand for, and those that it no longer does.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// New addresses.
    pub added: Vec<SocketAddr>,
    /// Addresses that are gone; connections to them go on.
    pub removed: Vec<SocketAddr>,
}

impl Pool {
    /// A member for each address: those of `known` are as they were known to be, others are healthy until tried.
    fn new(servers: Vec<Server>, known: &[Arc<Upstream>], turn: usize) -> Self {
        let mut members: Vec<Arc<Upstream>> = Vec::new();
        for address in servers.iter().flat_map(|server| &server.addresses) {
            let find = |among: &[Arc<Upstream>]| among.iter().find(|it| it.address == *address).map(Arc::clone);
            if find(&members).is_none() {
                members.push(find(known).unwrap_or_else(|| Arc::new(Upstream::new(*address))));
            }
        }
        Self { servers, members, turn }
    }
}

impl Upstreams {
    /// Servers of a listener; what is known of those of its settings `before` is kept.
    pub fn new(servers: &[Server], balance: Balance, before: Option<&Self>) -> Self {
        let (known, turn) = before.map_or_else(Default::default, |before| {
            let before = before.pool();
            (before.members.clone(), before.turn)
        });
        Self { balance, pool: Mutex::new(Pool::new(servers.to_vec(), &known, turn)) }
    }

    fn pool(&self) -> MutexGuard<'_, Pool> {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The server for a connection that has failed with those of `tried`. Where none is healthy, one that was not tried.
    pub fn choose(&self, tried: &[SocketAddr]) -> Option<Arc<Upstream>> {
        let mut pool = self.pool();
        let Pool { members, turn, .. } = &mut *pool;
        let untried = || members.iter().filter(|upstream| !tried.contains(&upstream.address));
        let healthy: Vec<_> = untried().filter(|upstream| upstream.is_healthy.load(Ordering::Relaxed)).collect();
        let candidates: Vec<_> = if healthy.is_empty() { untried().collect() } else { healthy };
        let chosen = match self.balance {
            Balance::First => candidates.first(),
            Balance::RoundRobin if candidates.is_empty() => None,
            Balance::RoundRobin => {
                let mine = *turn;
                *turn = turn.wrapping_add(1);
                candidates.get(mine % candidates.len())
            }
            Balance::LeastConnections => {
                candidates.iter().min_by_key(|upstream| upstream.connections.load(Ordering::Relaxed))
            }
        };
        chosen.map(|upstream| Arc::clone(upstream))
    }

    /// All servers.
    pub fn all(&self) -> Vec<Arc<Upstream>> {
        self.pool().members.clone()
    }

    /// Hosts that are names, with their ports.
    pub fn names(&self) -> Vec<String> {
        let pool = self.pool();
        let named = pool.servers.iter().filter(|server| server.is_named());
        named.map(|server| server.host.clone()).collect()
    }

    /// Takes down that a name stands for these addresses. Those that it had keep their order, new ones come after them: a name
    /// server may tell them in another order each time.
    pub fn resolve(&self, name: &str, addresses: &[SocketAddr]) -> Change {
        let mut pool = self.pool();
        let mut change = Change::default();
        for server in pool.servers.iter_mut().filter(|server| server.host == name) {
            let had = std::mem::take(&mut server.addresses);
            let (kept, removed): (Vec<_>, Vec<_>) = had.into_iter().partition(|it| addresses.contains(it));
            let added: Vec<SocketAddr> = addresses.iter().filter(|it| !kept.contains(it)).copied().collect();
            server.addresses = [kept, added.clone()].concat();
            change = Change { added, removed };
        }
        if change != Change::default() {
            *pool = Pool::new(pool.servers.clone(), &pool.members, pool.turn);
        }
        change
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

    /// Servers that are written as these addresses.
    fn servers(addresses: &[SocketAddr]) -> Vec<Server> {
        addresses.iter().map(|it| Server { host: it.to_string(), addresses: vec![*it] }).collect()
    }

    fn chosen(upstreams: &Upstreams, tried: &[SocketAddr]) -> Option<SocketAddr> {
        upstreams.choose(tried).map(|upstream| upstream.address)
    }

    #[test]
    fn each_in_its_turn_and_none_that_failed() {
        let all = addresses();
        let upstreams = Upstreams::new(&servers(&all), Balance::RoundRobin, None);
        let got: Vec<_> = (0..4).map(|_| chosen(&upstreams, &[]).unwrap()).collect();
        assert_eq!(got, [all[0], all[1], all[2], all[0]]);
        assert_eq!(chosen(&upstreams, &all[1..]), Some(all[0]));
        assert_eq!(chosen(&upstreams, &all), None);
    }

    #[test]
    fn a_server_is_out_after_two_failures_and_in_after_one_answer() {
        let all = addresses();
        let upstreams = Upstreams::new(&servers(&all), Balance::First, None);
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
        let upstreams = Upstreams::new(&servers(&all), Balance::LeastConnections, None);
        upstreams.choose(&[]).unwrap().connections.fetch_add(1, Ordering::Relaxed);
        assert_eq!(chosen(&upstreams, &[]), Some(all[1]));
    }

    #[test]
    fn new_settings_forget_neither_health_nor_load() {
        let all = addresses();
        let before = Upstreams::new(&servers(&all), Balance::LeastConnections, None);
        let first = before.choose(&[]).unwrap();
        first.connections.fetch_add(1, Ordering::Relaxed);
        (0..FAILURES).for_each(|_| first.note(false));
        let after = Upstreams::new(&servers(&all[..2]), Balance::LeastConnections, Some(&before));
        assert_eq!(chosen(&after, &[]), Some(all[1]), "the first is still known to be down");
        first.note(true);
        assert_eq!(chosen(&after, &[]), Some(all[1]), "and has a connection");
        first.connections.fetch_sub(1, Ordering::Relaxed);
        assert_eq!(chosen(&after, &[]), Some(all[0]));
    }

    #[test]
    fn a_name_that_moves_takes_its_servers_with_it_and_leaves_the_others_as_they_were() {
        let all = addresses();
        let named = Server { host: "name:80".to_owned(), addresses: all[..2].to_vec() };
        let upstreams = Upstreams::new(&[named, servers(&all[..1]).remove(0)], Balance::First, None);
        assert_eq!(upstreams.names(), ["name:80"]);
        assert_eq!(upstreams.all().len(), 2, "an address that was written twice is one server");
        let first = upstreams.choose(&[]).unwrap();
        (0..FAILURES).for_each(|_| first.note(false));
        let turned: Vec<SocketAddr> = all[..2].iter().rev().copied().collect();
        assert_eq!(upstreams.resolve("name:80", &turned), Change::default(), "only the order is another");
        let change = upstreams.resolve("name:80", &all[1..]);
        assert_eq!(change, Change { added: vec![all[2]], removed: vec![all[0]] });
        let known: Vec<_> = upstreams.all().iter().map(|it| it.address).collect();
        assert_eq!(known, [all[1], all[2], all[0]], "the first is still there by its own address");
        assert_eq!(chosen(&upstreams, &all[1..]), Some(all[0]));
        assert_eq!(chosen(&upstreams, &[]), Some(all[1]));
        assert!(!upstreams.all()[2].is_healthy.load(Ordering::Relaxed), "and known to be down");
    }
}

//! The servers of a listener: which of them a connection gets, and which of them answer.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::config::file::Balance;
use crate::config::{Known, Server};

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
    /// Its own, then those of each of its rules.
    pools: Mutex<Vec<Pool>>,
}

/// Servers among which each connection is given one.
#[derive(Debug)]
struct Pool {
    /// Hosts as written, with the addresses that they are known to have.
    servers: Vec<Server>,
    /// A member for each address, however many hosts have it.
    members: Vec<Member>,
}

/// A server's part in a pool.
#[derive(Clone, Debug)]
struct Member {
    upstream: Arc<Upstream>,
    weight: u32,
    is_draining: bool,
    /// Its turn comes when it has the most of all; see [`in_turn`].
    credit: i64,
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
    /// A member for each address. Those of `known` are as they were known to be, others are healthy until tried; `before` has
    /// the turns.
    fn new(servers: Vec<Server>, known: &mut Vec<Arc<Upstream>>, before: &[Member]) -> Self {
        let mut members: Vec<Member> = Vec::new();
        for (server, address) in servers.iter().flat_map(|it| it.addresses.iter().map(move |address| (it, *address))) {
            if members.iter().any(|member| member.upstream.address == address) {
                continue;
            }
            let upstream = known.iter().find(|upstream| upstream.address == address).map(Arc::clone);
            let upstream = upstream.unwrap_or_else(|| {
                let new = Arc::new(Upstream::new(address));
                known.push(Arc::clone(&new));
                new
            });
            let credit = before.iter().find(|member| member.upstream.address == address).map_or(0, |it| it.credit);
            members.push(Member { upstream, weight: server.weight, is_draining: server.is_draining, credit });
        }
        Self { servers, members }
    }
}

/// The member whose turn it is: each comes as often as its weight says, and as evenly as may be.
///
/// Source: smooth weighted round robin of nginx (`ngx_http_upstream_get_peer`).
fn in_turn(candidates: Vec<&mut Member>) -> Option<&Member> {
    let mut total = 0;
    let mut best: Option<&mut Member> = None;
    for member in candidates {
        total += i64::from(member.weight);
        member.credit += i64::from(member.weight);
        if best.as_ref().is_none_or(|best| member.credit > best.credit) {
            best = Some(member);
        }
    }
    let best = best?;
    best.credit -= total;
    Some(best)
}

/// The members with the fewest connections for their weights.
fn least_loaded(candidates: Vec<&mut Member>) -> Vec<&mut Member> {
    let load = |member: &Member| (member.upstream.connections.load(Ordering::Relaxed) as u64, u64::from(member.weight));
    let compare = |one: (u64, u64), other: (u64, u64)| (one.0 * other.1).cmp(&(other.0 * one.1));
    let loads: Vec<_> = candidates.iter().map(|member| load(member)).collect();
    let Some(least) = loads.iter().copied().min_by(|one, other| compare(*one, *other)) else { return candidates };
    let of_least = candidates.into_iter().zip(loads).filter(|(_, load)| compare(*load, least).is_eq());
    of_least.map(|(member, _)| member).collect()
}

impl Upstreams {
    /// Servers of a listener and of its rules; what is known of those of its settings `before` is kept.
    pub fn new(pools: &[&[Server]], balance: Balance, before: Option<&Self>) -> Self {
        let mut known = before.map_or_else(Vec::new, Self::all);
        let turns = before
            .map_or_else(Vec::new, |before| before.pools().iter().map(|pool| pool.members.clone()).collect::<Vec<_>>());
        let pool = |(index, servers): (usize, &&[Server])| {
            Pool::new(servers.to_vec(), &mut known, turns.get(index).map_or(&[], Vec::as_slice))
        };
        Self { balance, pools: Mutex::new(pools.iter().enumerate().map(pool).collect()) }
    }

    fn pools(&self) -> MutexGuard<'_, Vec<Pool>> {
        self.pools.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The server of a pool for a connection that has failed with those of `tried`, and none that is drained. Where none is
    /// healthy, one that was not tried.
    pub fn choose(&self, pool: usize, tried: &[SocketAddr]) -> Option<Arc<Upstream>> {
        let mut pools = self.pools();
        let pool = pools.get_mut(pool)?;
        let is_healthy = |member: &Member| member.upstream.is_healthy.load(Ordering::Relaxed);
        let is_open = |member: &&mut Member| !member.is_draining && !tried.contains(&member.upstream.address);
        let mut candidates: Vec<_> = pool.members.iter_mut().filter(is_open).collect();
        if candidates.iter().any(|member| is_healthy(member)) {
            candidates.retain(|member| is_healthy(member));
        }
        let chosen = match self.balance {
            Balance::First => candidates.into_iter().next().map(|member| &*member),
            Balance::RoundRobin => in_turn(candidates),
            Balance::LeastConnections => in_turn(least_loaded(candidates)),
        };
        chosen.map(|member| Arc::clone(&member.upstream))
    }

    /// All servers.
    pub fn all(&self) -> Vec<Arc<Upstream>> {
        distinct(self.pools().iter())
    }

    /// Servers beside which there are others, so that connections can be given to those.
    pub fn replaceable(&self) -> Vec<Arc<Upstream>> {
        distinct(self.pools().iter().filter(|pool| pool.members.len() > 1))
    }

    /// The address of each server, and whether it is drained: given no new connections.
    pub fn drained(&self) -> Vec<(SocketAddr, bool)> {
        let mut drained = BTreeMap::new();
        for member in self.pools().iter().flat_map(|pool| &pool.members) {
            *drained.entry(member.upstream.address).or_insert(true) &= member.is_draining;
        }
        drained.into_iter().collect()
    }

    /// The hosts of each pool that has servers, and how many of those it has for new connections.
    pub fn open(&self) -> Vec<(String, usize)> {
        let is_open = |member: &&Member| !member.is_draining && member.upstream.is_healthy.load(Ordering::Relaxed);
        let hosts = |pool: &Pool| pool.servers.iter().map(|server| server.host.as_str()).collect::<Vec<_>>().join(",");
        let pools = self.pools();
        let used = pools.iter().filter(|pool| !pool.members.is_empty());
        used.map(|pool| (hosts(pool), pool.members.iter().filter(is_open).count())).collect()
    }

    /// Hosts that are names, with their ports; and the addresses that they are known to have.
    pub fn known(&self) -> Known {
        let pools = self.pools();
        let named = pools.iter().flat_map(|pool| &pool.servers).filter(|server| server.is_named());
        named.map(|server| (server.host.clone(), server.addresses.clone())).collect()
    }

    /// Records that a name stands for these addresses. Those that it had keep their order, new ones come after them: a name
    /// server may tell them in another order each time.
    pub fn resolve(&self, name: &str, addresses: &[SocketAddr]) -> Change {
        let mut pools = self.pools();
        let mut change = Change::default();
        let extend = |all: &mut Vec<SocketAddr>, some: Vec<SocketAddr>| {
            all.extend(some.into_iter().filter(|it| !all.contains(it)).collect::<Vec<_>>());
        };
        for server in pools.iter_mut().flat_map(|pool| &mut pool.servers).filter(|server| server.host == name) {
            let had = std::mem::take(&mut server.addresses);
            let (kept, removed): (Vec<_>, Vec<_>) = had.into_iter().partition(|it| addresses.contains(it));
            let added: Vec<SocketAddr> = addresses.iter().filter(|it| !kept.contains(it)).copied().collect();
            server.addresses = [kept, added.clone()].concat();
            // A name of several pools may have changed for some of them.
            extend(&mut change.added, added);
            extend(&mut change.removed, removed);
        }
        if change != Change::default() {
            let mut known = distinct(pools.iter());
            for pool in pools.iter_mut() {
                *pool = Pool::new(pool.servers.clone(), &mut known, &pool.members);
            }
        }
        change
    }
}

/// Each server of some pools once.
fn distinct<'pool>(pools: impl Iterator<Item = &'pool Pool>) -> Vec<Arc<Upstream>> {
    let mut seen = BTreeSet::new();
    let members = pools.flat_map(|pool| &pool.members);
    let new = members.filter(|member| seen.insert(member.upstream.address));
    new.map(|member| Arc::clone(&member.upstream)).collect()
}

impl Upstream {
    fn new(address: SocketAddr) -> Self {
        let (is_healthy, connections, failures) = (AtomicBool::new(true), AtomicUsize::new(0), AtomicUsize::new(0));
        Self { address, is_healthy, connections, failures }
    }

    /// Records whether it answered.
    pub fn note(&self, answered: bool) {
        let failures = if answered { 0 } else { self.failures.load(Ordering::Relaxed) + 1 };
        self.failures.store(failures, Ordering::Relaxed);
        self.is_healthy.store(failures < FAILURES, Ordering::Relaxed);
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

    fn server(host: &str, addresses: &[SocketAddr]) -> Server {
        Server { host: host.to_owned(), addresses: addresses.to_vec(), weight: 1, is_draining: false }
    }

    /// Servers that are written as these addresses.
    fn servers(addresses: &[SocketAddr]) -> Vec<Server> {
        addresses.iter().map(|it| server(&it.to_string(), &[*it])).collect()
    }

    /// Servers a, b and c with these weights, and connections given to them: as letters.
    fn given(weights: &[u32], balance: Balance, count: usize) -> String {
        let mut all = servers(&addresses()[..weights.len()]);
        all.iter_mut().zip(weights).for_each(|(server, weight)| server.weight = *weight);
        let upstreams = Upstreams::new(&[&all], balance, None);
        let letter = |_| {
            let upstream = upstreams.choose(0, &[]).unwrap();
            upstream.connections.fetch_add(1, Ordering::Relaxed);
            let place = addresses().iter().position(|address| *address == upstream.address).unwrap();
            (b'a' + place as u8) as char
        };
        (0..count).map(letter).collect()
    }

    /// The sequence is that of nginx's commit 52327e0627f4: "for edge case weights like { 5, 1, 1 } we now produce { a, a, b, a, c,
    /// a, a } sequence".
    #[test]
    fn round_robin_is_smooth() {
        assert_eq!(given(&[5, 1, 1], Balance::RoundRobin, 14), "aabacaaaabacaa");
        assert_eq!(given(&[1, 1, 1], Balance::RoundRobin, 6), "abcabc");
    }

    /// Weights of 3 and 1 share 8 connections that stay as 6 and 2; of equal loads each has its turn.
    #[test]
    fn the_fewest_connections_are_counted_by_weight() {
        let given_out = given(&[3, 1], Balance::LeastConnections, 8);
        assert_eq!((given_out.matches('a').count(), given_out.matches('b').count()), (6, 2), "{given_out}");
        let upstreams = Upstreams::new(&[&servers(&addresses())], Balance::LeastConnections, None);
        let idle: Vec<_> = (0..3).map(|_| chosen(&upstreams, &[]).unwrap()).collect();
        assert_eq!(idle, addresses());
    }

    #[test]
    fn a_drained_server_is_given_nothing_whatever_becomes_of_the_others() {
        let all = addresses();
        let mut some = servers(&all[..2]);
        some[0].is_draining = true;
        for balance in [Balance::First, Balance::RoundRobin, Balance::LeastConnections] {
            let upstreams = Upstreams::new(&[&some], balance, None);
            let second = upstreams.choose(0, &[]).unwrap();
            assert_eq!(second.address, all[1]);
            (0..FAILURES).for_each(|_| second.note(false));
            assert_eq!(chosen(&upstreams, &[]), Some(all[1]), "one that may be down is tried before");
            assert_eq!(chosen(&upstreams, &all[1..2]), None);
            assert_eq!(upstreams.drained(), [(all[0], true), (all[1], false)]);
            let again = Upstreams::new(&[&servers(&all[..2])], balance, Some(&upstreams));
            assert_eq!(chosen(&again, &[]), Some(all[0]), "it is back, and the other known to be down");
        }
    }

    fn chosen(upstreams: &Upstreams, tried: &[SocketAddr]) -> Option<SocketAddr> {
        upstreams.choose(0, tried).map(|upstream| upstream.address)
    }

    #[test]
    fn each_in_its_turn_and_none_that_failed() {
        let all = addresses();
        let upstreams = Upstreams::new(&[&servers(&all)], Balance::RoundRobin, None);
        let got: Vec<_> = (0..4).map(|_| chosen(&upstreams, &[]).unwrap()).collect();
        assert_eq!(got, [all[0], all[1], all[2], all[0]]);
        assert_eq!(chosen(&upstreams, &all[1..]), Some(all[0]));
        assert_eq!(chosen(&upstreams, &all), None);
    }

    #[test]
    fn a_server_is_out_after_two_failures_and_in_after_one_answer() {
        let all = addresses();
        let upstreams = Upstreams::new(&[&servers(&all)], Balance::First, None);
        let first = upstreams.choose(0, &[]).unwrap();
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
        let upstreams = Upstreams::new(&[&servers(&all)], Balance::LeastConnections, None);
        upstreams.choose(0, &[]).unwrap().connections.fetch_add(1, Ordering::Relaxed);
        assert_eq!(chosen(&upstreams, &[]), Some(all[1]));
    }

    #[test]
    fn new_settings_forget_neither_health_nor_load() {
        let all = addresses();
        let before = Upstreams::new(&[&servers(&all)], Balance::LeastConnections, None);
        let first = before.choose(0, &[]).unwrap();
        first.connections.fetch_add(1, Ordering::Relaxed);
        (0..FAILURES).for_each(|_| first.note(false));
        let after = Upstreams::new(&[&servers(&all[..2])], Balance::LeastConnections, Some(&before));
        assert_eq!(chosen(&after, &[]), Some(all[1]), "the first is still known to be down");
        first.note(true);
        assert_eq!(chosen(&after, &[]), Some(all[1]), "and has a connection");
        first.connections.fetch_sub(1, Ordering::Relaxed);
        after.all()[1].connections.fetch_add(1, Ordering::Relaxed);
        assert_eq!(chosen(&after, &[]), Some(all[0]));
    }

    #[test]
    fn a_name_that_moves_takes_its_servers_with_it_and_leaves_the_others_as_they_were() {
        let all = addresses();
        let named = server("name:80", &all[..2]);
        let upstreams = Upstreams::new(&[&[named, servers(&all[..1]).remove(0)]], Balance::First, None);
        assert_eq!(upstreams.known(), Known::from([("name:80".to_owned(), all[..2].to_vec())]));
        assert_eq!(upstreams.all().len(), 2, "an address that was written twice is one server");
        let first = upstreams.choose(0, &[]).unwrap();
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

    #[test]
    fn a_name_of_two_pools_is_followed_in_both() {
        let all = addresses();
        let [old, new] = [[server("name:80", &all[..1])], [server("name:80", &all[1..2])]];
        for pools in [[&old[..], &new], [&new, &old]] {
            let upstreams = Upstreams::new(&pools, Balance::First, None);
            let change = upstreams.resolve("name:80", &all[1..2]);
            assert_eq!(change, Change { added: vec![all[1]], removed: vec![all[0]] });
            let of_pool = |pool: usize| upstreams.choose(pool, &[]).map(|upstream| upstream.address);
            assert_eq!([of_pool(0), of_pool(1)], [Some(all[1]); 2]);
            assert_eq!(upstreams.resolve("name:80", &all[1..2]), Change::default());
        }
    }

    #[test]
    fn a_server_of_two_pools_is_one_and_each_pool_has_its_own_turns() {
        let all = addresses();
        let (own, mut route) = (servers(&all[..2]), servers(&all[1..2]));
        route[0].is_draining = true;
        let upstreams = Upstreams::new(&[&own, &route, &servers(&all[2..])], Balance::RoundRobin, None);
        let of_pool = |pool: usize| upstreams.choose(pool, &[]).map(|upstream| upstream.address);
        assert_eq!([of_pool(0), of_pool(1), of_pool(2)], [Some(all[0]), None, Some(all[2])]);
        assert_eq!([of_pool(2), of_pool(0), of_pool(3)], [Some(all[2]), Some(all[1]), None]);
        assert_eq!(upstreams.all().len(), 3);
        let replaceable: Vec<_> = upstreams.replaceable().iter().map(|it| it.address).collect();
        assert_eq!(replaceable, all[..2]);
        assert!(
            upstreams.drained().iter().all(|(_, is_draining)| !is_draining),
            "it gets connections in one of its pools"
        );
        let second = upstreams.choose(0, &all[..1]).unwrap();
        assert!(Arc::ptr_eq(&second, &Upstreams::new(&[&[], &route], Balance::First, Some(&upstreams)).all()[0]));
    }
}

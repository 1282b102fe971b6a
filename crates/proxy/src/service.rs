//! State of a listener at work, shared by all threads; and the state that all listeners share.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::process::{Resource, getrlimit};

use crate::check;
use crate::config::{Config, Listener, duration};
use crate::metrics::{ListenerMetrics, Metrics};
use crate::rate::Rate;
use crate::trouble::Troubles;
use crate::upstream::Upstreams;

/// Longest durations of a connection's stages, by the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "as in the configuration")]
pub struct Timeouts {
    pub connect: Duration,
    pub idle: Duration,
    pub half_closed: Duration,
    pub header: Duration,
    pub hello: Duration,
    pub reset: Duration,
}

/// A listener at work.
#[derive(Debug)]
pub struct Service {
    /// Configuration of the listener.
    pub listener: Listener,
    /// Servers of the listener.
    pub upstreams: Upstreams,
    /// Limit of its new connections a second.
    pub rate: Option<Arc<Rate>>,
    /// Metrics of the listener.
    pub metrics: ListenerMetrics,
    /// Longest durations of a connection's stages.
    pub timeouts: Timeouts,
    /// Some rule asks for the client's round trip.
    pub asks_rtt: bool,
    /// Waiting times of octets are measured without a policy, too.
    pub measures: bool,
}

impl Service {
    /// A listener as configured; what is known of its servers is kept from its settings `before`.
    pub fn new(listener: &Listener, config: &Config, metrics: &Metrics, before: Option<&Self>) -> Self {
        let of = &config.file.timeouts;
        let timeouts = Timeouts {
            connect: duration(of.connect),
            idle: duration(of.idle),
            half_closed: duration(of.half_closed),
            header: duration(of.header),
            hello: duration(of.hello),
            reset: duration(of.reset),
        };
        let asks = |rule: &crate::config::file::Rule| rule.near_rtt_from.is_some() || rule.near_rtt_below.is_some();
        let rate = rate(listener, before);
        let before = before.map(|before| &before.upstreams);
        let upstreams = Upstreams::new(&listener.pools(), listener.listen.balance, before);
        let had = before.map_or_else(Vec::new, Upstreams::drained);
        for (upstream, is_draining) in upstreams.drained() {
            if had.contains(&(upstream, !is_draining)) {
                let listener = &listener.name;
                tracing::info!(listener, %upstream, is_draining, "a server's share of new connections changed");
            }
        }
        Self {
            upstreams,
            rate,
            metrics: metrics.of_listener(&listener.name),
            timeouts,
            asks_rtt: listener.rules.iter().any(asks),
            measures: config.file.metrics.latency,
            listener: listener.clone(),
        }
    }
}

/// The limit of a listener's new connections; that of its settings `before` goes on where it is the same.
fn rate(listener: &Listener, before: Option<&Service>) -> Option<Arc<Rate>> {
    let of = |listener: &Listener| (listener.listen.connection_rate, listener.listen.connection_burst);
    let same = before.filter(|before| of(&before.listener) == of(listener));
    let (per_second, burst) = of(listener);
    let new = || per_second.map(|per_second| Arc::new(Rate::new(per_second, burst.unwrap_or(per_second))));
    same.map_or_else(new, |same| same.rate.clone())
}

/// State that all threads share.
#[derive(Debug)]
pub struct Shared {
    /// Open connections.
    pub connections: AtomicUsize,
    /// Largest number of connections.
    pub connections_most: AtomicUsize,
    /// Largest number of connections from one source.
    pub per_source_most: AtomicUsize,
    sources: Mutex<HashMap<IpAddr, usize>>,
    /// Metrics of all listeners.
    pub metrics: Metrics,
    /// Conditions that last.
    pub troubles: Arc<Troubles>,
}

impl Shared {
    /// Nobody is there yet.
    pub fn new(config: &Config) -> Self {
        let shared = Self {
            connections: AtomicUsize::new(0),
            connections_most: AtomicUsize::new(0),
            per_source_most: AtomicUsize::new(0),
            sources: Mutex::new(HashMap::new()),
            metrics: Metrics::new(),
            troubles: Arc::default(),
        };
        shared.limit(config);
        shared
    }

    /// Takes over the limits of a configuration.
    pub fn limit(&self, config: &Config) {
        self.connections_most.store(config.file.limits.connections, Ordering::Relaxed);
        let files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        self.metrics.limit.set(check::room(config, files).min(config.file.limits.connections as u64) as i64);
        self.per_source_most.store(config.file.limits.per_source, Ordering::Relaxed);
    }

    /// True if there is no room for one more.
    pub fn is_full(&self) -> bool {
        self.connections.load(Ordering::Relaxed) >= self.connections_most.load(Ordering::Relaxed)
    }

    /// Counts a connection, whoever its client is.
    pub fn enter(&self) {
        self.connections.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a connection with its client, unless that has too many.
    pub fn admit(&self, source: SocketAddr) -> bool {
        let mut sources = self.sources.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let count = sources.entry(source.ip().to_canonical()).or_default();
        let has_room = *count < self.per_source_most.load(Ordering::Relaxed);
        if has_room {
            *count += 1;
        }
        has_room
    }

    /// Takes a connection off, and off its client's.
    pub fn leave(&self, source: Option<SocketAddr>) {
        self.connections.fetch_sub(1, Ordering::Relaxed);
        let Some(source) = source.map(|source| source.ip().to_canonical()) else { return };
        let mut sources = self.sources.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(count) = sources.get_mut(&source) {
            *count -= 1;
            if *count == 0 {
                sources.remove(&source);
            }
        }
    }
}

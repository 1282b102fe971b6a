//! Metrics by listener and side, as `OpenMetrics`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

use crate::end_reason::Failure;
use crate::log;

type Labels = Vec<(&'static str, String)>;
type HistogramFamily = Family<Labels, Histogram, fn() -> Histogram>;

/// Metrics of one listener. Handles to it are cheap to copy and count without a lock.
#[derive(Clone, Debug)]
pub struct ListenerMetrics {
    /// Connections accepted from clients.
    pub accepted: Counter,
    /// Open connections.
    pub active: Gauge,
    /// Times that a thread left connections waiting for the limit of new ones a second.
    pub rate_limited: Counter,
    refused: Counter,
    unreachable: Counter,
    ended: Counter,
    reset: Counter,
    /// Metrics of the clients' side, and of the servers'.
    pub sides: [SideMetrics; 2],
}

/// The outcome of a connection that was taken; every one comes to one of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Reset for who asked, or for what they asked.
    Refused,
    /// Reset because no server answered.
    Unreachable,
    /// It ended in order.
    Ended,
    /// Reset by a peer, or given up.
    Reset,
}

impl ListenerMetrics {
    /// Counts what became of a connection.
    pub fn count(&self, outcome: Outcome) {
        let counter = match outcome {
            Outcome::Refused => &self.refused,
            Outcome::Unreachable => &self.unreachable,
            Outcome::Ended => &self.ended,
            Outcome::Reset => &self.reset,
        };
        counter.inc();
    }
}

/// Metrics of one side.
#[derive(Clone, Debug)]
pub struct SideMetrics {
    /// Octets that came from it.
    pub octets: Counter,
    /// Octets that were sent to it again.
    pub retransmitted: Counter,
    /// Round trips, in seconds, when connections ended.
    pub rtt: Histogram,
    /// Congestion windows, in segments, when connections ended.
    pub cwnd: Histogram,
    /// Waiting time of octets from it until they were sent on, in seconds.
    pub waited: Histogram,
    /// Octets from it that wait to be sent on.
    pub backlog: Gauge,
}

/// Everything that is counted.
pub struct Metrics {
    registry: Mutex<Registry>,
    events: Family<Labels, Counter>,
    active: Family<Labels, Gauge>,
    octets: Family<Labels, Counter>,
    retransmitted: Family<Labels, Counter>,
    rtt: HistogramFamily,
    cwnd: HistogramFamily,
    waited: HistogramFamily,
    backlog: Family<Labels, Gauge>,
    rate_limited: Family<Labels, Counter>,
    /// The backlog's gauges of each listener that is known.
    backlogs: Mutex<BTreeMap<String, [Gauge; 2]>>,
    upstream_up: Family<Labels, Gauge>,
    upstream_connections: Family<Labels, Gauge>,
    upstream_draining: Family<Labels, Gauge>,
    pool_servers: Family<Labels, Gauge>,
    /// Servers when they were shown last, and before that.
    shown: Mutex<[BTreeSet<Labels>; 2]>,
    connect_failures: Family<Labels, Counter>,
    connect: HistogramFamily,
    /// Largest number of connections.
    pub limit: Gauge,
    /// Pipes that have octets in them.
    pub pipes: Gauge,
    /// Octets that are held outside of the kernel.
    pub held: Gauge,
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

/// Buckets from 100 us to 26 s.
fn seconds() -> Histogram {
    Histogram::new(exponential_buckets(1e-4, 2.0, 19))
}

/// Buckets from 100 us to 26 s, two where [`seconds`] has one.
fn fine_seconds() -> Histogram {
    Histogram::new(exponential_buckets(1e-4, std::f64::consts::SQRT_2, 37))
}

fn segments() -> Histogram {
    Histogram::new(exponential_buckets(1.0, 2.0, 16))
}

impl Metrics {
    /// Metrics that are all zero.
    pub fn new() -> Self {
        let mut registry = Registry::with_prefix("ackclock_proxy");
        let (events, active) = (Family::default(), Family::default());
        let (octets, retransmitted, backlog) = (Family::default(), Family::default(), Family::default());
        let (rtt, waited) = (
            Family::new_with_constructor(seconds as fn() -> _),
            Family::new_with_constructor(fine_seconds as fn() -> _),
        );
        let cwnd = Family::new_with_constructor(segments as fn() -> _);
        let (pipes, held) = (Gauge::default(), Gauge::default());
        let rate_limited = Family::default();
        registry.register("connections", "Connections by outcome", Family::clone(&events));
        registry.register("active_connections", "Open connections", Family::clone(&active));
        registry.register("received_bytes", "Octets received from a side", Family::clone(&octets));
        registry.register("retransmitted_bytes", "Octets retransmitted to a side", Family::clone(&retransmitted));
        registry.register("rtt_seconds", "Smoothed RTT at the end of connections", Family::clone(&rtt));
        registry.register("cwnd_segments", "Congestion window at the end of connections", Family::clone(&cwnd));
        registry.register(
            "added_latency_seconds",
            "Time that octets from a side waited in the proxy",
            Family::clone(&waited),
        );
        registry.register("backlog_bytes", "Octets from a side that wait in the proxy", Family::clone(&backlog));
        let (upstream_up, upstream_connections) = (Family::default(), Family::default());
        let upstream_draining = Family::default();
        let connect_failures = Family::default();
        let connect = Family::new_with_constructor(seconds as fn() -> _);
        registry.register("upstream_up", "1 if a server answered when it was last tried", Family::clone(&upstream_up));
        registry.register("upstream_connections", "Open connections of a server", Family::clone(&upstream_connections));
        registry.register("upstream_connect_failures", "Failed attempts to connect", Family::clone(&connect_failures));
        registry.register("upstream_connect_seconds", "Time to connect to a server", Family::clone(&connect));
        let limit = Gauge::default();
        registry.register(
            "connection_limit",
            "Largest number of open connections, by limits.connections and by descriptors",
            limit.clone(),
        );
        registry.register(
            "upstream_draining",
            "1 for a server that is given no new connections",
            Family::clone(&upstream_draining),
        );
        let pool_servers = Family::default();
        registry.register(
            "pool_servers",
            "Servers of a listener or a rule that are given connections and answered when last tried",
            Family::clone(&pool_servers),
        );
        registry.register(
            "rate_limited",
            "Times that a thread left connections waiting for connection_rate",
            Family::clone(&rate_limited),
        );
        registry.register("pipes_in_use", "Pipes with octets in them", pipes.clone());
        registry.register("held_bytes", "Octets buffered in user space", held.clone());
        registry.register("log_messages_lost", "Messages that nobody read in time", log::LOST.clone());
        let (registry, backlogs, shown) = (Mutex::new(registry), Mutex::default(), Mutex::default());
        Self {
            registry,
            events,
            active,
            octets,
            retransmitted,
            rtt,
            cwnd,
            waited,
            backlog,
            rate_limited,
            backlogs,
            upstream_up,
            upstream_connections,
            upstream_draining,
            pool_servers,
            shown,
            connect_failures,
            connect,
            limit,
            pipes,
            held,
        }
    }

    /// The counts of a listener.
    pub fn of_listener(&self, name: &str) -> ListenerMetrics {
        let listener = || ("listener", name.to_owned());
        let event = |what: &str| self.events.get_or_create_owned(&vec![listener(), ("event", what.to_owned())]);
        let side = |side: &str| {
            let labels = vec![listener(), ("side", side.to_owned())];
            SideMetrics {
                octets: self.octets.get_or_create_owned(&labels),
                retransmitted: self.retransmitted.get_or_create_owned(&labels),
                rtt: self.rtt.get_or_create_owned(&labels),
                cwnd: self.cwnd.get_or_create_owned(&labels),
                waited: self.waited.get_or_create_owned(&labels),
                backlog: self.backlog.get_or_create_owned(&labels),
            }
        };
        let sides = [side("near"), side("far")];
        let gauges = sides.each_ref().map(|side| side.backlog.clone());
        self.backlogs.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned(), gauges);
        ListenerMetrics {
            accepted: event("accepted"),
            refused: event("refused"),
            unreachable: event("unreachable"),
            ended: event("ended"),
            reset: event("reset"),
            active: self.active.get_or_create_owned(&vec![listener()]),
            rate_limited: self.rate_limited.get_or_create_owned(&vec![listener()]),
            sides,
        }
    }

    /// Records what waits, up and down, by listener; of one that is not named nothing does.
    pub fn set_backlogs(&self, waiting: &BTreeMap<String, [u64; 2]>) {
        for (name, gauges) in self.backlogs.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            let octets = waiting.get(name).copied().unwrap_or_default();
            for (gauge, octets) in gauges.iter().zip(octets) {
                gauge.set(octets as i64);
            }
        }
    }

    /// Counts a failed attempt to connect to a server.
    pub fn count_failure(&self, listener: &str, upstream: &str, failure: Failure) {
        self.failures(of_upstream(listener, upstream), failure).inc();
    }

    /// Records the number of servers that each pool has for new connections, by listener and the hosts of the pool.
    pub fn set_pools(&self, pools: &BTreeMap<(String, String), usize>) {
        self.pool_servers.clear();
        for ((listener, hosts), servers) in pools {
            let labels = vec![("listener", listener.clone()), ("pool", hosts.clone())];
            self.pool_servers.get_or_create(&labels).set(*servers as i64);
        }
    }

    fn failures(&self, labels: Labels, failure: Failure) -> Counter {
        self.connect_failures.get_or_create_owned(&of_failure(labels, failure))
    }

    /// Records how long it took to connect to a server.
    pub fn note_connect(&self, listener: &str, upstream: &str, took: Duration) {
        self.connect.get_or_create(&of_upstream(listener, upstream)).observe(took.as_secs_f64());
    }

    /// Records the state of all servers that there are. Those of before that are not named are no longer shown, what is counted of a
    /// last attempt to connect after that included.
    pub fn set_upstreams(&self, states: &[UpstreamState]) {
        self.upstream_up.clear();
        self.upstream_connections.clear();
        self.upstream_draining.clear();
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        let now: BTreeSet<Labels> = states.iter().map(|state| of_upstream(&state.listener, &state.upstream)).collect();
        for gone in shown.iter().flatten().filter(|labels| !now.contains(*labels)) {
            self.connect.remove(gone);
            for failure in Failure::ALL {
                self.connect_failures.remove(&of_failure(gone.clone(), failure));
            }
        }
        shown.swap(0, 1);
        shown[0] = now;
        for state in states {
            let labels = of_upstream(&state.listener, &state.upstream);
            self.upstream_up.get_or_create(&labels).set(i64::from(state.is_up));
            self.upstream_connections.get_or_create(&labels).set(state.connections as i64);
            self.upstream_draining.get_or_create(&labels).set(i64::from(state.is_draining));
            // A rate needs a count before the first event.
            drop(self.connect.get_or_create(&labels));
            for failure in Failure::ALL {
                self.failures(labels.clone(), failure);
            }
        }
    }

    /// All metrics as text.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let registry = self.registry.lock().unwrap_or_else(PoisonError::into_inner);
        // Writing to a text cannot fail.
        let _ = encode(&mut text, &registry);
        text
    }
}

/// State of a listener's server.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say what they are")]
pub struct UpstreamState {
    pub listener: String,
    pub upstream: String,
    pub is_up: bool,
    pub connections: usize,
    pub is_draining: bool,
}

fn of_upstream(listener: &str, upstream: &str) -> Labels {
    vec![("listener", listener.to_owned()), ("upstream", upstream.to_owned())]
}

fn of_failure(mut upstream: Labels, failure: Failure) -> Labels {
    upstream.push(("reason", failure.label().to_owned()));
    upstream
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Attempts to connect may end after a server is gone, and would show it again for ever.
    #[test]
    fn a_server_that_is_gone_leaves_nothing() {
        let metrics = Metrics::new();
        let state = UpstreamState {
            listener: "one".to_owned(),
            upstream: "192.0.2.1:80".to_owned(),
            is_up: true,
            connections: 0,
            is_draining: false,
        };
        let use_it = || {
            metrics.note_connect("one", &state.upstream, Duration::from_millis(1));
            metrics.count_failure("one", &state.upstream, Failure::ALL[0]);
            metrics.note_connect("one", "intercepted", Duration::from_millis(1));
        };
        use_it();
        metrics.set_upstreams(std::slice::from_ref(&state));
        assert!(metrics.text().contains("connect_seconds_count{listener=\"one\",upstream=\"192.0.2.1:80\"} 1"));
        use_it();
        metrics.set_upstreams(&[]);
        assert!(!metrics.text().contains("192.0.2.1"), "{}", metrics.text());
        use_it();
        metrics.set_upstreams(&[]);
        assert!(!metrics.text().contains("192.0.2.1"), "{}", metrics.text());
        assert!(metrics.text().contains("upstream=\"intercepted\"} 3"), "servers that clients choose stay");
    }

    #[test]
    fn what_waited_once_waits_no_more_when_nothing_does() {
        let metrics = Metrics::new();
        metrics.of_listener("one");
        let line = |octets| format!("ackclock_proxy_backlog_bytes{{listener=\"one\",side=\"near\"}} {octets}\n");
        metrics.set_backlogs(&BTreeMap::from([("one".to_owned(), [1500, 0])]));
        assert!(metrics.text().contains(&line(1500)), "{}", metrics.text());
        metrics.set_backlogs(&BTreeMap::new());
        assert!(metrics.text().contains(&line(0)), "{}", metrics.text());
    }
}

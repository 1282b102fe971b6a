//! Checks that span fields or need the host: names that resolve, controllers that the kernel has, no open relay, no
//! loop.

use std::collections::BTreeSet;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs, UdpSocket};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, available_parallelism};
use std::time::{Duration, Instant};

use ackclock_declare::{Json, Mistake, Table};
use ackclock_units::Bytes;

use super::file::{Balance, File, Listen, Mode, Rule, Side, Upstream};
use super::kinds::{HostPort, Listed, Policy};
use super::{Config, Known, Listener, Server};
use crate::{client_hello, confine, controllers, ece};

/// The configuration, or everything that is wrong with it; `mistakes` are those of single fields. Names that cannot be resolved
/// have the addresses that are `known`.
pub(crate) fn review(
    file: File,
    table: &Table,
    mut mistakes: Vec<Mistake>,
    known: &Known,
) -> Result<Config, Vec<Mistake>> {
    let can_be_read = |name: &str| !mistakes.iter().any(|mistake| mistake.field.starts_with(name));
    let (has_listeners, has_rules) = (can_be_read("listen"), can_be_read("rule"));
    if file.listen.is_empty() && has_listeners {
        let place = if table.contains_key("listen") { "listen" } else { "" };
        let mistake = Mistake::new("has no listener", "add one: [[listen]] with address and upstream");
        mistakes.push(if place.is_empty() { mistake } else { mistake.within(place) });
    }
    let own: Vec<SocketAddr> = file.listen.iter().map(|listen| listen.address.0).collect();
    let servers = file.listen.iter().flat_map(|it| &it.upstream).chain(file.rule.iter().flat_map(|it| &it.upstream));
    let hosts: BTreeSet<String> = servers.map(|Listed(upstream)| upstream.address.0.clone()).collect();
    let found = resolved(hosts, |host| host.to_socket_addrs().map(Iterator::collect).unwrap_or_default(), PATIENCE);
    let names = Names { found: &found, known, own: &own };
    let mut listeners = Vec::new();
    for (index, listen) in file.listen.iter().enumerate() {
        let written = table.get("listen").and_then(|all| all.get(index)).and_then(Json::as_object);
        let name = listen.name.clone().unwrap_or_else(|| listen.address.to_string());
        let has_routes = if has_rules {
            file.rule.iter().any(|rule| rule.is_for(&name) && !rule.upstream.is_empty())
        } else {
            // Rules that could not be read: some may be for this listener.
            let mut written = table.get("rule").and_then(Json::as_array).into_iter().flatten();
            written.any(|rule| rule.get("upstream").is_some())
        };
        let (upstreams, wrong) = of_listener(listen, written, &names, has_routes);
        mistakes.extend(wrong.into_iter().map(|mistake| mistake.within(&format!("listen[{index}]"))));
        let (listen, own) = (listen.clone(), own.clone());
        listeners.push(Listener { name, listen, upstreams, rules: Vec::new(), routes: Vec::new(), own });
    }
    mistakes.extend(of_names(&listeners));
    for (index, rule) in file.rule.iter().enumerate().filter(|_| has_rules) {
        let place = format!("rule[{index}]");
        let mut wrong = of_rule(rule);
        if has_listeners {
            wrong.extend(of_route(rule, &listeners));
        }
        let meant: Vec<_> = listeners.iter_mut().filter(|listener| rule.is_for(&listener.name)).collect();
        let is_by_order = meant.iter().any(|listener| listener.listen.balance == Balance::First);
        let route = upstreams(&rule.upstream, is_by_order, &names, &mut wrong);
        for listener in meant {
            listener.rules.push(rule.clone());
            listener.routes.push(route.clone());
        }
        mistakes.extend(wrong.into_iter().map(|mistake| mistake.within(&place)));
    }
    for (index, listener) in listeners.iter().enumerate() {
        mistakes.extend(of_hellos(listener).into_iter().map(|mistake| mistake.within(&format!("listen[{index}]"))));
    }
    mistakes.extend(of_metrics(&file, &own));
    let workers = file.workers.unwrap_or_else(|| available_parallelism().map_or(1, usize::from));
    if mistakes.is_empty() { Ok(Config { file, workers, listeners }) } else { Err(mistakes) }
}

/// Time for the answers about names. A resolver asks its second name server after 5 s (resolv.conf(5)), which has to answer.
const PATIENCE: Duration = Duration::from_secs(8);

/// Largest number of names that are asked about at a time.
const MOST: usize = 64;

/// Addresses of the hosts that are resolved in time, all of which are asked about together.
fn resolved(
    hosts: BTreeSet<String>,
    resolve: impl Fn(&str) -> Vec<SocketAddr> + Clone + Send + 'static,
    patience: Duration,
) -> Known {
    let until = Instant::now() + patience;
    let (written, names): (Vec<_>, Vec<_>) = hosts.into_iter().partition(|host| host.parse::<SocketAddr>().is_ok());
    let mut found: Known =
        written.into_iter().filter_map(|host| Some((host.clone(), vec![host.parse().ok()?]))).collect();
    let (sender, answers) = channel();
    let threads = names.len().min(MOST);
    let names = Arc::new(Mutex::new(names));
    for _ in 0..threads {
        let (names, sender, resolve) = (Arc::clone(&names), sender.clone(), resolve.clone());
        let next = move || names.lock().unwrap_or_else(PoisonError::into_inner).pop();
        // One that cannot be started leaves its names to the others.
        let _ = thread::Builder::new().name("name".to_owned()).spawn(move || {
            while let Some(name) = next() {
                let addresses = resolve(&name);
                if sender.send((name, addresses)).is_err() {
                    return;
                }
            }
        });
    }
    drop(sender);
    while let Ok(answer) = answers.recv_timeout(until.saturating_duration_since(Instant::now())) {
        found.extend([answer]);
    }
    found
}

/// Addresses that hosts stand for, those that they are known to have had, and those of the listeners, to which none may.
struct Names<'file> {
    found: &'file Known,
    known: &'file Known,
    own: &'file [SocketAddr],
}

impl Names<'_> {
    fn addresses(&self, host: &str) -> Vec<SocketAddr> {
        let mut all = [self.found, self.known].into_iter().filter_map(|known| known.get(host));
        all.find(|addresses| !addresses.is_empty()).cloned().unwrap_or_default()
    }
}

/// Fields that mean something to mode forward only, and those that do to the others.
const OF_FORWARD: [&str; 4] = ["upstream", "balance", "health_interval", "resolve_interval"];
const OF_INTERCEPTING: [&str; 3] = ["destinations", "interfaces", "ports"];

/// The servers of a listener and its mistakes; `written` is its table, and `has_routes` says that rules name servers for it.
fn of_listener(
    listen: &Listen,
    written: Option<&Table>,
    names: &Names<'_>,
    has_routes: bool,
) -> (Vec<Server>, Vec<Mistake>) {
    let mut mistakes = Vec::new();
    let upstreams = upstreams(&listen.upstream, listen.balance == Balance::First, names, &mut mistakes);
    let is_forward = listen.mode == Mode::Forward;
    let mut wrong = |field: &str, message: &str, remedy: &str| {
        mistakes.push(Mistake::new(message, remedy).within(field));
    };
    if is_forward && listen.upstream.is_empty() && !has_routes {
        wrong("upstream", "is missing", "add it, such as upstream = [\"10.0.0.2:80\"]");
    }
    let is_written = |field: &&&str| written.is_some_and(|table| table.contains_key(**field));
    let (others, message, remedy) = if is_forward {
        (&OF_INTERCEPTING[..], "is allowed only in modes redirect and transparent", "leave it out")
    } else {
        (&OF_FORWARD[..], "is allowed only in mode forward", "leave it out, or write mode = \"forward\"")
    };
    others.iter().filter(is_written).for_each(|field| wrong(field, message, remedy));
    if listen.address.0.port() == 0 {
        wrong("address", "must have a port", "write a port of 1 to 65535");
    }
    if listen.mode == Mode::Transparent && listen.accept_proxy_protocol.is_some() {
        wrong(
            "accept_proxy_protocol",
            "must not be set in mode transparent",
            "leave it out: the client's address is known",
        );
    }
    if listen.connection_burst.is_some() && listen.connection_rate.is_none() {
        wrong("connection_burst", "is allowed only with connection_rate", "leave it out, or write connection_rate");
    }
    if is_written(&&"proxy_protocol_version") && !listen.send_proxy_protocol {
        wrong(
            "proxy_protocol_version",
            "is allowed only with send_proxy_protocol",
            "leave it out, or write send_proxy_protocol = true; headers of either version are accepted",
        );
    }
    if is_forward && listen.clients.is_none() && !listen.address.0.ip().is_loopback() {
        let remedy =
            "name the clients that are served, such as clients = [\"10.0.0.0/8\"]; anyone is [\"0.0.0.0/0\", \"::/0\"]";
        wrong("clients", "is missing, which would make an open relay", remedy);
    }
    mistakes.extend(of_policies(Some(&listen.buffer_policy), Some(&listen.buffer_policy_back)));
    for (name, side) in [("near", &listen.near), ("far", &listen.far)] {
        mistakes.extend(of_side(side).into_iter().map(|mistake| mistake.within(name)));
    }
    (upstreams, mistakes)
}

/// Policies that the kernel gives no means to obey.
fn of_policies(policy: Option<&Policy>, back: Option<&Policy>) -> Vec<Mistake> {
    let both = [("buffer_policy", policy), ("buffer_policy_back", back)];
    let raising = both.into_iter().filter(|(_, policy)| policy.is_some_and(|policy| policy.0.raises_ece()));
    let others = "write \"not_sent\", \"credit\", \"drain_rate\" or \"codel_window\"";
    let mistake = |name, error: &io::Error| {
        match error.kind() {
            io::ErrorKind::NotFound => Mistake::new(
                "raises ECE, which this kernel does not support yet",
                format!("run `ackclock-kernel ece` first; or {others}"),
            ),
            _ => Mistake::new(
                format!("raises ECE, for which {} cannot be opened: {error}", ece::place()),
                format!("run it as root or with CAP_BPF and the right to read that folder; or {others}"),
            ),
        }
        .within(name)
    };
    raising.filter_map(|(name, _)| ece::find().err().map(|error| mistake(name, &error))).collect()
}

/// Servers with the addresses of their names; `is_by_order` says that the first that is healthy gets every connection.
fn upstreams(written: &[Listed], is_by_order: bool, names: &Names<'_>, mistakes: &mut Vec<Mistake>) -> Vec<Server> {
    let mut found = Vec::new();
    for (index, Listed(Upstream { address: HostPort(host), weight, drain })) in written.iter().enumerate() {
        let place = format!("upstream[{index}]");
        let addresses = names.addresses(host);
        if addresses.is_empty() {
            let message = format!("cannot be resolved: {host}");
            mistakes
                .push(Mistake::new(message, "write an address, or a name that this host can resolve").within(&place));
        } else if addresses.iter().any(|address| is_own(*address, names.own)) {
            let remedy = "name a server, not a listener of this proxy";
            mistakes.push(Mistake::new("leads back to this proxy", remedy).within(&place));
        }
        if *weight != 1 && is_by_order {
            let remedy = "leave it out: the first that is healthy gets every connection";
            let mistake = Mistake::new("is not allowed with balance = \"first\"", remedy);
            mistakes.push(mistake.within("weight").within(&place));
        }
        found.push(Server { host: host.clone(), addresses, weight: *weight, is_draining: *drain });
    }
    found
}

/// True if a connection to `address` would come to one of the listeners `own`, each of which takes those of its own family.
pub(crate) fn is_own(address: SocketAddr, own: &[SocketAddr]) -> bool {
    let address = reached(address);
    own.iter().any(|own| {
        own.port() == address.port()
            && own.is_ipv4() == address.is_ipv4()
            && (own.ip() == address.ip() || own.ip().is_unspecified() && is_of_this_host(address))
    })
}

/// Address that a connection to `address` reaches: IPv4-mapped is IPv4 (RFC 4291 section 2.5.5.2), and unspecified is
/// the loopback (ip(7)).
fn reached(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip().to_canonical() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

/// Only an address of the host's own can be bound.
fn is_of_this_host(address: SocketAddr) -> bool {
    UdpSocket::bind((address.ip(), 0)).is_ok()
}

fn of_names(listeners: &[Listener]) -> Vec<Mistake> {
    let mut mistakes = Vec::new();
    let (mut names, mut addresses) = (BTreeSet::new(), BTreeSet::new());
    for (index, listener) in listeners.iter().enumerate() {
        let place = format!("listen[{index}]");
        if !addresses.insert(listener.listen.address.0) {
            let mistake = Mistake::new("is that of another listener", "listen at another address or port");
            mistakes.push(mistake.within("address").within(&place));
        } else if !names.insert(&listener.name) {
            mistakes.push(Mistake::new("is that of another listener", "choose another").within("name").within(&place));
        }
    }
    mistakes
}

fn of_rule(rule: &Rule) -> Vec<Mistake> {
    let mut mistakes = of_policies(rule.buffer_policy.as_ref(), rule.buffer_policy_back.as_ref());
    for (name, side) in [("near", &rule.near), ("far", &rule.far)] {
        let found = side.iter().flat_map(of_side);
        mistakes.extend(found.map(|mistake| mistake.within(name)));
    }
    if rule.near.as_ref().is_some_and(|near| near.mss.is_some()) {
        let remedy = "leave it out, or set it in the listener's near table";
        let message = "is fixed by the client's handshake, before a rule is chosen";
        mistakes.push(Mistake::new(message, remedy).within("mss").within("near"));
    }
    if let (Some(from), Some(below)) = (rule.near_rtt_from, rule.near_rtt_below)
        && from >= below
    {
        let mistake =
            Mistake::new(format!("must be more than near_rtt_from, which is {from}"), "change one of the two");
        mistakes.push(mistake.within("near_rtt_below"));
    }
    mistakes
}

/// The mistakes of a rule in its relation to the listeners.
fn of_route(rule: &Rule, listeners: &[Listener]) -> Vec<Mistake> {
    let mut mistakes = Vec::new();
    for (index, name) in rule.listeners.iter().flatten().enumerate() {
        if listeners.iter().all(|listener| listener.name != *name) {
            let names: Vec<&str> = listeners.iter().map(|listener| listener.name.as_str()).collect();
            let mistake = Mistake::new("is not the name of a listener", format!("use one of {}", names.join(", ")));
            mistakes.push(mistake.within(&format!("listeners[{index}]")));
        }
    }
    if rule.upstream.is_empty() {
        return mistakes;
    }
    let mut wrong = |message: String, remedy: &str| mistakes.push(Mistake::new(message, remedy).within("upstream"));
    let intercepting = listeners.iter().find(|it| rule.is_for(&it.name) && it.listen.mode != Mode::Forward);
    if let Some(Listener { name, .. }) = intercepting {
        let message = format!("is allowed only for listeners in mode forward, which {name} is not");
        wrong(message, "name those that are, such as listeners = [\"web\"]");
    }
    let without = [("refuse", rule.refuse), ("to", rule.to.is_some()), ("ports", rule.ports.is_some())];
    for (field, _) in without.iter().filter(|(_, is_set)| *is_set) {
        let remedy = if *field == "refuse" {
            "leave out one of the two"
        } else {
            "leave out one of the two: this is about the servers of the listener"
        };
        wrong(format!("is not allowed with {field}"), remedy);
    }
    mistakes
}

/// Settings of the client's side that keep a `ClientHello` from arriving whole where a rule asks for its server name.
fn of_hellos(Listener { listen: Listen { near, .. }, rules, .. }: &Listener) -> Vec<Mistake> {
    if rules.iter().all(|rule| rule.sni.is_none()) {
        return Vec::new();
    }
    let hello = client_hello::LONGEST as u64;
    // The kernel keeps half of a receive buffer for its own structures.
    let needed = [("receive_buffer", near.receive_buffer, 2 * hello), ("window_clamp", near.window_clamp, hello)];
    let small = needed.into_iter().filter(|(_, octets, least)| octets.is_some_and(|octets| octets.0 < *least));
    let mistake = |(field, _, least)| {
        let message = format!("must be at least {} where a rule has sni: a ClientHello has to fit", Bytes(least));
        Mistake::new(message, "raise it or leave it out").within(field).within("near")
    };
    small.map(mistake).collect()
}

fn of_side(side: &Side) -> Vec<Mistake> {
    let missing = side.congestion.iter().filter(|name| !controllers::is_available(name));
    missing.filter_map(|name| of_missing_controller(name)).map(|mistake| mistake.within("congestion")).collect()
}

/// Mistake in naming a controller that the kernel does not have; `None` if it can be loaded.
fn of_missing_controller(name: &str) -> Option<Mistake> {
    let loadable = controllers::loadable();
    if loadable.iter().flatten().any(|loadable| loadable == name) {
        let remedy = format!("run `ackclock-kernel load {name}` first, or restart the proxy");
        return confine::is_on().then(|| Mistake::new("is not loaded, and a confined proxy cannot load it", remedy));
    }
    let others = match loadable.as_deref() {
        Ok([]) => "modprobe or ackclock-kernel brings others".to_owned(),
        Ok(names) => format!("ackclock-kernel loads {}", names.join(", ")),
        Err(error) => format!("ackclock-kernel brings others, and cannot run: {error}"),
    };
    let remedy = format!("the kernel has {}; {others}", controllers::available().join(", "));
    Some(Mistake::new("is not a congestion controller that this kernel has", remedy))
}

fn of_metrics(file: &File, own: &[SocketAddr]) -> Vec<Mistake> {
    let Some(address) = file.metrics.address.map(|address| address.0) else { return Vec::new() };
    let mut mistakes = Vec::new();
    if !address.ip().is_loopback() && !file.metrics.public {
        let remedy = "write an address such as 127.0.0.1:9901, or public = true if anyone may read them";
        mistakes.push(Mistake::new("is not an address of the loopback", remedy));
    }
    if address.port() == 0 {
        mistakes.push(Mistake::new("must have a port", "write a port of 1 to 65535"));
    }
    if is_own(address, own) || own.iter().any(|own| is_own(*own, &[address])) {
        mistakes.push(Mistake::new("is that of a listener", "write another address or port"));
    }
    mistakes.into_iter().map(|mistake| mistake.within("address").within("metrics")).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    fn hosts(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    /// Each answer waits for the other question: one after the other they would never come.
    #[test]
    fn names_are_asked_about_together() {
        let (both, server) = (Arc::new(Barrier::new(2)), SocketAddr::from(([192, 0, 2, 1], 80)));
        let resolve = move |_: &str| {
            both.wait();
            vec![server]
        };
        let found = resolved(hosts(&["a:80", "b:80", "192.0.2.2:80"]), resolve, Duration::from_mins(5));
        let other = SocketAddr::from(([192, 0, 2, 2], 80));
        let wanted = [("192.0.2.2:80", other), ("a:80", server), ("b:80", server)];
        assert_eq!(found, wanted.map(|(host, address)| (host.to_owned(), vec![address])).into());
    }

    #[test]
    fn questions_that_nobody_answers_have_one_deadline() {
        let resolve = |_: &str| loop {
            thread::park();
        };
        let names = hosts(&["a:80", "b:80", "[::1]:80"]);
        let found = resolved(names, resolve, Duration::from_millis(10));
        assert_eq!(found.into_keys().collect::<Vec<_>>(), ["[::1]:80"]);
    }
}

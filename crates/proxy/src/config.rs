//! The configuration: a TOML file, checked as a whole before anything of it takes effect.

pub mod file;
pub mod kinds;
pub mod reload;
mod review;
mod text;

use std::collections::BTreeMap;
use std::io::{self, Read as _};
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use ackclock_declare::{About, Context, Entry, Mistake};
use ackclock_relay::DisciplineConfig;
use ackclock_units::SimDuration;
use ipnet::IpNet;

use file::{File, Limits, Listen, Log, Metrics, Mode, Rule, Side, Timeouts, Upstream};
pub(crate) use review::is_own as leads_back;
pub use text::Diagnostic;
use text::{Source, in_order, of_file};

/// A larger file is no configuration.
const MOST: u64 = 1 << 20;

/// The parts of the file, as the reference shows them.
macro_rules! entries {
    ($($part:ty: $name:literal, $summary:literal;)*) => {
        $(impl Entry for $part {
            const ABOUT: About = About::new($name, $summary);
        })*
    };
}

entries! {
    File: "the file", "the whole of a configuration file";
    Listen: "listen", "where connections are taken, and where they go";
    Upstream: "upstream", "where connections go";
    Side: "near, far", "the sockets of one side";
    Rule: "rule", "settings for the connections that it fits";
    Limits: "limits", "how much there may be";
    Timeouts: "timeouts", "how long things may take";
    Metrics: "metrics", "where measurements are read";
    Log: "log", "messages";
}

/// Everything that was read, checked and resolved.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Configuration as written.
    pub file: File,
    /// Number of threads.
    pub workers: usize,
    /// The listeners with their rules.
    pub listeners: Vec<Listener>,
}

/// A listener, with names resolved.
#[derive(Clone, Debug, PartialEq)]
pub struct Listener {
    /// Name in messages and metrics.
    pub name: String,
    /// Listener as written.
    pub listen: Listen,
    /// Servers to which connections may go, with mode forward.
    pub upstreams: Vec<Server>,
    /// The rules that are meant for it, in their order.
    pub rules: Vec<Rule>,
    /// Servers of each rule; none where connections go to those of the listener.
    pub routes: Vec<Vec<Server>>,
    /// Addresses of all listeners: connections are not carried to them.
    pub own: Vec<SocketAddr>,
}

/// A server as written, with the addresses that its name stands for.
#[derive(Clone, Debug, PartialEq)]
pub struct Server {
    /// Host and port as written.
    pub host: String,
    /// Addresses of the host, with the port.
    pub addresses: Vec<SocketAddr>,
    /// Share of connections of each address.
    pub weight: u32,
    /// It is given no new connections.
    pub is_draining: bool,
}

impl Server {
    /// True if the host is a name, which may come to stand for other addresses.
    pub fn is_named(&self) -> bool {
        self.host.parse::<SocketAddr>().is_err()
    }
}

/// Properties of a connection by which a rule is found.
#[derive(Clone, Copy, Debug)]
pub struct Flow<'name> {
    /// Address of the client.
    pub client: SocketAddr,
    /// The client's round trip.
    pub near_rtt: Duration,
    /// Server name that the client has sent, in lower case, if it is known.
    pub sni: Option<&'name str>,
}

/// Settings of a connection.
#[derive(Clone, Debug, PartialEq)]
pub struct Treatment {
    /// Options of the client's side.
    pub near: Side,
    /// Options of the server's side.
    pub far: Side,
    /// Policy for the client's data.
    pub policy: DisciplineConfig,
    /// Policy for the server's data.
    pub policy_back: DisciplineConfig,
}

impl Listener {
    /// The servers among which connections are given one: first its own, then those of each rule.
    pub fn pools(&self) -> Vec<&[Server]> {
        std::iter::once(&self.upstreams).chain(&self.routes).map(Vec::as_slice).collect()
    }

    /// True if a connection's server name decides which rule it gets, or may. `server` is known with modes redirect and
    /// transparent.
    pub fn awaits_name(&self, flow: &Flow<'_>, server: Option<SocketAddr>) -> bool {
        // A rule that depends on a server which is not chosen yet decides nothing.
        let is_certain = |rule: &Rule| server.is_some() || !rule.asks_for_server();
        let mut able = self.rules.iter().filter(|rule| rule.fits_but_for_name(flow, server));
        able.find(|rule| rule.sni.is_some() || is_certain(rule)).is_some_and(|rule| rule.sni.is_some())
    }

    /// The place among [`Self::pools`] of a connection's servers, with mode forward: those of its rule, if that has some. A rule
    /// that depends on the server is not looked at.
    pub fn pool(&self, flow: &Flow<'_>) -> usize {
        let fits = |rule: &Rule| !rule.asks_for_server() && rule.fits_but_for_name(flow, None) && rule.fits_name(flow);
        let found = self.rules.iter().position(fits);
        found.filter(|index| !self.rules[*index].upstream.is_empty()).map_or(0, |index| index + 1)
    }

    /// True if a connection is refused whatever its server is; `server` is known with modes redirect and transparent.
    pub fn refuses(&self, flow: &Flow<'_>, server: Option<SocketAddr>) -> bool {
        let mut able = self.rules.iter().filter(|rule| rule.fits_but_for_name(flow, server) && rule.fits_name(flow));
        let is_certain = |rule: &Rule| server.is_some() || !rule.asks_for_server();
        able.find(|rule| !rule.refuse || is_certain(rule)).is_some_and(|rule| rule.refuse)
    }

    /// The settings for a connection whose servers are those of a pool; none if it is to be refused.
    pub fn treatment(&self, flow: &Flow<'_>, server: SocketAddr, pool: usize) -> Option<Treatment> {
        let fits = |rule: &&Rule| {
            rule.upstream.is_empty() && rule.fits_but_for_name(flow, Some(server)) && rule.fits_name(flow)
        };
        let rule = match pool.checked_sub(1) {
            Some(index) => self.rules.get(index),
            None => self.rules.iter().find(fits),
        };
        let Some(rule) = rule else { return Some(self.own_treatment()) };
        (!rule.refuse).then(|| {
            let side = |rule: &Option<Side>, own: &Side| rule.as_ref().map_or_else(|| own.clone(), |it| over(it, own));
            let policy = |rule: &Option<kinds::Policy>, own: &kinds::Policy| rule.as_ref().unwrap_or(own).0.clone();
            Treatment {
                near: side(&rule.near, &self.listen.near),
                far: side(&rule.far, &self.listen.far),
                policy: policy(&rule.buffer_policy, &self.listen.buffer_policy),
                policy_back: policy(&rule.buffer_policy_back, &self.listen.buffer_policy_back),
            }
        })
    }

    fn own_treatment(&self) -> Treatment {
        let Listen { near, far, buffer_policy, buffer_policy_back, .. } = self.listen.clone();
        Treatment { near, far, policy: buffer_policy.0, policy_back: buffer_policy_back.0 }
    }

    /// True if a client's address is served.
    pub fn serves(&self, client: SocketAddr) -> bool {
        is_in(self.listen.clients.as_deref(), client)
    }

    /// True if a connection may go there.
    pub fn may_reach(&self, server: SocketAddr) -> bool {
        is_in(self.listen.destinations.as_deref(), server)
    }

    /// True if a header of the PROXY protocol is awaited of a client.
    pub fn awaits_header(&self, client: SocketAddr) -> bool {
        self.listen.accept_proxy_protocol.is_some() && is_in(self.listen.accept_proxy_protocol.as_deref(), client)
    }

    /// True if octets go where a firewall says they were meant for.
    pub fn is_intercepting(&self) -> bool {
        self.listen.mode != Mode::Forward
    }
}

/// `rule`'s fields, and `own` where it has none.
fn over(rule: &Side, own: &Side) -> Side {
    let own = own.clone();
    let rule = rule.clone();
    Side {
        congestion: rule.congestion.or(own.congestion),
        send_buffer: rule.send_buffer.or(own.send_buffer),
        receive_buffer: rule.receive_buffer.or(own.receive_buffer),
        window_clamp: rule.window_clamp.or(own.window_clamp),
        notsent_lowat: rule.notsent_lowat.or(own.notsent_lowat),
        pacing_rate: rule.pacing_rate.or(own.pacing_rate),
        keep_alive: rule.keep_alive.or(own.keep_alive),
        user_timeout: rule.user_timeout.or(own.user_timeout),
        dscp: rule.dscp.or(own.dscp),
        mss: rule.mss.or(own.mss),
        nodelay: rule.nodelay.or(own.nodelay),
    }
}

impl Rule {
    /// True if it is meant for a listener of this name.
    pub fn is_for(&self, listener: &str) -> bool {
        self.listeners.as_ref().is_none_or(|names| names.iter().any(|name| name == listener))
    }

    fn asks_for_server(&self) -> bool {
        self.to.is_some() || self.ports.is_some()
    }

    /// True if it fits all of a connection but its server name; a server that is not known fits.
    fn fits_but_for_name(&self, flow: &Flow<'_>, server: Option<SocketAddr>) -> bool {
        let has_port = |port: u16| self.ports.as_ref().is_none_or(|all| all.iter().any(|some| some.0.contains(&port)));
        is_in(self.from.as_deref(), flow.client)
            && server.is_none_or(|server| is_in(self.to.as_deref(), server) && has_port(server.port()))
            && self.near_rtt_from.is_none_or(|least| flow.near_rtt >= duration(least))
            && self.near_rtt_below.is_none_or(|most| flow.near_rtt < duration(most))
    }

    fn fits_name(&self, flow: &Flow<'_>) -> bool {
        let fits = |names: &Vec<kinds::ServerName>| flow.sni.is_some_and(|sni| names.iter().any(|name| name.fits(sni)));
        self.sni.as_ref().is_none_or(fits)
    }
}

fn is_in(networks: Option<&[kinds::Network]>, address: SocketAddr) -> bool {
    let address = address.ip().to_canonical();
    networks
        .is_none_or(|networks| networks.iter().any(|network: &kinds::Network| IpNet::contains(&network.0, &address)))
}

/// A duration of the configuration as one of the clock.
pub fn duration(duration: SimDuration) -> Duration {
    Duration::from_nanos(duration.0)
}

/// Addresses of names, by host and port as written.
pub type Known = BTreeMap<String, Vec<SocketAddr>>;

/// Reads a file; every mistake that is in it.
pub fn load(path: &Path) -> Result<Config, Vec<Diagnostic>> {
    load_again(path, &Known::new())
}

/// Reads a file; names that cannot be resolved have the addresses that are `known`.
pub fn load_again(path: &Path, known: &Known) -> Result<Config, Vec<Diagnostic>> {
    let name = path.display().to_string();
    let wrong = |message: &str, remedy: &str| Err(vec![of_file(&name, message, remedy)]);
    match read(path) {
        Ok(Some(text)) => parse_again(&name, &text, known),
        Ok(None) => wrong("is larger than 1 MiB", "name a configuration file"),
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
            wrong("is not a regular file", "name a configuration file")
        }
        Err(error) => wrong(&format!("cannot be read: {error}"), "name a file that can be read"),
    }
}

/// Text of a regular file; none if there is too much of it. A device may never end, and opening a FIFO may never return.
fn read(path: &Path) -> io::Result<Option<String>> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut text = String::new();
    std::fs::File::open(path)?.take(MOST + 1).read_to_string(&mut text)?;
    Ok((text.len() as u64 <= MOST).then_some(text))
}

/// Reads a text; every mistake that is in it.
pub fn parse(name: &str, text: &str) -> Result<Config, Vec<Diagnostic>> {
    parse_again(name, text, &Known::new())
}

/// Refusal of a field by this host, in the form of a mistake in the file; `text` may end with `; ` and a remedy.
pub fn refused(path: &Path, field: &str, text: &str) -> String {
    let (what, remedy) = text.split_once("; ").unwrap_or((text, ""));
    let mistake = Mistake::new(format!("is refused by this host: {what}"), remedy).within(field);
    let (name, written) = (path.display().to_string(), read(path).ok().flatten().unwrap_or_default());
    let source = Source::parse(&name, &written);
    source.map_or_else(|_| text.to_owned(), |(source, _)| source.of_mistake(&mistake).to_string())
}

fn parse_again(name: &str, text: &str, known: &Known) -> Result<Config, Vec<Diagnostic>> {
    let (source, table) = Source::parse(name, text)?;
    let part = File::part();
    let mut found = source.unknown_keys(&table, &part.fields, "");
    let reading = part.read(&table, &Context::default());
    let reviewed = review::review(reading.config, &table, reading.mistakes, known);
    let config = match reviewed {
        Ok(config) => Some(config),
        Err(mistakes) => {
            found.extend(mistakes.iter().map(|mistake| source.of_mistake(mistake)));
            None
        }
    };
    match config {
        Some(config) if found.is_empty() => Ok(config),
        _ => Err(in_order(found)),
    }
}

#[cfg(test)]
mod tests;

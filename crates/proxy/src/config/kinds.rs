//! Types of configuration fields beyond numbers and quantities: addresses, networks, ports, policies.

use std::fmt;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::str::FromStr;

use ackclock_declare::{Context, FieldInfo, Json, Mistake, Range, Table, Unordered, Value};
use ackclock_relay::{DisciplineConfig, buffer_policies};
use ipnet::{IpNet, Ipv4Net};
use serde_json::json;

use super::file::Upstream;

/// A value that is written as a text.
macro_rules! textual {
    ($type:ident: $wanted:literal, $example:literal, $inside:expr) => {
        impl Value for $type {
            ackclock_declare::without_range!();

            fn wanted() -> String {
                concat!($wanted, " as a string such as \"", $example, "\"").to_owned()
            }
            fn read(raw: &Json) -> Result<Self, String> {
                let read = raw.as_str().and_then(|text| text.parse().ok());
                read.ok_or_else(|| format!("must be {wanted}; write {wanted}", wanted = Self::wanted()))
            }
            fn write(&self) -> Json {
                self.to_string().into()
            }
            fn schema() -> Json {
                json!({ "type": "string", "examples": [$example] })
            }
            fn inside(_: &Range<Unordered>) -> Vec<Self> {
                $inside.iter().filter_map(|text: &&str| text.parse().ok()).collect()
            }
        }
    };
}

/// An address with a port to listen at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Address(pub SocketAddr);

impl FromStr for Address {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        text.parse().map(Self).map_err(drop)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

textual! { Address: "an address with a port", "127.0.0.1:8080", ["127.0.0.1:8080", "[::1]:1"] }

/// A server: a name or an address, with a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPort(pub String);

impl FromStr for HostPort {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (host, port) = text.rsplit_once(':').ok_or(())?;
        let is_named = !host.is_empty() && !host.contains(char::is_whitespace);
        let is_port = port.parse::<u16>().is_ok_and(|port| port > 0);
        (is_named && is_port).then(|| Self(text.to_owned())).ok_or(())
    }
}

impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

textual! { HostPort: "a host with a port", "10.0.0.2:80", ["10.0.0.2:80", "[fe80::1]:65535"] }

/// A server in a list: its host and port alone, or a table of its fields.
#[derive(Clone, Debug, PartialEq)]
pub struct Listed(pub Upstream);

impl Value for Listed {
    ackclock_declare::without_range!();

    fn wanted() -> String {
        format!("{}, or {}", HostPort::wanted(), Upstream::wanted())
    }

    fn read(raw: &Json) -> Result<Self, String> {
        let first = |mistakes: Vec<Mistake>| mistakes.into_iter().next().map_or_else(String::new, |one| one.message);
        Self::read_in(raw, &Context::default()).map_err(first)
    }

    fn read_in(raw: &Json, context: &Context) -> Result<Self, Vec<Mistake>> {
        if raw.is_object() {
            return Upstream::read_in(raw, context).map(Self);
        }
        let address = HostPort::read(raw).map_err(|_| {
            let wanted = Self::wanted();
            vec![Mistake::new(format!("must be {wanted}"), format!("write {wanted}"))]
        })?;
        Ok(Self(Upstream { address, ..Upstream::default() }))
    }

    fn write(&self) -> Json {
        let is_plain = self.0 == Upstream { address: self.0.address.clone(), ..Upstream::default() };
        if is_plain { self.0.address.write() } else { self.0.write() }
    }

    fn schema() -> Json {
        json!({ "anyOf": [HostPort::schema(), Upstream::schema()] })
    }

    fn item_fields() -> Vec<FieldInfo> {
        Upstream::item_fields()
    }

    fn inside(range: &Range<Unordered>) -> Vec<Self> {
        let plain = |address| Self(Upstream { address, ..Upstream::default() });
        let mut all: Vec<Self> = HostPort::inside(range).into_iter().map(plain).collect();
        all.extend(all.clone().into_iter().map(|Self(it)| Self(Upstream { weight: 3, drain: true, ..it })));
        all
    }
}

/// A server name of TLS, in lower case, or the names below a domain: `*.example.net`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerName(String);

impl ServerName {
    /// True if it stands for this name, which is in lower case.
    pub fn fits(&self, name: &str) -> bool {
        match self.0.strip_prefix('*') {
            Some(domain) => name.strip_suffix(domain).is_some_and(|label| !label.is_empty()),
            None => name == self.0,
        }
    }
}

impl FromStr for ServerName {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let name = text.to_ascii_lowercase();
        let is_of_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '-' || letter == '_';
        let is_label = |label: &str| !label.is_empty() && label.chars().all(is_of_name);
        let is_name = name.strip_prefix("*.").unwrap_or(&name).split('.').all(is_label);
        is_name.then_some(Self(name)).ok_or(())
    }
}

impl fmt::Display for ServerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

textual! { ServerName: "a server name in ASCII", "*.example.net", ["example.org", "*.example.net"] }

/// Addresses by their prefix; an address alone is a network of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network(pub IpNet);

impl FromStr for Network {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let network: Result<IpNet, ()> = text.parse().map_err(drop);
        network.or_else(|()| text.parse::<std::net::IpAddr>().map(IpNet::from).map_err(drop)).map(as_ipv4).map(Self)
    }
}

/// A network of IPv4-mapped addresses as one of IPv4: clients are known by those.
fn as_ipv4(network: IpNet) -> IpNet {
    let IpNet::V6(of) = network else { return network };
    let ipv4 = of.addr().to_ipv4_mapped().zip(of.prefix_len().checked_sub(96));
    ipv4.and_then(|(ip, bits)| Ipv4Net::new(ip, bits).ok()).map_or(network, IpNet::V4)
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

textual! { Network: "a network", "10.0.0.0/8", ["10.0.0.0/8", "::1"] }

/// A port, or the first and the last of a range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ports(pub RangeInclusive<u16>);

impl FromStr for Ports {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let port = |text: &str| text.trim().parse::<u16>().map_err(drop);
        let ports = port(first)?..=port(last)?;
        if ports.is_empty() { Err(()) } else { Ok(Self(ports)) }
    }
}

impl fmt::Display for Ports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.0.start(), self.0.end()) {
            (first, last) if first == last => write!(f, "{first}"),
            (first, last) => write!(f, "{first}-{last}"),
        }
    }
}

textual! { Ports: "a port, or a first and a last one", "8000-8999", ["443", "1-65535"] }

/// A network interface by its name. The kernel's rule: 1 to 15 octets, no `/`, no `:`, no blank; quotes and backslashes would
/// end or change the text in which nft reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface(pub String);

impl FromStr for Interface {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let is_odd = |letter: char| letter.is_whitespace() || letter.is_control() || "/:\"\\".contains(letter);
        let is_name = (1..16).contains(&text.len()) && ![".", ".."].contains(&text) && !text.contains(is_odd);
        is_name.then(|| Self(text.to_owned())).ok_or(())
    }
}

impl fmt::Display for Interface {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

textual! { Interface: "the name of a network interface", "eth0", ["eth0", "veth-proxy.4094"] }

/// A buffer policy by its name, or as a table of its kind and parameters.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Policy(pub DisciplineConfig, pub String);

impl Value for Policy {
    ackclock_declare::without_range!();

    fn wanted() -> String {
        let names = buffer_policies().names().join(", ");
        format!("a buffer policy by its name, or a table with its kind and parameters ({names})")
    }

    fn read(raw: &Json) -> Result<Self, String> {
        let first = |mistakes: Vec<Mistake>| mistakes.into_iter().next().map_or_else(String::new, |one| one.message);
        Self::read_in(raw, &Context::default()).map_err(first)
    }

    fn read_in(raw: &Json, context: &Context) -> Result<Self, Vec<Mistake>> {
        let unknown = || {
            let names = buffer_policies().names().join(", ");
            vec![Mistake::new("must be a buffer policy", format!("use one of {names}"))]
        };
        let empty = Table::new();
        let (name, table) = match raw {
            Json::String(name) => (name.as_str(), &empty),
            Json::Object(table) => (table.get("kind").and_then(Json::as_str).unwrap_or_default(), table),
            _ => return Err(unknown()),
        };
        let part = buffer_policies().find(name).ok_or_else(unknown)?;
        let is_known = |key: &String| key == "kind" || part.field_names().contains(&key.as_str());
        let strange = table.keys().filter(|key| !is_known(key));
        let remedy = || format!("use one of {}", part.field_names().join(", "));
        let mut mistakes: Vec<Mistake> =
            strange.map(|key| Mistake::new("is not a parameter of this policy", remedy()).within(key)).collect();
        let reading = part.read(table, context);
        mistakes.extend(reading.mistakes);
        if mistakes.is_empty() { Ok(Self(reading.config, name.to_owned())) } else { Err(mistakes) }
    }

    fn write(&self) -> Json {
        self.1.as_str().into()
    }

    fn schema() -> Json {
        json!({ "anyOf": [{ "enum": buffer_policies().names() }, { "type": "object" }] })
    }

    fn inside(_: &Range<Unordered>) -> Vec<Self> {
        buffer_policies().names().iter().filter_map(|name| Self::read(&(*name).into()).ok()).collect()
    }
}

//! `ackclock-kernel carry`: the network of a scenario between namespaces in which other programs run.
//!
//! Whoever wants a real program on a simulated path (a proxy, say, with its clients and servers) makes namespaces, gives each a place in
//! the scenario's network, and starts what they like in them. Devices and what is under way go with the process; the namespaces stay.

use std::fmt;
use std::io::{self, Write};
use std::net::Ipv4Addr;
use std::str::FromStr;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use ackclock_net::NodeId;
use ackclock_sim::SimulationConfig;
use ackclock_units::SimTime;

use crate::clock::WallClock;
use crate::device::Device;
use crate::emulator::{Carried, Carrier, Place};
use crate::namespace::Namespace;

/// The largest IP packet on any device: that of Ethernet.
const MTU: u16 = 1500;

/// Location of a host: `NODE=DEVICE@NAMESPACE:ADDRESS/BITS`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPlace {
    node: String,
    device: String,
    namespace: String,
    address: (Ipv4Addr, u8),
}

/// Mistake in the text of a [`HostPlace`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrongPlace(String);

impl fmt::Display for WrongPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: it is NODE=DEVICE@NAMESPACE:ADDRESS/BITS, such as L=wan0@client:10.91.0.1/24", self.0)
    }
}

impl std::error::Error for WrongPlace {}

impl FromStr for HostPlace {
    type Err = WrongPlace;

    fn from_str(text: &str) -> Result<Self, WrongPlace> {
        let without = |what: &str| WrongPlace(format!("{text:?} has no {what}"));
        let (node, rest) = text.split_once('=').ok_or_else(|| without("node"))?;
        let (device, rest) = rest.split_once('@').ok_or_else(|| without("device"))?;
        let (namespace, address) = rest.rsplit_once(':').ok_or_else(|| without("address"))?;
        let (address, bits) = address.split_once('/').ok_or_else(|| without("length of its network's prefix"))?;
        let wrong = |_| WrongPlace(format!("{address:?} is not an IPv4 address"));
        let address = address.parse().map_err(wrong)?;
        let bits = bits.parse().ok().filter(|bits| *bits <= 32);
        let bits = bits.ok_or_else(|| WrongPlace(format!("{text:?}: prefix length must be 0 to 32")))?;
        if device.is_empty() || device.len() > 15 || device.contains('/') {
            return Err(WrongPlace(format!("{device:?}: name of a device must have 1 to 15 letters")));
        }
        Ok(Self { node: node.into(), device: device.into(), namespace: namespace.into(), address: (address, bits) })
    }
}

/// Reason for which no packets were carried.
#[derive(Debug)]
pub enum Failure {
    /// A host cannot stand where it is said to.
    Wrong(String),
    /// A call to the kernel failed.
    Io(io::Error),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Carries packets between hosts for the requested time, or until `stop` is set. Writes a line to `told` once all
/// packets sent by the hosts are carried.
pub fn carry(
    config: &SimulationConfig,
    hosts: &[HostPlace],
    seconds: Option<f64>,
    (stop, told): (&AtomicBool, &mut impl Write),
) -> Result<Carried, Failure> {
    if hosts.len() < 2 {
        return Err(Failure::Wrong("a network needs at least two hosts; give --host twice".to_owned()));
    }
    if let Some(twice) = hosts
        .iter()
        .enumerate()
        .find_map(|(number, host)| hosts[..number].iter().find(|other| other.address.0 == host.address.0))
    {
        return Err(Failure::Wrong(format!("two hosts have the address {}: give each its own", twice.address.0)));
    }
    let places = hosts.iter().map(|host| place(config, host)).collect::<Result<Vec<Place>, Failure>>()?;
    let clock = WallClock::start();
    let carrier = Carrier::new(clock, config, places, MTU)?;
    writeln!(told, "carrying")?;
    told.flush()?;
    let until = seconds.map_or(SimTime::NEVER, |seconds| SimTime(Duration::from_secs_f64(seconds).as_nanos() as u64));
    Ok(carrier.run(until, stop)?)
}

fn place(config: &SimulationConfig, host: &HostPlace) -> Result<Place, Failure> {
    let nodes = &config.network.nodes;
    let node = nodes.iter().position(|node| node.name == host.node).ok_or_else(|| {
        let names: Vec<&str> = nodes.iter().map(|node| node.name.as_str()).collect();
        Failure::Wrong(format!("the scenario has no node {:?}; it has {}", host.node, names.join(", ")))
    })?;
    let namespace = Namespace::named(&host.namespace)?;
    let told =
        |error: io::Error| io::Error::new(error.kind(), format!("{} in {}: {error}", host.device, host.namespace));
    let device = Device::named(&namespace, &host.device, host.address, MTU).map_err(told)?;
    Ok(Place { node: NodeId::new(node), device })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A packet goes to the one host that has its destination address.
    #[test]
    fn two_hosts_of_one_address_are_refused() {
        let hosts = ["L=wan0@a:10.91.0.1/24", "R=wan0@b:10.91.0.1/16"].map(|text| text.parse().unwrap());
        let scenario = ackclock_scenario::Scenario::parse("duration = \"1 s\"\nflow = [{ name = \"a\" }]\n[topology]\nkind = \"dumbbell\"\n\
            access = { rate = \"1 Gbit/s\", delay = \"1 ms\" }\nbottleneck = { rate = \"1 Mbit/s\", delay = \"1 ms\" }\n",
            "<test>", &[]).unwrap();
        let failure = carry(scenario.config(), &hosts, None, (&AtomicBool::new(true), &mut Vec::new())).unwrap_err();
        assert!(matches!(&failure, Failure::Wrong(what) if what.contains("10.91.0.1")), "{failure:?}");
    }

    #[test]
    fn a_place_is_read_and_a_wrong_one_told_why() {
        let place: HostPlace = "L=wan0@/proc/7/ns/net:10.91.0.1/24".parse().unwrap();
        assert_eq!(
            (place.node.as_str(), place.device.as_str(), place.namespace.as_str()),
            ("L", "wan0", "/proc/7/ns/net")
        );
        assert_eq!(place.address, (Ipv4Addr::new(10, 91, 0, 1), 24));
        for (text, why) in [
            ("L", "no node"),
            ("L=wan0", "no device"),
            ("L=w@c", "no address"),
            ("L=w@c:10.0.0.1", "prefix"),
            ("L=w@c:10.0.0/8", "IPv4"),
            ("L=w@c:10.0.0.1/33", "0 to 32"),
            ("L=a-name-that-is-too-long@c:10.0.0.1/8", "15 letters"),
        ] {
            let told = text.parse::<HostPlace>().unwrap_err().to_string();
            assert!(told.contains(why), "{text}: {told}");
        }
    }
}

//! Captures on links and at hosts: their packets, times and identifications.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use ackclock_net::Direction;
use ackclock_scenario::Scenario;
use ackclock_sim::{Capture, CapturedPacket, Outcome, ParallelSimulation, Simulation, SimulationConfig};
use ackclock_units::SimTime;

/// A dumbbell with a file and its repairs on the bottleneck; the round trip is 24 ms without queues.
const SCENARIO: &str = r#"
name = "captured"
duration = "5 s"

[topology]
kind = "dumbbell"
access = { rate = "100 Mbit/s", delay = "1 ms" }
bottleneck = { rate = "10 Mbit/s", delay = "10 ms", queue = { kind = "drop_tail", limit = "8 packets" } LINK }

[tcp]
host_noise = "0 s"

[[flow]]
name = "a"
controller = "newreno"
app = { kind = "file", size = "300 kB" }
FLOW
"#;

fn parse(link: &str, flow: &str) -> SimulationConfig {
    let text = SCENARIO.replace(" LINK", link).replace("FLOW", flow);
    Scenario::parse(&text, "captured.toml", &[]).unwrap_or_else(|error| panic!("{error}")).config().clone()
}

pub(crate) fn run(link: &str, flow: &str) -> Outcome {
    Simulation::new(&parse(link, flow)).finish()
}

fn names<'a>(outcome: &'a Outcome) -> Vec<(&'a str, Vec<&'a str>)> {
    let names = |capture: &'a Capture| capture.interfaces.iter().map(String::as_str).collect();
    outcome.captures.iter().map(|capture| (capture.name.as_str(), names(capture))).collect()
}

fn packets(capture: &Capture) -> Vec<CapturedPacket> {
    capture.packets().map(|packet| packet.expect("the disk is there")).collect()
}

fn identification(packet: &CapturedPacket) -> u16 {
    u16::from_be_bytes([packet.headers[4], packet.headers[5]])
}

/// The direction of a packet: flows are opened from 10.0.0.0/8.
fn direction(packet: &CapturedPacket) -> Direction {
    if packet.addresses().source.ip().octets()[0] == 10 { Direction::Forward } else { Direction::Backward }
}

/// Address and port of the end that opened the packet's flow.
fn opener(packet: &CapturedPacket) -> String {
    let addresses = packet.addresses();
    let opener = if direction(packet) == Direction::Forward { addresses.source } else { addresses.destination };
    opener.to_string()
}

/// The packets of one direction, by identification.
fn by_identification(packets: &[CapturedPacket], way: Direction) -> BTreeMap<u16, &CapturedPacket> {
    packets.iter().filter(|packet| direction(packet) == way).map(|packet| (identification(packet), packet)).collect()
}

#[test]
fn a_link_is_captured_both_ways_in_one_file() {
    let both = vec![("bottleneck", vec!["bottleneck", "bottleneck.reverse"])];
    assert_eq!(names(&run(", capture = true", "")), both);
    let one = ", capture = true, reverse = { capture = false }";
    assert_eq!(names(&run(one, "")), [("bottleneck", vec!["bottleneck"])]);
    let back = ", reverse = { capture = true }";
    assert_eq!(names(&run(back, "")), [("bottleneck.reverse", vec!["bottleneck.reverse"])]);
}

#[test]
fn each_interface_has_its_direction_in_the_order_of_time() {
    let outcome = run(", capture = true", "");
    let packets = packets(&outcome.captures[0]);
    assert!(packets.is_sorted_by_key(|packet| packet.time));
    for packet in &packets {
        assert_eq!(packet.interface, u32::from(direction(packet) == Direction::Backward));
    }
    let links = &outcome.summary.links;
    let count = |interface| packets.iter().filter(|packet| packet.interface == interface).count() as u64;
    let passed = |name: &str| links.iter().find(|link| link.name == name).expect("it is there").delivered_packets;
    assert_eq!((count(0), count(1)), (passed("bottleneck"), passed("bottleneck.reverse")));
}

#[test]
fn a_host_sees_its_packets_leave_and_arrive() {
    let outcome = run("", "capture = true");
    let [capture] = &outcome.captures[..] else { panic!("one is captured") };
    assert_eq!((capture.name.as_str(), capture.interfaces.len()), ("flow a", 1));
    let packets = packets(capture);
    let [syn, answer, ..] = &packets[..] else { panic!("there is a handshake") };
    // The SYN leaves at once. Both are 60 octets (20 of IPv4, 20 of TCP, 20 of options), which take 4.8 us at 100 Mbit/s, 48 us at
    // 10 Mbit/s and 4.8 us again, and 12 ms; there and back.
    assert_eq!((syn.time, syn.len, answer.len), (SimTime::ZERO, 60, 60));
    assert_eq!(answer.time, SimTime(2 * (12_000_000 + 57_600)));
    assert_eq!((direction(syn), direction(answer)), (Direction::Forward, Direction::Backward));
    assert!(packets.is_sorted_by_key(|packet| packet.time));
}

#[test]
fn a_packet_has_one_identification_wherever_it_is_captured() {
    let outcome = run(", capture = true", "capture = true");
    let [link, host] = &outcome.captures[..] else { panic!("two are captured") };
    let [link, host] = [link, host].map(packets);
    for way in Direction::BOTH {
        let (at_link, at_host) = (by_identification(&link, way), by_identification(&host, way));
        let ids: Vec<u16> = at_host.keys().copied().collect();
        // An end counts what it sends. Of the sender every packet is there, of the receiver every one that was not lost.
        assert_eq!(ids.len(), host.iter().filter(|packet| direction(packet) == way).count());
        assert_eq!(ids, (0..ids.len() as u16).collect::<Vec<_>>());
        for (id, packet) in &at_link {
            let same = at_host[id];
            assert_eq!((same.len, &same.headers), (packet.len, &packet.headers));
            assert!(if way == Direction::Forward { same.time < packet.time } else { same.time > packet.time });
        }
        // The bottleneck's queue drops some of what the sender sent; none of the ACKs.
        let is_lossy = way == Direction::Forward;
        assert_eq!(at_link.len() < at_host.len(), is_lossy, "{} of {}", at_link.len(), at_host.len());
    }
    let [at_link, at_host] = [link, host].map(|packets| by_identification(&packets, Direction::Forward).len() as u64);
    assert_eq!(at_host - at_link, outcome.summary.links[0].drops);
}

#[test]
fn looking_changes_nothing() {
    let (watched, plain) = (run(", capture = true", "capture = true"), run("", ""));
    assert_eq!(format!("{:?}", watched.summary), format!("{:?}", plain.summary));
    assert!(plain.captures.is_empty());
}

#[test]
fn several_cores_capture_the_same() {
    let config = parse(", capture = true", "capture = true");
    let parallel = ParallelSimulation::new(&config, NonZeroUsize::new(2).unwrap()).finish();
    let text = |outcome: &Outcome| -> Vec<Vec<u8>> {
        let mut files = Vec::new();
        for capture in &outcome.captures {
            let mut file = Vec::new();
            ackclock_sim::write_pcapng(capture, &mut file).unwrap();
            files.push(file);
        }
        files
    };
    assert_eq!(text(&parallel), text(&Simulation::new(&config).finish()));
}

#[test]
fn short_flows_and_datagrams_are_captured_at_their_hosts() {
    let short = r#"
capture = true
[[flow]]
name = "short"
capture = true
arrivals = { rate = "20 /s", size = "3 kB", count = 5 }
[[flow]]
name = "voice"
capture = true
protocol = { kind = "udp", payload = "160 B" }
app = { kind = "cbr", rate = "64 kbit/s" }
"#;
    let outcome = run("", short);
    let of =
        |name: &str| packets(outcome.captures.iter().find(|capture| capture.name == name).expect("it is captured"));
    let flows: std::collections::BTreeSet<_> = of("flow short").iter().map(opener).collect();
    assert_eq!(flows.len(), 5);
    assert!(of("flow voice").iter().all(|packet| packet.headers[9] == 17)); // UDP
    assert!(!of("flow voice").is_empty());
    assert!(of("flow a").iter().all(|packet| opener(packet) == "10.0.0.1:40000"));
}

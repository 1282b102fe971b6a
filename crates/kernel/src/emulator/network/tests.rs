use super::*;
use ackclock_scenario::Scenario;
use ackclock_wire::Ecn;

use crate::emulator::packet::{Side, read};

/// Two hosts, a router between them; the first link is as fast as nothing, the second is the bottleneck: 12 Mbit/s, 5 ms.
fn network(bottleneck: &str) -> Network {
    network_with(bottleneck, "")
}

fn network_with(bottleneck: &str, more: &str) -> Network {
    network_behind("100 Tbit/s", bottleneck, more)
}

fn network_behind(access: &str, bottleneck: &str, more: &str) -> Network {
    let text = format!(
        r#"
        duration = "10 s"
        [topology]
        kind = "dumbbell"
        access = {{ rate = "{access}", delay = "0 s", queue = {{ kind = "drop_tail", limit = "unlimited" }} }}
        bottleneck = {{ rate = "12 Mbit/s", delay = "5 ms", {bottleneck} }}
        [[flow]]
        name = "a"
        controller = "cubic"
        {more}
        "#
    );
    let scenario = Scenario::parse(&text, "network.toml", &[]).expect("a right scenario");
    Network::new(scenario.config())
}

/// A datagram of 1500 octets from the opener to the acceptor of the first connection, with ECT(0).
fn octets(mark: u8) -> Vec<u8> {
    let mut octets = vec![mark; 1_500];
    octets[..20].copy_from_slice(&[0x45, 2, 0x05, 0xdc, 0, 0, 0x40, 0, 64, 17, 0, 0, 10, 77, 0, 1, 10, 77, 128, 1]);
    octets[20..28].copy_from_slice(&[0x9c, 0x40, 0x10, 0x00, 0x05, 0xc8, 0, 0]);
    octets
}

type Arrivals = Vec<(u64, u8, Ecn)>;

fn sent(network: &mut Network, times_us: &[u64]) -> Arrivals {
    let mut arrived = Vec::new();
    let mut keep = |delivered: Delivered<'_>| {
        assert_eq!(delivered.octets.len(), 1_500);
        arrived.push((delivered.due.0 / 1_000, delivered.octets[1_499], Ecn::of_bits(delivered.octets[1])));
    };
    for (number, time) in times_us.iter().enumerate() {
        let now = SimTime(time * 1_000);
        network.run_until(now, &mut keep);
        let octets = octets(number as u8);
        let packet = read(&octets, Side::Openers, now).expect("a datagram of ours");
        network.enter(packet, &octets);
    }
    network.run_until(SimTime(9_000_000_000), &mut keep);
    assert_eq!(network.under_way(), 0, "every packet's bytes are given back");
    arrived
}

#[test]
fn packets_arrive_when_their_links_say_however_late_it_is_worked_out() {
    // 1500 octets at 12 Mbit/s take 1 ms, then 5 ms of delay; the second waits for the first, the third does not.
    let mut network = network("");
    let expected = vec![(6_000, 0, Ecn::Ect0), (7_000, 1, Ecn::Ect0), (16_000, 2, Ecn::Ect0)];
    assert_eq!(sent(&mut network, &[0, 100, 10_000]), expected);
}

#[test]
fn a_link_changes_on_the_way() {
    // Half the rate from 20 ms on: 1500 octets take 2 ms then, and 2 ms of delay more.
    let mut network =
        network_with("", "[[change]]\nlink = \"bottleneck\"\nat = \"20 ms\"\nrate = \"6 Mbit/s\"\ndelay = \"7 ms\"\n");
    let expected = vec![(6_000, 0, Ecn::Ect0), (39_000, 1, Ecn::Ect0), (41_000, 2, Ecn::Ect0)];
    assert_eq!(sent(&mut network, &[0, 30_000, 30_000]), expected);
}

#[test]
fn a_full_queue_drops_and_gives_the_bytes_back() {
    let mut network = network("queue = { kind = \"drop_tail\", limit = \"2 packets\" }");
    let arrived = sent(&mut network, &[0, 0, 0, 0, 0]);
    assert_eq!(arrived.iter().map(|packet| packet.1).collect::<Vec<_>>(), [0, 1, 2], "one in service, two wait");
    let (links, _) = network.finish();
    assert_eq!(links.iter().map(|link| link.drops).sum::<u64>(), 2);
}

#[test]
fn a_queue_that_is_served_drops_marks_and_gives_the_bytes_back() {
    // One in service, three wait; the fourth finds two waiting, which is more than one.
    let mut network = network("queue = { kind = \"threshold\", threshold = \"1 packets\", limit = \"3 packets\" }");
    let arrived = sent(&mut network, &[0, 0, 0, 0, 0, 0]);
    let seen: Vec<(u8, Ecn)> = arrived.iter().map(|packet| (packet.1, packet.2)).collect();
    assert_eq!(seen, [(0, Ecn::Ect0), (1, Ecn::Ect0), (2, Ecn::Ect0), (3, Ecn::Ce)]);
    let (links, _) = network.finish();
    let counts = links.iter().fold((0, 0), |(marks, drops), link| (marks + link.marks, drops + link.drops));
    assert_eq!(counts, (1, 2));
}

#[test]
fn a_packet_that_comes_as_a_service_ends_finds_the_place_that_it_frees() {
    // A packet takes 0.5 ms, 1 ms, and 0.5 ms again: the third comes at 1.5 ms, when the second, the only one that may wait, begins its service.
    let mut network = network_behind("24 Mbit/s", "queue = { kind = \"drr\", limit = \"1 packets\" }", "");
    let expected = vec![(7_000, 0, Ecn::Ect0), (8_000, 1, Ecn::Ect0), (9_000, 2, Ecn::Ect0)];
    assert_eq!(sent(&mut network, &[0, 0, 0]), expected);
}

#[test]
fn a_copy_arrives_with_the_same_bytes() {
    let mut network = network("duplicate = 1.0");
    let arrived = sent(&mut network, &[0, 10_000]);
    let seen: Vec<(u64, u8)> = arrived.iter().map(|packet| (packet.0, packet.1)).collect();
    assert_eq!(seen, [(6_000, 0), (6_000, 0), (16_000, 1), (16_000, 1)]);
}

#[test]
fn lost_packets_give_their_bytes_back() {
    let mut network = network("loss = { kind = \"random\", p = 1.0 }");
    assert_eq!(sent(&mut network, &[0, 1, 2]), []);
}

//! Two endpoints on a wire that delays, loses and reorders packets as a test demands.

use std::collections::BTreeMap;

use ackclock_cc::{CongestionController, ControllerConfig, RenoConfig};

use super::*;
use crate::config::AckFrequency;

const MS: u64 = 1_000_000;

/// Delay in one direction.
const DELAY: u64 = 50 * MS;

type Queue = BTreeMap<(u64, usize), (bool, QuicPacket, Vec<AckRange>)>;

struct Wire {
    now: u64,
    /// The endpoints: client, then server.
    ends: [QuicEndpoint; 2],
    on_way: Queue,
    /// Every packet by the time at which it left, and whether the client sent it.
    sent: Vec<(u64, bool, QuicPacket)>,
    /// Extra delay of the client's n-th packet; `None` loses it.
    extra: fn(usize, &QuicPacket) -> Option<u64>,
    /// Packets that are lost, of either end, by their place in `sent`: a bit each.
    lost: u64,
}

impl Wire {
    fn unopened(config: QuicConfig, extra: fn(usize, &QuicPacket) -> Option<u64>) -> Self {
        let reno = ControllerConfig::Reno(RenoConfig::default());
        let mut ends = [QuicEndpoint::new(config, &reno), QuicEndpoint::new(config, &reno)];
        ends[1].listen();
        Self { now: 0, ends, on_way: Queue::new(), sent: Vec::new(), extra, lost: 0 }
    }

    /// A connection that carries `octets` and is then closed, after `milliseconds`.
    fn transfer(
        config: QuicConfig,
        octets: u64,
        milliseconds: u64,
        extra: fn(usize, &QuicPacket) -> Option<u64>,
    ) -> Self {
        let mut wire = Self::unopened(config, extra);
        wire.open_and_write(octets, milliseconds);
        wire
    }

    fn open_and_write(&mut self, octets: u64, milliseconds: u64) {
        self.call(0, QuicEndpoint::connect);
        self.call(0, |client, now, out| {
            client.write(now, Bytes(octets), out);
            client.close(now, out);
        });
        self.run(milliseconds);
    }

    fn call(
        &mut self,
        end: usize,
        call: impl FnOnce(&mut QuicEndpoint, SimTime, &mut Vec<(QuicPacket, Vec<AckRange>)>),
    ) {
        let mut out = Vec::new();
        call(&mut self.ends[end], SimTime(self.now), &mut out);
        for (packet, further) in out {
            let count = self.sent.iter().filter(|(_, is_client, _)| *is_client).count();
            let is_lost = self.sent.len() < 64 && self.lost >> self.sent.len() & 1 != 0;
            let extra = if end == 0 { (self.extra)(count, &packet) } else { Some(0) };
            self.sent.push((self.now, end == 0, packet));
            if let Some(extra) = extra.filter(|_| !is_lost) {
                self.on_way.insert((self.now + DELAY + extra, self.sent.len()), (end == 0, packet, further));
            }
        }
    }

    fn run(&mut self, milliseconds: u64) {
        loop {
            let timers = [self.ends[0].deadline().0, self.ends[1].deadline().0];
            let arrival = self.on_way.first_key_value().map_or(u64::MAX, |(key, _)| key.0);
            let next = arrival.min(timers[0]).min(timers[1]);
            if next > milliseconds * MS {
                return;
            }
            self.now = self.now.max(next);
            if arrival == next {
                let (_, (to_server, packet, further)) = self.on_way.pop_first().expect("it is there");
                self.call(usize::from(to_server), |end, now, out| end.on_packet(now, &packet, &further, out));
            } else {
                self.call(usize::from(timers[1] == next), QuicEndpoint::on_timer);
            }
        }
    }

    fn times(&self, is_client: bool, frames: QuicFrames) -> Vec<u64> {
        let those = self.sent.iter().filter(|(_, client, packet)| *client == is_client && packet.frames.has(frames));
        those.map(|(time, ..)| time / MS).collect()
    }
}

#[test]
fn a_lost_initial_is_sent_again_after_999_ms_and_then_twice_that() {
    // RFC 9002 section 6.2.2: 333 + 4 * 166.5 ms; section 6.2.4: two probes each time.
    let wire = Wire::transfer(QuicConfig::default(), 10_000, 8_000, |number, _| (number > 2).then_some(0));
    assert_eq!(wire.times(true, QuicFrames::CRYPTO), [0, 999, 999 + 1_998, 999 + 1_998 + 3_996]);
    assert!(wire.ends[1].is_peer_finished());
}

#[test]
fn a_lost_tail_is_probed_for_after_the_probe_timeout() {
    // Ten packets leave at 100 ms; the last is number 10 of the client's, behind the Initial.
    let wire = Wire::transfer(QuicConfig::default(), 14_000, 1_000, |number, _| (number != 10).then_some(0));
    // RTT 100 ms by the Initial; the ACKs of the rest come at 200 ms: five samples of 100 ms: rttvar 50 * (3/4)^5 = 11.87 ms.
    // PTO 100 + 4 * 11.87 + 25 ms after the last packet left at 100 ms.
    let data = wire.times(true, QuicFrames::STREAM);
    assert_eq!((data.len(), data[9]), (11, 100), "{data:?}");
    assert_eq!(data[10], 100 + 172, "{data:?}");
    assert!(wire.ends[1].is_peer_finished());
    assert_eq!(wire.ends[0].counters().timeouts, 1);
    // The probe is no congestion; its ACK shows that the packet of 100 ms is lost, which is. An application that writes no more
    // does not let the window grow (section 7.8).
    assert_eq!(wire.ends[0].cwnd(), Bytes(14_720 / 2));
}

#[test]
fn all_losses_of_a_flight_are_one_congestion_event() {
    // The initial window of ten, of which five are lost: all are known at once, and sent again in the round trip that follows.
    let wire = Wire::transfer(QuicConfig::default(), 14_000, 1_000, |number, _| {
        (![1, 3, 4, 6, 7].contains(&number)).then_some(0)
    });
    let client = &wire.ends[0];
    assert_eq!((client.counters().fast_recoveries, client.counters().timeouts), (1, 0));
    assert_eq!((client.counters().retransmitted_segments, client.counters().lost_octets), (5, 5 * 1_472));
    assert_eq!(client.cwnd(), Bytes(14_720 / 2));
    assert!(wire.ends[1].is_peer_finished());
}

/// The extra delay of packets that leave at once and arrive one after the other: the second after the `last`.
fn behind(number: usize, last: usize) -> u64 {
    if number == 2 { last as u64 * MS + MS / 2 } else { number as u64 * MS }
}

#[test]
fn four_packets_of_reordering_look_like_a_loss_and_three_do_not() {
    // RFC 9002 section 6.1.1: kPacketThreshold is 3. Packet 2 comes behind packets 3 and 4, or behind all.
    let spurious = |extra| {
        let wire = Wire::transfer(QuicConfig::default(), 14_000, 1_000, extra);
        let counters = wire.ends[0].counters();
        (counters.retransmitted_segments, counters.reorderings)
    };
    assert_eq!(spurious(|number, _| Some(behind(number, 4))), (0, 0));
    assert_eq!(spurious(|number, _| Some(behind(number, 20))), (1, 1));
}

#[test]
fn a_long_outage_is_persistent_congestion() {
    // Everything that leaves after 450 ms is lost for seconds: more than 3 * (100 + 4 * rttvar + 25) ms, of which probes tell.
    let mut wire = Wire::transfer(QuicConfig::default(), 10_000_000, 450, |_, _| Some(0));
    wire.extra = |_, _| None;
    wire.run(600);
    let window = wire.ends[0].cwnd();
    wire.run(4_000);
    assert_eq!(wire.ends[0].cwnd(), window); // nothing has been heard, and nothing is known to be lost
    wire.extra = |_, _| Some(0);
    let before = wire.now / MS;
    while wire.ends[0].cwnd() == window {
        wire.run(wire.now / MS + 10);
        assert!(wire.now / MS < before + 20_000, "a probe is answered");
        wire.now = wire.now.max(wire.ends[0].deadline().0.min(wire.now + 10 * MS));
    }
    // Section 7.6.2: two datagrams; and one for the probe that is acknowledged, by slow start: appendix B.8 leaves no recovery
    // period, and appendix A.7 takes losses in before what has arrived.
    assert_eq!(wire.ends[0].cwnd(), Bytes(2 * 1_472 + 1_472));
    assert!(wire.ends[0].controller().ssthresh().is_some_and(|ssthresh| ssthresh == Bytes(window.0 / 2)));
}

#[test]
fn the_least_round_trip_begins_anew_after_persistent_congestion() {
    // RFC 9002 section 5.2: min_rtt is then the newest sample. The path is 30 ms longer from the client after an outage of seconds.
    let mut wire = Wire::transfer(QuicConfig::default(), 10_000_000, 450, |_, _| Some(0));
    assert_eq!(wire.ends[0].rtt().min_rtt, SimDuration(2 * DELAY));
    wire.extra = |_, _| None;
    wire.run(4_000);
    wire.extra = |_, _| Some(30 * MS);
    wire.run(12_000);
    let least = wire.ends[0].rtt().min_rtt;
    assert!((2 * DELAY + 30 * MS..2 * DELAY + 60 * MS).contains(&least.0), "{least:?}");
}

#[test]
fn acks_are_as_frequent_as_the_sender_asks() {
    let acks = |packets: Option<u8>| {
        let ack_frequency = packets.map(|packets| AckFrequency { packets, ..AckFrequency::default() });
        let config = QuicConfig { ack_frequency, ..QuicConfig::default() };
        let wire = Wire::transfer(config, 4_000_000, 5_000, |_, _| Some(0));
        assert!(wire.ends[1].is_peer_finished());
        let data = wire.times(true, QuicFrames::STREAM).len() as f64;
        data / wire.times(false, QuicFrames::ACK).len() as f64
    };
    // Beside these there are those that the maximal delay lets go at the end of a round trip's packets.
    let (every_second, every_tenth) = (acks(None), acks(Some(10)));
    assert!((1.8..=2.0).contains(&every_second), "{every_second}");
    assert!((8.0..=10.0).contains(&every_tenth), "{every_tenth}");
}

#[test]
fn a_full_packet_has_1439_octets_of_data_where_offsets_take_four() {
    let wire = Wire::transfer(QuicConfig::default(), 200_000, 1_000, |_, _| Some(0));
    let data = wire.sent.iter().filter(|(.., packet)| packet.frames == QuicFrames::STREAM);
    let full =
        data.filter(|(.., packet)| packet.offset > 0x3fff && packet.len == 1_472).map(|(.., packet)| packet.payload);
    // 1472 - (1 + 8 + 2 + 16) of header and tag - (1 + 1 + 4) of the frame.
    assert!(full.clone().count() > 50 && full.clone().all(|payload| payload == 1_439), "{:?}", full.max());
}

#[test]
fn no_more_leaves_than_the_peer_has_room_for() {
    // 5 packets' worth a round trip of 100 ms, opened by halves.
    let config = QuicConfig { receive_window: Bytes(7_000), ..QuicConfig::default() };
    let wire = Wire::transfer(config, 1_000_000, 10_000, |_, _| Some(0));
    let received = wire.ends[1].received().0;
    // Between 100 ms and 10 s there are 99 round trips: 7000 octets in each at most, 3500 at least.
    assert!((99 * 3_500..=99 * 7_000).contains(&received), "{received}");
    assert!(!wire.times(false, QuicFrames::MAX_DATA).is_empty());
    assert_eq!(wire.ends[0].counters().timeouts, 0);
}

#[test]
fn every_octet_arrives_whatever_is_lost_of_the_first_packets() {
    // The handshake's are among them. Streams of an octet, of full packets (1440 octets at small offsets), and of more than the initial
    // window. Nine losses in a row back the probe timeout off to minutes.
    for octets in [1, 1_440, 2 * 1_440, 30_000] {
        for lost in 0..1 << 9 {
            let mut wire = Wire { lost, ..Wire::unopened(QuicConfig::default(), |_, _| Some(0)) };
            wire.open_and_write(octets, 1_200_000);
            let [client, server] = &wire.ends;
            assert_eq!(server.received(), Bytes(octets), "losses {lost:b}");
            assert!(server.is_peer_finished() && client.in_flight() == Bytes(0), "losses {lost:b} of {octets} octets");
        }
    }
}

//! Completion time of a flow on an empty path: its slowdown is its completion time divided by this.
//!
//! The handshake's round trip, then every data packet back to back at the pace of the slowest link, store and forward:
//! no window, no loss, no other traffic. That is the "ideal" or "optimal" completion time of pFabric (Alizadeh et al.,
//! SIGCOMM 2013, section 5) with a handshake. Slow start makes a flow of more than its initial window slower than that
//! even on an empty path.
//!
//! Where a link changes, by its schedule or at a time of the scenario, the empty path has its least delay and its
//! highest rate. A trace counts with its mean rate. A short flow may exceed that in a burst of opportunities; its data
//! may also pass the ACK ahead of it in a queue of several bands, or lack it behind a discarder. The ideal of such a
//! flow is its own time.

use std::sync::Arc;

use ackclock_cc::{ControllerConfig, RenoConfig};
use ackclock_net::{LinkConfig, LinkId, NetworkConfig};
use ackclock_tcp::{Endpoint, Reading};
use ackclock_units::{Bandwidth, Bytes, SimDuration, SimTime};
use ackclock_wire::Segment;
use smallvec::{SmallVec, smallvec};

use crate::config::FlowConfig;

/// A time for each link; few paths have more.
type Row = SmallVec<[f64; 8]>;

/// A model of an empty path.
#[derive(Clone, Debug)]
pub struct EmptyPath {
    forward: OneWay,
    backward: OneWay,
    /// The time of the SYN there and the SYN-ACK back, ns.
    handshake: f64,
    /// Octets of the ACK that leaves before the first data.
    ack: u64,
    mss: [u64; 2],
}

/// The links in one direction.
#[derive(Clone, Debug)]
struct OneWay {
    /// For each link, the nanoseconds of an octet, and the octets of its framing.
    links: Vec<(f64, u64)>,
    delay: f64,
    /// True if data may be faster than the model: a served link, where it may pass the ACK or find a burst of
    /// opportunities, or a discarder, which may have taken the ACK.
    may_be_faster: bool,
}

impl EmptyPath {
    /// The path of `flow` over the links with these numbers.
    pub fn new(flow: &FlowConfig, network: &NetworkConfig, forward: &[LinkId], backward: &[LinkId]) -> Self {
        let opening = Opening::of(flow);
        let (forward, backward) = (OneWay::new(network, forward), OneWay::new(network, backward));
        let handshake = forward.alone(opening.syn) + backward.alone(opening.syn_ack);
        Self { forward, backward, handshake, ack: opening.ack, mss: opening.mss }
    }

    /// The time on the empty path from the SYN to the last octet, for a flow that took `time`. The flow has `size`
    /// octets there and then `reply` octets back.
    pub fn completion(&self, size: Bytes, reply: Bytes, time: SimDuration) -> SimDuration {
        let there = self.data(&self.forward, self.mss[0], size, self.ack);
        let back = self.data(&self.backward, self.mss[1], reply, 0);
        self.bounded(self.handshake + there + back, time)
    }

    /// The time on the empty path from the first octet of a request to the last of the response, on an open connection.
    /// The exchange itself took `time`.
    pub fn exchange(&self, request: Bytes, response: Bytes, time: SimDuration) -> SimDuration {
        let there = self.data(&self.forward, self.mss[0], request, 0);
        let back = self.data(&self.backward, self.mss[1], response, 0);
        self.bounded(there + back, time)
    }

    fn bounded(&self, ideal: f64, time: SimDuration) -> SimDuration {
        let ideal = SimDuration(ideal as u64);
        if self.forward.may_be_faster || self.backward.may_be_faster { ideal.min(time) } else { ideal }
    }

    /// The time of `size` octets behind a packet of `before` octets.
    fn data(&self, way: &OneWay, mss: u64, size: Bytes, before: u64) -> f64 {
        if size == Bytes::ZERO {
            return 0.0;
        }
        let count = size.0.div_ceil(mss);
        let last = size.0 - (count - 1) * mss;
        // A data packet carries what an ACK does, and its payload.
        way.transfer(before, mss + self.ack, count, last + self.ack)
    }
}

impl OneWay {
    fn new(network: &NetworkConfig, path: &[LinkId]) -> Self {
        let pace = |link: LinkId| (8e9 / highest_rate(network, link).0 as f64, network.link(link).framing.0);
        Self {
            links: path.iter().map(|&link| pace(link)).collect(),
            delay: path.iter().map(|&link| least_delay(network, link).0 as f64).sum(),
            may_be_faster: path.iter().map(|&link| network.link(link)).any(may_be_faster),
        }
    }

    /// The time at which a single packet is at the far end.
    fn alone(&self, octets: u64) -> f64 {
        self.transfer(0, octets, 1, octets)
    }

    /// Time at which the last of `count` packets that leave back to back is at the far end: all but the last have
    /// `full` octets, the last has `last`. A packet of `before` octets leaves ahead of them, if that is not 0.
    ///
    /// A packet leaves a link after its own arrival there, and after the packet before it. So the last leaves at the
    /// end of the longest way through the table of packets and links.
    fn transfer(&self, before: u64, full: u64, count: u64, last: u64) -> f64 {
        let times = |octets: u64| -> Row {
            let time = |(pace, framing): &(f64, u64)| if octets == 0 { 0.0 } else { pace * (octets + framing) as f64 };
            self.links.iter().map(time).collect()
        };
        let mut left = follow(&smallvec![0.0; self.links.len()], &times(before));
        if count > 1 {
            let full = times(full);
            left = follow(&left, &full);
            left = repeat(&left, &full, count - 2);
        }
        follow(&left, &times(last)).last().map_or(0.0, |end| end + self.delay)
    }
}

fn may_be_faster(link: &LinkConfig) -> bool {
    link.is_served() || link.discarder.is_some()
}

/// The highest rate that a link ever has.
pub(crate) fn highest_rate(network: &NetworkConfig, id: LinkId) -> Bandwidth {
    let changed = network.changes.iter().filter(|change| change.link == id).filter_map(|change| change.rate);
    changed.fold(network.link(id).rate, Bandwidth::max)
}

/// The least delay that a link ever has.
pub(crate) fn least_delay(network: &NetworkConfig, id: LinkId) -> SimDuration {
    let link = network.link(id);
    let of_schedule = link.channel.as_ref().and_then(|channel| channel.delay.values().min()).unwrap_or(link.delay);
    let changed = network.changes.iter().filter(|change| change.link == id).filter_map(|change| change.delay);
    changed.fold(of_schedule, SimDuration::min)
}

/// Times at which a packet that takes `times` leaves each link, after one that `left` them then.
fn follow(left: &Row, times: &Row) -> Row {
    let mut here = 0.0_f64;
    let leave = |(left, time): (&f64, &f64)| {
        here = here.max(*left) + time;
        here
    };
    left.iter().zip(times).map(leave).collect()
}

/// Times at which the last of `more` further packets leaves each link; each takes `times`, after one that `left` them
/// then. The way turns from the first packet's row at one link, and goes down through the rows where that takes
/// longest.
fn repeat(left: &Row, times: &Row, more: u64) -> Row {
    if more == 0 {
        return left.clone();
    }
    let leave = |link: usize| {
        let mut longest = 0.0_f64;
        let (mut across, mut slowest) = (0.0, 0.0_f64);
        for turn in (0..=link).rev() {
            slowest = slowest.max(times[turn]);
            longest = longest.max(left[turn] + across + more as f64 * slowest);
            across += times[turn];
        }
        longest
    };
    (0..times.len()).map(leave).collect()
}

/// Sizes of the packets that open a connection of these ends, and what they agree on.
struct Opening {
    syn: u64,
    syn_ack: u64,
    ack: u64,
    mss: [u64; 2],
}

impl Opening {
    /// Lets two endpoints open a connection, and records their packets.
    fn of(flow: &FlowConfig) -> Self {
        // A controller has no part in it.
        let controller = ControllerConfig::Reno(RenoConfig::default());
        let mut opener = Endpoint::new(Arc::clone(&flow.sender), &controller, Reading::AtOnce);
        let mut acceptor = Endpoint::new(Arc::clone(&flow.receiver), &controller, Reading::AtOnce);
        acceptor.listen();
        let (mut there, mut back): (Vec<Segment>, Vec<Segment>) = (Vec::new(), Vec::new());
        opener.connect(SimTime::ZERO, &mut there);
        let syn = there.pop().expect("opening sends a SYN");
        acceptor.on_segment(SimTime::ZERO, &syn, &mut back);
        let syn_ack = back.pop().expect("a listener answers a SYN");
        opener.on_segment(SimTime::ZERO, &syn_ack, &mut there);
        let ack = there.pop().expect("a SYN-ACK is acknowledged");
        let octets = |segment: &Segment| u64::from(segment.ip_len());
        Self {
            syn: octets(&syn),
            syn_ack: octets(&syn_ack),
            ack: octets(&ack),
            mss: [u64::from(opener.mss()), u64::from(acceptor.mss())],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::{test_flow, test_link};

    fn path(rates: &[u64]) -> OneWay {
        let links: Vec<LinkConfig> = rates.iter().map(|rate| test_link(*rate, SimDuration::from_millis(1))).collect();
        let network = NetworkConfig { links, ..NetworkConfig::default() };
        OneWay::new(&network, &(0..rates.len()).map(LinkId::new).collect::<Vec<_>>())
    }

    #[test]
    fn packets_follow_each_other_at_the_pace_of_the_slowest_link() {
        // 1500 B take 1 ms at 12 Mbit/s, 0.5 ms at 24 Mbit/s; 2 ms of propagation.
        let ms = |nanoseconds: f64| nanoseconds / 1e6;
        assert!((ms(path(&[12_000_000, 24_000_000]).alone(1_500)) - 3.5).abs() < 1e-9);
        assert!((ms(path(&[12_000_000, 24_000_000]).transfer(0, 1_500, 10, 1_500)) - 12.5).abs() < 1e-9);
        assert!((ms(path(&[24_000_000, 12_000_000]).transfer(0, 1_500, 10, 1_500)) - 12.5).abs() < 1e-9);
    }

    #[test]
    fn a_link_that_changes_is_at_its_best() {
        use ackclock_net::{ChannelConfig, LinkChange, Schedule};
        let ms = SimDuration::from_millis;
        let mut link = test_link(12_000_000, ms(30));
        let delay = Schedule::new(vec![(SimDuration::ZERO, ms(30)), (ms(500), ms(2)), (ms(900), ms(5))], None);
        link.channel = Some(Box::new(ChannelConfig { delay, ..ChannelConfig::constant(link.rate, link.delay) }));
        let mut network = NetworkConfig { links: vec![link], ..NetworkConfig::default() };
        let alone = |network: &NetworkConfig| OneWay::new(network, &[LinkId::new(0)]).alone(1_500) / 1e6;
        // 1500 B take 1 ms, and 2 ms is the least delay
        assert!((alone(&network) - 3.0).abs() < 1e-9);
        // changed to 24 Mbit/s at one time, to nothing and to 1 ms of delay at another: 0.5 ms and 1 ms
        let change = LinkChange {
            at: SimTime(1),
            link: LinkId::new(0),
            rate: Some(Bandwidth(24_000_000)),
            delay: None,
            loss: None,
            limit: None,
        };
        let outage = LinkChange { rate: Some(Bandwidth(0)), delay: Some(ms(1)), ..change };
        let another = LinkChange { link: LinkId::new(1), rate: Some(Bandwidth(1 << 40)), ..change };
        network.changes = vec![change, outage, another];
        assert!((alone(&network) - 1.5).abs() < 1e-9);
    }

    #[test]
    fn a_small_last_packet_waits_for_the_full_ones_before_it() {
        // 300 B take 0.2 ms and 0.1 ms. On a fast link before a slow one, the last packet waits at the slow one: the
        // first is there after 0.5 ms, nine take 9 ms, the last 0.2 ms.
        let time = path(&[24_000_000, 12_000_000]).transfer(0, 1_500, 10, 300) / 1e6;
        assert!((time - (0.5 + 9.0 + 0.2 + 2.0)).abs() < 1e-9, "{time}");
        // Slow before fast: nine leave after 9 ms, the last after 9.2 ms, when the second link has still 0.3 ms to go
        // with the ninth: 9.5 ms, then 0.1 ms.
        let time = path(&[12_000_000, 24_000_000]).transfer(0, 1_500, 10, 300) / 1e6;
        assert!((time - (9.5 + 0.1 + 2.0)).abs() < 1e-9, "{time}");
    }

    #[test]
    fn the_table_of_packets_and_links_by_hand() {
        // Filling the table packet by packet must give what its formula gives.
        let links = path(&[30_000_000, 12_000_000, 17_000_000, 12_500_000]);
        let times = |octets: f64| links.links.iter().map(|(pace, _)| pace * octets).collect::<Row>();
        let mut left = follow(&smallvec![0.0; 4], &times(52.0));
        for _ in 0..29 {
            left = follow(&left, &times(1_500.0));
        }
        let end = follow(&left, &times(700.0))[3] + links.delay;
        let found = links.transfer(52, 1_500, 30, 700);
        assert!((found - end).abs() < 1e-3, "{found} is not {end}");
    }

    #[test]
    fn a_flow_takes_a_handshake_and_its_data() {
        // One link of 12 Mbit/s each way, 1 ms. SYN and SYN-ACK: 20 + 20 + 20 octets of options = 60 with timestamps
        // (MSS 4, window scale 4 with its NOP, SACK-permitted and timestamps 12): 40 us each. ACK: 52: 34.667 us.
        // One full segment: 1448 + 52 = 1500: 1 ms.
        let mut flow = test_flow();
        for tcp in [&mut flow.sender, &mut flow.receiver] {
            let tcp = Arc::make_mut(tcp);
            (tcp.mss, tcp.timestamps, tcp.sack, tcp.window_scaling) = (1_448, true, true, true);
        }
        let links =
            [test_link(12_000_000, SimDuration::from_millis(1)), test_link(12_000_000, SimDuration::from_millis(1))];
        let of = |links: &[LinkConfig]| NetworkConfig { links: links.to_vec(), ..NetworkConfig::default() };
        let path = EmptyPath::new(&flow, &of(&links), &[LinkId::new(0)], &[LinkId::new(1)]);
        let time = path.completion(Bytes(1_448), Bytes::ZERO, SimDuration::ZERO).0 as f64 / 1e3;
        assert!((time - (1_040.0 + 1_040.0 + 34.667 + 2_000.0)).abs() < 0.01, "{time}");
        // Without the ACK ahead of its data, as a discarder may have taken it: no slower than alone.
        let discarding = [LinkConfig { discarder: Some(0), ..links[0].clone() }, links[1].clone()];
        let behind = EmptyPath::new(&flow, &of(&discarding), &[LinkId::new(0)], &[LinkId::new(1)]);
        let took = SimDuration(4_080_000);
        assert_eq!(behind.completion(Bytes(1_448), Bytes::ZERO, took), took);
        // A reply of two segments: 2 ms, 1 ms of propagation.
        let time = path.completion(Bytes(1_448), Bytes(2_896), SimDuration::ZERO).0 as f64 / 1e3;
        assert!((time - (4_114.667 + 3_000.0)).abs() < 0.01, "{time}");
    }
}

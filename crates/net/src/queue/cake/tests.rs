use super::*;
use crate::queue::testing::{PLACE, arrival, at_rate, drain};
use ackclock_units::Bandwidth;
use ackclock_wire::{Flags, Segment, Seq};

const GIGABIT: Bandwidth = Bandwidth(1_000_000_000);

#[allow(clippy::needless_pass_by_value, reason = "written where it is called")]
fn cake(config: CakeConfig, hosts: &[u32]) -> Cake {
    let mut cake = at_rate(Cake::new(&config, &PLACE), GIGABIT);
    cake.set_hosts(&HostTable::Ends(hosts.into()));
    cake
}

fn fill(queue: &mut Cake, flow: u32, octets: u32, packets: usize) {
    for _ in 0..packets {
        queue.enqueue(SimTime::ZERO, arrival(SimTime::ZERO, flow, octets));
    }
}

/// The octets of each of `flows` flows among the first `packets` to leave.
fn shares(queue: &mut Cake, flows: usize, packets: usize) -> Vec<u64> {
    let mut shares = vec![0; flows];
    for _ in 0..packets {
        let packet = queue.dequeue(SimTime(1)).expect("more wait");
        shares[packet.packet.connection().index()] += packet.octets;
    }
    shares
}

/// The shares of five flows with 1000 packets each: four from host 0 to host 1, one from host 2 to host 3. Endpoint `2
/// f + 1` is the destination of a flow's data.
fn two_pairs_of_hosts(isolation: Isolation) -> Vec<u64> {
    let hosts = [0, 1, 0, 1, 0, 1, 0, 1, 2, 3];
    let mut queue = cake(CakeConfig { isolation, ..CakeConfig::default() }, &hosts);
    for flow in 0..5 {
        fill(&mut queue, flow, 1500, 1000);
    }
    shares(&mut queue, 5, 800)
}

#[test]
fn flows_share_equally_without_regard_to_hosts() {
    for share in two_pairs_of_hosts(Isolation::Flows) {
        assert!(share.abs_diff(800 * 1500 / 5) <= 2 * 1514, "{share}");
    }
}

#[test]
fn hosts_share_equally_then_their_flows() {
    for isolation in [Isolation::DualSource, Isolation::DualDestination, Isolation::Triple] {
        let shares = two_pairs_of_hosts(isolation);
        // the lone flow gets a half, the four an eighth each
        assert!(shares[4].abs_diff(600_000) <= 2 * 1514, "{isolation:?} {shares:?}");
        assert!(shares[..4].iter().all(|share| share.abs_diff(150_000) <= 2 * 1514), "{isolation:?} {shares:?}");
    }
}

#[test]
fn a_host_gets_its_share_however_many_flows_divide_it() {
    // 400 flows from host 0 to host 1, one from host 2 to host 3: a half for each host (Høiland-Jørgensen, Täht and Morton 2018, section
    // III-B). A flow of the 400 gets 1514/400 = 3.785 octets a round; three would leave the lone flow 0.56.
    let hosts: Vec<u32> = (0..400).flat_map(|_| [0, 1]).chain([2, 3]).collect();
    let config = CakeConfig { isolation: Isolation::DualSource, ..CakeConfig::default() };
    let mut queue = cake(config, &hosts);
    (0..400).for_each(|flow| fill(&mut queue, flow, 1500, 4));
    fill(&mut queue, 400, 1500, 1_000);
    shares(&mut queue, 401, 500); // new flows go first
    let lone = shares(&mut queue, 401, 1_600)[400];
    assert!(lone.abs_diff(800 * 1500) <= 20 * 1514, "{lone}");
}

#[test]
fn dual_modes_look_at_one_side_only() {
    // Flows 0 and 1 leave host 0 for hosts 1 and 2, flow 2 leaves host 3 for host 1.
    let hosts = [0, 1, 0, 2, 3, 1];
    let shares_of = |isolation| {
        let mut queue = cake(CakeConfig { isolation, ..CakeConfig::default() }, &hosts);
        for flow in 0..3 {
            fill(&mut queue, flow, 1500, 1000);
        }
        shares(&mut queue, 3, 1000)
    };
    let near = |shares: Vec<u64>, expected: [u64; 3]| {
        assert!(
            shares.iter().zip(expected).all(|(share, expected)| share.abs_diff(expected) <= 2 * 1514),
            "{shares:?}"
        );
    };
    near(shares_of(Isolation::DualSource), [375_000, 375_000, 750_000]); // host 0: two flows; host 3: one
    near(shares_of(Isolation::DualDestination), [375_000, 750_000, 375_000]); // host 1: two; host 2: one
    // flow 0 shares both ends, flows 1 and 2 one each: all count two
    near(shares_of(Isolation::Triple), [500_000, 500_000, 500_000]);
}

#[test]
fn a_set_keeps_eight_flows_apart() {
    // A single set: eight flows have a queue each, whatever their hashes; a ninth shares.
    let mut queue = cake(CakeConfig { flows: 8, ..CakeConfig::default() }, &[]);
    for flow in 0..8 {
        fill(&mut queue, flow, 1500, 1);
    }
    let busy = |queue: &Cake| (0..8).filter(|flow| queue.queues.packets_of(*flow) == 1).count();
    assert_eq!(busy(&queue), 8);
    fill(&mut queue, 8, 1500, 1);
    assert_eq!(busy(&queue), 7);
}

#[test]
fn flows_collide_far_less_than_by_a_plain_hash() {
    // 256 flows in 1024 queues. By a plain hash each shares its queue with probability 1 - (1 - 1/1024)^255 = 22 %: 56
    // flows. In sets of eight a collision needs nine flows in a set of which each draws two on average: Poisson with mean
    // 2 exceeds 8 with probability 0.02 %.
    let mut queue = cake(CakeConfig::default(), &[]);
    for flow in 0..256 {
        fill(&mut queue, flow, 1500, 1);
    }
    let alone = (0..1024).filter(|flow| queue.queues.packets_of(*flow) == 1).count();
    assert!(alone >= 254, "{alone}");
}

#[test]
fn the_shaper_holds_packets_back() {
    // 12 Mbit/s: 1500 octets every ms, though the link asks more often.
    let shaper = ShaperConfig { rate: Some(Bandwidth(12_000_000)), ..ShaperConfig::default() };
    let mut queue = cake(CakeConfig { shaper, ..CakeConfig::default() }, &[]);
    fill(&mut queue, 0, 1500, 3);
    assert!(queue.dequeue(SimTime(0)).is_some());
    assert!(queue.dequeue(SimTime(999_999)).is_none());
    assert_eq!(queue.ready_at(SimTime(12_000)), Some(SimTime(1_000_000)));
    assert!(queue.dequeue(SimTime(1_000_000)).is_some());
    assert_eq!(queue.ready_at(SimTime(5_000_000)), Some(SimTime(5_000_000)));
    assert!(queue.dequeue(SimTime(5_000_000)).is_some());
    assert_eq!(queue.ready_at(SimTime(5_000_000)), None);
}

#[test]
fn memory_is_taken_back_from_the_fattest() {
    let mut queue = cake(CakeConfig { memory_limit: Some(Bytes(15_000)), ..CakeConfig::default() }, &[]);
    fill(&mut queue, 0, 1500, 9);
    fill(&mut queue, 1, 1500, 4);
    // 13 packets, of which 10 fit: flow 0 loses three at its head
    assert_eq!((queue.counters().drops, queue.len()), (3, 10));
    let of_flow_0 = drain(&mut queue, SimTime::ZERO, GIGABIT)
        .iter()
        .filter(|(_, packet)| packet.packet.connection().index() == 0)
        .count();
    assert_eq!(of_flow_0, 6);
}

#[test]
fn the_ack_filter_thins_out_a_row_of_acks() {
    let count = |ack_filter| {
        let mut queue = cake(CakeConfig { ack_filter, ..CakeConfig::default() }, &[]);
        for number in 1..=50 {
            let segment = Segment { ack: Seq(number * 2896), flags: Flags::ACK, ..Segment::default() };
            let packet = Packet::tcp(segment, EndpointId::default());
            queue.enqueue(SimTime::ZERO, Queued { packet, octets: 40, since: SimTime::ZERO });
        }
        (queue.len(), queue.counters().drops, queue.octets())
    };
    assert_eq!(count(AckFilter::Off), (50, 0, 2_000));
    assert_eq!(count(AckFilter::Conservative), (2, 48, 80));
    assert_eq!(count(AckFilter::Aggressive), (1, 49, 40));
}

#[test]
fn a_sparse_flow_is_served_next() {
    let mut queue = cake(CakeConfig::default(), &[]);
    for flow in 0..4 {
        fill(&mut queue, flow, 1500, 100);
    }
    shares(&mut queue, 4, 40);
    queue.enqueue(SimTime(1), arrival(SimTime(1), 9, 100));
    assert_eq!(queue.dequeue(SimTime(2)).map(|packet| packet.packet.connection().index()), Some(9));
}

#[test]
fn the_target_does_not_grow_with_the_flows() {
    // 12 Mbit/s: a packet takes 1 ms, four of them less than the target of 5 ms. 50 flows have a turn every 50 ms. Those whose
    // first turn is later than 5 ms are above target then, and have their first signal with their second packet, by 100 ms.
    let shaper = ShaperConfig { rate: Some(Bandwidth(12_000_000)), ..ShaperConfig::default() };
    let mut queue = cake(CakeConfig { shaper, ..CakeConfig::default() }, &[]);
    for flow in 0..50 {
        fill(&mut queue, flow, 1500, 50);
    }
    let left = |queue: &mut Cake, ms: u64| queue.dequeue(SimTime(ms * 1_000_000)).is_some();
    assert!((0..50).all(|ms| left(&mut queue, ms)));
    assert_eq!(queue.counters().drops, 0);
    assert!((50..100).all(|ms| left(&mut queue, ms)));
    assert!(queue.counters().drops >= 44, "{}", queue.counters().drops);
}

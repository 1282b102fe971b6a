use super::*;
use crate::ids::{EndpointId, HopIndex};
use crate::packet::Packet;
use crate::queue::testing::{PLACE, at_rate};
use proptest::prelude::*;

/// A queue of a link of 8 Mbit/s: an octet takes a microsecond.
fn queue(limit: QueueLimit) -> Fq {
    at_rate(Fq::new(&FqConfig { limit, ..FqConfig::default() }, &PLACE), Bandwidth(8_000_000))
}

fn packet(flow: u32, octets: u64, now: SimTime) -> Queued {
    Queued { packet: Packet { to: EndpointId::of_number(flow), ..Packet::default() }, octets, since: now }
}

fn order(queue: &mut Fq) -> Vec<(u32, u64)> {
    std::iter::from_fn(|| queue.dequeue(SimTime::ZERO)).map(|q| (q.packet.to.number(), q.octets)).collect()
}

#[test]
fn packets_go_by_their_finish_numbers() {
    let mut fq = queue(QueueLimit::Unlimited);
    for (flow, octets) in [(0, 1_000), (0, 1_000), (1, 600), (1, 600), (2, 1_500)] {
        fq.enqueue(SimTime::ZERO, packet(flow, octets, SimTime::ZERO));
    }
    // finish numbers: 1000, 2000; 600, 1200; 1500
    assert_eq!(order(&mut fq), [(1, 600), (0, 1_000), (1, 600), (2, 1_500), (0, 1_000)]);
}

#[test]
fn the_round_number_slows_down_as_flows_come() {
    let mut fq = queue(QueueLimit::Unlimited);
    let takes = |fq: &mut Fq, at| assert!(fq.dequeue(SimTime(at)).is_some()); // the link, whenever it is free
    fq.enqueue(SimTime::ZERO, packet(0, 1_000, SimTime::ZERO)); // finishes in round 1000
    takes(&mut fq, 0);
    // at 600 us the round is 600; flow 1 finishes in 600 + 500 = 1100
    fq.enqueue(SimTime(600_000), packet(1, 500, SimTime(600_000)));
    // Both are served: at 1000 us the round is 600 + 400/2 = 800; flow 2 finishes in 800 + 250 = 1050
    fq.enqueue(SimTime(1_000_000), packet(2, 250, SimTime(1_000_000)));
    takes(&mut fq, 1_000_000); // that one
    takes(&mut fq, 1_250_000);
    // flow 0 ends after another 3 * 200 us, flow 2 after 2 * 50 us more: at 1700 us the round is 1050; flow 1 alone
    // is at 1100 at 1750 us, and then nobody is: a flow that comes at 2000 us finishes in 1100 + 100
    fq.enqueue(SimTime(2_000_000), packet(3, 100, SimTime(2_000_000)));
    let numbers: Vec<u128> = fq.rounds.last.iter().map(|last| last >> 32).collect();
    assert_eq!(numbers, [1_000, 1_100, 1_050, 1_200]);
}

/// The shares of two flows on a link that takes an octet in `octet_us`; each sends a packet of 1000 octets every `gaps`
/// us, and 20 packets may wait.
fn shares(octet_us: u64, gaps: [u64; 2]) -> [u64; 2] {
    let mut fq = queue(QueueLimit::Packets(20));
    let (mut sent, mut free_at) = ([0; 2], 0);
    for now in 0..1_000_000 {
        for (flow, gap) in (0..).zip(gaps) {
            if now % gap == 0 {
                fq.enqueue(SimTime(1_000 * now), packet(flow, 1_000, SimTime(1_000 * now)));
            }
        }
        if now >= free_at
            && let Some(taken) = fq.dequeue(SimTime(1_000 * now))
        {
            free_at = now + octet_us * taken.octets;
            sent[taken.packet.to.index()] += 1;
        }
    }
    sent
}

/// In a second 1000 packets pass; one flow sends 10,000, the other 2,000.
#[test]
fn what_is_dropped_takes_no_turn() {
    let [greedy, other] = shares(1, [100, 500]);
    assert!(greedy.abs_diff(other) <= 20 && greedy + other >= 999, "{greedy} {other}");
}

/// The link has become ten times slower than the queue was built for, so that 100 packets pass in a second. A flow that
/// sends 20 of them gets all of them through, beside one that fills the queue.
#[test]
fn a_link_that_has_become_slower_is_fair_still() {
    let mut fq = queue(QueueLimit::Packets(100));
    let (mut free_at, mut longest) = (0, 0);
    for now in 0..2_000_000_u64 {
        let at = SimTime(1_000 * now);
        if now % 2_000 == 0 {
            fq.enqueue(at, packet(0, 1_000, at));
        }
        if now % 50_000 == 25_500 {
            fq.enqueue(at, packet(1, 100, at));
        }
        if now >= free_at
            && let Some(taken) = fq.dequeue(at)
        {
            free_at = now + 10 * taken.octets;
            if taken.packet.to.number() == 1 {
                longest = longest.max((at - taken.since).0 / 1_000);
            }
        }
    }
    assert!(longest <= 20_000, "{longest} us, of a packet in service and one more"); // 10 ms each
}

#[test]
fn the_longest_queue_gives_way() {
    let mut fq = queue(QueueLimit::Packets(4));
    for _ in 0..6 {
        fq.enqueue(SimTime::ZERO, packet(0, 1_000, SimTime::ZERO));
    }
    fq.enqueue(SimTime::ZERO, packet(1, 1_000, SimTime::ZERO));
    assert_eq!((fq.len(), fq.octets(), fq.counters().drops), (4, 4_000, 3));
    assert_eq!(order(&mut fq), [(0, 1_000), (1, 1_000), (0, 1_000), (0, 1_000)]);
}

#[test]
fn of_linux_eight_packets_go_before_the_turns_of_flows() {
    let config = FqConfig { variant: FqVariant::Linux, limit: QueueLimit::Packets(4) };
    let mut fq = Fq::new(&config, &PLACE);
    for flow in [0; 10].into_iter().chain([1, 1, 1]) {
        fq.enqueue(SimTime::ZERO, packet(flow, 9_000, SimTime::ZERO));
    }
    // The limit is that of flows: of the 13 packets four wait there, and one has no room. Both flows have 15 140 octets, and send 18 000.
    assert_eq!((fq.len(), fq.octets(), fq.counters().drops), (12, 108_000, 1));
    let flows: Vec<u32> = order(&mut fq).iter().map(|(flow, _)| *flow).collect();
    assert_eq!(flows, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1]);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// No packet leaves later than from the bit-by-bit server by more than the time of the largest packet (Parekh and
    /// Gallager 1993, theorem 1). The test compares with a server that sends an octet of each flow in turn.
    #[test]
    fn no_packet_is_later_than_bit_by_bit_by_more_than_one_packet(
        gaps in proptest::collection::vec((0_u64..1_500, 0_u32..4, 40_u64..1_501), 1..60),
    ) {
        let mut now = 0;
        let packets: Vec<(u64, u32, u64)> = gaps.iter().map(|&(gap, flow, octets)| {
            now += gap;
            (now, flow, octets)
        }).collect();
        let ideal = octet_by_octet(&packets);
        for (number, left) in link(&packets).into_iter().enumerate() {
            // an octet by each of the four flows of rounding
            prop_assert!(left <= ideal[number] + 1_500 + 4, "packet {number}: {left} us, ideally {}", ideal[number]);
        }
    }
}

/// The departures from a link of 1 octet/us under fair queueing, us.
fn link(packets: &[(u64, u32, u64)]) -> Vec<u64> {
    let mut fq = queue(QueueLimit::Unlimited);
    let (mut free_at, mut next) = (0, 0);
    let mut left = vec![0; packets.len()];
    for _ in packets {
        if fq.is_empty() {
            free_at = free_at.max(packets[next].0);
        }
        while next < packets.len() && packets[next].0 <= free_at {
            let (time, flow, octets) = packets[next];
            let mut queued = packet(flow, octets, SimTime(time * 1_000));
            queued.packet.hop = HopIndex::new(next);
            fq.enqueue(SimTime(time * 1_000), queued);
            next += 1;
        }
        let queued = fq.dequeue(SimTime(free_at * 1_000)).expect("there is one");
        free_at += queued.octets;
        left[queued.packet.hop.index()] = free_at;
    }
    left
}

/// The departures from a server that sends an octet of each flow in turn, us.
fn octet_by_octet(packets: &[(u64, u32, u64)]) -> Vec<u64> {
    let mut flows: Vec<VecDeque<(usize, u64)>> = vec![VecDeque::new(); 4];
    let mut left = vec![0; packets.len()];
    let (mut now, mut next, mut turn, mut done) = (0, 0, 0, 0);
    while done < packets.len() {
        while next < packets.len() && packets[next].0 <= now {
            flows[packets[next].1 as usize].push_back((next, packets[next].2));
            next += 1;
        }
        now += 1;
        for _ in 0..4 {
            turn = (turn + 1) % 4;
            if let Some((number, octets)) = flows[turn].front_mut() {
                *octets -= 1;
                if *octets == 0 {
                    left[*number] = now;
                    flows[turn].pop_front();
                    done += 1;
                }
                break;
            }
        }
    }
    left
}

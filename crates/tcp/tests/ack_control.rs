//! ACK congestion control between two endpoints (RFC 5690).

use crate::common::{ACCEPTOR, OPENER, Pair, plain};
use ackclock_tcp::{AckControlConfig, EcnConfig, EcnMode, TcpConfig};
use ackclock_units::{Bytes, SimDuration};
use ackclock_wire::{Ecn, Flags};

fn controlled() -> TcpConfig {
    TcpConfig { ack_control: Some(AckControlConfig { max_ratio: 255 }), ..plain() }
}

/// ACKs of the acceptor since the handshake: what each adds to the one before, in segments.
fn steps(pair: &Pair) -> Vec<u32> {
    let acks: Vec<u32> =
        pair.seen.iter().filter(|seen| seen.from == ACCEPTOR).skip(1).map(|seen| seen.segment.ack.0 / 1_000).collect();
    let mut before = 0;
    acks.iter().map(|ack| ack - std::mem::replace(&mut before, *ack)).collect()
}

//= rfc5690-4.1-both-ends
#[test]
fn it_is_in_force_if_both_ends_offer_it() {
    for (opener, acceptor, expected) in
        [(controlled(), controlled(), Some(2)), (controlled(), plain(), None), (plain(), controlled(), None)]
    {
        let mut pair = Pair::new(&opener, &acceptor);
        pair.open();
        assert_eq!(pair.seen[0].segment.syn.ack_control_permitted, opener.ack_control.is_some());
        assert_eq!(pair.seen[1].segment.syn.ack_control_permitted, expected.is_some());
        assert_eq!((pair.ends[OPENER].ack_ratio(), pair.ends[ACCEPTOR].ack_ratio()), (expected, expected));
        pair.write(OPENER, 10_000);
        pair.run_for(SimDuration::from_millis(120));
        // plain() acknowledges each segment, ACK congestion control begins with every second one (section 4.1)
        assert_eq!(steps(&pair)[0], if expected.is_some() { 2 } else { 1 });
    }
}

//= rfc5690-4.7-spread
//= rfc5690-4.3-receiver
#[test]
fn a_lost_ack_makes_the_receiver_send_one_for_four() {
    let mut pair = Pair::new(&controlled(), &controlled());
    pair.open();
    let mut count = 0;
    pair.drop = Box::new(move |end, _, segment| {
        count += u32::from(end == ACCEPTOR && segment.flags == Flags::ACK);
        end == ACCEPTOR && count == 2 // the ACK of segments 3 and 4 of the first ten
    });
    pair.write(OPENER, 2_000_000);
    pair.run_for(SimDuration::from_secs(1));
    let options: Vec<(u32, u8)> = pair
        .seen
        .iter()
        .filter(|seen| seen.from == OPENER && seen.segment.ack_ratio > 0)
        .map(|seen| (seen.segment.seq.0 / 1_000 + 1, seen.segment.ack_ratio))
        .collect();
    // The window in which the ACK is missing ends with the ACK of the tenth segment.
    assert_eq!(options[0].1, 4);
    assert_eq!(pair.ends[OPENER].lost_acks(), 1);
    let told = steps(&pair);
    let first_four = told.iter().position(|step| *step == 4).expect("the receiver uses the new ratio");
    assert!(told[..first_four].iter().all(|step| *step == 2), "{told:?}");
    assert!(told[first_four..first_four + 3].iter().all(|step| *step == 4), "{told:?}");
    assert_eq!(pair.ends[OPENER].counters().retransmitted_segments, 0);
}

//= rfc5690-4.5-lower
#[test]
fn without_further_losses_the_ratio_comes_back_to_two() {
    let config = TcpConfig { window_scaling: false, receive_buffer: Bytes(20_000), ..controlled() };
    let mut pair = Pair::new(&config, &config);
    pair.open();
    let mut count = 0;
    pair.drop = Box::new(move |end, _, _| {
        count += u32::from(end == ACCEPTOR);
        end == ACCEPTOR && count == 12
    });
    pair.write(OPENER, 20_000_000);
    // The twelfth from there, the SYN-ACK counted, is the sixth ACK of the second round trip, at 200 ms; its window ends
    // by 300 ms, and the receiver knows by 400 ms.
    pair.run_for(SimDuration::from_millis(420));
    assert_eq!(pair.ends[OPENER].ack_ratio(), Some(4));
    // The peer's window of 20 segments and cwnd above it: 100 ms a window. cwnd stays where it no longer limits, below
    // 40 segments: at most 40^2 / 12 = 134 and 40^2 / 6 = 267 segments, 7 and 14 windows of 20, and one each to tell.
    pair.run_for(SimDuration::from_secs(4));
    assert_eq!((pair.ends[OPENER].ack_ratio(), pair.ends[OPENER].lost_acks()), (Some(2), 1));
}

//= rfc5690-4.1-ecn-capable-acks
//= rfc3168-6.1.4-pure-acks
#[test]
fn marks_on_acks_double_the_ratio_and_leave_the_window_alone() {
    let ecn = EcnConfig {
        mode: EcnMode::Request,
        accurate: false,
        accurate_option: false,
        ect1: false,
        dctcp_feedback: false,
        fallback: false,
    };
    for control in [true, false] {
        let config = if control { controlled() } else { plain() };
        let config = TcpConfig { ecn, ..config };
        let mut pair = Pair::new(&config, &config);
        pair.open();
        pair.write(OPENER, 100_000);
        pair.run_for(SimDuration::from_secs(2));
        let capable = |seen: &&crate::common::Seen| seen.from == ACCEPTOR && seen.segment.ecn == Ecn::Ect0;
        // RFC 3168 section 6.1.4: pure ACKs are not ECN-capable, unless their congestion is controlled.
        assert_eq!(pair.seen.iter().filter(capable).count() > 0, control);
    }
    let config = TcpConfig { ecn, ..controlled() };
    let mut pair = Pair::new(&config, &config);
    pair.open();
    let mut count = 0;
    pair.mark = Box::new(move |end, segment| {
        count += u32::from(end == ACCEPTOR && segment.ecn == Ecn::Ect0);
        end == ACCEPTOR && count == 2
    });
    pair.write(OPENER, 400_000);
    pair.run_for(SimDuration::from_millis(400));
    assert_eq!((pair.ends[OPENER].ack_ratio(), pair.ends[OPENER].lost_acks()), (Some(4), 0));
    assert!(pair.ends[OPENER].take_episodes().is_empty() && pair.ends[OPENER].current_episode().is_none());
    assert!(pair.seen.iter().all(|seen| !seen.segment.flags.has(Flags::ECE) || seen.segment.flags.has(Flags::SYN)));
}

//= rfc5690-4.2-option
#[test]
fn a_lost_data_segment_takes_the_new_ratio_along_when_it_is_sent_again() {
    let mut pair = Pair::new(&controlled(), &controlled());
    pair.open();
    let (mut acks, mut lost) = (0, false);
    pair.drop = Box::new(move |end, _, segment| {
        acks += u32::from(end == ACCEPTOR);
        let is_option = end == OPENER && segment.ack_ratio > 0;
        (end == ACCEPTOR && acks == 2) || (is_option && !std::mem::replace(&mut lost, true))
    });
    pair.write(OPENER, 500_000);
    pair.run_for(SimDuration::from_secs(20));
    let told = pair.seen.iter().filter(|seen| seen.segment.ack_ratio == 4).collect::<Vec<_>>();
    assert_eq!((told[0].dropped, told[1].dropped), (true, false));
    assert_eq!(told[0].segment.seq, told[1].segment.seq);
    assert!(steps(&pair).contains(&4));
    assert_eq!(pair.ends[ACCEPTOR].received(), Bytes(500_000));
}

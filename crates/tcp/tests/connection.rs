//! Opening, data both ways, windows, closing.

use crate::common::{ACCEPTOR, MSS, OPENER, Pair, plain};
use ackclock_tcp::{Counting, DelayedAck, State, TcpConfig};
use ackclock_units::{Bandwidth, Bytes, SimDuration};
use ackclock_wire::{Flags, Segment};

#[test]
fn the_handshake_settles_options_that_both_ends_offer() {
    let without = TcpConfig { sack: false, timestamps: true, ..plain() };
    let mut pair = Pair::new(&TcpConfig { timestamps: true, mss: 1448, ..plain() }, &without);
    pair.open();
    let syn = pair.seen[0].segment;
    assert_eq!((syn.syn.mss, syn.syn.sack_permitted, syn.syn.window_scale), (1460, true, Some(14)));
    let answer = pair.seen[1].segment;
    assert!(answer.flags.has(Flags::SYN.with(Flags::ACK)));
    assert_eq!((answer.syn.sack_permitted, answer.timestamps.is_some()), (false, true));
    assert_eq!(pair.ends[OPENER].state(), State::Established);
    assert_eq!(pair.ends[ACCEPTOR].state(), State::Established);
    assert_eq!(pair.ends[OPENER].mss(), 1000); // the smaller of both
}

#[test]
fn a_lost_syn_is_sent_again_after_the_initial_timeout() {
    let mut pair = Pair::new(&plain(), &plain());
    pair.drop = Box::new(|end, index, _| end == OPENER && index < 2);
    pair.call(OPENER, ackclock_tcp::Endpoint::connect);
    pair.run_for(SimDuration::from_secs(10));
    let syns: Vec<u64> =
        pair.seen.iter().filter(|seen| seen.from == OPENER).take(3).map(|seen| seen.time.0 / 1_000_000).collect();
    assert_eq!(syns, [0, 1_000, 3_000]); // RFC 6298: 1 s, then doubled
    assert_eq!(pair.ends[OPENER].state(), State::Established);
    assert_eq!(pair.ends[OPENER].rto(), SimDuration::from_secs(3)); // section 5.7
}

#[test]
fn a_window_of_one_segment_lets_a_full_one_out_with_its_fin() {
    // RFC 5681 section 2: SMSS, of which the least window is one, counts data. Linux counts segments. The window is the initial one, or
    // what a lost SYN or SYN-ACK leaves (section 3.1).
    for (initial_window, lost, departs_ms) in
        [(1_000, None, 100), (10_000, Some(OPENER), 1_100), (1_000, Some(ACCEPTOR), 1_100)]
    {
        for counting in [Counting::Octets, Counting::Segments] {
            let config = TcpConfig { initial_window: Bytes(initial_window), counting, ..plain() };
            let mut pair = Pair::new(&config, &config);
            pair.drop = Box::new(move |end, index, _| lost == Some(end) && index == 0);
            pair.call(OPENER, ackclock_tcp::Endpoint::connect);
            pair.write(OPENER, 1_000);
            pair.close(OPENER);
            pair.run_for(SimDuration::from_secs(5));
            assert_eq!(pair.data_sent(OPENER), [(departs_ms, 1, 1_000)], "{initial_window} {lost:?} {counting:?}");
            assert_eq!(pair.ends[OPENER].state(), State::FinWait2);
        }
    }
}

#[test]
fn a_syn_may_be_tried_for_ever() {
    // Among them those about which the time of so many timeouts no longer has 64 bits.
    for syn_retries in [62, 63, 64, u32::MAX] {
        tries_syns_every_minute(syn_retries);
    }
}

fn tries_syns_every_minute(syn_retries: u32) {
    let opener = TcpConfig { syn_retries, syn_linear_timeouts: 4, ..plain() };
    let mut pair = Pair::new(&opener, &plain());
    pair.drop = Box::new(|_, _, _| true);
    pair.call(OPENER, ackclock_tcp::Endpoint::connect);
    pair.run_for(SimDuration::from_secs(1_800));
    assert!(!pair.ends[OPENER].is_aborted());
    // at 0, 1, 2, 3, 4, 5, 7, 11, 19, 35 and 67 s, then every minute
    assert_eq!(pair.seen.len(), 11 + (1_800 - 67) / 60);
}

//= rfc9293-3.4.1-initial-sequence
#[test]
fn data_flows_both_ways_over_the_wrap_of_sequence_numbers() {
    let wrapping = TcpConfig { initial_sequence: u32::MAX - 20_000, ..plain() };
    let mut pair = Pair::new(&wrapping, &wrapping);
    pair.open();
    pair.write(OPENER, 100_000);
    pair.write(ACCEPTOR, 70_000);
    pair.run_for(SimDuration::from_secs(5));
    assert_eq!(pair.ends[ACCEPTOR].received(), Bytes(100_000));
    assert_eq!(pair.ends[OPENER].received(), Bytes(70_000));
    assert_eq!(pair.ends[OPENER].counters().retransmitted_segments, 0);
}

#[test]
fn segments_that_leave_together_differ_in_their_numbers_alone() {
    let config = TcpConfig { timestamps: true, ..plain() };
    let mut pair = Pair::new(&config, &config);
    pair.open();
    pair.write(OPENER, 10_500); // the initial window is of ten segments
    let sent: Vec<_> = pair.seen.iter().filter(|seen| seen.from == OPENER && seen.segment.payload > 0).collect();
    assert_eq!(sent.len(), 10);
    for (number, seen) in (0..).zip(&sent) {
        let first = &sent[0];
        let expected = Segment { seq: first.segment.seq.advanced_by(number * MSS), ..first.segment };
        assert_eq!((seen.time, seen.segment), (first.time, expected));
    }
}

#[test]
fn closing_passes_through_the_states_of_rfc_9293() {
    let mut pair = Pair::new(&plain(), &plain());
    pair.open();
    pair.write(OPENER, 1_500);
    pair.close(OPENER);
    assert_eq!(pair.ends[OPENER].state(), State::FinWait1);
    pair.run_for(SimDuration::from_millis(60));
    assert_eq!(pair.ends[ACCEPTOR].state(), State::CloseWait);
    pair.run_for(SimDuration::from_millis(60));
    assert_eq!(pair.ends[OPENER].state(), State::FinWait2);
    pair.write(ACCEPTOR, 500); // half-closed: the other direction still works
    pair.close(ACCEPTOR);
    pair.run_for(SimDuration::from_millis(110));
    assert_eq!(pair.ends[OPENER].state(), State::TimeWait);
    assert_eq!(pair.ends[ACCEPTOR].state(), State::Closed); // from LAST-ACK (RFC 9293 figure 5)
    assert!(!pair.ends[ACCEPTOR].is_aborted());
    assert_eq!(pair.ends[ACCEPTOR].received(), Bytes(1_500));
    assert_eq!(pair.ends[OPENER].received(), Bytes(500));
}

#[test]
fn a_lost_fin_is_sent_again() {
    let mut pair = Pair::new(&plain(), &plain());
    pair.open();
    let mut dropped = false;
    pair.drop = Box::new(move |_, _, segment| segment.flags.has(Flags::FIN) && !std::mem::replace(&mut dropped, true));
    pair.write(OPENER, 1_000);
    pair.close(OPENER);
    pair.run_for(SimDuration::from_secs(3));
    assert_eq!(pair.ends[OPENER].state(), State::FinWait2);
}

//= rfc5681-4.2-every-second
#[test]
fn every_second_segment_is_acknowledged_and_an_odd_one_after_the_timeout() {
    let delayed = TcpConfig { delayed_ack: DelayedAck { segments: 2, ..plain().delayed_ack }, ..plain() };
    let mut pair = Pair::new(&delayed, &delayed);
    pair.open();
    let start = pair.now;
    pair.write(OPENER, 3_000);
    pair.run_for(SimDuration::from_secs(1));
    let acks: Vec<(u64, u32)> = pair
        .seen
        .iter()
        .filter(|seen| seen.from == ACCEPTOR && seen.time > start)
        .map(|seen| ((seen.time.0 - start.0) / 1_000_000, seen.segment.ack.0))
        .collect();
    assert_eq!(acks, [(50, 2_001), (250, 3_001)]);
}

//= rfc7323-2.2-syn-unscaled
#[test]
fn the_window_bounds_what_is_sent_with_and_without_scaling() {
    for (window_scaling, expected) in [(false, 65_535), (true, 200_000)] {
        let receiver = TcpConfig { window_scaling, receive_buffer: Bytes(200_000), ..plain() };
        let mut pair = Pair::new(&TcpConfig { initial_window: Bytes(1_000_000), ..plain() }, &receiver);
        pair.open();
        // The first window after the SYN is the unscaled one of the SYN-ACK; an ACK brings the scaled one.
        pair.write(OPENER, 10 * u64::from(MSS));
        pair.run_for(SimDuration::from_millis(200));
        pair.write(OPENER, 1_000_000);
        let flight = pair.ends[OPENER].flight_size().0;
        // whole segments only, and the scaled window in units of its shift
        assert!(flight <= expected && flight + u64::from(MSS) > expected - 16, "{flight} of {expected}");
    }
}

#[test]
fn a_slow_reader_closes_the_window_and_a_probe_or_update_opens_it() {
    let receiver = TcpConfig { receive_buffer: Bytes(10_000), ..plain() };
    let rate = Bandwidth(8_000 * 8); // 8 kB/s
    let mut pair = Pair::with_reader(&plain(), &receiver, Some(rate));
    pair.open();
    let start = pair.now;
    pair.write(OPENER, 50_000);
    pair.run_for(SimDuration::from_secs(3));
    assert!(pair.ends[OPENER].flight_size() <= Bytes(10_000));
    pair.run_for(SimDuration::from_secs(6));
    assert_eq!(pair.ends[ACCEPTOR].received(), Bytes(50_000));
    // 50 kB at 8 kB/s: the reader is done 6.25 s after the first octet came, so the last came 10 kB earlier
    let last = pair.seen.iter().rev().find(|seen| seen.from == OPENER && seen.segment.payload > 0).expect("data");
    let seconds = last.time.saturating_since(start).as_secs_f64();
    assert!((4.5..6.5).contains(&seconds), "{seconds}");
}

//= rfc9293-3.8.6.1-probe-back-off
#[test]
fn a_closed_window_is_probed_with_back_off_until_it_opens() {
    // The window update that would open the window is lost: only probes can find out.
    let receiver = TcpConfig { receive_buffer: Bytes(4_000), ..plain() };
    let mut pair = Pair::with_reader(&plain(), &receiver, Some(Bandwidth(8_000)));
    pair.open();
    let mut closed = false;
    pair.drop = Box::new(move |end, _, segment| {
        let is_update = end == ACCEPTOR && closed && segment.window > 0;
        closed |= end == ACCEPTOR && segment.window == 0;
        is_update && segment.payload == 0 && segment.ack.0 == 4_001
    });
    pair.write(OPENER, 8_000);
    pair.run_for(SimDuration::from_secs(3));
    let probes: Vec<u64> = pair
        .seen
        .iter()
        .filter(|seen| seen.from == OPENER && seen.segment.payload == 0 && seen.segment.seq.0 == 4_000)
        .map(|seen| seen.time.0 / 1_000_000)
        .collect();
    assert!(!probes.is_empty(), "no probe of a window that closed");
}

//= rfc9293-3.8.3-syn-r2
//= rfc9293-3.8.3-give-up
#[test]
fn a_connection_to_nowhere_is_given_up() {
    let mut pair = Pair::new(&TcpConfig { max_retries: 3, ..plain() }, &plain());
    pair.open();
    pair.drop = Box::new(|_, _, _| true);
    pair.write(OPENER, 10_000);
    pair.run_for(SimDuration::from_secs(60));
    assert!(pair.ends[OPENER].is_aborted());
    assert_eq!(pair.ends[OPENER].state(), State::Closed);
    assert_eq!(pair.ends[OPENER].counters().timeouts, 4); // 1, 2, 4 s, and the one that gives up
}

#[test]
fn a_fin_before_data_that_has_come_is_no_end() {
    let mut pair = Pair::new(&plain(), &plain());
    pair.open();
    pair.write(OPENER, 1_000);
    let first = pair.seen.last().expect("it has been sent").segment;
    let second = Segment { seq: first.seq.advanced_by(1_000), ..first };
    let fin = Segment { seq: first.seq.advanced_by(1_500), payload: 0, flags: Flags::ACK.with(Flags::FIN), ..first };
    for segment in [second, fin, first] {
        pair.call(ACCEPTOR, |endpoint, now, out| endpoint.on_segment(now, &segment, out));
    }
    assert_eq!((pair.ends[ACCEPTOR].state(), pair.ends[ACCEPTOR].received()), (State::Established, Bytes(2_000)));
}

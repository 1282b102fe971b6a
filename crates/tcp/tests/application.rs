//! The application's other calls: it answers a SYN itself, bounds its window, signals congestion, stops reading.

use crate::common::{ACCEPTOR, OPENER, Pair, plain};
use ackclock_tcp::{ConnectionError, DelayedAck, EcnConfig, EcnMode, Endpoint, SocketOption, State, TcpConfig};
use ackclock_units::{Bandwidth, Bytes, SimDuration};
use ackclock_wire::Flags;

/// Same as `plain`, with a window field in octets.
fn unscaled() -> TcpConfig {
    TcpConfig { window_scaling: false, receive_buffer: Bytes(60_000), ..plain() }
}

fn asking_pair() -> Pair {
    let mut pair = Pair::new(&plain(), &plain());
    pair.ends[ACCEPTOR].listen_and_ask();
    pair.call(OPENER, Endpoint::connect);
    pair.run_for(pair.one_way * 2);
    pair
}

#[test]
fn a_syn_waits_for_the_application() {
    let mut pair = asking_pair();
    assert!(pair.ends[ACCEPTOR].has_waiting_syn());
    assert_eq!(pair.ends[OPENER].state(), State::SynSent);
    pair.call(ACCEPTOR, Endpoint::accept);
    pair.run_for(pair.one_way * 2);
    assert_eq!([OPENER, ACCEPTOR].map(|end| pair.ends[end].state()), [State::Established; 2]);
}

#[test]
fn a_syn_that_the_application_refuses_is_reset() {
    let mut pair = asking_pair();
    pair.call(ACCEPTOR, |end, _, out| end.refuse(out));
    pair.run_for(pair.one_way);
    assert_eq!(pair.ends[OPENER].error(), Some(ConnectionError::Refused));
}

//= rfc9293-3.8.6-no-shrinking
#[test]
fn a_grant_bounds_what_is_advertised_and_takes_nothing_back() {
    let mut pair = Pair::new(&unscaled(), &unscaled());
    pair.open();
    let window = |pair: &Pair| u64::from(pair.seen.iter().rfind(|seen| seen.from == ACCEPTOR).unwrap().segment.window);
    assert_eq!(window(&pair), 60_000);
    pair.call(ACCEPTOR, |end, now, out| end.grant_window(now, Some(Bytes(5_000)), out));
    // Ten segments arrive: of the 60 000 octets that were promised 50 000 are left, and that is more than the grant.
    pair.call(OPENER, |end, now, out| end.write(now, Bytes(10_000), out));
    pair.run_for(pair.one_way * 2);
    assert_eq!(window(&pair), 50_000);
    // The promise is used up, and arrivals bring no more of it.
    pair.call(OPENER, |end, now, out| end.write(now, Bytes(56_000), out));
    pair.run_for(pair.one_way * 12);
    assert_eq!(pair.ends[ACCEPTOR].received(), Bytes(60_000));
    assert_eq!(window(&pair), 0);
    // A grant counts from what has arrived by then.
    pair.call(ACCEPTOR, |end, now, out| end.grant_window(now, Some(Bytes(5_000)), out));
    pair.run_for(pair.one_way * 2);
    assert_eq!(pair.ends[ACCEPTOR].received(), Bytes(65_000));
    assert_eq!(window(&pair), 0);
}

#[test]
fn a_grant_of_a_segment_is_one_whatever_unit_the_window_has() {
    // 16 MB need a shift of 8 (65 535 x 256 = 16.8 MB), and 1000 octets are no multiple of 256.
    let config = TcpConfig { receive_buffer: Bytes(16_000_000), ..plain() };
    let mut pair = Pair::new(&config, &config);
    pair.open();
    pair.call(ACCEPTOR, |end, now, out| end.grant_window(now, Some(Bytes(0)), out));
    pair.call(OPENER, |end, now, out| end.write(now, Bytes(1_000_000), out));
    pair.run_for(pair.one_way * 20);
    let before = pair.ends[ACCEPTOR].received();
    pair.call(ACCEPTOR, |end, now, out| end.grant_window(now, Some(Bytes(2_000)), out));
    pair.run_for(pair.one_way * 3);
    for n in 1..=20 {
        let arrived = pair.ends[ACCEPTOR].received();
        assert_eq!(arrived, before + Bytes(1_000 * (n + 1)), "after {n} grants");
        pair.call(ACCEPTOR, |end, now, out| end.grant_window(now, Some(Bytes(1_000)), out));
        pair.run_for(pair.one_way * 3);
    }
}

//= rfc3168-6.1.6-probes
#[test]
fn a_grant_of_nothing_stops_the_sender_and_lifting_it_tells_him() {
    let mut pair = Pair::new(&unscaled(), &unscaled());
    pair.open();
    pair.call(ACCEPTOR, |end, now, out| end.grant_window(now, Some(Bytes(0)), out));
    pair.call(OPENER, |end, now, out| end.write(now, Bytes(100_000), out));
    pair.run_for(pair.one_way * 20);
    assert_eq!(pair.ends[ACCEPTOR].received(), Bytes(60_000)); // what had been promised
    pair.call(ACCEPTOR, |end, now, out| end.grant_window(now, None, out));
    pair.run_for(pair.one_way * 12); // no time for a probe of the zero window alone to carry 40 segments
    assert_eq!(pair.ends[ACCEPTOR].received(), Bytes(100_000));
}

//= rfc3168-6.1.2-once-a-window
#[test]
fn ece_raised_by_the_application_halves_the_window_once() {
    let ecn = EcnConfig { mode: EcnMode::Request, accurate: false, ..TcpConfig::default().ecn };
    let config = TcpConfig { ecn, initial_ssthresh: Some(Bytes(10_000)), ..plain() };
    let mut pair = Pair::new(&config, &config);
    pair.open();
    pair.call(OPENER, |end, now, out| end.write(now, Bytes(1_000_000), out));
    pair.run_for(pair.one_way * 2);
    let before = pair.ends[OPENER].cwnd();
    pair.call(ACCEPTOR, Endpoint::raise_ece);
    pair.run_for(pair.one_way * 3);
    let after = pair.ends[OPENER].cwnd();
    // Half of what was in flight (RFC 3168 section 6.1.2), which is all of the window, reached within a round trip.
    assert!(after.0.abs_diff(before.0 / 2) <= 1_000, "{after:?} of {before:?}");
    pair.run_for(pair.one_way * 2);
    let says_ece =
        |pair: &Pair| pair.seen.iter().rfind(|seen| seen.from == ACCEPTOR).unwrap().segment.flags.has(Flags::ECE);
    assert!(!says_ece(&pair), "CWR has answered");
    assert!(pair.ends[OPENER].cwnd() >= after);
}

/// The ACK of the last segment came after all data that a mark could refer to: RFC 3168 section 6.1.2 requires an
/// answer once in a window of data, and there is none (Linux 6.18 answers none either).
#[test]
fn a_mark_while_nothing_is_in_flight_is_none() {
    let ecn = EcnConfig { mode: EcnMode::Request, accurate: false, ..TcpConfig::default().ecn };
    let config = TcpConfig { ecn, prr: true, ..plain() };
    let mut pair = Pair::new(&config, &config);
    pair.open();
    pair.call(OPENER, |end, now, out| end.write(now, Bytes(20_000), out));
    pair.run_for(pair.one_way * 10);
    assert_eq!(pair.ends[OPENER].flight_size(), Bytes(0));
    let before = pair.ends[OPENER].cwnd();
    pair.call(ACCEPTOR, Endpoint::raise_ece);
    pair.run_for(pair.one_way);
    assert_eq!(pair.ends[OPENER].cwnd(), before);
    pair.call(OPENER, |end, now, out| end.write(now, Bytes(20_000), out));
    pair.run_for(pair.one_way * 20);
    assert_eq!(pair.ends[ACCEPTOR].received(), Bytes(40_000));
}

#[test]
fn without_ecn_raising_it_does_nothing() {
    let mut pair = Pair::new(&plain(), &plain());
    pair.open();
    let sent = pair.seen.len();
    pair.call(ACCEPTOR, Endpoint::raise_ece);
    assert_eq!(pair.seen.len(), sent);
}

#[test]
fn a_reader_that_stops_keeps_what_comes_after() {
    let mut pair = Pair::new(&unscaled(), &unscaled());
    pair.open();
    pair.call(OPENER, |end, now, out| end.write(now, Bytes(20_000), out));
    pair.run_for(pair.one_way * 4);
    let now = pair.now;
    pair.ends[ACCEPTOR].stop_reading(now);
    pair.call(OPENER, |end, now, out| end.write(now, Bytes(500_000), out));
    pair.run_for(SimDuration::from_secs(3));
    let end = &pair.ends[ACCEPTOR];
    assert_eq!((end.read(pair.now), end.unread()), (Bytes(20_000), Bytes(60_000)));
}

/// RFC 9293 section 3.8.6.2.1 (4) lets the rest go after a timeout; the pacer lets it go when its turn comes. 11 segments of 1000
/// octets at 1000 octets a second: the tenth and eleventh are a second apart, so that the rest waits past its timeout.
//= rfc9293-3.8.6.2.1-override-timeout
#[test]
fn a_rest_whose_timeout_is_over_waits_for_the_pacer() {
    let mut pair = Pair::new(&plain(), &plain());
    pair.open();
    let options = [SocketOption::Pacing(Bandwidth(8_000)), SocketOption::Cork(true)];
    for option in options {
        pair.call(OPENER, |end, now, out| end.set_option(now, &option, out));
    }
    pair.call(OPENER, |end, now, out| end.write(now, Bytes(10_100), out));
    pair.run_for(SimDuration::from_secs(30));
    assert_eq!(pair.ends[ACCEPTOR].received(), Bytes(10_100));
}

/// RFC 8257 section 3.2: a delayed ACK leaves in the old state before the one that tells of the change.
//= rfc8257-3.2-two-acks
#[test]
fn the_exact_echo_first_acknowledges_what_came_before_a_change() {
    let ecn = EcnConfig { mode: EcnMode::Request, accurate: false, dctcp_feedback: true, ..TcpConfig::default().ecn };
    let delayed_ack = DelayedAck { segments: 2, count_octets: false, ..plain().delayed_ack };
    let config = TcpConfig { ecn, delayed_ack, ..plain() };
    let mut pair = Pair::new(&config, &config);
    pair.open();
    pair.mark = Box::new(|end, segment| end == OPENER && [1, 2].contains(&(segment.seq.0 / 1_000)));
    pair.write(OPENER, 5_000);
    pair.run_for(SimDuration::from_secs(1));
    let acks = pair.seen.iter().filter(|seen| seen.from == ACCEPTOR && !seen.segment.flags.has(Flags::SYN));
    let told: Vec<(u32, bool)> =
        acks.map(|seen| (seen.segment.ack.0 / 1_000, seen.segment.flags.has(Flags::ECE))).collect();
    assert_eq!(told, [(1, false), (2, true), (3, true), (4, false), (5, false)]);
}

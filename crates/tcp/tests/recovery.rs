//! Segments that each loss recovery sends, one by one. Segments of 1000 octets, numbered from 1: segment k has sequence
//! number (k - 1) * 1000 + 1. The round trip is 100 ms and nothing takes time to clock out.

use crate::common::{ACCEPTOR, MSS, OPENER, Pair, plain, switches, with_recovery};
use ackclock_cc::CongestionController;
use ackclock_tcp::{DecreaseFrom, EcnConfig, EcnMode, LossDetection, LossRecovery, TcpConfig};
use ackclock_units::{Bytes, SimDuration};
use ackclock_wire::Segment;
use proptest::prelude::*;

/// Opens, writes `segments`, loses the first copies of the given ones, and runs for `run_ms`. Times count from the write.
fn lose(config: &TcpConfig, segments: u32, lost: &'static [u32], run_ms: u64) -> (Pair, Vec<(u64, u32)>) {
    let mut pair = Pair::new(config, config);
    pair.open();
    let start_ms = pair.now.0 / 1_000_000;
    let mut left: Vec<u32> = lost.to_vec();
    pair.drop = Box::new(move |end, _, segment| {
        let number = segment.seq.0 / 1_000 + 1;
        let hit = (end == OPENER && segment.payload > 0).then(|| left.iter().position(|lost| *lost == number));
        hit.flatten().map(|index| left.swap_remove(index)).is_some()
    });
    pair.write(OPENER, u64::from(segments) * 1_000);
    pair.run_for(SimDuration::from_millis(run_ms));
    let sent = pair.data_sent(OPENER).iter().map(|(ms, seq, _)| (ms - start_ms, seq / 1_000 + 1)).collect();
    (pair, sent)
}

fn numbers_at(sent: &[(u64, u32)], ms: u64) -> Vec<u32> {
    sent.iter().filter(|(time, _)| *time == ms).map(|(_, number)| *number).collect()
}

//= rfc5681-3.2-retransmission-at-once
//= rfc5681-3.2-third-duplicate
//= rfc9293-3.8.2-congestion-control
#[test]
fn three_duplicate_acks_bring_a_fast_retransmit_in_every_recovery() {
    for recovery in [LossRecovery::Tahoe, LossRecovery::Reno, LossRecovery::NewReno, LossRecovery::Sack] {
        let (pair, sent) = lose(&with_recovery(recovery), 10, &[1], 900);
        // ten segments leave at 0; the ACKs of 2, 3 and 4 come back at 100 as duplicates
        assert_eq!(numbers_at(&sent, 0), (1..=10).collect::<Vec<u32>>());
        assert_eq!(numbers_at(&sent, 100)[0], 1, "{recovery:?}");
        assert_eq!(pair.ends[OPENER].counters().timeouts, 0, "{recovery:?}");
        assert_eq!(pair.ends[ACCEPTOR].received(), Bytes(10_000), "{recovery:?}");
    }
}

//= rfc5681-3.2-third-duplicate
#[test]
fn two_duplicate_acks_do_not() {
    let (pair, _) = lose(&with_recovery(LossRecovery::NewReno), 3, &[1], 900);
    assert_eq!(pair.ends[OPENER].counters().fast_recoveries, 0);
}

//= rfc5681-3.2-deflate
//= rfc5681-3.2-inflate-by-each
//= rfc5681-3.2-inflate-by-three
#[test]
fn reno_inflates_by_each_further_duplicate_and_deflates_to_ssthresh() {
    // Ten in flight, the first lost: nine duplicates. ssthresh = 5; window 5 + 3, then one more for each of the six
    // others: 14, of which 10 are in flight: four new segments leave, the first two by limited transmit (RFC 3042), before
    // the third duplicate brings the retransmission (RFC 5681 section 3.2).
    let (pair, sent) = lose(&with_recovery(LossRecovery::Reno), 100, &[1], 199);
    assert_eq!(numbers_at(&sent, 100), [11, 12, 1, 13, 14]);
    assert_eq!(pair.ends[OPENER].cwnd(), Bytes(14_000));
    let (pair, _) = lose(&with_recovery(LossRecovery::Reno), 100, &[1], 200);
    // Step 6: deflated to 5000 by the ACK of the retransmission, which covers 12; the ACKs of 13 and 14, at the same
    // instant, add 200 and 192 (equation 3).
    assert_eq!(pair.ends[OPENER].cwnd(), Bytes(5_392));
}

//= rfc5681-3.2-inflate-by-three
#[test]
fn a_loss_in_the_window_of_a_mark_is_repaired_with_inflation() {
    // RFC 5681 section 3.2 steps 3 and 4 hold of the window that the mark has left. Twenty in flight, the first marked, the tenth
    // lost. The ACK of the first leaves 19 in flight, and so ssthresh = 9.5. Segments 11 to 20 bring ten duplicate ACKs: the
    // window is 9.5 + 3, and a segment more for each of the seven others, with 11 (10 to 20) in flight: eight new segments at
    // 100 ms, beside the tenth again.
    for recovery in [LossRecovery::Reno, LossRecovery::NewReno] {
        let ecn = EcnConfig { mode: EcnMode::Request, accurate: false, ..TcpConfig::default().ecn };
        let config =
            TcpConfig { ecn, initial_window: Bytes(20_000), limited_transmit: false, ..with_recovery(recovery) };
        let mut pair = Pair::new(&config, &config);
        pair.open();
        let (start_ms, mut is_lost, mut is_marked) = (pair.now.0 / 1_000_000, false, false);
        let hits = |segment: &Segment, number: u32, done: &mut bool| {
            segment.payload > 0 && segment.seq.0 / 1_000 + 1 == number && !std::mem::replace(done, true)
        };
        pair.drop = Box::new(move |end, _, segment| end == OPENER && hits(segment, 10, &mut is_lost));
        pair.mark = Box::new(move |end, segment| end == OPENER && hits(segment, 1, &mut is_marked));
        pair.write(OPENER, 100_000);
        pair.run_for(SimDuration::from_millis(150));
        let sent: Vec<(u64, u32)> =
            pair.data_sent(OPENER).iter().map(|(ms, seq, _)| (ms - start_ms, seq / 1_000 + 1)).collect();
        let new = numbers_at(&sent, 100).iter().filter(|number| **number > 20).count();
        assert_eq!((new, pair.ends[OPENER].counters().timeouts), (8, 0), "{recovery:?}: {sent:?}");
    }
}

//= rfc6582-3.2-partial-ack
#[test]
fn newreno_repairs_one_hole_each_round_trip_without_a_timeout() {
    let (pair, sent) = lose(&with_recovery(LossRecovery::NewReno), 100, &[1, 3, 5], 1_500);
    let resent: Vec<(u64, u32)> = [1, 3, 5]
        .iter()
        .map(|number| *sent.iter().filter(|(_, sent)| sent == number).nth(1).expect("sent again"))
        .collect();
    assert_eq!(resent, [(100, 1), (200, 3), (300, 5)]);
    assert_eq!((pair.ends[OPENER].counters().timeouts, pair.ends[OPENER].counters().fast_recoveries), (0, 1));
}

//= rfc6675-5-recovery-point
//= rfc5681-4.3-one-episode
#[test]
fn newreno_deflates_to_one_segment_at_the_least() {
    // Ten in flight, 1 and 10 lost. Three duplicates come back at 100 ms, the other ACKs of that flight are lost: ssthresh =
    // 5000 and a window of 5000 + 3 * 1000. The ACK of the retransmission, at 200 ms, acknowledges nine segments (RFC 6582
    // section 3.2 step 3): 8000 less 9000 leaves nothing, and one SMSS is added back.
    let config = TcpConfig { limited_transmit: false, ..with_recovery(LossRecovery::NewReno) };
    let mut pair = Pair::new(&config, &config);
    pair.open();
    let (start, mut data, mut acks) = (pair.now, 0, 0);
    pair.drop = Box::new(move |end, _, segment| {
        let counter = if end == OPENER { &mut data } else { &mut acks };
        *counter += 1;
        let lost_data = end == OPENER && segment.payload > 0 && (*counter == 1 || *counter == 10);
        lost_data || (end == ACCEPTOR && (4..=8).contains(counter))
    });
    pair.write(OPENER, 10_000);
    pair.run_for(SimDuration::from_millis(200));
    assert_eq!(pair.ends[OPENER].controller().ssthresh(), Some(Bytes(5_000)));
    assert_eq!(pair.ends[OPENER].cwnd(), Bytes(1_000));
    pair.run_for(SimDuration::from_millis(100));
    assert_eq!((pair.ends[OPENER].cwnd(), pair.ends[ACCEPTOR].received()), (Bytes(5_000), Bytes(10_000)));
    assert_eq!(pair.now.saturating_since(start), SimDuration::from_millis(300));
}

#[test]
fn sack_repairs_all_holes_in_one_round_trip() {
    let (pair, sent) = lose(&with_recovery(LossRecovery::Sack), 100, &[1, 3, 5], 1_500);
    let resent: Vec<u64> = [1, 3, 5]
        .iter()
        .map(|number| sent.iter().filter(|(_, sent)| sent == number).nth(1).expect("sent again").0)
        .collect();
    assert_eq!(resent, [100, 100, 100]);
    let counters = pair.ends[OPENER].counters();
    assert_eq!((counters.timeouts, counters.fast_recoveries, counters.retransmitted_segments), (0, 1, 3));
}

#[test]
fn tahoe_starts_again_from_one_segment() {
    let (pair, _) = lose(&with_recovery(LossRecovery::Tahoe), 100, &[1], 150);
    assert_eq!(pair.ends[OPENER].cwnd(), Bytes(1_000));
}

//= rfc6298-3-karn
#[test]
fn the_timer_doubles_and_karn_keeps_it_until_a_valid_sample() {
    // The only segment is lost three times: sent at 0, then after RTO = 1 s, 2 s, 4 s.
    let (pair, sent) = lose(&plain(), 1, &[1, 1, 1], 8_000);
    assert_eq!(sent, [(0, 1), (1_000, 1), (3_000, 1), (7_000, 1)]);
    assert_eq!(pair.ends[OPENER].counters().timeouts, 3);
    // the ACK at 7100 acknowledges a retransmission: no sample, the back-off stays
    assert_eq!(pair.ends[OPENER].rto(), SimDuration::from_secs(8));
}

//= rfc2018-5-timeout-forgets
//= rfc2018-5-not-sacked-again
//= rfc6675-5.1-after-timeout
#[test]
fn a_timeout_resends_only_what_was_not_sacked() {
    // Everything but 4 to 6 is lost, so that only three duplicates come; the retransmission of 1 is lost too.
    let config = TcpConfig { prr: false, ..plain() };
    let (pair, sent) = lose(&config, 10, &[1, 1, 2, 2, 3, 3, 7, 8, 9, 10], 5_000);
    let after: Vec<u32> = sent.iter().filter(|(ms, _)| *ms >= 1_000).map(|(_, number)| *number).collect();
    assert!(!after.contains(&4) && !after.contains(&5) && !after.contains(&6), "{after:?}");
    assert_eq!(pair.ends[ACCEPTOR].received(), Bytes(10_000));
}

//= rfc2018-4-latest-first
#[test]
fn sack_blocks_are_those_of_rfc_2018s_example() {
    // RFC 2018 section 4, example 2 of "every other segment": 500-octet segments there, 1000 here. Segment 1 arrives,
    // 2 is lost, 3 arrives, 4 is lost, 5 arrives, 6 is lost, 7 arrives: the latest block comes first.
    let (pair, _) = lose(&with_recovery(LossRecovery::Sack), 7, &[2, 4, 6], 60);
    let last = pair.seen.iter().rev().find(|seen| seen.from == ACCEPTOR).expect("an ACK").segment;
    let blocks: Vec<(u32, u32)> = last.sack.as_slice().iter().map(|block| (block.start.0, block.end.0)).collect();
    assert_eq!(last.ack.0, 1_001);
    assert_eq!(blocks, [(6_001, 7_001), (4_001, 5_001), (2_001, 3_001)]);
}

//= rfc9937-5-end
//= rfc9937-5-recover-fs
//= rfc5681-3.2-without-limited-transmit
#[test]
fn prr_reaches_ssthresh_at_the_end_of_recovery() {
    let config = TcpConfig { initial_window: Bytes(20_000), ..with_recovery(LossRecovery::Sack) };
    let (pair, sent) = lose(&config, 1_000, &[1], 199);
    // Each of the first two duplicates lets one new segment out (RFC 6675 section 5 step 3); they do not count for
    // ssthresh, which is 20 / 2. RFC 9937: RecoverFS = 22 - 3 SACKed + 1 just now = 20; 17 duplicates from the third on
    // let out 17 * 10 / 20 = 8.5 segments' worth of octets: eight whole ones, the retransmission among them.
    assert_eq!(numbers_at(&sent, 100).len(), 2 + 8);
    assert_eq!(pair.ends[OPENER].pipe(), Bytes(10_000));
}

/// Octets of a stream: any number, or a few full segments, behind which only the FIN is left.
fn stream() -> impl Strategy<Value = u64> {
    prop_oneof![1_u64..60_000, (1_u64..8).prop_map(|segments| segments * u64::from(MSS))]
}

fn recovery() -> impl Strategy<Value = LossRecovery> {
    prop_oneof![
        Just(LossRecovery::Tahoe),
        Just(LossRecovery::Reno),
        Just(LossRecovery::NewReno),
        Just(LossRecovery::Sack)
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever is lost, in either direction, everything arrives, and both ends close.
    //= rfc2018-8-receiver-keeps
    #[test]
    fn every_octet_arrives_under_any_loss(
        recovery in recovery(),
        some in any::<u32>(),
        losses in proptest::collection::vec(any::<bool>(), 1..60),
        octets in stream(),
        window in 1_u64..=10,
        initial_sequence in any::<u32>(),
    ) {
        let config = TcpConfig {
            initial_window: Bytes(window * u64::from(MSS)),
            initial_sequence,
            max_retries: 100,
            syn_retries: 100,
            ..switches(recovery, some)
        };
        let mut pair = Pair::new(&config, &config);
        let mut losses = losses.into_iter();
        pair.drop = Box::new(move |_, _, _| losses.next().unwrap_or(false));
        pair.call(OPENER, ackclock_tcp::Endpoint::connect);
        pair.write(OPENER, octets);
        pair.close(OPENER);
        pair.write(ACCEPTOR, octets / 2);
        pair.close(ACCEPTOR);
        // Sixty losses in a row back the timer off to its maximum of 60 or 120 s; leave room for all of them.
        pair.run_for(SimDuration::from_secs(16_000));
        prop_assert_eq!(pair.ends[ACCEPTOR].received(), Bytes(octets));
        prop_assert_eq!(pair.ends[OPENER].received(), Bytes(octets / 2));
        prop_assert_eq!(pair.ends[OPENER].state(), ackclock_tcp::State::TimeWait);
        prop_assert!(pair.ends[OPENER].flight_size() == Bytes(0) && pair.ends[OPENER].pipe() == Bytes(0));
    }
}

/// The configuration of Linux 2.4: forward acknowledgement and rate halving.
fn fack() -> TcpConfig {
    let (loss_detection, recovery) = (LossDetection::Fack, with_recovery(LossRecovery::Sack));
    TcpConfig { loss_detection, rate_halving: true, prr: false, decrease_from: DecreaseFrom::Cwnd, ..recovery }
}

/// Hoe (SIGCOMM 1996): a new segment for every second duplicate ACK. Of nine the first two let 11 and 12 out (limited transmit), the
/// third brings the retransmission, and then the fifth, the seventh and the ninth one each.
#[test]
fn rate_halving_lets_a_segment_out_for_every_second_duplicate_ack() {
    let (pair, sent) = lose(&fack(), 100, &[1], 199);
    assert_eq!(numbers_at(&sent, 100), [11, 12, 1, 13, 14, 15]);
    assert_eq!(pair.ends[OPENER].cwnd(), Bytes(6_000)); // the seventh ACK of this recovery: ten, less one three times, of 12 - 6 + 1
}

/// Mathis and Mahdavi (SIGCOMM 1996): one SACK of the seventh segment shows that the first is lost, and three others
/// with it. By hand: six are in flight of those that may yet arrive once 1 is sent again, so that the window is six,
/// then 5, 4, 3 with what arrives. It is 2 at the end, from where slow start leads back to half of ten.
#[test]
fn forward_acknowledgement_repairs_what_one_sack_tells_of() {
    let (pair, sent) = lose(&fack(), 100, &[1, 2, 3, 4, 5, 6], 399);
    assert_eq!(numbers_at(&sent, 100), [1, 2, 3]);
    assert_eq!(numbers_at(&sent, 200), [4, 5]);
    assert_eq!(numbers_at(&sent, 300), [6, 11]);
    assert_eq!(pair.ends[OPENER].counters().timeouts, 0);
    let (pair, sent) = lose(&fack(), 100, &[1, 2, 3, 4, 5, 6], 400);
    assert_eq!(numbers_at(&sent, 400), [12, 13, 14]); // two, and one more for the ACK of 11
    assert_eq!(
        (pair.ends[OPENER].cwnd(), pair.ends[OPENER].controller().ssthresh()),
        (Bytes(3_000), Some(Bytes(5_000)))
    );
}

/// Linux 2.4: the SACK of 13, which was new after the retransmission of 1, shows that the retransmission is lost. By
/// hand, from six in flight.
#[test]
fn a_lost_retransmission_is_found_by_what_was_sent_after_it() {
    let (pair, sent) = lose(&fack(), 100, &[1, 1], 299);
    assert_eq!(numbers_at(&sent, 200), [16, 1, 17]);
    assert_eq!(pair.ends[OPENER].counters().timeouts, 0);
}

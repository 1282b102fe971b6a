//! Effects of single switches that no packet script shows from both sides. Segments of 1000 octets, a round trip of 100
//! ms, an ACK for each; data leaves at 200 ms.

use crate::common::{OPENER, Pair, plain, with_growing_round_trip};
use ackclock_tcp::{
    EpisodeCause, IdleRestart, LossDetection, RtoConfig, RtoEstimator, RtoResume, RttSample, TcpConfig,
    TimeoutInRecovery,
};
use ackclock_units::{Bytes, SimDuration, SimTime};
use ackclock_wire::{Flags, SackBlock, Segment, Seq, Timestamps};

fn ms(count: u64) -> SimDuration {
    SimDuration::from_millis(count)
}

fn rto() -> RtoConfig {
    RtoConfig::of(RtoEstimator::Rfc6298)
}

/// An open connection at 200 ms, on which segments, counted from 1, are lost as often as `losses` says.
fn opened(config: &TcpConfig, losses: &'static [(u32, usize)]) -> Pair {
    let mut pair = Pair::new(config, config);
    let mut left = losses.to_vec();
    pair.drop = Box::new(move |end, _, segment| {
        let is_hit = |(number, left): &&mut (u32, usize)| segment.seq.0 == (*number - 1) * 1_000 + 1 && *left > 0;
        let hit = left.iter_mut().find(is_hit).filter(|_| end == OPENER && segment.payload > 0);
        hit.map(|(_, left)| *left -= 1).is_some()
    });
    pair.open();
    pair
}

/// Departure times of segment `number`, in milliseconds.
fn departures(pair: &Pair, number: u32) -> Vec<u64> {
    let sent = pair.data_sent(OPENER).into_iter();
    sent.filter(|(_, seq, _)| *seq == (number - 1) * 1_000 + 1).map(|(ms, _, _)| ms).collect()
}

#[test]
fn a_timeout_in_a_recovery_is_an_episode_of_its_own_or_a_part_of_it() {
    let episodes = |timeout_in_recovery| {
        let config = TcpConfig { timeout_in_recovery, ..plain() };
        let mut pair = opened(&config, &[(1, 2)]);
        pair.write(OPENER, 20_000);
        pair.run_for(ms(10_000));
        let episodes = pair.ends[OPENER].take_episodes().into_iter();
        episodes.map(|episode| (episode.cause, episode.ssthresh_after)).collect::<Vec<_>>()
    };
    // Ten segments in flight, the first and its retransmission lost. RFC 5681 equation 4: ssthresh = 10 / 2 = 5. After the
    // timeout RFC 5681 takes half of what is outstanding, bounded by cwnd, 5: 2.5. Linux keeps 5: high_seq is not yet
    // acknowledged.
    let loss = (EpisodeCause::Loss, Some(Bytes(5_000)));
    let timeout = (EpisodeCause::Timeout, Some(Bytes(2_500)));
    assert_eq!(episodes(TimeoutInRecovery::NewEpisode), [loss, timeout]);
    assert_eq!(episodes(TimeoutInRecovery::SameEpisode), [loss]);
}

/// RFC 5681 section 4.3: the loss of a retransmission is a second indication of congestion, for which the window is lowered twice.
//= rfc5681-4.3-lost-retransmission
#[test]
fn a_retransmission_that_is_found_lost_is_an_episode_of_its_own_or_a_part_of_it() {
    let episodes = |timeout_in_recovery, loss_detection| {
        let config = TcpConfig { timeout_in_recovery, loss_detection, tlp: true, ..plain() };
        let mut pair = opened(&config, &[(1, 2)]);
        pair.write(OPENER, 40_000);
        pair.run_for(ms(2_000));
        assert_eq!(pair.ends[OPENER].counters().timeouts, 0);
        let episodes = pair.ends[OPENER].take_episodes().into_iter();
        episodes.map(|episode| (episode.cause, episode.ssthresh_after)).collect::<Vec<_>>()
    };
    // As above. New data that left after the retransmission tells at 200 ms that this is lost: half of what is outstanding, bounded by
    // cwnd, 5.
    let (first, second) = ((EpisodeCause::Loss, Some(Bytes(5_000))), (EpisodeCause::Loss, Some(Bytes(2_500))));
    for detection in [LossDetection::Rack, LossDetection::Fack] {
        assert_eq!(episodes(TimeoutInRecovery::NewEpisode, detection), [first, second], "{detection:?}");
        assert_eq!(episodes(TimeoutInRecovery::SameEpisode, detection), [first], "{detection:?}");
    }
}

#[test]
fn the_ack_that_ends_a_recovery_may_grow_the_window() {
    let cwnd = |growth_at_recovery_end| {
        let config = TcpConfig { growth_at_recovery_end, ..plain() };
        let mut pair = opened(&config, &[(1, 1)]);
        pair.write(OPENER, 100_000);
        pair.run_for(ms(200));
        pair.ends[OPENER].cwnd().0
    };
    // At 400 ms the ACK of the retransmission ends the recovery, at half of ten segments; two ACKs of what was sent in it
    // follow at once. In congestion avoidance an ACK of one segment adds SMSS * SMSS / cwnd (RFC 5681 equation 3): 1000 *
    // 1000 / 5000 = 200, then 1000 * 1000 / 5200 = 192, and a third 185.
    assert_eq!(cwnd(false), 5_392);
    assert_eq!(cwnd(true), 5_577);
}

#[test]
fn a_retransmission_of_the_first_segment_may_restart_the_timer() {
    let sent = |restart_on_retransmission| {
        let rto = RtoConfig { restart_on_retransmission, ..rto() };
        let config = TcpConfig { loss_detection: LossDetection::Rack, rto, ..plain() };
        let mut pair = opened(&config, &[(1, 3)]);
        pair.write(OPENER, 12_000);
        pair.run_for(ms(2_000));
        departures(&pair, 1)
    };
    // The recovery starts the timer at 300 ms. At 400 ms a SACK of what left after the retransmission says that that is
    // lost (RFC 8985 section 6.2 step 5), and it is sent again; the timeout of 1 s counts from one or the other.
    assert_eq!(sent(false), [200, 300, 400, 1_300]);
    assert_eq!(sent(true), [200, 300, 400, 1_400]);
}

#[test]
fn a_sack_of_older_data_may_restart_the_timer() {
    let sent = |restart_on_sack| {
        let config = TcpConfig { rto: RtoConfig { restart_on_sack, ..rto() }, ..plain() };
        let mut pair = opened(&config, &[(1, 2)]);
        pair.write(OPENER, 4_000);
        pair.run_for(ms(50));
        pair.write(OPENER, 1_000);
        pair.run_for(ms(1_500));
        departures(&pair, 1)
    };
    // Three SACKs at 300 ms: the first segment leaves again. The segment of 250 ms is SACKed at 350 ms, and left before.
    assert_eq!(sent(false), [200, 300, 1_300]);
    assert_eq!(sent(true), [200, 300, 1_350]);
}

#[test]
fn lost_syns_shrink_the_initial_window_beyond_what_is_tolerated() {
    let cwnd = |syn_losses_tolerated, lost: usize| {
        let config = TcpConfig { syn_losses_tolerated, ..plain() };
        let mut pair = Pair::new(&config, &config);
        pair.drop = Box::new(move |end, index, _| end == OPENER && index < lost);
        pair.call(OPENER, ackclock_tcp::Endpoint::connect);
        pair.run_for(ms(10_000));
        pair.ends[OPENER].cwnd().0 / 1_000
    };
    // RFC 5681 section 3.1: one segment after a lost SYN; Linux after two.
    assert_eq!([cwnd(0, 0), cwnd(0, 1)], [10, 1]);
    assert_eq!([cwnd(1, 1), cwnd(1, 2)], [10, 1]);
}

#[test]
fn the_oldest_segment_of_an_ack_counts_the_delay_of_the_ack() {
    let srtt_and_latest = |sample| {
        let mut config = TcpConfig { rto: RtoConfig { sample, ..rto() }, ..plain() };
        config.delayed_ack.segments = 2;
        let mut pair = opened(&config, &[]);
        pair.write(OPENER, 1_000);
        pair.run_for(ms(40));
        pair.write(OPENER, 1_000);
        pair.run_for(ms(100));
        let rtt = pair.ends[OPENER].rtt();
        (rtt.srtt, rtt.latest, rtt.min_rtt)
    };
    // The ACK of both comes at 340 ms: 100 ms after the second, 140 ms after the first. SRTT = 100 + (140 - 100) / 8 (RFC
    // 6298 section 2.3). min_rtt and the sample of controllers are of the newest in either case.
    assert_eq!(srtt_and_latest(RttSample::Newest), (ms(100), ms(100), ms(100)));
    assert_eq!(srtt_and_latest(RttSample::Oldest), (ms(105), ms(100), ms(100)));
}

#[test]
fn a_sack_may_give_an_rtt_sample() {
    let sample = |sack_samples| {
        let config = TcpConfig { rto: RtoConfig { sack_samples, ..rto() }, ..plain() };
        let mut pair = opened(&config, &[(1, 1)]);
        pair.write(OPENER, 2_000);
        pair.run_for(ms(100));
        pair.ends[OPENER].latest_rtt_sample()
    };
    assert_eq!(sample(false), None); // RFC 6298: of what is acknowledged
    assert_eq!(sample(true), Some(ms(100)));
}

#[test]
fn from_the_head_a_timeout_without_a_floor_is_due_before_the_next_ack() {
    let sent = |resume_from| {
        let rto = RtoConfig { min: ms(200), resume_from, ..rto() };
        let config = TcpConfig { tlp: true, loss_detection: LossDetection::Rack, rto, ..plain() };
        with_growing_round_trip(&config).ends[OPENER].counters().probes
    };
    assert_eq!(sent(RtoResume::Restart), 0);
    assert!(sent(RtoResume::Head) > 0); // 440 ms after the head is beyond its timeout
}

#[test]
fn the_reordering_timer_waits_a_quarter_of_the_least_rtt_and_the_slack() {
    let sent = |rack_tlp_slack| {
        let config = TcpConfig { loss_detection: LossDetection::Rack, rack_tlp_slack, ..plain() };
        let mut pair = opened(&config, &[(1, 1)]);
        pair.write(OPENER, 2_000);
        pair.run_for(ms(500));
        departures(&pair, 1)
    };
    // RFC 8985 section 6.2 steps 4, 5: 200 + 100 + 100 / 4; Linux adds TCP_TIMEOUT_MIN, 2 ms.
    assert_eq!(sent(SimDuration::ZERO), [200, 325]);
    assert_eq!(sent(ms(2)), [200, 327]);
}

#[test]
fn the_probe_of_a_single_segment_allows_for_a_delayed_ack_whatever_the_least_rto() {
    let sent = |tlp_max_ack_delay| {
        let config = TcpConfig { tlp: true, tlp_max_ack_delay, ..plain() };
        let mut pair = opened(&config, &[(1, 1)]);
        pair.write(OPENER, 1_000);
        pair.run_for(ms(900));
        departures(&pair, 1)
    };
    // RFC 8985 section 7.2: 2 * SRTT + TLP.max_ack_delay, with an RTO of 1 s.
    assert_eq!(sent(ms(200)), [200, 600]);
    assert_eq!(sent(ms(25)), [200, 425]);
}

/// A SACK of the segments 2 to 4 at 300 ms, and at 400 ms an ACK of all four; what leaves again of the others.
fn sent_again_after_a_late_original(rack_timestamp_check: bool) -> Vec<(u64, u32, u32)> {
    let config = TcpConfig { loss_detection: LossDetection::Rack, timestamps: true, rack_timestamp_check, ..plain() };
    let mut pair = Pair::new(&config, &config);
    pair.drop = Box::new(|end, _, segment| end == OPENER && segment.payload > 0);
    pair.open();
    pair.write(OPENER, 10_000);
    let original = pair.seen.last().expect("a segment").segment;
    let ack = |ack: u32, sacked: &[(u32, u32)]| {
        let mut segment =
            Segment { seq: Seq(1), ack: Seq(ack), window: 65_535, flags: Flags::ACK, ..Segment::default() };
        segment.timestamps = original.timestamps.map(|sent| Timestamps { value: sent.value + 50, echo: sent.value });
        for &(start, end) in sacked {
            segment.sack.push(SackBlock { start: Seq(start), end: Seq(end) });
        }
        segment
    };
    for segment in [ack(1, &[(1_001, 4_001)]), ack(4_001, &[])] {
        pair.run_for(ms(100));
        pair.call(OPENER, |end, now, out| end.on_segment(now, &segment, out));
    }
    pair.data_sent(OPENER).split_off(10)
}

//= rfc8985-6.2-too-early
#[test]
fn rack_takes_no_retransmission_for_delivered_by_an_ack_that_echoes_an_older_timestamp() {
    // The SACK of three segments opens a recovery, and the first leaves again at 300 ms. The ACK of 400 ms echoes the
    // original, which was only late: RFC 8985 section 6.2 step 2 leaves the retransmission out. By the least RTT, 100 ms,
    // alone it would have been delivered, and what left before it, the segments 5 to 10, be lost: PRR sends one of them.
    assert_eq!(sent_again_after_a_late_original(true)[..1], [(300, 1, 1_000)]);
    assert!(!sent_again_after_a_late_original(true).iter().any(|(_, seq, _)| *seq == 4_001));
    assert!(sent_again_after_a_late_original(false).contains(&(400, 4_001, 1_000)));
}

#[test]
fn the_restart_window_of_rfc_5681_leaves_ssthresh_that_of_linux_three_quarters() {
    let ssthresh = |idle_restart, initial_ssthresh| {
        let config = TcpConfig { idle_restart, initial_ssthresh, ..plain() };
        let mut pair = opened(&config, &[]);
        pair.write(OPENER, 2_000_000);
        pair.run_for(ms(10_000));
        let cwnd = pair.ends[OPENER].tcp_info(pair.now).snd_cwnd;
        pair.write(OPENER, 1_000);
        let info = pair.ends[OPENER].tcp_info(pair.now);
        assert!(info.snd_cwnd < cwnd);
        (cwnd, info.snd_ssthresh)
    };
    // RFC 5681 section 4.1 speaks of cwnd only; RFC 2861 section 3 sets ssthresh to 3/4 of cwnd.
    let initial = Some(Bytes(12_000));
    assert_eq!(ssthresh(IdleRestart::Rfc5681, initial).1, Some(12));
    let (cwnd, kept) = ssthresh(IdleRestart::Linux, initial);
    assert_eq!(kept, Some(cwnd / 2 + cwnd / 4)); // in whole segments
    // It says the larger of the two: what is infinite stays so.
    assert_eq!(ssthresh(IdleRestart::Linux, None).1, None);
}

#[test]
fn the_user_timeout_is_no_matter_of_what_a_decrease_starts_from() {
    use ackclock_tcp::{DecreaseFrom, UserTimeoutFrom};
    let given_up = |decrease_from, user_timeout_from| {
        let user_timeout = Some(ms(5_000));
        let config = TcpConfig { decrease_from, user_timeout, user_timeout_from, ..plain() };
        let mut pair = opened(&config, &[(1, usize::MAX)]);
        pair.write(OPENER, 1_000);
        let mut at = SimTime::ZERO;
        while !pair.ends[OPENER].is_aborted() && pair.now < SimTime(20_000_000_000) {
            pair.run_for(ms(100));
            at = pair.now;
        }
        at.0 / 1_000_000
    };
    for from in [DecreaseFrom::FlightSize, DecreaseFrom::Cwnd] {
        // RFC 5482: 5 s after the segment of 0.2 s. Linux: after its first retransmission, at 1.2 s.
        assert_eq!(given_up(from, UserTimeoutFrom::Transmission), 5_200);
        assert_eq!(given_up(from, UserTimeoutFrom::Retransmission), 6_200);
    }
}

/// RFC 9293 section 3.10.7.4 (fifth check) and RFC 5961 section 5.2.
#[test]
fn nothing_is_taken_of_a_segment_without_ack_nor_of_one_that_acknowledges_the_unsent() {
    let mut pair = opened(&plain(), &[]);
    let fin = |flags: Flags, ack| Segment { seq: Seq(1), ack: Seq(ack), window: 65_535, flags, ..Segment::default() };
    for (segment, answers) in [(fin(Flags::FIN, 0), 0), (fin(Flags::FIN.with(Flags::ACK), 500), 1)] {
        let before = pair.seen.len();
        pair.call(OPENER, |end, now, out| end.on_segment(now, &segment, out));
        let sent: Vec<_> = pair.seen[before..].iter().filter(|seen| seen.from == OPENER).collect();
        assert_eq!(sent.len(), answers);
        assert!(sent.iter().all(|seen| seen.segment.ack == Seq(1)), "the FIN is not taken");
    }
}

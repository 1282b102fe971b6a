//! CDG, TCP-LP and TCP-NV; expected values are the arithmetic of their modules in Linux 7.3.

use super::*;
use crate::event::SegmentTimestamps;
use crate::linux_module::cdg::Cdg;
use crate::linux_module::lp::Lp;
use crate::linux_module::nv::Nv;

/// The factor with which any gradient above zero reduces the window: `1 - exp(-8000)` for a millisecond in each of eight round trips.
const SURE: CdgConfig = CdgConfig { backoff_factor: 1_000_000, ..CDG };
const CDG: CdgConfig = CdgConfig {
    gradient_window: 8,
    backoff_beta: std::f64::consts::FRAC_1_SQRT_2,
    backoff_factor: 42,
    hystart: CdgHystart::Both,
    ineffectual_backoffs: 5,
    shadow_window: true,
    loss_tolerance: false,
    seed: 0,
};

/// Ends round trips of these RTTs, after the one that it begins with; returns which of them reduce the window.
fn round_trips(cdg: &mut Cdg, grown: &mut SegmentWindow, rtts_ms: &[u64]) -> Vec<bool> {
    let ended = |(number, rtt_ms): (usize, &u64)| {
        cdg.on_ack(grown, &acked(0.0, *rtt_ms, State::Open));
        let snd_una = number as u64 + 1;
        cdg.grow(grown, &Growth { segments: 0, snd_una, snd_nxt: snd_una, ..growth(0.0) });
        cdg.begins_reduction()
    };
    rtts_ms.iter().enumerate().map(ended).collect()
}

#[test]
fn cdg_reduces_the_window_while_the_sum_of_gradients_is_above_zero() {
    let (mut cdg, mut grown) = (Cdg::new(&SURE, 100), window(100));
    // The second gradient is the first that there is. Over eight round trips the sum stays above zero for seven more.
    let begins = round_trips(&mut cdg, &mut grown, &[100, 100, 101, 101, 101]);
    assert_eq!(begins, [false, false, true, true, true]);
    assert_eq!(cdg.decrease(&episode(0.0, 100)), 70); // 100 * 724 / 1024 = 70.7
    assert_eq!(round_trips(&mut Cdg::new(&SURE, 100), &mut grown, &[100, 99, 98]), [false; 3]);
    let never = CdgConfig { backoff_factor: 0, ..CDG };
    assert_eq!(round_trips(&mut Cdg::new(&never, 100), &mut grown, &[100, 200, 300]), [false; 3]);
}

#[test]
fn cdg_extrapolates_the_gradients_that_are_missing() {
    // 8 * 1000 / 1 us in the first round trip with a gradient: a reduction in 1 - exp(-8000 * 42e-6) = 28.5 % of all.
    let count = (0..2_000).filter(|seed| {
        let config = CdgConfig { seed: *seed, ..CDG };
        round_trips(&mut Cdg::new(&config, 100), &mut window(100), &[100, 101])[1]
    });
    let share = count.count() as f64 / 2_000.0;
    assert!((share - 0.285).abs() < 0.035, "{share}"); // 3.5 deviations of 0.0101
}

#[test]
fn cdg_ignores_gradients_after_five_reductions_until_the_delay_falls() {
    let (mut cdg, mut grown) = (Cdg::new(&CdgConfig { gradient_window: 1, ..SURE }, 100), window(100));
    let begins = round_trips(&mut cdg, &mut grown, &[100, 110, 120, 130, 140, 150, 160, 170, 160, 170]);
    assert_eq!(begins, [false, true, true, true, true, true, false, false, false, true]);
}

#[test]
fn cdgs_shadow_window_keeps_what_reductions_took() {
    let (mut cdg, mut grown) = (Cdg::new(&SURE, 100), window(100));
    round_trips(&mut cdg, &mut grown, &[100, 101]);
    assert_eq!(cdg.decrease(&episode(0.0, 100)), 70);
    cdg.on_state(&mut grown, &change(State::Reducing, State::Open, 0));
    assert_eq!(cdg.decrease(&episode(0.0, 70)), 50); // half of 100 is more than half of 70
    assert_eq!(cdg.decrease(&episode(0.0, 50)), 25);
    let mut plain = Cdg::new(&CdgConfig { shadow_window: false, ..SURE }, 100);
    assert_eq!(plain.decrease(&episode(0.0, 70)), 35);
    // Idle time begins with the window of then.
    cdg.on_restart(80, 0);
    assert_eq!(cdg.decrease(&episode(0.0, 80)), 40);
}

#[test]
fn cdg_tolerates_a_loss_while_no_queue_is_full() {
    let tolerant = CdgConfig { loss_tolerance: true, backoff_factor: 0, ..CDG };
    // Rising and falling delays are those of a queue that is not full.
    for rtts_ms in [[100, 110], [110, 100]] {
        let mut cdg = Cdg::new(&tolerant, 100);
        round_trips(&mut cdg, &mut window(100), &rtts_ms);
        assert_eq!(cdg.decrease(&episode(0.0, 100)), 100);
    }
    let mut cdg = Cdg::new(&tolerant, 100);
    round_trips(&mut cdg, &mut window(100), &[100, 100]);
    assert_eq!(cdg.decrease(&episode(0.0, 100)), 50);
}

#[test]
fn cdg_leaves_slow_start_where_the_ninth_rtt_is_an_eighth_longer() {
    for (rtt_ms, ssthresh) in [(112, None), (113, Some(40))] {
        let mut cdg = Cdg::new(&CdgConfig { hystart: CdgHystart::Delay, ..CDG }, 40);
        let mut grown = SegmentWindow::new(Start::of(MSS, 40 * MSS, None));
        round_trips(&mut cdg, &mut grown, &[100]);
        cdg.on_ack(&mut grown, &acked(0.1, rtt_ms, State::Open));
        let same = Growth { segments: 0, snd_una: 1, ..growth(0.1) };
        (0..8).for_each(|_| cdg.grow(&mut grown, &same));
        assert_eq!(grown.ssthresh, None);
        cdg.grow(&mut grown, &same);
        assert_eq!(grown.ssthresh, ssthresh, "{rtt_ms} ms"); // 100 + 100 / 8 = 112.5 ms
    }
}

#[test]
fn cdg_leaves_slow_start_where_acks_follow_each_other_for_half_of_the_least_rtt() {
    let mut cdg = Cdg::new(&CdgConfig { hystart: CdgHystart::AckTrain, ..CDG }, 40);
    let mut grown = SegmentWindow::new(Start::of(MSS, 40 * MSS, None));
    cdg.on_ack(&mut grown, &acked(0.0, 20, State::Open));
    for number in 0..=5 {
        // 2 ms lie between ACKs; the first begins the train.
        cdg.grow(&mut grown, &Growth { segments: 0, ..growth(1.0 + 0.002 * f64::from(number)) });
    }
    assert_eq!(grown.ssthresh, None); // 10 ms are not more than 10 ms
    cdg.grow(&mut grown, &Growth { segments: 0, ..growth(1.0105) });
    assert_eq!(grown.ssthresh, Some(40));
}

fn stamped(tsecr: u32, tsval: u32, arrival: u32) -> Acked {
    let tick = SimDuration::from_millis(1);
    let timestamps = Some(SegmentTimestamps { tsval, tsecr, arrival, tick });
    Acked { timestamps, ..acked(0.0, (arrival - tsecr).into(), State::Open) }
}

#[test]
fn lp_halves_the_window_where_the_delay_is_15_percent_into_its_range() {
    let (mut lp, mut grown) = (Lp::default(), window(40));
    grown.ssthresh = Some(10);
    lp.on_ack(&mut grown, &stamped(1_000, 1_020, 1_040));
    assert_eq!(grown.cwnd, 40); // the clocks are not known yet
    // The range is a single delay, and that is not below it.
    lp.on_ack(&mut grown, &stamped(1_100, 1_120, 1_140));
    assert_eq!(grown.cwnd, 20);
    // From 20 to 40 ms: 23 ms are long. Nothing grows for 3 * 41 ms.
    lp.on_ack(&mut grown, &stamped(1_200, 1_221, 1_241));
    (0..40).for_each(|_| lp.grow(&mut grown, &growth(0.0)));
    assert_eq!(grown.cwnd, 20); // (8 * 20 + 1) / 8 = 20
    lp.on_ack(&mut grown, &stamped(1_300, 1_321, 1_341));
    (0..20).for_each(|_| lp.grow(&mut grown, &growth(0.0)));
    assert_eq!(grown.cwnd, 21);
    // 160 + 1 + 1 + 60 - 20 = 202 eighths
    lp.on_ack(&mut grown, &stamped(101_300, 101_360, 101_380));
    assert_eq!(grown.cwnd, 10);
    // The range is from 25 to 50 ms: 28 ms are long. 202 + 60 - 25 = 237 eighths, within 240 ms of the last.
    lp.on_ack(&mut grown, &stamped(101_400, 101_460, 101_480));
    assert_eq!(grown.cwnd, 1);
}

#[test]
fn lp_keeps_its_window_for_delays_that_fill_29_bits_and_in_a_reduction() {
    let offset = 1 << 29;
    let (mut lp, mut grown) = (Lp::default(), window(40));
    for number in 0..8 {
        let sent = 1_000 + 100 * number;
        lp.on_ack(&mut grown, &stamped(sent, offset + sent + 20 + 10 * number, sent + 200));
    }
    assert_eq!(grown.cwnd, 40);
    let mut lp = Lp::default();
    for sent in [1_000, 1_100] {
        lp.on_ack(&mut grown, &Acked { state: State::Reducing, ..stamped(sent, sent + 20, sent + 40) });
    }
    assert_eq!(grown.cwnd, 40);
}

#[test]
fn lp_takes_a_clock_in_whole_milliseconds_and_a_faster_one_for_none() {
    let (mut lp, mut grown) = (Lp::default(), window(40));
    for (sent, ticks) in [(1_000, 500), (1_100, 525)] {
        lp.on_ack(&mut grown, &stamped(sent, ticks, sent + 40)); // 25 ticks of 4 ms
    }
    assert_eq!(inspected(&lp, "peer_hz"), 250);
    assert_eq!(inspected(&lp, "one_way_delay_ms"), 4 * 525 - 1_100);
    // 1001 ticks in a second have no whole milliseconds: 64 * 1000 + 1150 - 1000 = 64 * 1002.
    let mut lp = Lp::default();
    for (sent, ticks) in [(1_000, 1_000), (1_100, 1_100), (1_200, 1_215)] {
        lp.on_ack(&mut grown, &stamped(sent, ticks, sent + 40));
    }
    assert_eq!(inspected(&lp, "peer_hz"), 1_002);
    assert_eq!(lp.decrease(&episode(0.0, 41)), 20);
}

/// A round trip of 100 ms with this number of ACKs, each of 50 segments delivered since its segment left.
fn nv_round(nv: &mut Nv, grown: &mut SegmentWindow, acks: u64, began: u64) {
    for number in 1..=acks {
        let snd_una = began + number;
        let told = Acked { snd_una, snd_nxt: began + acks, delivered: 50 * MSS, ..acked(1.0, 100, State::Open) };
        nv.on_ack(grown, &told);
    }
}

#[test]
fn nv_gives_up_three_tenths_of_what_is_above_its_target() {
    // 50,000 octets in 100 ms are 40,000 times 100 bit/s, which fill 50 segments; ten more are the target.
    for (cwnd, after) in [(80, 75), (64, 62), (63, 61), (62, 60), (61, 60)] {
        let (mut nv, mut grown) = (Nv::new(&NvConfig::default()), window(cwnd));
        for number in 0..3 {
            nv_round(&mut nv, &mut grown, 60, 60 * number);
        }
        assert_eq!((grown.cwnd, grown.ssthresh), (after, Some(60)), "{cwnd}"); // 20 * 38 / 128 = 5, but at least 2
    }
}

#[test]
fn nv_judges_only_a_round_trip_with_enough_acks() {
    // Above the target 30 ACKs end the first slow start; 60 are needed later, in at least two round trips.
    let mut nv = Nv::new(&NvConfig::default());
    let mut grown = SegmentWindow::new(Start::of(MSS, 80 * MSS, None));
    for (number, ssthresh) in [(0, None), (1, None), (2, None), (3, Some(60))] {
        nv_round(&mut nv, &mut grown, 10, 10 * number);
        assert_eq!(grown.ssthresh, ssthresh, "{number}");
    }
    // Two below it the window grows after 20 ACKs.
    let (mut nv, mut grown) = (Nv::new(&NvConfig::default()), window(58));
    nv.on_state(&mut grown, &change(State::Open, State::Reducing, 0));
    nv.on_state(&mut grown, &change(State::Reducing, State::Open, 0));
    for (number, may_grow) in [(0, 0), (1, 0), (2, 1)] {
        nv_round(&mut nv, &mut grown, 10, 10 * number);
        assert_eq!(inspected(&nv, "may_grow"), may_grow, "{number}");
    }
    (0..58).for_each(|_| nv.grow(&mut grown, &growth(0.0)));
    assert_eq!(grown.cwnd, 59);
    assert_eq!(nv.decrease(&episode(0.0, 59)), 47); // 59 * 819 / 1024
}

#[test]
fn nv_grows_half_as_fast_after_a_timeout() {
    let (mut nv, mut grown) = (Nv::new(&NvConfig::default()), window(20));
    nv.on_state(&mut grown, &change(State::Open, State::Loss(0), 0));
    nv.on_state(&mut grown, &change(State::Loss(0), State::Open, 0));
    (0..3).for_each(|number| nv_round(&mut nv, &mut grown, 20, 20 * number));
    (0..39).for_each(|_| nv.grow(&mut grown, &growth(0.0)));
    assert_eq!(grown.cwnd, 20);
    nv.grow(&mut grown, &growth(0.0));
    assert_eq!(grown.cwnd, 21);
}

#[test]
fn nv_forgets_the_least_round_trip_after_two_seconds() {
    let mut nv = Nv::new(&NvConfig { tick: TICK, ..NvConfig::default() });
    nv.on_idle(at(1.0), 0);
    let mut least = |seconds, rtt_ms| {
        nv.on_ack(&mut window(20), &Acked { delivered: MSS, ..acked(seconds, rtt_ms, State::Open) });
        let mut found = f64::NAN;
        nv.inspect(&mut |name, value| found = if name == "min_rtt_s" { value } else { found });
        (found * 1e3).round() as u64
    };
    assert_eq!([least(1.1, 40), least(2.0, 80)], [40, 40]); // averaged: 40, 60
    // The first period's least is that of the second, which begins with it; 70 ms are then the second's own.
    assert_eq!([least(3.0, 80), least(3.1, 80)], [40, 40]);
    // 5 s, give or take a quarter: at the latest 6.25 s after.
    assert_eq!(least(9.25, 75), 75);
}

#[test]
fn a_window_that_is_undone_in_part_completes_no_reduction() {
    for (snd_una, is_undone, completes) in [(2, true, false), (9, true, true), (9, false, true)] {
        let mut cdg = module(Cdg::new(&CdgConfig { shadow_window: false, ..CDG }, 20), 20);
        cdg.on_ack(&AckEvent { snd_una: MSS, snd_nxt: 9 * MSS, ..ack(MSS) });
        cdg.on_congestion(&CongestionEvent { now: at(1.0), ..loss(20 * MSS) });
        if is_undone {
            cdg.on_spurious(at(1.1));
        }
        let over = AckEvent { now: at(1.1), snd_una: snd_una * MSS, snd_nxt: 9 * MSS, ..ack(MSS) };
        cdg.on_ack(&over);
        assert_eq!(cdg.state, State::Open);
        let told = format!("{cdg:?}");
        assert_eq!(told.contains("rtt: Extremes { least: 0, greatest: 0 }"), completes, "{snd_una} {is_undone}");
    }
}

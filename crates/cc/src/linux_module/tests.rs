//! Rules of the modules; expected values are their arithmetic, or entries of their tables in Linux 6.12.

mod delays;

use ackclock_units::{Bytes, SimDuration, SimTime};

use super::*;
use crate::classic::{
    BicConfig, HtcpConfig, HyblaConfig, IllinoisConfig, ScalableConfig, VenoConfig, WestwoodConfig, YeahConfig,
};
use crate::dctcp::DctcpConfig;
use crate::delivery::DeliveryReport;
use crate::event::EchoEvent;
use crate::testing::{ack, loss, recovering, restart, sent, timeout};
use crate::vegas::{VegasConfig, VegasVariant};

const MSS: u64 = 1_000;
/// The tick of a kernel with HZ = 1000.
const TICK: SimDuration = SimDuration::from_millis(1);

fn window(cwnd: u64) -> SegmentWindow {
    SegmentWindow::new(Start::of(MSS, cwnd * MSS, Some(cwnd * MSS)))
}

fn at(seconds: f64) -> SimTime {
    SimTime((seconds * 1e9) as u64)
}

/// A handshake over this round trip at the end that opened the connection.
fn handshake(rtt_ms: u64) -> HandshakeEvent {
    HandshakeEvent { now: at(0.0), srtt: SimDuration::from_millis(rtt_ms), is_opener: true }
}

/// An ACK of a segment in congestion avoidance.
fn growth(seconds: f64) -> Growth {
    let srtt = SimDuration::from_millis(100);
    Growth { now: at(seconds), segments: 1, is_in_use: true, srtt, snd_una: 0, snd_nxt: 0 }
}

fn acked(seconds: f64, rtt_ms: u64, state: State) -> Acked {
    let rtt = Some(SimDuration::from_millis(rtt_ms));
    Acked {
        now: at(seconds),
        segments: 1,
        octets: MSS,
        mss: MSS,
        snd_una: 0,
        snd_nxt: 0,
        delivered: 0,
        has_sacked: false,
        is_plain: true,
        rtt,
        timestamps: None,
        state,
    }
}

/// A loss that duplicate ACKs reveal.
fn episode(seconds: f64, cwnd: u64) -> Episode {
    Episode { now: at(seconds), cwnd, cause: CongestionCause::Loss }
}

fn change(from: State, to: State, snd_nxt: u64) -> Change {
    let completes = from == State::Reducing;
    Change { now: at(0.0), to, snd_una: 0, snd_nxt, completes }
}

fn module(module: impl Module + 'static, cwnd: u64) -> LinuxModule {
    let Controller::LinuxModule(started) = LinuxModule::start(module, Start::of(MSS, cwnd * MSS, Some(cwnd * MSS)))
    else {
        panic!("a module of Linux")
    };
    *started
}

fn inspected(module: &dyn Module, wanted: &str) -> u64 {
    let mut found = f64::NAN;
    module.inspect(&mut |name, value| found = if name == wanted { value } else { found });
    found as u64
}

#[test]
fn highspeed_reads_its_table_upwards_and_counts_acks() {
    // `hstcp_aimd_vals`: an entry's window, and b in 256ths for windows up to it.
    for (cwnd, a, b) in [(38, 1, 128), (39, 2, 112), (118, 2, 112), (119, 3, 104), (347, 4, 98), (89_053, 72, 24)] {
        let mut highspeed = HighSpeed::new();
        highspeed.grow(&mut window(cwnd), &growth(0.0));
        assert_eq!(inspected(&highspeed, "a_segments"), a, "{cwnd}");
        assert_eq!(highspeed.decrease(&episode(0.0, cwnd)), cwnd - cwnd * b / 256, "{cwnd}");
    }
    let (mut highspeed, mut grown) = (HighSpeed::new(), window(119));
    for _ in 0..40 {
        highspeed.grow(&mut grown, &Growth { segments: 2, ..growth(0.0) });
    }
    assert_eq!((grown.cwnd, grown.counted), (120, 1)); // 40 ACKs of a = 3
}

#[test]
fn scalable_is_reno_up_to_a_hundred_segments_and_takes_an_eighth_of_any_window() {
    let mut scalable = Scalable::new(&ScalableConfig::default());
    for (cwnd, acks) in [(20, 20), (99, 99), (400, 100)] {
        let mut grown = window(cwnd);
        (1..acks).for_each(|_| scalable.grow(&mut grown, &growth(0.0)));
        assert_eq!(grown.cwnd, cwnd);
        scalable.grow(&mut grown, &growth(0.0));
        assert_eq!(grown.cwnd, cwnd + 1);
    }
    assert_eq!([15, 16, 400].map(|cwnd| scalable.decrease(&episode(0.0, cwnd))), [14, 14, 350]); // 15 - 15 / 8
}

/// The acknowledged segments for one of growth with a maximum of 1000, where an ACK brings two segments on average.
#[test]
fn bic_goes_a_quarter_of_the_way() {
    let mut bic = Bic::new(&BicConfig::linux());
    assert_eq!(bic.decrease(&episode(0.0, 1_000)), 799); // 1000 * 819 / 1024
    // (1000 - 900) / 4 is more than 16: 900 / 16 / 2. (1000 - 960) / 4 = 10: 960 / 10 / 2. Near the maximum 5 cwnd / 2;
    // beyond it 3 cwnd / gained / 2, then cwnd / 16 / 2.
    let below = [(900, 28), (960, 48), (992, 248), (993, 2_482), (1_000, 2_500), (1_003, 2_507)];
    let above = [(1_030, 51), (1_048, 32)];
    for (cwnd, per) in below.into_iter().chain(above) {
        assert_eq!(bic.per(cwnd), per, "{cwnd}");
    }
    assert_eq!(bic.per(14), 14);
    bic.on_timeout();
    assert_eq!(bic.per(400), 10); // a segment for 20, where an ACK brings two
    assert_eq!(bic.decrease(&episode(0.0, 20)), 15); // 20 * 819 / 1024
    assert_eq!(bic.decrease(&episode(0.0, 14)), 7);
    assert_eq!(inspected(&bic, "max_window_segments"), 12); // 14 * (1024 + 819) / 2048
}

#[test]
fn bic_keeps_a_count_for_a_32nd_of_a_second() {
    let (mut bic, mut grown) = (Bic::new(&BicConfig { tick: TICK, ..BicConfig::linux() }), window(400));
    bic.grow(&mut grown, &growth(1.0));
    assert_eq!(bic.search.per, 10);
    // ACKs of four segments, in 16ths: 32 + 4 - 32 / 16 = 34, and two more with each.
    (0..8).for_each(|_| bic.on_ack(&mut window(2), &Acked { segments: 4, ..acked(1.0, 100, State::Open) }));
    bic.grow(&mut grown, &growth(1.031));
    assert_eq!(bic.search.per, 10);
    bic.grow(&mut grown, &growth(1.032));
    assert_eq!(bic.search.per, 6); // 20 * 16 / 48
    bic.on_ack(&mut window(2), &acked(1.0, 100, State::Disorder(1)));
    assert_eq!(bic.search.ratio, 48);
}

#[test]
fn htcp_finds_alpha_in_128ths() {
    for (rtt_ms, alpha) in [(100, 45 * 128), (50, 22 * 128), (40, 18 * 128)] {
        // After 5 s 1 + 10 * 4 + (4 / 2)^2 = 45 segments, times 8 / (80 / 10), 8 / 16 and 8 / 20; beta is a half.
        let mut htcp = Htcp::new(HtcpConfig { tick: TICK, ..HtcpConfig::default() });
        htcp.on_handshake(&mut window(2), &handshake(rtt_ms));
        htcp.on_ack(&mut window(2), &acked(0.1, rtt_ms, State::Open));
        let mut grown = window(10);
        grown.counted = 10;
        htcp.grow(&mut grown, &growth(5.0));
        assert_eq!((grown.cwnd, grown.counted, htcp.alpha), (11, 0, alpha), "{rtt_ms} ms");
    }
}

#[test]
fn htcp_finds_beta_once_throughput_stays() {
    let mut htcp = Htcp::new(HtcpConfig { tick: TICK, ..HtcpConfig::default() });
    for (rtt_ms, largest) in [(80, 80), (101, 80), (100, 100), (121, 100)] {
        htcp.on_ack(&mut window(2), &acked(0.0, rtt_ms, State::Open));
        assert_eq!(htcp.largest_rtt, largest, "{rtt_ms} ms"); // at most 20 ms more at once
    }
    htcp.on_ack(&mut window(2), &acked(0.0, 110, State::Reducing));
    assert_eq!(htcp.largest_rtt, 100);
    // Nothing was measured, twice: the first time only tells that throughput stays.
    assert_eq!(htcp.decrease(&episode(0.0, 100)), 50);
    assert_eq!(htcp.largest_rtt, 99); // 80 + 20 * 95 %
    assert_eq!(htcp.decrease(&episode(0.0, 100)), 79); // 80 * 128 / 99 = 103, at most 102: 100 * 102 / 128 = 79.7
}

#[test]
fn htcp_counts_its_time_from_the_end_of_an_episode() {
    let mut htcp = module(Htcp::new(HtcpConfig { tick: TICK, ..HtcpConfig::default() }), 20);
    htcp.on_handshake(&handshake(100));
    htcp.on_congestion(&CongestionEvent { now: at(1.0), ..loss(20 * MSS) });
    htcp.on_ack(&recovering(&AckEvent { now: at(1.1), ..ack(MSS) }));
    let last = htcp.clone();
    htcp.on_spurious(at(1.15));
    htcp.on_ack(&AckEvent { now: at(1.2), snd_una: 2 * MSS, ..ack(MSS) });
    assert_eq!(htcp.cwnd(), Bytes(20 * MSS));
    let mut last = last;
    last.on_ack(&AckEvent { now: at(1.2), snd_una: 2 * MSS, ..ack(MSS) });
    let alpha = |module: &LinuxModule| {
        let (mut module, mut grown) = (module.module.clone(), window(1));
        grown.counted = 1;
        module.grow(&mut grown, &growth(3.1));
        inspected(module.as_ref(), "alpha_segments")
    };
    // 100 ms a round trip, beta a half: 1.9 s after the end are 1 + (9000 + 450^2 / 1000) / 1000 = 10 segments; 3.1 s after the
    // beginning of the connection 1 + (21,000 + 1050^2 / 1000) / 1000 = 23.
    assert_eq!((alpha(&last), alpha(&htcp)), (10, 23));
}

/// Judges a round trip with these RTTs at a window.
fn yeah(base_ms: u64, rtt_ms: u64, grown: &mut SegmentWindow) -> Yeah {
    let mut yeah = Yeah::new(&YeahConfig::default());
    yeah.on_ack(&mut window(2), &acked(0.0, base_ms, State::Open));
    yeah.on_state(grown, &change(State::Disorder(0), State::Open, 1_000));
    (0..3).for_each(|_| yeah.on_ack(&mut window(2), &acked(0.1, rtt_ms, State::Open)));
    yeah.grow(grown, &Growth { segments: 0, snd_una: 1_001, ..growth(0.1) });
    yeah
}

#[test]
fn yeah_empties_a_long_queue_in_whole_segments() {
    let mut grown = window(1_100);
    let mut slow = yeah(100, 110, &mut grown);
    assert_eq!((grown.cwnd, grown.in_bytes().ssthresh), (1_001, Some(1_001 * MSS))); // 1100 * 10,000 / 110,001 = 99
    // A window of segments for one, as Reno; a loss takes an eighth, which is more than 99.
    grown.counted = 0;
    (0..1_001).for_each(|_| slow.grow(&mut grown, &growth(0.2)));
    assert_eq!(grown.cwnd, 1_002);
    assert_eq!(slow.decrease(&episode(0.2, 1_000)), 875);
}

#[test]
fn yeah_is_scalable_while_the_queue_is_short() {
    let mut grown = window(400);
    let mut fast = yeah(100, 110, &mut grown);
    (0..100).for_each(|_| fast.grow(&mut grown, &growth(0.2)));
    assert_eq!(grown.cwnd, 401);
    assert_eq!(fast.decrease(&episode(0.2, 240)), 204); // the queue was 400 * 10,000 / 110,001 = 36
    // After idle time the base RTT is that of what comes.
    fast.on_idle(at(1.0), 2_000);
    (0..3).for_each(|_| fast.on_ack(&mut window(2), &acked(1.0, 300, State::Open)));
    fast.grow(&mut grown, &Growth { segments: 0, snd_una: 2_001, ..growth(1.0) });
    assert_eq!(inspected(&fast, "queued_segments"), 0);
}

#[test]
fn a_timeout_lasts_until_what_was_sent_is_acknowledged() {
    let mut bic = module(Bic::new(&BicConfig::linux()), 20);
    bic.on_ack(&AckEvent { snd_una: MSS, snd_nxt: 10 * MSS, ..ack(MSS) });
    bic.on_restart(&restart(RestartCause::Timeout, MSS));
    bic.on_ack(&AckEvent { now: at(1.0), snd_una: 9 * MSS, snd_nxt: 12 * MSS, ..ack(8 * MSS) });
    assert_eq!(bic.state, State::Loss(10 * MSS));
    bic.on_ack(&AckEvent { now: at(1.1), snd_una: 10 * MSS, snd_nxt: 12 * MSS, ..ack(MSS) });
    assert_eq!(bic.state, State::Open);
    // One segment is selectively acknowledged, then all up to it.
    bic.on_ack(&AckEvent { now: at(1.2), snd_una: 10 * MSS, snd_nxt: 13 * MSS, is_cumulative: false, ..ack(MSS) });
    assert_eq!(bic.state, State::Disorder(13 * MSS));
    bic.on_ack(&AckEvent { now: at(1.3), snd_una: 12 * MSS, snd_nxt: 14 * MSS, ..ack(MSS) });
    assert_eq!(bic.state, State::Open);
}

/// `tcp_is_non_sack_preventing_reopen`.
#[test]
fn without_sack_a_timeout_lasts_until_more_is_acknowledged() {
    let mut bic = module(Bic::new(&BicConfig::linux()), 20);
    let delivery = Some(DeliveryReport { has_sack: false, ..DeliveryReport::default() });
    bic.on_ack(&AckEvent { snd_una: MSS, snd_nxt: 10 * MSS, delivery, ..ack(MSS) });
    bic.on_restart(&restart(RestartCause::Timeout, MSS));
    for (una, state) in [(10 * MSS, State::Loss(10 * MSS)), (11 * MSS, State::Open)] {
        bic.on_ack(&AckEvent { now: at(1.0), snd_una: una, snd_nxt: 12 * MSS, delivery, ..ack(MSS) });
        assert_eq!(bic.state, state);
    }
}

/// `pkts_acked` is handed `rs->rtt_us`: where a retransmission is acknowledged, what the timestamp tells, and not the time since
/// another segment left.
#[test]
fn a_round_trip_is_the_sample_of_the_ack() {
    let mut yeah = module(Yeah::new(&YeahConfig::default()), 20);
    let report = |sent_ms: u64, is_retransmission| SegmentReport {
        sent_at: SimTime(sent_ms * 1_000_000),
        is_retransmission,
        ..crate::testing::lost(MSS)
    };
    for segment in [report(60, true), report(25, false)] {
        yeah.on_delivered(&segment);
    }
    let rtt_sample = Some(SimDuration::from_millis(90));
    yeah.on_ack(&AckEvent { now: at(0.1), rtt_sample, ..ack(2 * MSS) });
    assert!(format!("{yeah:?}").contains("base_rtt: Some(90001)"), "{yeah:?}");
}

#[test]
fn hybla_begins_with_rho_and_adds_it_squared_in_a_window() {
    let mut hybla = Hybla::new(HyblaConfig::default());
    let mut grown = window(10);
    hybla.on_handshake(&mut grown, &handshake(60));
    assert_eq!((grown.cwnd, hybla.rho), (2, 19)); // 60 / 25 in eighths
    grown.cwnd = 20;
    // 2 * 19^2 / 20 = 36 of 128 parts: four ACKs make 144.
    (0..3).for_each(|_| hybla.grow(&mut grown, &growth(0.1)));
    assert_eq!(grown.cwnd, 20);
    hybla.grow(&mut grown, &growth(0.1));
    assert_eq!(grown.cwnd, 21);
    // In slow start 2^(19 / 8) - 1 = 4 * 165 / 128 - 1: 532 parts, of which 16 are there already.
    let mut started = SegmentWindow::new(Start::of(MSS, 10 * MSS, None));
    hybla.grow(&mut started, &growth(0.1));
    assert_eq!(started.cwnd, 14);
    // The least smoothed round trip is below that of reference: rho is one.
    hybla.grow(&mut grown, &Growth { srtt: SimDuration::from_millis(24), ..growth(0.2) });
    assert_eq!(hybla.rho, 8);
}

#[test]
fn hybla_is_reno_out_of_the_open_state() {
    let (mut hybla, mut grown) = (Hybla::new(HyblaConfig::default()), window(10));
    hybla.on_handshake(&mut grown, &handshake(200));
    grown = window(10);
    hybla.on_state(&mut grown, &change(State::Open, State::Disorder(0), 0));
    (0..10).for_each(|_| hybla.grow(&mut grown, &growth(0.1)));
    assert_eq!(grown.cwnd, 11);
    assert_eq!(hybla.decrease(&episode(0.1, 11)), 5);
}

#[test]
fn veno_counts_the_queue_in_halves_of_a_segment() {
    for (rtt_ms, half_segments, kept) in [(110, 4, 16), (130, 10, 10)] {
        // 40 - 40 * 100,001 / 110,001 = 40 - 36, and 40 - 40 * 100,001 / 130,001 = 40 - 30; six are a long queue.
        let (mut veno, mut grown) = (Veno::new(VenoConfig::default()), window(20));
        (0..3).for_each(|_| veno.on_ack(&mut window(2), &acked(0.0, 100, State::Open)));
        veno.grow(&mut grown, &growth(0.0));
        veno.on_ack(&mut window(2), &acked(0.1, rtt_ms, State::Open));
        veno.grow(&mut grown, &growth(0.1));
        assert_eq!(inspected(&veno, "queued_segments"), half_segments / 2);
        assert_eq!(veno.decrease(&episode(0.1, 20)), kept);
    }
}

#[test]
fn veno_adds_a_segment_for_every_other_window_of_a_congested_path() {
    let (mut veno, mut grown) = (Veno::new(VenoConfig::default()), window(20));
    (0..3).for_each(|_| veno.on_ack(&mut window(2), &acked(0.0, 100, State::Open)));
    veno.grow(&mut grown, &growth(0.0));
    let mut added = Vec::new();
    for number in 2..=66 {
        veno.on_ack(&mut window(2), &acked(0.1, 200, State::Open));
        let before = grown.cwnd;
        veno.grow(&mut grown, &growth(0.1));
        added.extend((grown.cwnd > before).then_some(number));
    }
    // An ACK that finds the count full adds a segment and counts for nothing: 20 counted, the 21st adds; 21 counted, the 43rd
    // does not; 21 counted, the 65th adds.
    assert_eq!(added, [21, 65]);
}

#[test]
fn illinois_reads_its_curves_in_integers() {
    let mut illinois = Illinois::new(IllinoisConfig::default());
    // A longest delay of 100 ms; alpha from 38 to 1280 in 128ths, beta from 8 to 32 in 64ths.
    assert_eq!(illinois.next_alpha(1_000, 100_000), 1_280); // no delay was long: at once
    assert_eq!(illinois.next_alpha(100_000, 100_000), 38); // 99,000 * 1280 / (99,000 + 99,000 * 1242 / 38)
    assert_eq!(illinois.next_alpha(50_000, 100_000), 74); // 99,000 * 1280 / (99,000 + 49,000 * 1242 / 38)
    illinois.alpha = 74;
    let patient: Vec<u64> = (0..5).map(|_| illinois.next_alpha(0, 100_000)).collect();
    assert_eq!(patient, [74, 74, 74, 74, 1_280]);
    let betas = [10_000, 45_000, 79_999, 80_000].map(|delay| illinois.next_beta(delay, 100_000));
    assert_eq!(betas, [8, 20, 31, 32]); // (8 * 80,000 + 24 * delay - 32 * 10,000) / 70,000
}

#[test]
fn illinois_decreases_by_the_last_beta_at_a_timeout_and_is_renos_then() {
    let (mut illinois, mut grown) = (Illinois::new(IllinoisConfig::default()), window(100));
    illinois.on_ack(&mut window(2), &acked(0.0, 100, State::Open));
    illinois.grow(&mut grown, &Growth { snd_una: 1, ..growth(0.0) });
    assert_eq!((illinois.alpha, illinois.beta), (1_280, 8));
    assert_eq!(illinois.decrease(&episode(0.1, 100)), 88); // 100 - 100 * 8 / 64
    illinois.on_state(&mut grown, &change(State::Open, State::Loss(0), 9));
    assert_eq!((illinois.alpha, illinois.beta), (128, 32));
}

#[test]
fn vegas_sets_the_window_at_the_end_of_a_round_trip() {
    let config = VegasConfig::of(VegasVariant::LinuxModule);
    for (rtt_ms, begins, cwnd, ssthresh) in [
        (103, None, 41, None),         // 40 * 3 / 100 = 1 is not more than gamma
        (106, None, 38, Some(38)),     // 2: 40 * 100,001 / 106,001 + 1
        (104, Some(30), 41, Some(30)), // 1 is less than alpha; three quarters of 41 are 30
        (110, Some(20), 40, Some(30)), // 4 stays
        (113, Some(20), 39, Some(28)), // 5
    ] {
        let start = Start::of(MSS, 40 * MSS, begins.map(|segments: u64| segments * MSS));
        let (mut vegas, mut grown) = (Vegas::new(&config), SegmentWindow::new(start));
        vegas.on_ack(&mut window(2), &acked(0.0, 100, State::Open));
        vegas.on_state(&mut grown, &change(State::Disorder(0), State::Open, 1_000));
        (0..3).for_each(|_| vegas.on_ack(&mut window(2), &acked(0.1, rtt_ms, State::Open)));
        vegas.grow(&mut grown, &Growth { snd_una: 1_001, ..growth(0.1) });
        assert_eq!((grown.cwnd, grown.ssthresh), (cwnd, ssthresh), "{rtt_ms} ms");
    }
}

#[test]
fn westwood_sets_its_window_when_the_episode_ends() {
    let mut westwood = Westwood::new(&WestwoodConfig { tick: TICK, ..WestwoodConfig::default() });
    let mut grown = window(40);
    westwood.on_idle(at(0.0), 0);
    for number in 1..=201 {
        westwood.on_ack(&mut window(2), &acked(0.001 * f64::from(number), 100, State::Open));
    }
    // The sample ends with more than 100 ticks: 100 ACKs in 101, 990 octets each.
    assert_eq!(westwood.decrease(&episode(0.3, 40)), 20);
    westwood.on_state(&mut grown, &change(State::Open, State::Reducing, 0));
    westwood.on_state(&mut grown, &change(State::Reducing, State::Open, 0));
    assert_eq!((grown.cwnd, grown.ssthresh), (99, Some(99))); // 990 * 100 / 1000
    let timeout = Episode { cause: CongestionCause::Timeout { repeated: false }, ..episode(0.3, 40) };
    assert_eq!(westwood.decrease(&timeout), 99);
}

#[test]
fn westwood_takes_what_duplicate_acks_counted_from_a_later_ack_out_of_order() {
    let mut westwood = Westwood::new(&WestwoodConfig::default());
    let mut counts = |segments: u64, is_plain: bool| {
        let before = westwood.octets;
        let told = Acked { segments, octets: segments * MSS, is_plain, ..acked(0.0, 100, State::Open) };
        westwood.on_ack(&mut window(2), &told);
        (westwood.octets - before) / MSS
    };
    assert_eq!(counts(1, true), 1); // the first
    assert_eq!([counts(0, false), counts(0, false)], [1, 1]);
    assert_eq!([counts(5, true), counts(5, false), counts(5, false)], [5, 2, 5]); // 5 - 3, of which the first ACK was one
}

#[test]
fn segments_are_counted_as_they_left_and_a_short_one_is_no_disorder() {
    let mut bic = module(Bic::new(&BicConfig::linux()), 20);
    let mut arrives = |starts: &[u64], snd_una| {
        for start in starts {
            bic.on_delivered(&SegmentReport { start: *start, ..crate::testing::lost(MSS) });
        }
        // The last of the segments has 300 octets; the stack counts it as a whole one.
        let newly_acked = Bytes(starts.len() as u64 * MSS);
        let event = AckEvent { snd_una, snd_nxt: 4_300, is_cumulative: snd_una > 0, newly_acked, ..ack(MSS) };
        let before = bic.una;
        let (octets, segments) = bic.advance(&event);
        assert_eq!(octets, snd_una - before);
        (segments, bic.state_after(&event))
    };
    assert_eq!(arrives(&[0], 1_000), (1, State::Open));
    assert_eq!(arrives(&[2_000], 1_000), (0, State::Disorder(4_300)));
    assert_eq!(arrives(&[1_000], 3_000), (2, State::Open));
    assert_eq!(arrives(&[3_000, 4_000], 4_300), (2, State::Open));
}

#[test]
fn an_episode_that_begins_where_the_last_ends_decreases_from_what_that_leaves() {
    let mut westwood = module(Westwood::new(&WestwoodConfig::default()), 20);
    westwood.on_congestion(&CongestionEvent { now: at(1.0), ..loss(20 * MSS) });
    assert_eq!(westwood.cwnd(), Bytes(10 * MSS));
    // Nothing is known of the bandwidth: the end leaves two segments, of which the new episode takes one; two are the least.
    westwood.on_recovery_end(at(1.1));
    assert_eq!(westwood.cwnd(), Bytes(2 * MSS));
    westwood.on_congestion(&CongestionEvent { now: at(1.1), ..loss(2 * MSS) });
    assert_eq!(westwood.ssthresh(), Some(Bytes(2 * MSS)));
    let mut bic = module(Bic::new(&BicConfig::linux()), 20);
    bic.on_congestion(&CongestionEvent { now: at(1.0), ..loss(20 * MSS) });
    bic.on_recovery_end(at(1.1));
    bic.on_congestion(&CongestionEvent { now: at(1.1), ..loss(20 * MSS) });
    assert_eq!(bic.ssthresh(), Some(Bytes(15 * MSS))); // 20 * 819 / 1024, as the event says
}

/// `dctcp_update_alpha`: a sixteenth goes, and what the marked fraction is worth in 1024ths over 16 comes.
#[test]
fn dctcps_alpha_moves_once_a_flight_before_a_mark_is_answered() {
    let mut dctcp = module(Dctcp::new(&DctcpConfig::default(), MSS), 20);
    let mut echo = |snd_una, snd_nxt, segments: u64, marked: u64| {
        let (newly_acked, newly_ce_marked) = (Bytes(segments * MSS), Bytes(marked * MSS));
        dctcp.on_echo(&EchoEvent { snd_una, snd_nxt, newly_acked, newly_ce_marked });
        let mut alpha = f64::NAN;
        dctcp.inspect(&mut |_, value| alpha = value * 1_024.0);
        (alpha as u64, dctcp.clone())
    };
    assert_eq!(echo(2_001, 22_001, 2, 0).0, 960); // 1024 - 64, with the first ACK of data
    assert_eq!(echo(12_001, 32_001, 10, 0).0, 960);
    let (alpha, mut marked) = echo(22_001, 42_001, 10, 7);
    assert_eq!(alpha, 922); // 960 - 60, and 7 * 64 / 20
    marked.on_congestion(&CongestionEvent { cause: CongestionCause::Ecn, ..loss(20 * MSS) });
    assert_eq!(marked.ssthresh(), Some(Bytes(11 * MSS))); // 20 - (20 * 922 >> 11)
    marked.on_loss_in_answer(Bytes(16 * MSS));
    assert_eq!((marked.ssthresh(), marked.cwnd()), (Some(Bytes(8 * MSS)), Bytes(8 * MSS))); // `dctcp_react_to_loss`
}

/// `min_not_zero(alpha, alpha >> dctcp_shift_g)`: what is less than 16 goes at once.
#[test]
fn dctcps_alpha_ends_at_nothing_and_a_loss_halves() {
    let config = DctcpConfig { initial_alpha: 17.0 / 1_024.0, ..DctcpConfig::default() };
    let mut dctcp = module(Dctcp::new(&config, MSS), 21);
    let mut alphas = (1..4).map(|flight| {
        let acked = Bytes(MSS);
        dctcp.on_echo(&EchoEvent {
            snd_una: flight,
            snd_nxt: flight + 1,
            newly_acked: acked,
            newly_ce_marked: Bytes(0),
        });
        let mut alpha = f64::NAN;
        dctcp.inspect(&mut |_, value| alpha = value * 1_024.0);
        alpha as u64
    });
    assert_eq!((alphas.next(), alphas.next(), alphas.next()), (Some(16), Some(15), Some(0)));
    dctcp.on_congestion(&loss(21 * MSS));
    assert_eq!(dctcp.ssthresh(), Some(Bytes(10 * MSS)));
}

/// Flights are counted in whole segments, and `high_seq` is SND.NXT.
#[test]
fn recovery_from_a_timeout_ends_with_the_last_octet_of_short_segments() {
    let mut hybla = module(Hybla::new(HyblaConfig::default()), 10);
    for number in 1..=4 {
        let flight_size = Bytes(number * MSS);
        hybla.on_send(&SendEvent { flight_size, snd_nxt: number * 600, ..sent(600) });
    }
    hybla.on_congestion(&timeout(4 * MSS, false));
    assert_eq!(hybla.state, State::Loss(2_400));
    hybla.on_ack(&AckEvent { now: at(1.0), snd_una: 2_400, snd_nxt: 2_400, ..ack(2_400) });
    assert_eq!(hybla.state, State::Open);
}

/// `tcp_clean_rtx_queue` calls `pkts_acked` for an acknowledged SYN, and no queue has a SYN-ACK.
#[test]
fn the_first_sample_is_that_of_a_syn_alone() {
    for is_opener in [true, false] {
        let mut veno = Veno::new(VenoConfig::default());
        veno.on_handshake(&mut window(10), &HandshakeEvent { is_opener, ..handshake(100) });
        assert_eq!(veno.samples, u16::from(is_opener));
    }
}

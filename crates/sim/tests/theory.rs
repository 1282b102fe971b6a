//! Known laws that packet-level runs must meet.
//!
//! Every path here has a rate so high that queueing and serialisation are far below 1 % of the round trip, which is
//! therefore constant, as the laws assume.

use crate::common::Dumbbell;
use ackclock_cc::{ControllerConfig, CubicConfig, Increase, RenoConfig};
use ackclock_net::{PacketClass, QueueLimit, Selection};
use ackclock_sim::{ColumnData, FlowSeries, MeasureWindow, Outcome};
use ackclock_tcp::{DelayedAck, TcpConfig};
use ackclock_units::{Bandwidth, Bytes, SimDuration, SimTime};

const MSS: f64 = 1448.0;
const RTT_S: f64 = 0.1;

/// One flow on a 100 ms path with losses only by the discarder.
fn lossy_path(controller: ControllerConfig, selection: Selection, duration_s: u64) -> Dumbbell {
    let rate = Bandwidth(100_000_000_000);
    let (one_way, duration) = (SimDuration::from_millis(50), SimDuration::from_secs(duration_s));
    let mut path = Dumbbell::new(rate, one_way, QueueLimit::Unlimited, duration);
    path.controllers = vec![controller];
    path.discard = Some((PacketClass::Data, selection));
    path.trace = vec![FlowSeries::Cwnd];
    path.tcp.initial_ssthresh = Some(Bytes(20 * 1448)); // no overshoot to wait for
    path
}

fn reno(increase: Increase) -> ControllerConfig {
    ControllerConfig::Reno(RenoConfig { increase, ..RenoConfig::default() })
}

fn acks_every(segments: u32) -> TcpConfig {
    let delayed_ack = DelayedAck { segments, ..TcpConfig::default().delayed_ack };
    TcpConfig { delayed_ack, ..TcpConfig::default() }
}

fn column(outcome: &Outcome, name: &str) -> Vec<f64> {
    let column = outcome.flows.columns.iter().find(|column| column.name == name).expect(name);
    let ColumnData::F64(values) = &column.data else { panic!("{name} holds numbers") };
    values.clone()
}

/// Mean and largest cwnd in segments from `from_s` on.
fn window_after(outcome: &Outcome, from_s: f64) -> (f64, f64) {
    let times = column(outcome, "time_s");
    let windows = column(outcome, "cwnd_bytes");
    let values: Vec<f64> =
        times.iter().zip(windows).filter(|(time, _)| **time >= from_s).map(|(_, cwnd)| cwnd / MSS).collect();
    (values.iter().sum::<f64>() / values.len() as f64, values.iter().copied().fold(0.0, f64::max))
}

#[test]
fn a_window_limited_flow_gets_window_over_rtt() {
    // 44 segments in 100 ms (plus 0.2 ms to clock a segment at 100 Mbit/s and at the access links, and its ACK)
    let window = 44 * 1448;
    let one_way = SimDuration::from_millis(50);
    let mut path = Dumbbell::new(Bandwidth(100_000_000), one_way, QueueLimit::Unlimited, SimDuration::from_secs(20));
    path.tcp.receive_buffer = Bytes(window);
    path.measure = MeasureWindow { from: Some(SimTime(2_000_000_000)), until: None };
    let goodput = path.run().summary.flows[0].goodput_bps;
    let rtt_s = 0.1 + 2.0 * (120e-6 + 2.0 * 12e-6); // an ACK waits for the second of two segments
    let expected = window as f64 * 8.0 / rtt_s;
    assert!((goodput / expected - 1.0).abs() < 0.01, "{goodput} against {expected}");
}

#[test]
fn an_aimd_window_averages_three_quarters_of_its_maximum() {
    let outcome = lossy_path(reno(Increase::Bytes), Selection::Every(20_000), 400).run();
    let (mean, max) = window_after(&outcome, 100.0);
    assert!((mean / max - 0.75).abs() < 0.0075, "mean {mean} of {max}");
}

/// Asserts the square-root law: with 1/p segments acknowledged between two losses, W = sqrt(3 / (2 b p)) (Mathis et al.
/// 1997).
fn assert_square_root_law(p: f64, b: u32, increase: Increase, acks: u32, duration_s: u64) {
    let mut path = lossy_path(reno(increase), Selection::Every((1.0 / p) as u64), duration_s);
    path.tcp = TcpConfig { initial_ssthresh: path.tcp.initial_ssthresh, ..acks_every(acks) };
    let (mean, _) = window_after(&path.run(), duration_s as f64 / 5.0);
    let law = (1.5 / (f64::from(b) * p)).sqrt();
    assert!((mean / law - 1.0).abs() < 0.05, "p {p}, b {b}: {mean} against {law}");
}

//= rfc5681-3.1-avoidance
/// Evidence for the controller `reno`: sqrt(3 / (2 b p)) under regular loss; 1.31 / sqrt(b p) under random loss; RFC
/// 5681: a half is kept.
#[test]
fn renos_mean_window_is_the_square_root_law_counting_acks() {
    for (p, duration_s) in [(1e-3, 200), (1e-4, 400), (1e-5, 1500)] {
        assert_square_root_law(p, 1, Increase::Acks, 1, duration_s);
        assert_square_root_law(p, 2, Increase::Acks, 2, duration_s);
    }
}

//= rfc3465-2.1-octets
#[test]
fn counting_bytes_makes_b_one_whatever_the_receiver_does() {
    for (p, duration_s) in [(1e-3, 200), (1e-4, 400), (1e-5, 1500)] {
        assert_square_root_law(p, 1, Increase::Bytes, 2, duration_s);
    }
}

/// Evidence for the controller `reno`.
#[test]
fn under_bernoulli_loss_the_constant_is_ott_kemperman_and_mathis() {
    for (p, b, duration_s) in [(1e-3, 1, 3_000), (1e-4, 1, 4_000), (1e-4, 2, 5_000)] {
        assert_bernoulli_law(p, b, duration_s);
    }
}

#[test]
fn it_is_so_at_wide_windows_too() {
    // 330 losses: the mean of so many teeth, which differ by half of it, is off by 3 %.
    assert_bernoulli_law(2e-5, 1, 5_650);
}

fn assert_bernoulli_law(p: f64, b: u32, duration_s: u64) {
    let mut path = lossy_path(reno(Increase::Acks), Selection::Probability(p), duration_s);
    path.tcp = TcpConfig { initial_ssthresh: path.tcp.initial_ssthresh, ..acks_every(b) };
    let (mean, _) = window_after(&path.run(), duration_s as f64 / 20.0);
    let law = 1.31 / (f64::from(b) * p).sqrt();
    assert!((mean / law - 1.0).abs() < 0.10, "p {p}, b {b}: {mean} against {law}");
}

//= rfc9438-4.2-curve
/// Evidence for the controller `cubic`: RFC 9438 section 4.2: W(t) and K; section 4.3: Reno's share at short round
/// trips.
#[test]
fn cubic_follows_its_curve_packet_by_packet() {
    // One loss at a window of some 2000 segments, then the curve: K = cbrt(W_max * 0.3 / C).
    let mut path = lossy_path(crate::common::cubic(), Selection::Positions(vec![3_000]), 60);
    path.tcp.initial_ssthresh = None;
    let outcome = path.run();
    let [cause, time] = ["cwnd_before_bytes", "time_s"].map(|name| {
        let column = outcome.episodes.columns.iter().find(|column| column.name == name).expect(name);
        let ColumnData::F64(values) = &column.data else { panic!("{name} holds numbers") };
        values[0]
    });
    let w_max = cause / MSS;
    let ends = outcome.episodes.columns.iter().find(|column| column.name == "duration_s").expect("duration_s");
    let ColumnData::F64(durations) = &ends.data else { panic!("duration_s holds numbers") };
    // The epoch begins with the first ACK after recovery.
    let epoch_s = time + durations[0];
    let cwnd_epoch = 0.7 * w_max;
    let k = ackclock_units::math::cbrt((w_max - cwnd_epoch) / 0.4);
    let (times, windows) = (column(&outcome, "time_s"), column(&outcome, "cwnd_bytes"));
    let mut checked = 0;
    for (time, cwnd) in times.iter().zip(windows) {
        let t = time - epoch_s;
        if t < 2.0 * RTT_S || t > 2.0 * k {
            continue;
        }
        // Section 4.2: the window after an RTT is that of t + RTT; at t it is W_cubic(t), give or take an ACK's step.
        let law = 0.4 * (t - k).powi(3) + w_max;
        assert!((cwnd / MSS / law - 1.0).abs() < 0.01, "t {t}: {} against {law}", cwnd / MSS);
        checked += 1;
    }
    assert!(checked > 1_000, "only {checked} points");
}

//= rfc9438-4.3-reno-friendly
/// Evidence for the controller `cubic`.
#[test]
fn in_its_reno_friendly_region_cubic_gets_renos_share() {
    // RFC 9438 section 4.3: with a short round trip and a small window CUBIC follows W_est, whose mean is Reno's.
    let mean = |controller| {
        let mut path = lossy_path(controller, Selection::Every(1_000), 200);
        path.one_way = SimDuration::from_millis(5);
        window_after(&path.run(), 20.0).0
    };
    let (reno, cubic) = (mean(reno(Increase::Bytes)), mean(ControllerConfig::Cubic(CubicConfig::default())));
    assert!((cubic / reno - 1.0).abs() < 0.05, "CUBIC {cubic}, Reno {reno}");
}

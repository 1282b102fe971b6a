//! BBR's two versions over a packet-level path, compared with their drafts and the ACM Queue article.

use crate::common::Dumbbell;
use crate::common::model::{delivered, internal, watch};
use ackclock_cc::{Bbr3Config, BbrConfig, ControllerConfig};
use ackclock_net::{PacketClass, QueueLimit, Selection};
use ackclock_sim::{FlowId, Simulation};
use ackclock_tcp::{LossDetection, TcpConfig};
use ackclock_units::{Bandwidth, Bytes, SimDuration, SimTime};

/// Payload rate of a link of 100 Mbit/s: 1448 of 1500 octets.
const RATE: f64 = 100e6 * 1448.0 / 1500.0;

fn path(controller: &ControllerConfig, rtt_ms: u64, limit: QueueLimit, duration_s: u64) -> Dumbbell {
    let one_way = SimDuration::from_millis(rtt_ms / 2);
    let mut path = Dumbbell::new(Bandwidth(100_000_000), one_way, limit, SimDuration::from_secs(duration_s));
    path.controllers = vec![controller.clone()];
    // Lost retransmissions are found by time, as on the hosts of the article.
    path.tcp = TcpConfig { loss_detection: LossDetection::Rack, tlp: true, ..path.tcp };
    path
}

fn v1() -> ControllerConfig {
    ControllerConfig::Bbr(BbrConfig::default())
}

fn v3() -> ControllerConfig {
    ControllerConfig::Bbr3(Bbr3Config::default())
}

/// The mean of `value` over a stretch of time, sampled every 10 ms.
fn mean(simulation: &mut Simulation, (from_s, to_s): (f64, f64), value: impl Fn(&Simulation) -> f64) -> f64 {
    let (mut sum, mut count) = (0.0, 0.0);
    watch(simulation, (from_s, to_s, 10), |_, simulation| (sum, count) = (sum + value(simulation), count + 1.0));
    sum / count
}

/// Evidence for the controller `bbr`: bandwidth and round trip as they are; four segments for 200 ms every 10 s; two
/// path fulls in flight of several flows; 15 % of random loss.
#[test]
fn the_estimates_are_the_bottleneck_and_after_drain_about_a_path_full_is_in_flight() {
    for controller in [v1(), v3()] {
        let mut simulation = path(&controller, 40, QueueLimit::Unlimited, 9).start();
        let in_flight =
            mean(&mut simulation, (3.0, 9.0), |simulation| simulation.sender(FlowId::new(0)).flight_size().0 as f64);
        let rate = internal(&simulation, 0, "bandwidth_bps");
        // The draft's own test asks for 2 %; the round trip holds two segments of serialisation and their ACK besides.
        assert!((rate / RATE - 1.0).abs() < 0.01, "{controller:?}: {rate} bit/s against {RATE}");
        let min_rtt = internal(&simulation, 0, "min_rtt_s");
        assert!((0.040..0.0405).contains(&min_rtt), "{controller:?}: {min_rtt} s");
        let bdp = RATE / 8.0 * min_rtt;
        // Cruising holds one; the quanta, and phases that probe, add some.
        let held = in_flight / bdp;
        assert!((0.98..1.15).contains(&held), "{controller:?}: {held} bandwidth-delay products");
    }
}

/// Times at which a flow begins to measure the RTT anew, seconds, and the least window in these pauses, octets.
fn probe_rtts(simulation: &mut Simulation, to_s: f64) -> (Vec<f64>, f64) {
    let (mut began, mut was_probing, mut least) = (Vec::new(), false, f64::MAX);
    watch(simulation, (0.1, to_s, 1), |time, simulation| {
        let is_probing = internal(simulation, 0, "is_probing_rtt") > 0.0;
        if is_probing && !was_probing {
            began.push(time);
        }
        if is_probing {
            least = least.min(simulation.sender(FlowId::new(0)).flight_size().0 as f64);
        }
        was_probing = is_probing;
    });
    (began, least)
}

/// Asserts pauses of 200 ms and a round trip at least, at the interval.
fn assert_every(seconds: f64, began: &[f64], times: usize) {
    assert!(began.len() >= times, "{began:?}");
    for pair in began.windows(2).take(times - 1) {
        assert!((0.2..0.5).contains(&(pair[1] - pair[0] - seconds)), "{began:?}");
    }
}

/// Evidence for the controller `bbr`.
#[test]
fn the_first_version_measures_the_round_trip_every_ten_seconds_at_four_segments() {
    // Two flows keep a queue between them, so that no sample is as short as the least.
    let mut two = path(&v1(), 40, QueueLimit::Unlimited, 45);
    two.controllers.push(v1());
    let (began, least) = probe_rtts(&mut two.start(), 45.0);
    assert_every(10.0, &began, 4);
    assert!(least <= 4.0 * 1448.0, "{least} octets in flight");
}

/// Evidence for the controller `bbr3`: the same estimates; half a bandwidth-delay product in flight every 5 s;
/// `LossThresh` = 2 % bounds what is in flight.
#[test]
fn the_third_version_measures_it_every_five_seconds_at_half_a_path_full() {
    let mut simulation = path(&v3(), 40, QueueLimit::Unlimited, 45).start();
    let (began, least) = probe_rtts(&mut simulation, 45.0);
    assert_every(5.0, &began, 8);
    let share = least / (RATE / 8.0 * internal(&simulation, 0, "min_rtt_s"));
    assert!((0.48..0.505).contains(&share), "{share} bandwidth-delay products");
}

/// Evidence for the controller `bbr`.
#[test]
fn random_loss_costs_the_first_version_no_more_than_what_is_lost() {
    // ACM Queue figure 8: 100 Mbit/s, 100 ms; the limit, the rate times what is not lost, is met up to 5 % and nearly
    // up to 15 %. Here from 40 s on: a loss in the first rounds may end Startup early, which time repairs.
    for loss in [0.001, 0.01, 0.05, 0.15] {
        let mut path = path(&v1(), 100, QueueLimit::Bytes(Bytes(1_250_000)), 60);
        path.discard = Some((PacketClass::Data, Selection::Probability(loss)));
        let mut simulation = path.start();
        simulation.run_until(SimTime(40_000_000_000));
        let before = delivered(&simulation, 0);
        simulation.run_until(SimTime(60_000_000_000));
        let goodput = (delivered(&simulation, 0) - before) * 8.0 / 20.0;
        let share = goodput / (RATE * (1.0 - loss));
        // The losses come before the link here, which may be filled by what is left.
        assert!(share > 0.95 && goodput < RATE, "{loss}: {share} of the limit");
    }
}

/// Evidence for the controller `bbr3`.
#[test]
fn the_third_version_finds_what_path_and_buffer_hold_and_loses_little() {
    for buffer in [50_000, 100_000, 250_000] {
        let mut simulation = path(&v3(), 40, QueueLimit::Bytes(Bytes(buffer)), 60).start();
        simulation.run_until(SimTime(10_000_000_000));
        let before = simulation.sender(FlowId::new(0)).counters();
        simulation.run_until(SimTime(60_000_000_000));
        let after = simulation.sender(FlowId::new(0)).counters();
        let lost = (after.retransmitted_octets - before.retransmitted_octets) as f64
            / (after.sent_octets - before.sent_octets) as f64;
        let used = (after.delivered - before.delivered) as f64 * 8.0 / 50.0 / RATE;
        // Probing stops at 2 % (LossThresh), and is rare.
        assert!(lost < 0.002 && used > 0.93, "buffer {buffer}: {lost} lost, {used} used");
        // The limit lies where 2 % of what is in flight would be lost.
        let held = (buffer as f64 + 100e6 / 8.0 * 0.04) * 1448.0 / 1500.0;
        let limit = internal(&simulation, 0, "inflight_longterm_bytes") / held;
        assert!((0.98..1.03).contains(&limit), "buffer {buffer}: {limit} of what path and buffer hold");
    }
}

/// Evidence for the controller `bbr`.
#[test]
fn flows_of_the_first_version_together_keep_two_path_fulls_in_flight() {
    // Each overestimates its share, so that the window, cwnd_gain = 2 estimated bandwidth-delay products (and some quanta),
    // is what bounds it: path and queue hold two path fulls, less what the measuring of the round trip takes away.
    for flows in [2, 4] {
        let mut path = path(&v1(), 40, QueueLimit::Unlimited, 60);
        path.controllers = vec![v1(); flows];
        let mut simulation = path.start();
        let held = mean(&mut simulation, (20.0, 60.0), |simulation| {
            (0..flows).map(|flow| simulation.sender(FlowId::new(flow)).flight_size().0 as f64).sum::<f64>()
        });
        let share = held / (RATE / 8.0 * 0.04);
        assert!((1.75..2.05).contains(&share), "{flows} flows: {share} bandwidth-delay products");
    }
}

//! BBR's two versions over a packet-level path, beside what their drafts and the ACM Queue article say of such paths.

mod common;

use ackclock_cc::{Bbr3Config, BbrConfig, CongestionController, ControllerConfig};
use ackclock_net::{PacketClass, QueueLimit, Selection};
use ackclock_sim::Simulation;
use ackclock_tcp::{LossDetection, TcpConfig};
use ackclock_units::{Bandwidth, Bytes, SimDuration};
use common::Dumbbell;
use common::model::{delivered, internal, watch};

/// Payload of what a link of 100 Mbit/s carries: 1448 of 1500 octets.
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

#[test]
fn explore() {
    for controller in [v1(), v3()] {
        let mut simulation = path(&controller, 40, QueueLimit::Bytes(Bytes(1_000_000)), 30).start();
        watch(&mut simulation, (0.05, 30.0, 10), |time, simulation| {
            let sender = simulation.sender(0);
            if (time * 100.0).round() as u64 % 25 == 0 || time < 1.0 {
                println!(
                    "{time:.2} cwnd {} flight {} srtt {:?} rate {:?} bw {:.0} minrtt {} gain {} probing {}",
                    sender.cwnd().0 / 1448,
                    sender.flight_size().0 / 1448,
                    sender.rtt().srtt.as_millis_f64(),
                    sender.controller().pacing_rate().map(|r| r.0),
                    internal(simulation, 0, "bandwidth_bps"),
                    internal(simulation, 0, "min_rtt_s"),
                    internal(simulation, 0, "pacing_gain"),
                    internal(simulation, 0, "is_probing_rtt")
                );
            }
        });
    }
}

#[test]
fn lossy() {
    for controller in [v1(), v3()] {
        for p in [0.0001, 0.001, 0.01, 0.02, 0.05, 0.15] {
            let mut p1 = path(&controller, 100, QueueLimit::Bytes(Bytes(1_250_000)), 60);
            p1.discard = Some((PacketClass::Data, Selection::Probability(p)));
            let mut simulation: Simulation = p1.start();
            simulation.run_until(ackclock_units::SimTime(60_000_000_000));
            let c = simulation.sender(0).counters();
            println!(
                "{p}: {:.3} of C(1-p)  to {} rec {} retrans {}",
                delivered(&simulation, 0) * 8.0 / 60.0 / RATE / (1.0 - p),
                c.timeouts,
                c.fast_recoveries,
                c.retransmitted_segments as f64 / c.sent_segments as f64
            );
        }
    }
}

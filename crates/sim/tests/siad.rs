//! SIAD over a packet-level path: its two promises, a fixed time from one congestion event to the next and a full link
//! with any buffer.

use crate::common::Dumbbell;
use crate::common::model::{delivered, watch};
use ackclock_cc::{ControllerConfig, SiadConfig};
use ackclock_net::QueueLimit;
use ackclock_sim::FlowId;
use ackclock_units::{Bandwidth, Bytes, SimDuration, SimTime};

/// One flow over 100 Mbit/s and 40 ms, with a buffer of `share` bandwidth-delay products, from 40 s on: the share of the
/// link in use, and the mean round trips from one congestion event to the next.
fn flow(rounds: u32, share: f64) -> (f64, f64) {
    let (one_way, duration) = (SimDuration::from_millis(20), SimDuration::from_secs(120));
    let buffer = QueueLimit::Bytes(Bytes((share * 500_000.0) as u64));
    let mut path = Dumbbell::new(Bandwidth(100_000_000), one_way, buffer, duration);
    path.controllers = vec![ControllerConfig::Siad(SiadConfig { rounds, ..SiadConfig::default() })];
    let mut simulation = path.start();
    simulation.run_until(SimTime(40_000_000_000));
    let before = (delivered(&simulation, 0), simulation.sender(FlowId::new(0)).counters().fast_recoveries);
    let (mut rtts, mut count) = (0.0, 0.0);
    watch(&mut simulation, (40.0, 120.0, 5), |_, simulation| {
        (rtts, count) = (rtts + simulation.sender(FlowId::new(0)).rtt().srtt.as_secs_f64(), count + 1.0);
    });
    let carried = (delivered(&simulation, 0) - before.0) * 8.0 / 80.0;
    let events = simulation.sender(FlowId::new(0)).counters().fast_recoveries - before.1;
    (carried / (100e6 * 1448.0 / 1500.0), 80.0 / events as f64 / (rtts / count))
}

/// Evidence for the controller `siad`.
#[test]
fn any_buffer_fills_the_link() {
    for share in [0.05, 0.1, 0.25, 0.5, 1.0, 2.0] {
        let (used, _) = flow(20, share);
        assert!(used > 0.995, "{share} bandwidth-delay products: {used}");
    }
}

/// Evidence for the controller `siad`: `Num_RTT` round trips from one congestion event to the next; a full link with
/// any buffer.
#[test]
fn congestion_comes_every_so_many_round_trips_as_configured() {
    for rounds in [10, 20, 40] {
        for share in [0.5, 1.0] {
            let (_, between) = flow(rounds, share);
            let late = between - f64::from(rounds);
            // The window meets its limit after Num_RTT; detecting that takes a round trip, repairing it one or two.
            assert!((0.0..4.0).contains(&late), "Num_RTT {rounds}, buffer {share}: {between} round trips");
        }
    }
}

//! Observations of the last decisions, and decisions in parts of a round trip, against numbers worked by hand.

#![allow(clippy::float_cmp, reason = "numbers that are exact by hand")]

use ackclock_cc::{AckEvent, CongestionController};
use ackclock_units::Bytes;

use crate::tests::{MSS, ack, agent, at, value};
use crate::{Agent, AgentConfig};

/// An agent that decides at each ACK and leaves its window as it is, past the decision at 100 ms.
fn idle() -> Agent {
    let mut agent = agent(r#"{"observations": ["acks"], "decide": "ack", "on_loss": "agent", "slow_start": "agent"}"#);
    agent.on_ack(&ack(100, MSS, 50));
    decide(&mut agent, 100, 3.0);
    agent
}

fn decide(agent: &mut Agent, ms: u64, action: f64) {
    agent.observe(at(ms), &mut [0.0]);
    agent.act(at(ms), action);
}

#[test]
fn half_a_round_trip_is_half_of_the_smoothed_one() {
    let mut agent = agent(r#"{"decide": {"rounds": 0.5}}"#);
    agent.on_ack(&ack(100, MSS, 100));
    agent.act(at(100), 3.0);
    agent.on_ack(&ack(149, MSS, 100));
    assert!(!agent.is_waiting());
    agent.on_ack(&ack(150, MSS, 100));
    assert!(agent.is_waiting());
    for rounds in ["0", "1001", "\"half\""] {
        let told = AgentConfig::from_json(&format!(r#"{{"decide": {{"rounds": {rounds}}}}}"#)).expect_err("wrong");
        assert!(told.to_string().contains("agent.decide"), "{told}");
    }
}

#[test]
fn what_waits_is_the_share_of_the_window_beyond_the_least_round_trip() {
    let mut agent = idle();
    agent.on_ack(&ack(200, 10 * MSS, 80));
    // (80 - 50) / 80 of 20 segments, to which Reno's first ACK added a twentieth
    assert_eq!(value(&agent, 200, "queue_share"), 0.375);
    assert!((value(&agent, 200, "queued_segments") - 0.375 * 20.05).abs() < 1e-9);
}

#[test]
fn the_pipe_is_the_largest_rate_of_the_last_decisions_times_the_least_round_trip() {
    let mut agent = idle();
    agent.on_ack(&ack(200, 40 * MSS, 50)); // 40 000 B * 8 / 100 ms = 3.2 Mbit/s
    decide(&mut agent, 200, 3.0);
    agent.on_ack(&ack(300, 10 * MSS, 50)); // 0.8 Mbit/s
    agent.observe(at(300), &mut [0.0]);
    assert_eq!(value(&agent, 300, "recent_delivery_ratio"), 0.25);
    // 3.2 Mbit/s * 50 ms = 20 000 B
    assert!((value(&agent, 300, "window_ratio") - 20_050.0 / 20_000.0).abs() < 1e-9);
}

#[test]
fn a_rate_is_forgotten_after_twenty_decisions() {
    let mut agent = idle();
    agent.on_ack(&ack(200, 40 * MSS, 50));
    decide(&mut agent, 200, 3.0);
    for n in 1..=20 {
        assert_eq!(agent.view(at(200)).memory.recent.max_rate(), 3_200_000.0, "{n}");
        agent.on_ack(&ack(200 + 100 * n, 10 * MSS, 50));
        decide(&mut agent, 200 + 100 * n, 3.0);
    }
    assert_eq!(agent.view(at(2_200)).memory.recent.max_rate(), 800_000.0);
}

#[test]
fn a_queue_that_never_empties_stands() {
    let mut agent = idle();
    for n in 1..=20 {
        let rtt = if n % 2 == 0 { 60 } else { 100 };
        agent.on_ack(&ack(100 + 100 * n, MSS, rtt));
        decide(&mut agent, 100 + 100 * n, 3.0);
    }
    // Least 60 - 50, greatest 100 - 50; the decision at 100 ms, without a queue, is 21 back.
    assert!((value(&agent, 2_100, "standing_queue_share") - 0.2).abs() < 1e-9);
    assert_eq!(value(&agent, 2_100, "peak_queue_share"), 0.5);
}

#[test]
fn losses_of_the_last_decisions_are_counted_together() {
    let mut agent = idle();
    agent.on_ack(&AckEvent { newly_lost: Bytes(MSS), ..ack(200, 9 * MSS, 50) });
    decide(&mut agent, 200, 3.0);
    agent.on_ack(&ack(300, 10 * MSS, 50));
    agent.observe(at(300), &mut [0.0]);
    // 1 of 20 in two intervals; the first interval, in which the agent took charge, has nothing in it
    assert_eq!(value(&agent, 300, "recent_loss_fraction"), 0.05);
}

#[test]
fn trends_are_octaves_over_four_decisions() {
    let mut agent = idle();
    for (n, acked, rtt) in [(1, 10, 50), (2, 10, 50), (3, 20, 100), (4, 20, 100)] {
        agent.on_ack(&ack(100 + 100 * n, acked * MSS, rtt));
        decide(&mut agent, 100 + 100 * n, 6.0); // ten segments more
    }
    agent.on_ack(&ack(600, 40 * MSS, 200));
    agent.observe(at(600), &mut [0.0]);
    // From the decision at 200 ms: 10 to 40 segments in 100 ms, 50 to 200 ms, 20.05 to 60.05 segments
    assert!((value(&agent, 600, "delivery_trend") - 2.0).abs() < 1e-9);
    assert!((value(&agent, 600, "rtt_trend") - 2.0).abs() < 1e-9);
    assert!((value(&agent, 600, "window_trend") - (60.05_f64 / 20.05).log2()).abs() < 1e-9);
}

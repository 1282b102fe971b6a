//! Values, rewards and the decisions of an agent, against numbers worked by hand.

#![allow(clippy::float_cmp, reason = "numbers that are exact by hand")]

use std::sync::Arc;

use ackclock_cc::{
    AckEvent, CongestionCause, CongestionController, CongestionEvent, Controller, ControllerConfig, Demands, Growth,
    RenoConfig, RttStats,
};
use ackclock_units::{Bytes, SimDuration, SimTime};

use crate::{Agent, AgentConfig, Observation};

pub(crate) const MSS: u64 = 1_000;

pub(crate) fn at(ms: u64) -> SimTime {
    SimTime(ms * 1_000_000)
}

pub(crate) fn ack(ms: u64, acked: u64, rtt_ms: u64) -> AckEvent {
    let plain = AckEvent::in_order(Bytes(acked), SimDuration::from_millis(rtt_ms));
    AckEvent {
        now: at(ms),
        prior_flight_size: Bytes(20 * MSS),
        snd_una: 0,
        snd_nxt: 20 * MSS,
        rtt: RttStats { min_rtt: SimDuration::from_millis(50), ..plain.rtt },
        round: ms / 100,
        ..plain
    }
}

fn loss(ms: u64) -> CongestionEvent {
    CongestionEvent {
        now: at(ms),
        cause: CongestionCause::Loss,
        flight_size: Bytes(20 * MSS),
        decrease_from: Bytes(20 * MSS),
        newly_lost: Bytes(MSS),
        inflight: Bytes(19 * MSS),
    }
}

/// An agent on a Reno flow of 20 segments past slow start, whose decrease is a half.
pub(crate) fn agent(settings: &str) -> Agent {
    let config = Arc::new(AgentConfig::from_json(settings).expect("a right configuration"));
    let own = ControllerConfig::Reno(RenoConfig::default());
    let own = Controller::new(&own, Bytes(MSS), Bytes(20 * MSS), Some(Bytes(20 * MSS)));
    Agent::new(&config, own, Bytes(MSS))
}

pub(crate) fn value(agent: &Agent, ms: u64, name: &str) -> f64 {
    Observation::named(name).expect("in the catalogue").value(&agent.view(at(ms)))
}

#[test]
fn it_is_asked_at_the_end_of_slow_start_and_then_once_a_window() {
    let mut agent = agent(r#"{"decide": "window"}"#);
    agent.on_ack(&ack(100, MSS, 100));
    assert!(agent.is_waiting(), "slow start is over");
    agent.act(at(100), 4.0); // +1 of a window that Reno's first ACK has made 20.05
    assert_eq!(agent.cwnd(), Bytes(21 * MSS + 50));
    for n in 0..21 {
        agent.on_ack(&ack(110 + n, MSS, 100));
        assert!(!agent.is_waiting(), "{n}");
    }
    agent.on_ack(&ack(140, MSS, 100)); // 22 of 21.05 segments
    assert!(agent.is_waiting());
}

#[test]
fn between_decisions_the_window_stays() {
    let mut agent = agent(r#"{"decide": {"acks": 3}}"#);
    agent.on_ack(&ack(100, MSS, 100));
    agent.act(at(100), 3.0);
    let before = agent.cwnd();
    agent.on_ack(&ack(101, MSS, 100));
    agent.on_ack(&ack(102, MSS, 100));
    assert_eq!((agent.cwnd(), agent.is_waiting()), (before, false));
    agent.on_ack(&ack(103, MSS, 100));
    assert!(agent.is_waiting());
}

#[test]
fn a_round_is_a_smoothed_round_trip_even_while_a_hole_is_filled() {
    let mut agent = agent(r#"{"decide": "round", "on_loss": "agent"}"#);
    agent.on_ack(&ack(100, MSS, 100));
    agent.act(at(100), 3.0);
    for ms in [130, 160, 199] {
        agent.on_ack(&AckEvent {
            is_cumulative: false,
            in_recovery: true,
            growth: Growth::default(),
            ..ack(ms, MSS, 100)
        });
        assert!(!agent.is_waiting(), "{ms}");
    }
    agent.on_ack(&AckEvent {
        is_cumulative: false,
        in_recovery: true,
        growth: Growth::default(),
        ..ack(201, MSS, 100)
    });
    assert!(agent.is_waiting());
}

#[test]
fn an_interval_adds_up() {
    let mut agent = agent(r#"{"decide": "20 ms"}"#);
    agent.on_ack(&ack(100, MSS, 100));
    agent.act(at(100), 3.0);
    agent.on_ack(&ack(105, 2 * MSS, 100));
    agent.on_ack(&AckEvent { newly_lost: Bytes(MSS), ..ack(115, MSS, 110) });
    assert_eq!(agent.deadline(), at(120));
    agent.on_timer(at(120));
    assert!(agent.is_waiting());
    assert_eq!(value(&agent, 120, "acked_segments"), 3.0);
    assert_eq!(value(&agent, 120, "delivery_rate_bps"), 1_200_000.0); // 3 000 B * 8 / 20 ms
    assert_eq!(value(&agent, 120, "loss_fraction"), 0.25); // 1 of 4
    assert_eq!(value(&agent, 120, "mean_rtt_ms"), 105.0);
    assert_eq!(value(&agent, 120, "queueing_delay_ms"), 55.0); // above 50
    assert!((value(&agent, 120, "latency_gradient") - 1.0).abs() < 1e-9); // 10 ms in 10 ms
    assert_eq!(value(&agent, 120, "latency_ratio"), 2.1);
    assert_eq!(value(&agent, 120, "interval_ms"), 20.0);
    assert_eq!(value(&agent, 120, "acks"), 2.0);
}

#[test]
fn a_loss_is_the_stacks_unless_the_agent_wants_it() {
    let mut stack = agent(r#"{"on_loss": "stack"}"#);
    stack.on_ack(&ack(100, MSS, 100));
    stack.act(at(100), 6.0); // 30.05 segments
    stack.on_congestion(&loss(150));
    assert_eq!(stack.cwnd(), Bytes(10 * MSS)); // half of the flight
    assert_eq!(value(&stack, 180, "threshold_segments"), 10.0);
    assert_eq!(value(&stack, 180, "w_max_segments"), 20.025); // midway from 30.05 to 10
    assert_eq!(value(&stack, 180, "since_congestion_ms"), 30.0);
    let mut own = agent(r#"{"on_loss": "agent"}"#);
    own.on_ack(&ack(100, MSS, 100));
    own.act(at(100), 6.0);
    own.on_congestion(&loss(150));
    assert_eq!(own.cwnd(), Bytes(30 * MSS + 50));
    assert!(own.demands().recovery_window);
}

#[test]
fn an_agent_asks_its_sender_for_what_it_uses() {
    let by_time = agent(r#"{"decide": "100 ms"}"#);
    assert_eq!(by_time.demands(), Demands { timer: true, ..Demands::default() });
    assert!(by_time.keeps_window_on_send()); // with NewReno inside
    let by_ack = agent(r#"{"decide": "ack"}"#);
    assert_eq!(by_ack.demands(), Demands::default());
}

#[test]
fn slow_start_is_the_stacks_with_the_loss_that_ends_it() {
    let config = Arc::new(AgentConfig::from_json(r#"{"on_loss": "agent"}"#).expect("a right configuration"));
    let own = Controller::new(&ControllerConfig::Reno(RenoConfig::default()), Bytes(MSS), Bytes(20 * MSS), None);
    let mut agent = Agent::new(&config, own, Bytes(MSS));
    agent.on_ack(&ack(100, MSS, 100));
    assert!(!agent.is_in_charge());
    agent.on_congestion(&loss(150));
    assert_eq!((agent.cwnd(), agent.is_in_charge()), (Bytes(10 * MSS), true)); // half of the flight
}

#[test]
fn the_papers_reward_is_a_share_of_the_best_or_a_punishment() {
    let mut agent = agent(r#"{"reward": "dqn"}"#);
    agent.on_ack(&ack(100, MSS, 100));
    assert_eq!(agent.reward(at(100)), 1.0); // the first is the best so far
    agent.act(at(100), 3.0);
    agent.on_ack(&ack(200, MSS, 200));
    assert_eq!(agent.reward(at(200)), 0.5); // the same window over twice the RTT
    agent.on_congestion(&loss(210));
    assert_eq!(agent.reward(at(210)), -1.0);
}

#[test]
fn aurora_and_remy_pay_by_hand() {
    let reward = |settings: &str| {
        let mut agent = agent(settings);
        agent.on_ack(&ack(100, MSS, 100));
        agent.act(at(100), 0.0);
        agent.on_ack(&AckEvent { newly_lost: Bytes(MSS), ..ack(200, 9 * MSS, 100) });
        agent.reward(at(200))
    };
    // 9 segments in 100 ms: 90 packets/s; 100 ms; 1 of 10 lost: 900 - 100 - 200
    assert!((reward(r#"{"reward": "aurora", "action": "aurora"}"#) - 600.0).abs() < 1e-9);
    // 0.72 Mbit/s: ln 0.72 = -0.328 504; ln 100 = 4.605 170, half of it 2.302 585
    let log = r#"{"reward": {"kind": "log_utility", "delay_weight": 0.5}, "action": "aurora"}"#;
    assert!((reward(log) - (-2.631_089)).abs() < 1e-5);
    // Orca: lost 80 kbit/s, five times: 0.72 - 0.4 of 0.72, over 100 / 50
    assert!((reward(r#"{"reward": "orca", "action": "aurora"}"#) - 0.222_222).abs() < 1e-5);
    // Kleinrock: the best rate over twice the least RTT
    assert!((reward(r#"{"reward": "power", "action": "aurora"}"#) - 0.5).abs() < 1e-12);
}

#[test]
fn history_has_the_latest_last_and_zeros_before() {
    let mut agent = agent(r#"{"observations": ["rtt_ms", "acks"], "history": 3, "decide": "ack"}"#);
    let mut out = [9.0; 6];
    agent.on_ack(&ack(100, MSS, 100));
    agent.observe(at(100), &mut out);
    assert_eq!(out, [0.0, 0.0, 0.0, 0.0, 100.0, 0.0]); // an interval begins where the agent takes charge
    agent.act(at(100), 3.0);
    agent.on_ack(&ack(110, MSS, 120));
    agent.observe(at(110), &mut out);
    assert_eq!(out, [0.0, 0.0, 100.0, 0.0, 120.0, 1.0]);
}

#[test]
fn scaled_values_lie_between_minus_one_and_one() {
    let mut agent = agent(r#"{"observations": ["cwnd_segments", "latency_gradient"], "scaled": true}"#);
    agent.on_ack(&ack(100, MSS, 100));
    let mut out = [9.0; 2];
    agent.observe(at(100), &mut out);
    // ln(1 + 20.05) / ln(1 + 1e6) = 3.046 9 / 13.815 5
    assert!((out[0] - 0.220_542).abs() < 1e-4, "{out:?}");
    assert_eq!(out[1], 0.0);
}

#[test]
fn mistakes_name_the_field_the_value_and_what_there_is() {
    for (settings, words) in [
        (r#"{"observations": ["cwnd"]}"#, vec!["agent.observations", "\"cwnd\"", "cwnd_segments"]),
        (r#"{"observations": []}"#, vec!["agent.observations", "at least one"]),
        (r#"{"history": 0}"#, vec!["agent.history = 0", "1 to"]),
        (r#"{"action": "jump"}"#, vec!["agent.action", "jump", "deltas"]),
        (r#"{"action": {"kind": "aurora", "stepp": 1}}"#, vec!["agent.action", "stepp"]),
        (r#"{"action": {"kind": "cwnd", "low_segments": 9, "high_segments": 3}}"#, vec!["low_segments = 9", "3"]),
        (r#"{"action": {"kind": "paced_window", "step": 0}}"#, vec!["agent.action.step = 0", "at most 10"]),
        (r#"{"action": {"kind": "paced_window", "gain": -1}}"#, vec!["agent.action.gain = -1", "at most 100"]),
        (r#"{"reward": "fame"}"#, vec!["agent.reward", "fame", "aurora"]),
        (r#"{"reward": {"kind": "alpha_fairness", "alpha": 1}}"#, vec!["alpha", "log_utility"]),
        (r#"{"decide": "sometimes"}"#, vec!["agent.decide", "sometimes", "window"]),
        (r#"{"decide": {"acks": 0}}"#, vec!["agent.decide", "out of range"]),
        (r#"{"decides": "ack"}"#, vec!["agent must not hold a field \"decides\"", "decide"]),
        (r#"{"history": -1}"#, vec!["agent.history = -1 must be a whole number of at least 0"]),
        (r#"{"history": 1.5}"#, vec!["agent.history = 1.5 must be a whole number"]),
        (r#"{"scaled": 1}"#, vec!["agent.scaled = 1 must be true or false"]),
        (r#"{"observations": 3}"#, vec!["agent.observations = 3 must be a list"]),
        (r#"{"slow_start": "both"}"#, vec!["agent.slow_start = \"both\" must be \"stack\" or \"agent\""]),
        (
            r#"{"action": {"kind": "deltas", "segments": [1e12]}}"#,
            vec!["agent.action.segments = [1", "whole numbers from -2147483648"],
        ),
        (
            r#"{"action": {"kind": "pacing_rate", "low_bps": -1, "high_bps": 5}}"#,
            vec!["agent.action.low_bps = -1 must be a whole number"],
        ),
        (r#"{"action": {"kind": "pacing_rate", "high_bps": 5}}"#, vec!["agent.action.low_bps is missing"]),
        (
            r#"{"action": {"kind": "aurora", "step": 0.1, "stepp": 1}}"#,
            vec!["agent.action must not hold a field \"stepp\"; there are step"],
        ),
        (
            r#"{"action": {"kind": "orca", "step": 1}}"#,
            vec!["agent.action must not hold a field \"step\"; orca has no parameters"],
        ),
        (
            r#"{"reward": {"kind": "power", "delay_weight": 1}}"#,
            vec!["agent.reward must not hold", "power has no parameters"],
        ),
        (
            r#"{"reward": {"kind": "copa", "delay_weight": "1"}}"#,
            vec!["agent.reward.delay_weight = \"1\" must be a number"],
        ),
    ] {
        let error = AgentConfig::from_json(settings).expect_err(settings).to_string();
        for word in words {
            assert!(error.contains(word), "{settings}: {error}");
        }
    }
}

/// The state of the flow's own controller is reported while that one moves the window (`CongestionController::state`).
/// BBR begins with Startup (draft-ietf-ccwg-bbr section 4.3.1).
#[test]
fn until_it_is_in_charge_an_agent_tells_what_the_own_controller_does() {
    let config = Arc::new(AgentConfig::from_json("{}").expect("a right configuration"));
    let own = ControllerConfig::Bbr3(ackclock_cc::Bbr3Config::default());
    let agent = Agent::new(&config, Controller::new(&own, Bytes(MSS), Bytes(20 * MSS), None), Bytes(MSS));
    assert_eq!((agent.state(), agent.is_in_slow_start(), agent.limits_itself()), ("startup", true, false));
    let after = self::agent("{}");
    assert_eq!(after.state(), "congestion_avoidance");
}

/// A controller without ssthresh reports whether it searches for the path's capacity
/// (`CongestionController::is_in_slow_start`). TIMELY never does.
#[test]
fn an_own_controller_without_ssthresh_hands_over_when_it_has_begun() {
    let config = Arc::new(AgentConfig::from_json("{}").expect("a right configuration"));
    let own = ControllerConfig::Timely(ackclock_cc::TimelyConfig::default());
    let mut agent = Agent::new(&config, Controller::new(&own, Bytes(MSS), Bytes(20 * MSS), None), Bytes(MSS));
    agent.on_ack(&ack(100, MSS, 100));
    assert!(agent.is_waiting() && agent.is_in_charge());
    assert_eq!(value(&agent, 100, "in_slow_start"), 0.0);
}

/// After a timeout the window is one segment, and slow start belongs to the stack here (RFC 5681 section 3.1).
#[test]
fn an_agent_that_waits_is_no_longer_asked_once_the_stack_starts_slowly() {
    let mut agent = agent("{}");
    agent.on_ack(&ack(100, MSS, 100));
    assert!(agent.is_waiting());
    let cause = CongestionCause::Timeout { repeated: false };
    agent.on_congestion(&CongestionEvent { cause, ..loss(400) });
    assert!(!agent.is_waiting() && !agent.is_in_charge());
}

/// The flight size (RFC 5681) is the data sent and not cumulatively acknowledged: SACKs leave it, and the ACK that
/// fills a hole lowers it by all data behind the hole.
#[test]
fn the_flight_is_what_is_not_cumulatively_acknowledged() {
    let mut agent = agent(r#"{"decide": "ack"}"#);
    agent.on_ack(&AckEvent { is_cumulative: false, snd_una: 0, snd_nxt: 20 * MSS, ..ack(100, MSS, 100) });
    assert_eq!(value(&agent, 100, "flight_size_segments"), 20.0);
    agent.on_ack(&AckEvent { snd_una: 19 * MSS, snd_nxt: 20 * MSS, ..ack(110, MSS, 100) });
    assert_eq!(value(&agent, 110, "flight_size_segments"), 1.0);
}

/// The flow's own controller does not undo an episode that it did not answer: the timeout before was right.
#[test]
fn an_episode_that_the_agent_answered_is_not_undone_by_the_own_controller() {
    let mut agent = agent(r#"{"on_loss": "agent", "action": "orca"}"#);
    agent.on_ack(&ack(100, MSS, 100));
    let cause = CongestionCause::Timeout { repeated: false };
    agent.on_congestion(&CongestionEvent { cause, ..loss(400) });
    assert_eq!(agent.cwnd(), Bytes(MSS));
    for ms in 500..510 {
        agent.on_ack(&ack(ms, MSS, 100)); // slow start to the ten segments that the timeout left as ssthresh
    }
    let before = agent.cwnd();
    assert!(before >= Bytes(10 * MSS) && agent.is_in_charge(), "{before:?}");
    agent.on_congestion(&loss(600));
    agent.on_spurious(at(610));
    agent.on_ack(&ack(620, MSS, 100));
    assert!(agent.cwnd() < Bytes(12 * MSS), "20 segments were those before the timeout: {:?}", agent.cwnd());
}

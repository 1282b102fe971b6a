//! Observations and rewards of a user: their arguments, the times of their calls, and the errors of a wrong one.

#![allow(clippy::float_cmp, reason = "numbers that are exact by hand")]

use ackclock_cc::CongestionController;
use ackclock_declare::{About, Library, Part, declare, default};

use crate::tests::{MSS, ack, agent, at};
use crate::{
    Agent, AgentConfig, ExternalObservationConfig, ExternalRewardConfig, ObservationRange, OwnObservation, OwnReward,
    Values, taken_names,
};

declare! {
    /// The parameters of [`Gap`].
    struct GapConfig {
        /// Cost of a millisecond.
        weight: f64 = default(1.0).at_least(0.0),
    }
}

/// The delivery rate in Mbit/s less the cost of waiting, with the number of the decision in hundreds.
#[derive(Clone, Debug)]
struct Gap {
    weight: f64,
    paid: u32,
}

impl OwnReward for Gap {
    fn reward(&mut self, values: &Values<'_>) -> f64 {
        self.paid += 1;
        let gap_ms = values.of("mean_rtt_ms") - values.of("min_rtt_ms");
        values.of("max_delivery_rate_bps") / 1e6 - self.weight * gap_ms + 100.0 * f64::from(self.paid)
    }
}

/// The sum of windows since the episode began.
#[derive(Clone, Debug, Default)]
struct Total(f64);

impl OwnObservation for Total {
    fn value(&mut self, values: &Values<'_>) -> f64 {
        self.0 += values.of("cwnd_segments");
        self.0
    }
}

fn observation(name: &'static str, range: ObservationRange) -> Part<ExternalObservationConfig> {
    let make = move |_| ExternalObservationConfig::new(name, range, || Box::new(Total::default()));
    Part::of_own_fields(About::new(name, "windows, added up"), (), vec![], make)
}

fn library() -> Library {
    let mut library = Library::default();
    library.add(Part::new::<GapConfig>(
        About::new("gap", "rate less waiting"),
        (),
        &[],
        |_| (),
        |config| ExternalRewardConfig::new("gap", move |()| Box::new(Gap { weight: config.weight, paid: 0 })),
    ));
    library.add(observation("total", ObservationRange::new(50.0, 250.0)));
    library.add(observation("decades", ObservationRange::new(0.0, 255.0).logarithmic_from(1.0)));
    library.add(observation("any", ObservationRange::ANY));
    library
}

fn own_agent(settings: &str) -> Agent {
    library().open(|| agent(settings))
}

#[test]
fn a_reward_sees_the_interval_that_it_pays_for_and_keeps_its_state() {
    let mut agent = own_agent(r#"{"reward": {"kind": "gap", "weight": 2}, "decide": "ack"}"#);
    agent.on_ack(&ack(100, MSS, 100));
    agent.act(at(100), 3.0);
    agent.on_ack(&ack(200, 9 * MSS, 60));
    // 9 segments of 8000 bits in 100 ms are 0.72 Mbit/s, the largest rate so far; 60 - 50 ms cost 2 each
    assert_eq!(agent.reward(at(200)), 0.72 - 20.0 + 100.0);
    agent.observe(at(200), &mut [0.0; 3]);
    agent.act(at(200), 3.0);
    let mut copy = agent.clone();
    for agent in [&mut agent, &mut copy] {
        agent.on_ack(&ack(300, 4 * MSS, 50));
        // 0.32 Mbit/s: the largest stays; nothing waits
        assert_eq!(agent.reward(at(300)), 0.72 + 200.0);
    }
}

#[test]
fn what_a_reward_has_seen_is_not_seen_twice() {
    let run = |reward: &str| {
        let mut agent = own_agent(&format!(r#"{{"observations": ["delivery_trend"], "reward": "{reward}"}}"#));
        let mut out = [0.0];
        agent.on_ack(&ack(100, MSS, 100));
        agent.observe(at(100), &mut out);
        for (ms, segments) in [(200, 1), (300, 2), (400, 4), (500, 8), (600, 8), (700, 4)] {
            agent.act(at(ms - 100), 3.0);
            agent.on_ack(&ack(ms, segments * MSS, 100));
            agent.reward(at(ms));
            agent.observe(at(ms), &mut out);
        }
        out
    };
    // from 2 segments an interval, four decisions before the last, to 4
    assert_eq!((run("gap"), run("power")), ([1.0], [1.0]));
}

#[test]
fn observations_stand_in_their_places_with_a_state_of_each() {
    let mut agent = own_agent(r#"{"observations": ["total", "rtt_ms", "any"], "history": 2, "decide": "ack"}"#);
    let mut out = [9.0; 6];
    agent.on_ack(&ack(100, MSS, 100)); // Reno's window of 20.05 segments
    agent.observe(at(100), &mut out);
    // before the first decision 0, or 50, the least of `total`; 20.05 is less than that
    assert_eq!(out, [50.0, 0.0, 0.0, 50.0, 100.0, 20.05]);
    agent.act(at(100), 3.0); // 20.05 segments stay
    for (n, all) in [(1_u16, 40.1_f32), (2, 60.15)] {
        agent.on_ack(&ack(100 + u64::from(n), MSS, 100));
        agent.observe(at(100 + u64::from(n)), &mut out);
        assert_eq!((out[3], out[5]), (all.max(50.0), all));
        agent.act(at(100 + u64::from(n)), 3.0);
    }
}

#[test]
fn scaled_ranges_end_at_minus_one_and_one_or_go_by_the_logarithm() {
    let config = AgentConfig::from_json_with(r#"{"observations": ["total", "decades"], "scaled": true}"#, &library());
    let spaces = config.expect("a right configuration").spaces();
    assert_eq!(spaces["observation"]["low"], serde_json::json!([-1.0, 0.0]));
    assert_eq!(spaces["observation"]["high"], serde_json::json!([1.0, 1.0]));
    let linear = ObservationRange::new(50.0, 250.0);
    assert_eq!([0.0, 150.0, 200.0, f64::NAN].map(|value| linear.shown(value, true)), [-1.0, 0.0, 0.5, -1.0]);
    // log2(1 + 15) of log2(1 + 255)
    let decades = ObservationRange::new(0.0, 255.0).logarithmic_from(1.0);
    assert!((decades.shown(15.0, true) - 0.5).abs() < 1e-12);
}

#[test]
fn a_range_that_is_none_is_told() {
    let mistake = |range: ObservationRange| range.mistake().expect("a mistake");
    assert_eq!(mistake(ObservationRange::new(3.0, 3.0)), "has low = 3, which is not below high = 3");
    assert!(mistake(ObservationRange::new(0.0, f64::NAN)).contains("high = NaN"));
    assert!(mistake(ObservationRange::new(0.0, 1.0).logarithmic_from(0.0)).contains("above 0"));
    assert!(mistake(ObservationRange::new(-1.0, 1.0).logarithmic_from(1.0)).contains("at least 0"));
    assert_eq!(ObservationRange::ANY.mistake(), None);
}

#[test]
fn a_range_is_what_is_described_of_it() {
    let logarithmic = ObservationRange::new(0.0, 9.0).logarithmic_from(0.5);
    for range in [ObservationRange::ANY, ObservationRange::new(-1.0, 4.0), logarithmic] {
        assert_eq!(ObservationRange::of_description(&range.describe()), range);
    }
}

#[test]
fn mistakes_name_the_field_the_value_and_the_remedy() {
    for (settings, words) in [
        (r#"{"reward": "fame"}"#, vec!["agent.reward = \"fame\" is unknown; known: dqn,", "none, gap"]),
        (
            r#"{"reward": {"kind": "gap", "weight": -1}}"#,
            vec!["agent.reward.weight = -1 must be at least 0; the default is 1"],
        ),
        (
            r#"{"reward": {"kind": "gap", "weight": "much"}}"#,
            vec!["agent.reward.weight = \"much\" is a string, and must be a number"],
        ),
        (
            r#"{"reward": {"kind": "gap", "cost": 1}}"#,
            vec!["agent.reward must not hold a field \"cost\"; gap has weight"],
        ),
        (r#"{"observations": ["rtt_ms", "totl"]}"#, vec!["\"totl\", which is unknown", "acks, total, decades, any"]),
        (
            r#"{"observations": ["rtt_ms", {"kind": "total", "x": 1}]}"#,
            vec!["agent.observations[1] must not hold a field \"x\"; total has no parameters"],
        ),
        (
            r#"{"observations": [{"kind": "rtt_ms", "x": 1}]}"#,
            vec!["agent.observations[0] must not hold a field \"x\"; rtt_ms has no parameters"],
        ),
        (r#"{"observations": [3]}"#, vec!["agent.observations names 3, which is unknown"]),
        (r#"{"observations": ["any"], "scaled": true}"#, vec!["\"any\" has no range; give it low and high"]),
    ] {
        let error = AgentConfig::from_json_with(settings, &library()).expect_err(settings).to_string();
        for word in words {
            assert!(error.contains(word), "{settings}: {error}");
        }
    }
    assert!(AgentConfig::from_json(r#"{"reward": "gap"}"#).is_err(), "no library is open");
}

#[test]
fn names_of_the_catalogue_are_taken() {
    let mut library = library();
    assert!(taken_names(&library).is_empty());
    library.add(observation("rtt_ms", ObservationRange::ANY));
    library.add(observation("power", ObservationRange::ANY)); // as a reward is called, which is of another kind
    assert_eq!(taken_names(&library), ["rtt_ms"]);
}

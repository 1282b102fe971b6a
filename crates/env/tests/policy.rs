//! A frozen policy in the engine against the environment stepped with the same network outside.

use std::path::PathBuf;

use ackclock_agent::AgentConfig;
use ackclock_agent::policy::policy_file;
use ackclock_env::Environment;
use ackclock_scenario::Scenario;
use ackclock_sim::{FlowId, Outcome, Simulation};
use ackclock_units::{RandomStream, SimTime};

/// A bottleneck of 10 Mbit/s and a round trip of 40 ms, with a buffer that is too small; another flow comes and goes.
fn scenario(controller: &str) -> Scenario {
    let text = format!(
        r#"
        duration = "12 s"
        trace = false
        [topology]
        kind = "dumbbell"
        access = {{ rate = "1 Gbit/s", delay = "1 ms" }}
        bottleneck = {{ rate = "10 Mbit/s", delay = "18 ms", queue = {{ kind = "drop_tail", limit = "0.5 bdp" }} }}
        [[flow]]
        name = "agent"
        controller = {controller}
        [[flow]]
        name = "other"
        controller = "cubic"
        start = "3 s"
        app = {{ kind = "file", size = "2 MB" }}
        "#
    );
    Scenario::parse(&text, "test.toml", &[]).unwrap_or_else(|error| panic!("{error}"))
}

/// A file of this test's own.
fn written(name: &str, content: &[u8]) -> PathBuf {
    let path = std::env::temp_dir().join(format!("ackclock-policy-{}-{name}.onnx", std::process::id()));
    std::fs::write(&path, content).expect("a folder for temporary files");
    path
}

/// A network of one hidden layer with weights drawn from a stream: weights and biases of each layer.
struct Drawn {
    inputs: usize,
    layers: [(Vec<f32>, Vec<f32>); 2],
}

impl Drawn {
    fn new(inputs: usize, outputs: usize, seed: u64) -> Self {
        let mut random = RandomStream::new(seed, "weights");
        let mut numbers =
            |count: usize| (0..count).map(|_| (2.0 * random.uniform() - 1.0) as f32).collect::<Vec<f32>>();
        let layers = [(numbers(9 * inputs), numbers(9)), (numbers(9 * outputs), numbers(outputs))];
        Self { inputs, layers }
    }

    fn file(&self, agent: &str) -> Vec<u8> {
        policy_file(agent, None, self.layers.iter().map(|(weights, biases)| (&weights[..], &biases[..])))
    }

    /// Decision of an independent program on an observation, sum by sum.
    fn decide(&self, observation: &[f32]) -> f64 {
        let sums = |(weights, biases): &(Vec<f32>, Vec<f32>), x: &[f32]| {
            let rows = weights.chunks(x.len()).zip(biases);
            rows.map(|(row, bias)| row.iter().zip(x).fold(*bias, |sum, (w, x)| sum + w * x)).collect::<Vec<f32>>()
        };
        let hidden: Vec<f32> = sums(&self.layers[0], observation).iter().map(|sum| sum.max(0.0)).collect();
        let values = sums(&self.layers[1], &hidden);
        if let [value] = values[..] {
            return f64::from(value);
        }
        let best = (0..values.len()).rev().max_by(|a, b| values[*a].total_cmp(&values[*b]));
        best.expect("there are choices") as f64
    }
}

/// The course with the network in the engine.
fn inside(network: &Drawn, agent: &str, name: &str) -> (Outcome, f64) {
    let path = written(name, &network.file(agent));
    let own = r#"{ kind = "newreno", beta = 0.6 }"#;
    let controller = format!(r#"{{ kind = "policy", file = '{}', controller = {own} }}"#, path.display());
    let mut simulation = Simulation::new(scenario(&controller).config());
    std::fs::remove_file(path).expect("it was written");
    simulation.run_until(SimTime(12_000_000_000));
    let decisions = simulation.controller(FlowId::new(0)).internal("decisions").expect("a report");
    (simulation.finish(), decisions)
}

/// The course with the network outside.
fn outside(network: &Drawn, agent: &str) -> (Outcome, f64) {
    let config = AgentConfig::from_json(agent).expect("a right configuration");
    let scenario = scenario(r#"{ kind = "newreno", beta = 0.6 }"#);
    let mut environment = Environment::new(scenario, vec![("agent".to_owned(), config)]).expect("right");
    let mut observation = vec![0.0; network.inputs];
    let (mut step, mut decisions) = (environment.reset(1), 0.0);
    while !step.is_last() {
        environment.observe(0, &mut observation);
        decisions += f64::from(u8::from(environment.is_waiting(0)));
        step = environment.step(&[network.decide(&observation)]);
    }
    (environment.outcome(), decisions)
}

/// Evidence for the controller `policy`: no source: the course of the environment stepped with the same network,
/// number for number; always +1: RFC 5681's segment a round trip; an LSTM that counts to twenty does so in each flow.
#[test]
fn in_the_engine_a_policy_takes_the_course_that_the_environment_takes() {
    let kinds = [
        (
            r#"{"observations": ["cwnd_segments", "srtt_ms", "loss_fraction"], "scaled": true, "decide": "window"}"#,
            3,
            7,
        ),
        (r#"{"observations": ["sent_segments", "flight_size_segments"], "decide": {"acks": 3}}"#, 2, 7),
        (
            r#"{"observations": ["acks", "latency_ratio"], "history": 3, "decide": "20 ms", "action": "orca", "on_loss": "agent"}"#,
            6,
            1,
        ),
        (
            r#"{"observations": ["cwnd_segments", "since_congestion_ms"], "decide": "cubic_pace", "action": "cubic_pace"}"#,
            2,
            4,
        ),
        (
            r#"{"observations": ["delivery_ratio", "queueing_delay_ms"], "scaled": true, "decide": "round", "action": "aurora", "slow_start": "agent"}"#,
            2,
            1,
        ),
    ];
    for (index, (agent, inputs, outputs)) in kinds.into_iter().enumerate() {
        let network = Drawn::new(inputs, outputs, 7 + index as u64);
        let (inside, decisions) = inside(&network, agent, &index.to_string());
        let (outside, expected) = outside(&network, agent);
        assert!(decisions > 20.0, "{agent}: {decisions}");
        assert_eq!(decisions.to_bits(), f64::to_bits(expected), "{agent}: {decisions} and {expected} decisions");
        assert_eq!(inside.engine, outside.engine, "{agent}");
        // All numbers are alike; what results call the controllers is not.
        let [inside, outside] = [(inside, "policy"), (outside, "agent on newreno")]
            .map(|(outcome, name)| format!("{:?}", outcome.summary).replace(name, "controller"));
        assert_eq!(inside, outside, "{agent}");
    }
}

/// Two networks would move one window.
#[test]
fn an_agent_and_a_policy_do_not_share_a_flow() {
    let agent = r#"{"observations": ["cwnd_segments", "srtt_ms"]}"#;
    let path = written("shared", &Drawn::new(2, 7, 1).file(agent));
    let frozen = scenario(&format!(r#"{{ kind = "policy", file = '{}' }}"#, path.display()));
    std::fs::remove_file(path).expect("it was written");
    let on = |flow: &str| {
        let config = AgentConfig::from_json(agent).expect("a right configuration");
        Environment::new(frozen.clone(), vec![(flow.to_owned(), config)])
    };
    let error = on("agent").expect_err("the flow has a policy").to_string();
    for words in ["flow \"agent\"", "controller \"policy\"", "controller = \"cubic\"", "another flow"] {
        assert!(error.contains(words), "{words:?} is not in: {error}");
    }
    // Beside each other is another matter.
    let mut beside = on("other").expect("CUBIC is not a policy");
    beside.reset(1);
    assert!(beside.simulation().controller(FlowId::new(0)).internal("decisions").expect("a report") > 0.0);
}

/// RFC 5681 section 3.1: "during congestion avoidance, cwnd is incremented by roughly 1 full-sized segment per RTT".
///
/// Evidence for the controller `policy`.
#[test]
fn always_a_segment_more_is_renos_growth() {
    let agent = r#"{"observations": ["cwnd_segments"], "decide": "window", "action": {"kind": "deltas", "segments": [-1, 0, 1]}}"#;
    let layer: [(&[f32], &[f32]); 1] = [(&[0.0; 3], &[0.0, 0.0, 1.0])];
    let path = written("growth", &policy_file(agent, None, layer.into_iter()));
    let text = |controller: &str| {
        format!(
            r#"
            duration = "8 s"
            [tcp]
            initial_ssthresh = "20 segments"
            delayed_ack = false
            [topology]
            kind = "dumbbell"
            access = {{ rate = "1 Gbit/s", delay = "0 ms" }}
            bottleneck = {{ rate = "100 Mbit/s", delay = "50 ms" }}
            [[flow]]
            controller = {controller}
            "#
        )
    };
    let windows = |controller: &str| {
        let scenario = Scenario::parse(&text(controller), "test.toml", &[]).unwrap_or_else(|error| panic!("{error}"));
        let mut simulation = Simulation::new(scenario.config());
        let mss = scenario.config().flows[0].sender.mss;
        let mut window = |ms: u64| {
            simulation.run_until(SimTime(ms * 1_000_000));
            simulation.sender(FlowId::new(0)).cwnd().0 as f64 / f64::from(mss)
        };
        (window(2_000), window(7_000))
    };
    let policy = windows(&format!(r#"{{ kind = "policy", file = '{}', controller = "newreno" }}"#, path.display()));
    std::fs::remove_file(path).expect("it was written");
    let reno = windows(r#""newreno""#);
    // 5 s are 50 round trips of 100 ms, and no queue, for 60 to 110 segments in 100 ms are 7 to 13 of 100 Mbit/s.
    assert!((49.0..=50.5).contains(&(policy.1 - policy.0)), "{policy:?}");
    // The policy is up to two ahead, since its first segment comes at once and each in a piece; and Reno lags by 1 / 2W a
    // round trip, W growing from 20 to 87: ln(87 / 20) / 2 = 0.73.
    for (policy, reno) in [(policy.0, reno.0), (policy.1, reno.1)] {
        assert!((0.0..=2.73).contains(&(policy - reno)), "{policy} and {reno}");
    }
}

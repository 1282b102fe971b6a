//! Controllers that learn in the flow, as a scenario names them.

#![allow(clippy::float_cmp, reason = "counts, and numbers handed on as they are")]

use ackclock_cc::{
    BelowSsthresh, CongestionController, ControllerConfig, LearnOn, OptimiserKind, StoreOn, controllers,
};
use ackclock_scenario::Scenario;
use ackclock_sim::{FlowId, Simulation, SimulationConfig};
use ackclock_units::{SimDuration, SimTime};

/// A bottleneck of 20 Mbit/s and a round trip of 40 ms, with a buffer of one bandwidth-delay product: 67 segments.
fn text(controllers: &[&str]) -> String {
    let flows: Vec<String> = controllers.iter().map(|one| format!("[[flow]]\ncontroller = {one}\n")).collect();
    let flows = flows.concat();
    format!(
        "duration = \"30 s\"\n[topology]\nkind = \"dumbbell\"\naccess = {{ rate = \"1 Gbit/s\", delay = \"10 us\" }}\n\
         bottleneck = {{ rate = \"20 Mbit/s\", delay = \"20 ms\", queue = {{ kind = \"drop_tail\", limit = \"1 bdp\" }} }}\n{flows}"
    )
}

fn config(controllers: &[&str]) -> SimulationConfig {
    let scenario = Scenario::parse(&text(controllers), "test.toml", &[]);
    scenario.unwrap_or_else(|error| panic!("{error}")).config().clone()
}

fn told(simulation: &Simulation, flow: usize, wanted: &str) -> f64 {
    let mut found = f64::NAN;
    simulation.sender(FlowId::new(flow)).controller().inspect(&mut |name, value| {
        if name == wanted {
            found = value;
        }
    });
    found
}

#[test]
fn both_learn_in_the_flow_after_their_warm_up() {
    for name in ["dqn_newreno", "dqn-newreno", "dqn_cubic", "dqn-cubic"] {
        assert!(controllers().find(name).is_some(), "{name}");
        let mut simulation = Simulation::new(&config(&[&format!("{name:?}")]));
        let (mut before, mut after) = (0, 0);
        for second in 1..=30_u64 {
            simulation.run_until(SimTime(second * 1_000_000_000));
            let (tuples, steps) = (told(&simulation, 0, "tuples"), told(&simulation, 0, "learning_steps"));
            if tuples < 2_000.0 {
                assert_eq!((steps, told(&simulation, 0, "epsilon")), (0.0, 1.0), "{name} at {second} s");
                before += 1;
            } else {
                assert_eq!(told(&simulation, 0, "epsilon"), 0.015);
                after += 1;
            }
        }
        assert!(before > 0 && after > 10, "{name}: {before} and {after}");
        let steps = told(&simulation, 0, "learning_steps");
        // The tuple that ends the warm-up is the first to be learnt from.
        assert_eq!(steps, told(&simulation, 0, "tuples") - 1_999.0, "{name}");
        // At most an action in a round trip of 40 ms for NewReno: 750 in 30 s.
        let decisions = told(&simulation, 0, "decisions");
        assert!(decisions > 100.0 && (name.contains("cubic") || decisions <= 750.0), "{name}: {decisions}");
        // Nothing bounds it: some seeds have losses of a few squared units of reward for a while.
        assert!((0.0..100.0).contains(&told(&simulation, 0, "learning_loss")), "{name}");
        let goodput = simulation.finish().summary.flows[0].goodput_bps;
        // All of the link is 19.3 Mbit/s.
        assert!(goodput > 10e6 && goodput < 19.31e6, "{name}: {goodput}");
    }
}

#[test]
fn each_flow_learns_for_itself_and_a_clone_goes_on_alike() {
    let mut simulation = Simulation::new(&config(&["\"dqn_cubic\"", "\"dqn_cubic\"", "\"dqn_newreno\""]));
    simulation.run_until(SimTime(10_000_000_000));
    let mut clone = simulation.clone();
    let end = |simulation: &mut Simulation| {
        simulation.run_until(SimTime(20_000_000_000));
        [0, 1, 2].map(|flow| ["learning_loss", "decisions", "q_0"].map(|name| told(simulation, flow, name).to_bits()))
    };
    let (one, other) = (end(&mut simulation), end(&mut clone));
    assert_eq!(one, other);
    assert_ne!(one[0], one[1]);
}

#[test]
fn parameters_are_what_they_are_set_to() {
    let newreno = "{ kind = \"dqn-newreno\", store_on = \"action\", hidden = [10, 20], dropout = 0.0, optimizer = \"sgd\", \
                   discount = 0.5, batch = 16, target_update = 0, warm_up = 500, epsilon = 0.1, learn_on = \"action\", \
                   time_scale = \"1 s\", below_ssthresh = \"avoidance\", min_window = 4 }";
    let ControllerConfig::DqnNewReno(config) = config(&[newreno]).flows[0].controller.clone() else {
        panic!("NewReno")
    };
    assert_eq!((config.store_on, config.dqn.learn_on), (StoreOn::Action, LearnOn::Action));
    let learning = &config.dqn.learning;
    assert_eq!((learning.hidden.as_slice(), learning.optimiser), ([10, 20].as_slice(), OptimiserKind::Sgd));
    assert_eq!((learning.batch, learning.target_update, learning.warm_up), (16, 0, 500));
    assert_eq!([learning.dropout, learning.discount, learning.epsilon, learning.learning_rate], [0.0, 0.5, 0.1, 0.001]);
    assert_eq!((config.dqn.time_scale, config.dqn.min_window), (SimDuration::from_secs(1), 4));
    assert_eq!(config.dqn.below_ssthresh, BelowSsthresh::Avoidance);
    let cubic = self::config(&["{ kind = \"dqn_cubic\", formula_c = false, c = 0.2 }"]);
    let ControllerConfig::DqnCubic(config) = cubic.flows[0].controller.clone() else { panic!("CUBIC") };
    assert_eq!((config.c, config.formula_c, config.dqn.learning.hidden.len()), (0.2, false, 5));
}

#[test]
fn mistakes_name_the_place_the_value_and_the_remedy() {
    for (controller, parts) in [
        ("{ kind = \"dqn_newreno\", hidden = [30, 0] }", ["hidden", "[30, 0]", "at least 1 and at most 1024 nodes"]),
        ("{ kind = \"dqn_newreno\", batch = 0 }", ["batch", "must be at least 1 and at most 4096 tuples", "32"]),
        ("{ kind = \"dqn_cubic\", dropout = 1.0 }", ["dropout", "must be at least 0 and at most 0.9", "0.1"]),
        ("{ kind = \"dqn_cubic\", discount = 1.0 }", ["discount", "at most 0.9999", "0.9"]),
        ("{ kind = \"dqn_cubic\", store_on = \"ack\" }", ["store_on", "must not hold a field", "formula_c"]),
    ] {
        let error = Scenario::parse(&text(&[controller]), "test.toml", &[]).expect_err("a mistake").to_string();
        for part in parts {
            assert!(error.contains(part), "{part:?} is not in: {error}");
        }
    }
}

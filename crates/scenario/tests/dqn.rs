//! Controllers that learn in the flow, in scenarios.

#![allow(clippy::float_cmp, reason = "counts, and numbers handed on as they are")]

use std::num::NonZeroUsize;

use ackclock_agent::policy::learned_policy;
use ackclock_cc::{BelowSsthresh, ControllerConfig, LearnOn, OptimiserKind, StoreOn, controllers};
use ackclock_scenario::Scenario;
use ackclock_sim::{FlowId, ParallelSimulation, Simulation, SimulationConfig};
use ackclock_units::{SimDuration, SimTime};

/// A learner whose steps begin an eighth of a second into the run, so that short runs learn.
const SHARED: &str = "{ kind = \"dqn_newreno\", agent = \"both\", warm_up = 200 }";

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

/// The named internal of a flow's controller; NaN before the handshake.
fn told(simulation: &Simulation, flow: usize, wanted: &str) -> f64 {
    simulation.controller(FlowId::new(flow)).internal(wanted).unwrap_or(f64::NAN)
}

/// Evidence for the controller `dqn_newreno`: Seo and Cho: 2000 tuples before it learns; an action for each window.
/// Evidence for the controller `dqn_cubic`: the same, with an action where CUBIC would add a segment.
#[test]
fn both_learn_in_the_flow_after_their_warm_up() {
    for name in ["dqn_newreno", "dqn_cubic"] {
        assert!(controllers().find(&name.replace('_', "-")).is_some(), "{name}");
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

/// Everything that an agent reports, with the bits of its network's values.
fn agent(simulation: &Simulation, flow: usize) -> Vec<u64> {
    let names = ["tuples", "learning_steps", "decisions", "learning_loss", "epsilon", "q_0", "q_6"];
    names.iter().map(|name| told(simulation, flow, name).to_bits()).collect()
}

#[test]
fn flows_that_name_one_agent_have_its_network_and_its_replay_in_common() {
    let mut simulation = Simulation::new(&config(&[SHARED, SHARED, "{ kind = \"dqn_newreno\", warm_up = 200 }"]));
    let mut rewards_differ = false;
    for second in 1..=15_u64 {
        simulation.run_until(SimTime(second * 1_000_000_000));
        assert_eq!(agent(&simulation, 0), agent(&simulation, 1), "at {second} s");
        rewards_differ |= told(&simulation, 0, "reward").to_bits() != told(&simulation, 1, "reward").to_bits();
    }
    // Windows and rewards are each flow's own.
    assert!(rewards_differ);
    assert_ne!(simulation.sender(FlowId::new(0)).cwnd(), simulation.sender(FlowId::new(1)).cwnd());
    // One step of learning for each tuple of both, from the last of the warm-up on.
    assert_eq!(told(&simulation, 0, "learning_steps"), told(&simulation, 0, "tuples") - 199.0);
    assert_ne!(agent(&simulation, 0), agent(&simulation, 2));
    let policy = |flow| learned_policy(simulation.sender(FlowId::new(flow)).controller());
    assert!(policy(0).is_some() && policy(0) == policy(1) && policy(0) != policy(2));
}

#[test]
fn an_agent_that_one_flow_alone_names_is_that_flows_own() {
    // A flow without a name is flow1, and an agent draws from the stream of a flow of its name.
    let own = config(&["{ kind = \"dqn_cubic\", warm_up = 200 }"]);
    let named = config(&["{ kind = \"dqn_cubic\", warm_up = 200, agent = \"flow1\" }"]);
    let everything = |config| {
        let mut simulation = Simulation::new(config);
        simulation.run_until(SimTime(12_000_000_000));
        format!("{:?}", simulation.stop())
    };
    assert_eq!(everything(&own), everything(&named));
}

#[test]
fn a_clone_has_shared_agents_of_its_own_which_go_on_alike() {
    let config = config(&[SHARED, SHARED]);
    // Before the handshakes, after them, and while it learns.
    for begin in [0, 1, 4] {
        let mut simulation = Simulation::new(&config);
        simulation.run_until(SimTime(begin * 1_000_000_000));
        let (mut clone, mut still) = (simulation.clone(), simulation.clone());
        let before = agent(&still, 0);
        simulation.run_until(SimTime(8_000_000_000));
        assert_eq!(agent(&still, 0), before, "from {begin} s");
        for copy in [&mut clone, &mut still] {
            copy.run_until(SimTime(8_000_000_000));
            assert_eq!([agent(copy, 0), agent(copy, 1)], [agent(&simulation, 0), agent(&simulation, 1)]);
        }
        assert_eq!(format!("{:?}", clone.stop()), format!("{:?}", simulation.stop()));
    }
}

#[test]
fn flows_with_one_agent_stay_together_on_several_cores() {
    // Hosts 5 ms from each other and from the link that all share.
    let of = |controllers: &[&str]| {
        let scenario = text(controllers).replace("delay = \"10 us\"", "delay = \"5 ms\"");
        Scenario::parse(&scenario, "test.toml", &[]).unwrap_or_else(|error| panic!("{error}")).config().clone()
    };
    let apart =
        ParallelSimulation::new(&of(&["\"reno\"", "\"reno\"", "\"reno\""]), NonZeroUsize::new(4).expect("some"));
    assert!(!apart.partition().ties.contains(&"agents that flows have in common"));
    let config = of(&[SHARED, SHARED, "\"reno\""]);
    let parts = ParallelSimulation::new(&config, NonZeroUsize::new(4).expect("some"));
    let partition = parts.partition();
    assert!(partition.ties.contains(&"agents that flows have in common"), "{partition:?}");
    assert!(partition.parts > 1, "{partition:?}");
    assert_eq!(format!("{:?}", parts.finish()), format!("{:?}", Simulation::new(&config).finish()));
}

#[test]
fn flows_of_quic_may_have_an_agent_in_common() {
    let text = text(&[SHARED, SHARED]).replace("[[flow]]\n", "[[flow]]\nprotocol = \"quic\"\n");
    let scenario = Scenario::parse(&text, "test.toml", &[]).unwrap_or_else(|error| panic!("{error}"));
    let mut simulation = Simulation::new(scenario.config());
    simulation.run_until(SimTime(10_000_000_000));
    let mut clone = simulation.clone();
    for copy in [&mut simulation, &mut clone] {
        copy.run_until(SimTime(12_000_000_000));
        assert!(told(copy, 0, "learning_steps") > 200.0);
        assert_eq!(told(copy, 0, "learning_steps").to_bits(), told(copy, 1, "learning_steps").to_bits());
    }
    assert_eq!(format!("{:?}", clone.finish()), format!("{:?}", simulation.finish()));
}

#[test]
fn an_agent_cannot_be_had_in_common_where_controllers_differ_or_do_not_last() {
    let of = |controller: &str, more: &str| format!("[[flow]]\ncontroller = {controller}\n{more}");
    let other = "{ kind = \"dqn_newreno\", agent = \"both\", discount = 0.5 }";
    let cubic = "{ kind = \"dqn_cubic\", agent = \"both\" }";
    let nameless = "{ kind = \"dqn_cubic\", agent = \" \" }";
    let short = "arrivals = { rate = \"10 /s\" }\napp = { kind = \"file\", size = \"10 kB\" }\n";
    let head = text(&[]);
    let alike = "must have the same kind and parameters as in flow \"flow1\", which also names \"both\"";
    for (flows, parts) in [
        ([of(SHARED, ""), of(other, "")].concat(), ["flow[1].controller.agent", alike]),
        ([of(SHARED, ""), of(cubic, "")].concat(), ["flow[1].controller.agent", "name another agent"]),
        (of(nameless, ""), ["flow[0].controller.agent", "must be a name"]),
        (of(SHARED, short), ["flow[0].controller.agent", "not for arrivals of short ones"]),
    ] {
        let error = Scenario::parse(&(head.clone() + &flows), "test.toml", &[]).expect_err("a mistake").to_string();
        for part in parts {
            assert!(error.contains(part), "{part:?} is not in: {error}");
        }
    }
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
fn a_recurrent_layer_learns_otherwise_than_one_that_sees_all_readings_at_once() {
    let steps_and_loss = |recurrent: bool| {
        let one = format!("{{ kind = \"dqn_newreno\", warm_up = 200, recent = 4, recurrent = {recurrent} }}");
        let mut simulation = Simulation::new(&config(&[&one]));
        simulation.run_until(SimTime(5_000_000_000));
        (told(&simulation, 0, "learning_steps"), told(&simulation, 0, "learning_loss"))
    };
    let (recurrent, at_once) = (steps_and_loss(true), steps_and_loss(false));
    assert!(recurrent.0 > 100.0 && recurrent.1.is_finite());
    assert_ne!(recurrent.1, at_once.1);
}

#[test]
fn mistakes_name_the_place_the_value_and_the_remedy() {
    for (controller, parts) in [
        ("{ kind = \"dqn_newreno\", hidden = [30, 0] }", ["hidden", "[30, 0]", "at least 1 and at most 1024 nodes"]),
        ("{ kind = \"dqn_newreno\", batch = 0 }", ["batch", "must be at least 1 and at most 4096 tuples", "32"]),
        ("{ kind = \"dqn_cubic\", dropout = 1.0 }", ["dropout", "must be at least 0 and at most 0.9", "0.1"]),
        ("{ kind = \"dqn_cubic\", discount = 1.0 }", ["discount", "at most 0.9999", "0.9"]),
        ("{ kind = \"dqn_newreno\", recurrent = true }", ["recurrent", "needs two readings", "recent = 8"]),
        ("{ kind = \"dqn_cubic\", store_on = \"ack\" }", ["store_on", "is not a known field", "formula_c"]),
    ] {
        let error = Scenario::parse(&text(&[controller]), "test.toml", &[]).expect_err("a mistake").to_string();
        for part in parts {
            assert!(error.contains(part), "{part:?} is not in: {error}");
        }
    }
}

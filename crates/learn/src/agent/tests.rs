use super::*;

fn config() -> AgentConfig {
    let learning = Learning {
        hidden: vec![16, 16],
        dropout: 0.0,
        learning_rate: 2e-3,
        optimiser: OptimiserKind::Adam,
        discount: 0.5,
        n_step: 1,
        double: false,
        batch: 32,
        target_update: 50,
        replay_capacity: 1_000,
        warm_up: 200,
        epsilon: 0.1,
    };
    AgentConfig { inputs: 2, readings: 1, actions: 2, normalisation: Normalisation::Raw, learning }
}

/// Two places: action 0 stays, action 1 changes places. The reward of being at the second after the action is 1.
const PLACES: [[f32; 2]; 2] = [[1.0, 0.0], [0.0, 1.0]];

fn walk(agent: &mut Agent, steps: usize) {
    let (mut place, mut chain) = (0, agent.returns());
    for _ in 0..steps {
        let action = agent.decide(&PLACES[place]).action;
        let after = if action == 0 { place } else { 1 - place };
        agent.store(&mut chain, &PLACES[place], action, after as f32, &PLACES[after]);
        agent.learn();
        place = after;
    }
}

#[test]
fn values_converge_to_those_of_a_world_solved_by_hand() {
    for (target_update, double) in [(0, false), (50, false), (50, true)] {
        let mut config = config();
        (config.learning.target_update, config.learning.double) = (target_update, double);
        let mut agent = Agent::new(&config, RandomStream::new(1, "walk"));
        walk(&mut agent, 6_000);
        // V(second) = 1 / (1 - 0.5) = 2: staying there 2, leaving 0 + 0.5 V(first). V(first) = 1 + 0.5 * 2 = 2 by
        // changing; staying 0 + 0.5 * 2 = 1; so leaving the second is worth 1.
        for (place, expected) in [(0, [1.0, 2.0]), (1, [2.0, 1.0])] {
            agent.evaluate(&PLACES[place]);
            for (value, expected) in agent.values().iter().zip(expected) {
                assert!((value - expected).abs() < 0.1, "at {place}: {:?}", agent.values());
            }
        }
        assert!(agent.loss().is_some_and(|loss| loss < 0.01));
    }
}

#[test]
fn it_learns_after_the_warm_up_only() {
    let mut agent = Agent::new(&config(), RandomStream::new(1, "walk"));
    let drawn = agent.network().clone();
    walk(&mut agent, 199);
    assert_eq!((agent.steps(), agent.epsilon(), agent.network()), (0, 1.0, &drawn));
    walk(&mut agent, 11);
    // the 200th tuple ends it, and that step learns
    assert_eq!((agent.steps(), agent.tuples(), agent.decisions(), agent.epsilon()), (11, 210, 210, 0.1));
    assert_ne!(agent.network(), &drawn);
}

#[test]
fn a_fraction_epsilon_is_random_and_all_actions_alike_before() {
    let mut agent = Agent::new(&config(), RandomStream::new(2, "walk"));
    let first = (0..10_000).filter(|_| agent.decide(&PLACES[0]).action == 0).count();
    // 5000, standard deviation 50
    assert!((4_750..5_250).contains(&first), "{first}");
    walk(&mut agent, 200);
    let random = (0..10_000).filter(|_| agent.decide(&PLACES[0]).is_random).count();
    // 1000, standard deviation 30
    assert!((850..1_150).contains(&random), "{random}");
}

#[test]
fn a_clone_goes_on_with_the_same_bits_and_another_stream_does_not() {
    let mut config = config();
    config.learning.dropout = 0.2;
    let mut agent = Agent::new(&config, RandomStream::new(3, "walk"));
    walk(&mut agent, 500);
    let mut clone = agent.clone();
    walk(&mut agent, 100);
    walk(&mut clone, 100);
    let bits =
        |agent: &Agent| -> Vec<u32> { agent.network().parameters().iter().map(|value| value.to_bits()).collect() };
    assert_eq!(bits(&agent), bits(&clone));
    let mut other = Agent::new(&config, RandomStream::new(4, "walk"));
    walk(&mut other, 600);
    assert_ne!(bits(&agent), bits(&other));
}

#[test]
fn lives_with_one_agent_have_chains_of_their_own() {
    let mut config = config();
    (config.learning.n_step, config.learning.replay_capacity) = (2, 10);
    let mut agent = Agent::new(&config, RandomStream::new(5, "walk"));
    let (mut one, mut other) = (agent.returns(), agent.returns());
    // In turn: one stays at the second place, which gains 1 each time, the other at the first, which gains nothing.
    for _ in 0..2 {
        agent.store(&mut one, &PLACES[1], 0, 1.0, &PLACES[1]);
        agent.store(&mut other, &PLACES[0], 0, 0.0, &PLACES[0]);
    }
    // 1 + 0.5 * 1 = 1.5 for the one, 0 for the other: with one chain there would be four tuples, of 1 or 0.5 each
    let kept: Vec<(&[f32], f32)> =
        (0..agent.replay.len()).map(|at| agent.replay.get(at)).map(|t| (t.state, t.reward)).collect();
    assert_eq!(kept, [(&PLACES[1][..], 1.5), (&PLACES[0][..], 0.0)]);
    assert_eq!(agent.tuples(), 4);
    agent.end(&mut one);
    assert_eq!(agent.replay.len(), 3);
}

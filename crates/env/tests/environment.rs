//! Decisions in whole simulations: counted, ended, copied, and the same side by side as alone.

use ackclock_agent::AgentConfig;
use ackclock_env::{Autoreset, Buffers, Environment, Step, VectorEnvironment};
use ackclock_scenario::Scenario;

/// 10 Mbit/s, 100 ms, no loss in sight; segments of 1250 bytes on the wire.
fn scenario(flow: &str) -> Scenario {
    let text = format!(
        r#"
        duration = "10 s"
        [tcp]
        mss = 1250
        delayed_ack = false
        initial_ssthresh = "25000 bytes"
        receive_buffer = "1 GB"
        [topology]
        kind = "dumbbell"
        access = {{ rate = "1 Gbit/s", delay = "0 ms" }}
        bottleneck = {{ rate = "10 Mbit/s", delay = "50 ms", queue = {{ kind = "drop_tail", limit = "unlimited" }} }}
        {flow}
        "#
    );
    Scenario::parse(&text, "test.toml", &[]).unwrap_or_else(|error| panic!("{error}"))
}

const BULK: &str = "[[flow]]\nname = \"agent\"\ncontroller = \"newreno\"";

fn environment(flow: &str, settings: &str) -> Environment {
    let config = AgentConfig::from_json(settings).expect("a right configuration");
    Environment::new(scenario(flow), vec![("agent".to_owned(), config)]).expect("a right environment")
}

fn observe(environment: &mut Environment) -> Vec<f32> {
    let mut out = vec![0.0; environment.config(0).observation_len()];
    environment.observe(0, &mut out);
    out
}

#[test]
fn ten_segments_a_window_are_ten_segments_a_round_trip() {
    let mut environment = environment(BULK, r#"{"decide": "window", "observations": ["cwnd_segments"]}"#);
    assert_eq!(environment.reset(1), Step::default());
    let first = (environment.now(), observe(&mut environment)[0]);
    assert!((20.0..=21.0).contains(&first.1), "the window at ssthresh: {first:?}");
    for _ in 0..5 {
        environment.step(&[6.0]);
    }
    // Each adds 10; the first window's worth of ACKs takes a round trip of 100 ms, as do those after it.
    let last = (environment.now(), observe(&mut environment)[0]);
    assert!((last.1 - first.1 - 40.0).abs() < 1e-3 || (last.1 - first.1 - 50.0).abs() < 1e-3, "{first:?} {last:?}");
    let seconds = (last.0.as_secs_f64() - first.0.as_secs_f64()) / 5.0;
    assert!((0.1..0.125).contains(&seconds), "{seconds}");
}

#[test]
fn decisions_by_time_come_by_time() {
    let mut environment = environment(BULK, r#"{"decide": "20 ms", "observations": ["interval_ms"]}"#);
    environment.reset(1);
    let start = environment.now();
    for n in 1..=50 {
        environment.step(&[3.0]);
        assert_eq!(environment.now().0, start.0 + n * 20_000_000);
        assert_eq!(observe(&mut environment), [20.0]);
    }
}

#[test]
fn an_episode_is_truncated_at_the_duration_and_terminated_by_the_last_byte() {
    let mut endless = environment(BULK, r#"{"decide": "window"}"#);
    endless.reset(1);
    let last = loop {
        let step = endless.step(&[3.0]);
        if step.is_last() {
            break step;
        }
    };
    assert_eq!((last, endless.now().0), (Step { terminated: false, truncated: true }, 10_000_000_000));
    let file = format!("{BULK}\napp = {{ kind = \"file\", size = \"1 MB\" }}");
    let mut file = environment(&file, r#"{"decide": "window"}"#);
    file.reset(1);
    let last = loop {
        let step = file.step(&[3.0]);
        if step.is_last() {
            break step;
        }
    };
    assert_eq!(last, Step { terminated: true, truncated: false });
    // 1 MB at 10 Mbit/s takes 0.8 s at the least; the window of 20 segments allows 2 Mbit/s, so about 4 s.
    assert!((3.5..4.5).contains(&file.now().as_secs_f64()), "{}", file.now().as_secs_f64());
}

#[test]
fn a_copy_goes_on_alike_and_apart() {
    let mut one = environment(BULK, r#"{"decide": "ack"}"#);
    one.reset(7);
    for n in 0..300 {
        one.step(&[f64::from(n % 7)]);
    }
    let (mut same, mut other) = (one.clone(), one.clone());
    for n in 0..300 {
        one.step(&[f64::from(n % 7)]);
        same.step(&[f64::from(n % 7)]);
        other.step(&[0.0]);
    }
    assert_eq!(observe(&mut one), observe(&mut same));
    assert_eq!(one.now(), same.now());
    assert_eq!(format!("{:?}", one.outcome().summary), format!("{:?}", same.outcome().summary));
    assert_ne!(one.now(), other.now());
}

/// Results of a vector's step, but for the observations.
struct Given {
    rewards: Vec<f64>,
    terminated: Vec<bool>,
    truncated: Vec<bool>,
    finals: Vec<f32>,
}

impl Given {
    fn new(count: usize, length: usize) -> Self {
        let (terminated, truncated) = (vec![false; count], vec![false; count]);
        Self { rewards: vec![0.0; count], terminated, truncated, finals: vec![0.0; count * length] }
    }

    fn buffers<'a>(&'a mut self, observations: &'a mut [f32]) -> Buffers<'a> {
        Buffers {
            observations,
            rewards: &mut self.rewards,
            terminated: &mut self.terminated,
            truncated: &mut self.truncated,
            finals: &mut self.finals,
        }
    }

    fn is_over(&self, slot: usize) -> bool {
        self.terminated[slot] || self.truncated[slot]
    }
}

/// The same episodes, with or without a step between them.
#[test]
fn an_episode_begins_with_the_next_step_or_within_the_last() {
    let settings = r#"{"decide": "200 ms", "observations": ["since_congestion_ms", "cwnd_segments"]}"#;
    // Of 500 kB.
    let flow = format!("{BULK}\napp = {{ kind = \"file\", size = \"500 kB\" }}");
    let single = environment(&flow, settings);
    let courses = [Autoreset::NextStep, Autoreset::SameStep].map(|autoreset| {
        let mut vector = VectorEnvironment::new(&single, 2, 2, autoreset).expect("threads");
        let (mut rows, mut given) = (vec![0.0; 4], Given::new(2, 2));
        vector.reset(&[Some(8), Some(9)], &mut rows);
        // The second slot's course: each reward with what was seen then, and of each episode what was seen first.
        let (mut course, mut begins) = (Vec::new(), vec![rows[2..].to_vec()]);
        let mut was_over = false;
        while begins.len() < 5 {
            vector.step(&[4.0, 4.0], given.buffers(&mut rows));
            match (autoreset, given.is_over(1)) {
                (Autoreset::NextStep, _) if was_over => begins.push(rows[2..].to_vec()),
                (Autoreset::SameStep, true) => {
                    course.push((given.rewards[1], true, given.finals[2..].to_vec()));
                    begins.push(rows[2..].to_vec());
                }
                (_, is_over) => course.push((given.rewards[1], is_over, rows[2..].to_vec())),
            }
            was_over = given.is_over(1);
        }
        (course, begins)
    });
    assert_eq!(courses[0], courses[1]);
    let ends = courses[0].0.iter().filter(|step| step.1).count();
    assert_eq!((ends, courses[0].0.len() > 20), (4, true));
}

#[test]
fn side_by_side_is_as_alone_on_any_number_of_threads() {
    let settings = r#"{"decide": "ack", "observations": ["cwnd_segments", "rtt_ms", "acks"]}"#;
    let single = environment(BULK, settings);
    let seeds = [3, 4, 5, 6, 7];
    let mut alone = Vec::new();
    for seed in seeds {
        let mut environment = single.clone();
        environment.reset(seed);
        let mut course = vec![observe(&mut environment)];
        for n in 0..200 {
            environment.step(&[f64::from(n % 7)]);
            let _ = environment.reward(0);
            course.push(observe(&mut environment));
        }
        alone.push(course);
    }
    for threads in [1, 2, 5] {
        let mut vector = VectorEnvironment::new(&single, seeds.len(), threads, Autoreset::NextStep).expect("threads");
        let mut rows = vec![0.0; 15];
        let mut given = Given::new(5, 3);
        vector.reset(&seeds.map(Some), &mut rows);
        for n in 0..=200 {
            for (slot, course) in alone.iter().enumerate() {
                assert_eq!(rows[3 * slot..3 * slot + 3], course[n], "slot {slot}, step {n}, {threads} threads");
            }
            let actions = [f64::from(n as u32 % 7); 5];
            vector.step(&actions, given.buffers(&mut rows));
        }
    }
}

/// In the middle of an episode, with another autoreset and number of threads each; over the ends of episodes.
#[test]
fn a_copy_of_many_goes_on_alike_and_apart() {
    let flow = format!("{BULK}\napp = {{ kind = \"file\", size = \"500 kB\" }}");
    let single =
        environment(&flow, r#"{"decide": "200 ms", "observations": ["since_congestion_ms", "cwnd_segments"]}"#);
    for (threads, autoreset) in [(1, Autoreset::NextStep), (3, Autoreset::SameStep)] {
        let mut vector = VectorEnvironment::new(&single, 3, threads, autoreset).expect("threads");
        let (mut rows, mut given) = (vec![0.0; 6], Given::new(3, 2));
        vector.reset(&[Some(8), Some(9), Some(10)], &mut rows);
        vector.step(&[4.0; 3], given.buffers(&mut rows));
        let mut copy = vector.copy().expect("threads");
        let mut course = |one: &mut VectorEnvironment| {
            let step = |_| {
                one.step(&[4.0; 3], given.buffers(&mut rows));
                (rows.clone(), given.rewards.clone(), given.terminated.clone())
            };
            (0..60).map(step).collect::<Vec<_>>()
        };
        let first = course(&mut vector);
        assert!(first.iter().any(|(_, _, ends)| ends.contains(&true)), "{threads} threads");
        assert_eq!(first, course(&mut copy), "{threads} threads");
    }
}

#[test]
fn a_network_is_drawn_for_every_episode() {
    let text = r#"
        duration = "5 s"
        [topology]
        kind = "dumbbell"
        access = { rate = "1 Gbit/s", delay = "0 ms" }
        bottleneck = { rate = "50 Mbit/s", delay = { uniform = ["10 ms", "90 ms"] } }
        [[flow]]
        name = "agent"
        controller = "newreno"
    "#;
    let scenario = Scenario::parse(text, "test.toml", &[]).unwrap_or_else(|error| panic!("{error}"));
    let config = AgentConfig::from_json(r#"{"observations": ["min_rtt_ms"], "slow_start": "agent"}"#).expect("right");
    let mut environment = Environment::new(scenario, vec![("agent".to_owned(), config)]).expect("right");
    let mut draw = |seed| {
        environment.reset(seed);
        observe(&mut environment)[0]
    };
    let drawn: Vec<f32> = (0..200).map(&mut draw).collect();
    assert_eq!(draw(7).to_bits(), drawn[7].to_bits());
    assert!(drawn.iter().all(|rtt| (20.0..181.0).contains(rtt)), "{drawn:?}");
    // Uniform from 20 to 180 ms: 100 ms on the average, and 46.2 / sqrt(200) = 3.3 about it.
    let mean = drawn.iter().sum::<f32>() / 200.0;
    assert!((90.0..110.0).contains(&mean), "{mean}");
}

#[test]
fn several_agents_decide_at_the_same_moments() {
    let flows = "[[flow]]\nname = \"a\"\ncontroller = \"newreno\"\n[[flow]]\nname = \"b\"\ncontroller = \"cubic\"\nstart = \"1 s\"";
    let config =
        || AgentConfig::from_json(r#"{"decide": "100 ms", "observations": ["cwnd_segments"]}"#).expect("right");
    let agents = vec![("a".to_owned(), config()), ("b".to_owned(), config())];
    let mut environment = Environment::new(scenario(flows), agents).expect("a right environment");
    environment.reset(1);
    assert!(environment.is_waiting(0) && !environment.is_waiting(1), "b has not begun");
    let mut both = 0;
    while !environment.step(&[4.0, 4.0]).is_last() {
        both += usize::from(environment.is_waiting(0) && environment.is_waiting(1));
    }
    // From about 1.4 s, when b's slow start ends, to 10 s, every 100 ms.
    assert!((80..=90).contains(&both), "{both}");
}

#[test]
fn mistakes_say_what_there_is() {
    let config = || AgentConfig::from_json("{}").expect("right");
    let error = |agents| Environment::new(scenario(BULK), agents).expect_err("wrong").to_string();
    let unknown = error(vec![("nobody".to_owned(), config())]);
    assert!(unknown.contains("\"nobody\"") && unknown.contains("agent"), "{unknown}");
    assert!(error(vec![]).contains("at least one"));
    assert!(error(vec![("agent".to_owned(), config()), ("agent".to_owned(), config())]).contains("twice"));
    let one = environment(BULK, "{}");
    assert!(
        VectorEnvironment::new(&one, 0, 1, Autoreset::NextStep).expect_err("none").to_string().contains("num_envs")
    );
}

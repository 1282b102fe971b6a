#![allow(clippy::float_cmp, reason = "whole numbers that f64 holds exactly")]

use super::super::Policy;
use super::super::network::Work;
use super::super::recurrent;
use super::*;

fn exported(name: &str) -> Policy {
    let place = std::path::PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors/policies");
    let bytes = std::fs::read(place.join(format!("{name}.onnx"))).expect("part of the tree");
    Policy::from_onnx(&bytes, None).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// A network worked by hand: two inputs, a hidden layer of two with Relu, two values.
fn by_hand() -> Quantised {
    let real = |weights: Vec<f32>, biases: Vec<f32>| super::super::network::Operation::Affine { weights, biases };
    let steps = vec![
        real(vec![1.0, -0.5, 0.25, 2.0], vec![0.5, -1.0]),
        super::super::network::Operation::Each(super::super::network::Unary::Relu),
        real(vec![1.0, 0.0, 0.0, 1.0], vec![0.0, 0.0]),
    ];
    let steps = steps
        .into_iter()
        .enumerate()
        .map(|(place, operation)| super::super::network::Step {
            operation,
            from: super::super::network::Operand::Slot(place),
        })
        .collect();
    let network = super::super::network::Network {
        constants: vec![],
        steps,
        output: super::super::network::Operand::Slot(3),
        memory: vec![],
    };
    let config = AgentConfig::from_json(
        r#"{"observations": ["cwnd_segments", "srtt_ms"], "action": {"kind": "deltas", "segments": [-1, 4]}}"#,
    )
    .expect("names that there are");
    let policy = Policy { config: Arc::new(config), network, form: Form::Values, learner: None, quantised: None };
    Quantised::of(&policy).expect("small")
}

#[test]
fn a_decision_is_that_of_the_sums_by_hand() {
    let quantised = by_hand();
    // 10 segments, 4 ms: 10 - 2 + 0.5 = 8.5 and 2.5 + 8 - 1 = 9.5
    let sight = Sight { cwnd: 10 << 16, srtt_us: 4_000, ..Sight::default() };
    assert_eq!(quantised.decide(&sight, &mut Memory::default()), 1);
    // 10 segments, 2 ms: 10 - 1 + 0.5 = 9.5 and 2.5 + 4 - 1 = 5.5
    assert_eq!(quantised.decide(&Sight { srtt_us: 2_000, ..sight }, &mut Memory::default()), 0);
}

/// tanh(2 (x - 1) + 0.5), as `MatMul`, `Mul` and `Add` before a function: for x = 1.25, tanh 1 = 0.761 594.
#[test]
fn what_is_added_before_a_function_is_added_before_it() {
    use super::super::network::{Binary, Network, Operand, Operation, Step, Unary};
    let with = |binary, constant| Operation::With(binary, Operand::Constant(constant));
    let operations = [
        Operation::Affine { weights: vec![1.0], biases: vec![-1.0] },
        with(Binary::Mul, 0),
        with(Binary::Add, 1),
        Operation::Each(Unary::Tanh),
    ];
    let steps =
        operations.into_iter().enumerate().map(|(place, operation)| Step { operation, from: Operand::Slot(place) });
    let constants = vec![vec![2.0], vec![0.5]];
    let network = Network { constants, steps: steps.collect(), output: Operand::Slot(4), memory: vec![] };
    let mut image = Image::EMPTY;
    image.inputs = 1;
    image.set_layers(&layers::of(&network, &[2.0]).expect("one layer")).expect("small");
    let quantised = Quantised { image: Box::new(image).into() };
    let found = quantised.decide_on(&[81_920], &mut Memory::default()) as f64 / 65_536.0;
    assert!((found - 0.761_594).abs() < 2e-4, "{found}");
}

#[test]
fn a_file_is_read_as_it_was_written_and_damage_is_told() {
    let quantised = by_hand();
    let file = quantised.file("{}");
    let (read, config) = Quantised::read(&file).expect("it begins with the magic line").expect("whole");
    assert_eq!((read.image(), config.as_str()), (quantised.image(), "{}"));
    assert!(Quantised::read(&file[..file.len() - 1]).expect("it begins as one").is_err());
    assert!(Quantised::read(b"\x08\x07").is_none());
}

/// The program in the kernel follows the image behind the agent, a simulation the agent: they are the same, or neither
/// runs.
#[test]
fn an_agent_that_was_changed_in_the_file_is_told() {
    let config = |segments: &str| {
        let action = format!(r#"{{"kind": "deltas", "segments": {segments}}}"#);
        format!(r#"{{"observations": ["cwnd_segments", "srtt_ms"], "action": {action}}}"#)
    };
    assert!(Policy::from_onnx(&by_hand().file(&config("[-1, 4]")), None).is_ok());
    for wrong in ["[-1]", "[-1, 5]", "[-1, 4, 9]"] {
        let error = Policy::from_onnx(&by_hand().file(&config(wrong)), None).expect_err(wrong);
        assert!(error.to_string().contains("was changed"), "{error}");
    }
}

#[test]
fn logarithms_and_observations_are_those_of_the_catalogue_to_four_digits() {
    let config = r#"{"observations": ["cwnd_segments", "delivery_rate_bps"], "scaled": true, "action": "deltas"}"#;
    let config = AgentConfig::from_json(config).expect("names that there are");
    let mut image = Image::EMPTY;
    image.set_agent(&config, &sight::codes(&config).expect("known")).expect("few");
    for segments in [0_u64, 1, 2, 10, 977, 1_000_000] {
        let found = image.input(0, &Sight { cwnd: segments << 16, ..Sight::default() }) as f64 / 65_536.0;
        let expected = (segments as f64).ln_1p() / 1e6_f64.ln_1p();
        assert!((found - expected).abs() < 5e-5, "{segments}: {found} for {expected}");
    }
    for rate in [0_u64, 100_000, 48_000_000, 1_000_000_000_000] {
        let found = image.input(1, &Sight { delivery_rate: rate, ..Sight::default() }) as f64 / 65_536.0;
        let expected = (rate as f64 / 1e5).ln_1p() / 1e7_f64.ln_1p();
        assert!((found - expected).abs() < 5e-5, "{rate}: {found} for {expected}");
    }
}

/// Exports of `PyTorch`, on inputs between -1 and 1: values agree within a thousandth, and so do choices unless the
/// best two are nearer.
#[test]
fn exported_policies_decide_alike() {
    let mut tried = 0;
    for name in ["dqn_greedy", "dqn_elu", "dqn_leaky", "dqn_gelu", "dqn_values"] {
        let policy = exported(name);
        let inputs = policy.config.observation_len();
        let Ok(layers) = layers::of(&policy.network, &vec![1.0; inputs]) else { continue };
        let mut image = Image::EMPTY;
        image.inputs = inputs as u32;
        image.set_layers(&layers).expect("small");
        let quantised = Quantised { image: Box::new(image).into() };
        let mut random = ackclock_units::RandomStream::new(7, name);
        let mut differ = 0;
        for _ in 0..2_000 {
            let given: Vec<i64> = (0..inputs).map(|_| (random.uniform() * 131_072.0) as i64 - 65_536).collect();
            let real: Vec<f32> = given.iter().map(|x| *x as f32 / 65_536.0).collect();
            differ += u32::from(
                quantised.decide_on(&given, &mut Memory::default()) as f64 != policy.action(&real, &mut Work::new()),
            );
        }
        assert!(differ <= 10, "{name}: {differ} of 2000");
        tried += 1;
    }
    assert!(tried >= 3, "{tried}");
}

/// Exports of `PyTorch` with an LSTM, run over sequences: a number is within two thousandths of the original after
/// forty steps, and so is the value of the choice from that of the best.
#[test]
fn exported_policies_with_a_memory_decide_as_pytorch_does() {
    let mut tried = 0;
    for (name, sequences) in recurrent::expected() {
        let policy = recurrent::policy(&name);
        let inputs = policy.config.observation_len();
        let Ok(layers) = layers::of(&policy.network, &vec![1.0; inputs]) else { continue };
        let mut image = Image::EMPTY;
        image.inputs = inputs as u32;
        image.set_layers(&layers).expect("small");
        assert!(image.has_memory(), "{name}");
        let quantised = Quantised { image: Box::new(image).into() };
        let mut farthest = 0.0_f64;
        for (observations, outputs) in sequences.observations.iter().zip(&sequences.outputs) {
            let mut memory = Memory::default();
            for (observation, outputs) in observations.iter().zip(outputs) {
                let given: Vec<i64> = observation.iter().map(|x| (f64::from(*x) * 65_536.0).round() as i64).collect();
                let decision = quantised.decide_on(&given, &mut memory);
                let best = outputs.iter().copied().fold(f64::MIN, f64::max);
                let apart = match &outputs[..] {
                    [expected] => (decision as f64 / 65_536.0 - expected).abs(),
                    values => best - values[decision as usize],
                };
                farthest = farthest.max(apart);
            }
        }
        assert!(farthest < 2e-3, "{name}: {farthest}");
        tried += 1;
    }
    // all but the one that gives the number of a choice
    assert_eq!(tried, 6);
}

#[test]
fn a_memory_that_counts_counts_in_whole_numbers() {
    let policy = recurrent::policy("counting_old");
    let quantised = Quantised::of(&policy).expect("small");
    let (mut memory, sight) = (Memory::default(), Sight::default());
    let decisions: Vec<i64> = (0..40).map(|_| quantised.decide(&sight, &mut memory)).collect();
    assert_eq!(decisions, [[0; 20], [1; 20]].concat());
    let file = quantised.file("{}");
    let (read, _) = Quantised::read(&file).expect("it begins with the magic line").expect("whole");
    assert_eq!(read.image(), quantised.image());
}

/// Files from before the LSTM keep their meaning.
#[test]
fn a_file_of_the_first_form_is_read() {
    let place = std::path::PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../studies/kernel/dqn-newreno.whole");
    let bytes = std::fs::read(place).expect("part of the tree");
    assert!(bytes.starts_with(b"ackclock policy in whole numbers, 1\n"));
    let (read, config) = Quantised::read(&bytes).expect("it begins with the magic line").expect("whole");
    assert!(!read.image().has_memory());
    let again = read.file(&config);
    assert_eq!(Quantised::read(&again).expect("of today").expect("whole").0.image(), read.image());
    let renamed = [MAGIC.as_bytes(), &bytes[MAGIC.len()..]].concat();
    assert!(Quantised::read(&renamed).expect("it begins as one").is_err(), "it has no LSTM, and today's files say so");
}

/// A file that uses the cells' states in place of their outputs is refused.
#[test]
fn an_action_by_the_state_of_the_cells_is_refused() {
    let mut policy = recurrent::policy("first_old");
    assert!(Quantised::of(&policy).is_ok());
    let super::super::network::Operand::Slot(last) = policy.network.output else { panic!("it is computed") };
    policy.network.output = super::super::network::Operand::Slot(last - 1);
    let error = Quantised::of(&policy).expect_err("not the last").to_string();
    assert!(error.contains("branches, which quantised policies do not support"), "{error}");
}

#[test]
fn an_lstm_that_is_too_large_is_refused() {
    let layer = |cells: usize| layers::Layer {
        inputs: 2 + cells,
        cells,
        weights: vec![0; (2 + cells) * 4 * cells],
        biases: vec![0; 4 * cells],
        fraction: 16,
        function: layers::Function::None,
    };
    let mut image = Image::EMPTY;
    assert!(image.set_layers(&[layer(32)]).is_ok());
    let error = image.set_layers(&[layer(33)]).expect_err("33").to_string();
    assert!(error.contains("an LSTM of 33 cells, more than 32"), "{error}");
}

/// A setting of each name of the catalogue, beside settings that a kernel can run.
#[test]
fn the_catalogue_says_of_each_name_whether_a_kernel_can_run_it() {
    let catalogue = crate::catalogue();
    let rows = |kind: &str| catalogue[kind].as_array().expect("a table").clone();
    let can_run = |field: &str, value: serde_json::Value| {
        let mut agent = serde_json::json!({ "observations": ["srtt_ms"], "scaled": true, "target": "kernel" });
        agent[field] = value;
        AgentConfig::from_json(&agent.to_string()).is_ok()
    };
    for row in rows("observations") {
        assert_eq!(can_run("observations", serde_json::json!([row["name"]])), row["kernel"] == true, "{row}");
    }
    for row in rows("decisions") {
        assert_eq!(can_run("decide", row["name"].clone()), row["kernel"] == true, "{row}");
    }
    for row in rows("actions") {
        let mut action = serde_json::json!({ "kind": row["name"] });
        match row["name"].as_str() {
            Some("pacing_rate") => (action["low_bps"], action["high_bps"]) = (1.into(), 2.into()),
            Some("cwnd") => (action["low_segments"], action["high_segments"]) = (1.into(), 2.into()),
            _ => (),
        }
        assert_eq!(can_run("action", action), row["kernel"] == true, "{row}");
    }
}

#[test]
fn an_agent_for_the_kernel_is_refused_by_its_setting() {
    let read = |more: &str| AgentConfig::from_json(&format!("{{\"observations\": [\"srtt_ms\"], {more}}}"));
    assert!(read("\"target\": \"kernel\"").is_ok());
    assert!(read("\"target\": \"engine\", \"history\": 2").is_ok());
    let refused = |more| read(more).expect_err("no kernel could run it").to_string();
    let expected = "agent.target = \"kernel\", and the agent has a history, which quantised policies do not support; \
                    train with history = 1";
    assert_eq!(refused("\"target\": \"kernel\", \"history\": 2"), expected);
    assert_eq!(refused("\"target\": \"moon\""), "agent.target = \"moon\" must be \"engine\" or \"kernel\"");
}

/// Decisions of a policy's C file with the windows after them, for flows in which it is asked fifty times in a row.
fn decided_in_c(quantised: &Quantised, name: &str, sights: &[Vec<Sight>]) -> Vec<(i64, u64)> {
    const MAIN: &str = "#include \"module.c\"\n#include <stdio.h>\nint main(void)\n{\n\tstruct sight s;\n\tstruct work w;\n\t\
        struct memory m = {};\n\tfor (int n = 0; fread(&s, sizeof(s), 1, stdin); n++) {\n\t\tif (n % 50 == 0)\n\t\t\tm = \
        (struct memory){};\n\t\tlook(policy, &w, &s);\n\t\ts64 d = decide(policy, &w, &m);\n\t\tprintf(\"%lld %llu\\n\", \
        (long long)d, (unsigned long long)window_after(policy, d, s.cwnd >> 16));\n\t}\n}\n";
    let folder = std::env::temp_dir().join(format!("ackclock-module-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    std::fs::write(folder.join("module.c"), quantised.module("ac_policy", "{}")).expect("written");
    std::fs::write(folder.join("main.c"), MAIN).expect("written");
    let octets: Vec<u8> = sights.iter().flatten().flat_map(octets_of).collect();
    std::fs::write(folder.join("sights"), octets).expect("written");
    let (main, program) = (folder.join("main.c"), folder.join("main"));
    let flags = ["-std=gnu11", "-O2", "-Wall", "-Werror", "-Wno-unused-function", "-fwrapv"];
    let compiled = std::process::Command::new("cc").args(flags).arg(main).arg("-o").arg(&program).status();
    assert!(compiled.expect("a C compiler").success());
    let input = std::fs::File::open(folder.join("sights")).expect("written");
    let done = std::process::Command::new(&program).stdin(input).output().expect("it runs");
    std::fs::remove_dir_all(&folder).expect("a temporary folder");
    let said = String::from_utf8(done.stdout).expect("numbers");
    let pair =
        |line: &str| line.split_once(' ').map(|(d, w)| (d.parse().expect("a number"), w.parse().expect("a number")));
    said.lines().filter_map(pair).collect()
}

/// `struct sight` of policy.h.
fn octets_of(sight: &Sight) -> Vec<u8> {
    let s = sight;
    let wide = [s.cwnd, s.ssthresh, s.threshold, s.acked, s.lost, s.delivery_rate, s.max_delivery_rate];
    let delays = [s.rtt_us, s.srtt_us, s.min_rtt_us, s.mean_rtt_us, s.interval_us];
    let short = [s.acks, s.in_slow_start, s.in_recovery];
    let wide = wide.iter().flat_map(|word| word.to_ne_bytes());
    wide.chain(delays.iter().chain(&short).flat_map(|word| word.to_ne_bytes())).collect()
}

/// The C file that is compiled into a kernel decides as the engine, to the last bit: a network with tanh whose choices are
/// segments, one whose value is a factor of the window, and one with an LSTM.
#[test]
fn a_module_decides_as_the_engine() {
    let agent = |action: &str| {
        format!(
            r#"{{"observations": ["cwnd_segments", "mean_rtt_ms", "delivery_rate_bps", "loss_fraction", "queue_share"], "scaled": true, "decide": "round", "action": "{action}"}}"#
        )
    };
    let drawn = |action: &str, outputs: usize| {
        let mut random = ackclock_units::RandomStream::new(1, action);
        let mut numbers = |count| (0..count).map(|_| (6.0 * random.uniform() - 3.0) as f32).collect::<Vec<_>>();
        let layers = [(numbers(16 * 5), vec![0.0; 16]), (numbers(outputs * 16), vec![0.0; outputs])];
        let file =
            super::super::trained_policy(&agent(action), super::super::Activation::Tanh, &layers).expect("it fits");
        Quantised::of(&Policy::from_onnx(&file, None).expect("a policy")).expect("small")
    };
    let lstm = Quantised::of(&recurrent::policy("wide_old")).expect("small");
    for (name, quantised) in [("deltas", drawn("deltas", 7)), ("orca", drawn("orca", 1)), ("lstm", lstm)] {
        let mut random = ackclock_units::RandomStream::new(5, name);
        let flow = |_| {
            let mut path = accuracy::Path::draw(&mut random);
            let mut see = |_| {
                path.go_on(&mut random);
                path.see(&mut random)
            };
            (0..50).map(&mut see).collect()
        };
        let sights: Vec<Vec<Sight>> = (0..40).map(flow).collect();
        let found = decided_in_c(&quantised, name, &sights);
        let expected: Vec<i64> = sights
            .iter()
            .flat_map(|flow| {
                let mut memory = Memory::default();
                flow.iter().map(|sight| quantised.decide(sight, &mut memory)).collect::<Vec<_>>()
            })
            .collect();
        assert_eq!(found.iter().map(|pair| pair.0).collect::<Vec<_>>(), expected, "{name}");
        assert!(expected.iter().any(|decision| *decision != expected[0]), "{name} decides something");
        // deltas of the catalogue, and factors from a quarter to four; never below two segments
        for ((decision, window), sight) in found.iter().zip(sights.iter().flatten()) {
            let cwnd = (sight.cwnd >> 16) as f64;
            let wanted = match name {
                "deltas" => cwnd + f64::from([-10, -3, -1, 0, 1, 3, 10][*decision as usize]),
                "orca" => cwnd * (*decision as f64 / 65_536.0).exp2(),
                _ => break,
            };
            let apart = (*window as f64 - wanted.max(2.0)).abs();
            assert!(apart <= 1.0 + wanted * 1e-4, "{name}: {window} for {wanted}");
        }
    }
}

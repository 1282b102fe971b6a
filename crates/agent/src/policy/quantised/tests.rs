#![allow(clippy::float_cmp, reason = "whole numbers that f64 holds exactly")]

use super::super::Policy;
use super::super::network::Work;
use super::*;

fn exported(name: &str) -> Policy {
    let place = std::path::PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors/policies");
    let bytes = std::fs::read(place.join(format!("{name}.onnx"))).expect("part of the tree");
    Policy::from_onnx(&bytes, None).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// A network by hand: two inputs, a hidden layer of two with Relu, two values.
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
    assert_eq!(quantised.decide(&sight), 1);
    // 10 segments, 2 ms: 10 - 1 + 0.5 = 9.5 and 2.5 + 4 - 1 = 5.5
    assert_eq!(quantised.decide(&Sight { srtt_us: 2_000, ..sight }), 0);
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

/// The program in the kernel goes by what lies behind the agent, a simulation by the agent: they are the same, or neither runs.
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

/// What `PyTorch` exported, on inputs between -1 and 1: values within a thousandth, but where the best two are nearer.
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
            differ += u32::from(quantised.decide_on(&given) as f64 != policy.action(&real, &mut Work::new()));
        }
        assert!(differ <= 10, "{name}: {differ} of 2000");
        tried += 1;
    }
    assert!(tried >= 3, "{tried}");
}

//! Networks worked by hand, files that are wrong, and files that are not even that.

#![allow(clippy::float_cmp, reason = "numbers by hand that f32 holds exactly")]

use ackclock_learn::{Normalisation, Normaliser};
use proptest::prelude::*;
use prost::Message;

use super::network::Work;
use super::onnx::{AttributeProto, FLOAT, GraphProto, INT64, ModelProto, NodeProto, TensorProto};
use super::write::{model, node, row, tensor};
use super::{OPERATORS, Policy, PolicyPlace, policy_file};

/// An agent with two observations and two choices.
const TWO: &str = r#"{"observations": ["cwnd_segments", "rtt_ms"], "action": {"kind": "deltas", "segments": [-1, 1]}}"#;
/// An agent with two observations and a range of actions.
const RANGE: &str = r#"{"observations": ["cwnd_segments", "rtt_ms"], "action": "orca"}"#;

fn with(name: &str, edit: impl FnOnce(&mut AttributeProto)) -> AttributeProto {
    let mut attribute = AttributeProto { name: name.to_owned(), ..AttributeProto::default() };
    edit(&mut attribute);
    attribute
}

fn with_integer(mut node: NodeProto, name: &str, value: i64) -> NodeProto {
    node.attribute.push(with(name, |attribute| attribute.i = value));
    node
}

fn file(nodes: Vec<NodeProto>, initializer: Vec<TensorProto>, outputs: usize, agent: &str) -> Vec<u8> {
    let (input, output) = (vec![row("x", 2)], vec![row("y", outputs)]);
    let graph = GraphProto { name: "test".to_owned(), node: nodes, initializer, input, output };
    model(graph, agent).encode_to_vec()
}

/// The outputs of the network of these nodes, from "x" to "y".
fn outputs(nodes: Vec<NodeProto>, initializer: Vec<TensorProto>, x: [f32; 2]) -> Vec<f32> {
    let policy = Policy::from_onnx(&file(nodes, initializer, 2, TWO), None).unwrap_or_else(|error| panic!("{error}"));
    policy.network.evaluate(&x, &mut Work::new()).to_vec()
}

fn close(found: &[f32], expected: &[f32]) {
    let near = found.iter().zip(expected).all(|(a, b)| (a - b).abs() <= 1e-6);
    assert!(near && found.len() == expected.len(), "{found:?} for {expected:?}");
}

fn refusal(bytes: &[u8], settings: Option<&str>) -> String {
    Policy::from_onnx(bytes, settings).expect_err("wrong").to_string()
}

/// A file with h = relu([[1, -1], [0.5, 2]] x + [0.5, -1]); y = [[1, 1], [2, -1]] h + [0, 0.25].
fn two_layers(agent: &str) -> Vec<u8> {
    let layers: [(&[f32], &[f32]); 2] =
        [(&[1.0, -1.0, 0.5, 2.0], &[0.5, -1.0]), (&[1.0, 1.0, 2.0, -1.0], &[0.0, 0.25])];
    policy_file(agent, None, layers.into_iter())
}

#[test]
fn two_layers_by_hand() {
    let policy = Policy::from_onnx(&two_layers(TWO), None).unwrap_or_else(|error| panic!("{error}"));
    let mut work = Work::new();
    // h = (2 - 1 + 0.5, 1 + 2 - 1) = (1.5, 2); y = (3.5, 3 - 2 + 0.25)
    assert_eq!(policy.network.evaluate(&[2.0, 1.0], &mut work), [3.5, 1.25]);
    assert_eq!(policy.action(&[2.0, 1.0], &mut work), 0.0);
    // h = (3 + 0.5, 1.5 - 1) = (3.5, 0.5); y = (4, 7 - 0.5 + 0.25)
    assert_eq!(policy.network.evaluate(&[3.0, 0.0], &mut work), [4.0, 6.75]);
    assert_eq!(policy.action(&[3.0, 0.0], &mut work), 1.0);
    // h = (relu(-1 + 0.5), 2 - 1) = (0, 1); y = (1, -1 + 0.25)
    assert_eq!(policy.network.evaluate(&[0.0, 1.0], &mut work), [1.0, -0.75]);
}

#[test]
fn products_in_either_layout_by_hand() {
    let (a, b) = (tensor("w", &[2, 2], &[1.0, 2.0, 3.0, 4.0]), tensor("b", &[2], &[10.0, 20.0]));
    // x W = (1 + 6, 2 + 8) for x = (1, 2); x W' = (1 + 4, 3 + 8)
    let plain = node("MatMul", &["x", "w"], "y");
    assert_eq!(outputs(vec![plain], vec![a.clone()], [1.0, 2.0]), [7.0, 10.0]);
    let gemm = node("Gemm", &["x", "w", "b"], "y");
    assert_eq!(outputs(vec![gemm.clone()], vec![a.clone(), b.clone()], [1.0, 2.0]), [17.0, 30.0]);
    let mut scaled = with_integer(gemm, "transB", 1);
    scaled.attribute.push(with("alpha", |attribute| attribute.f = 2.0));
    scaled.attribute.push(with("beta", |attribute| attribute.f = 0.5));
    assert_eq!(outputs(vec![scaled], vec![a, b], [1.0, 2.0]), [15.0, 32.0]); // 2 * 5 + 5, 2 * 11 + 10
}

#[test]
fn each_operator_by_hand() {
    let of = |operator: &str, x| outputs(vec![node(operator, &["x"], "y")], vec![], x);
    assert_eq!(of("Relu", [-1.0, 2.0]), [0.0, 2.0]);
    assert_eq!(of("Identity", [-1.0, 2.0]), [-1.0, 2.0]);
    assert_eq!(of("Flatten", [-1.0, 2.0]), [-1.0, 2.0]);
    // tanh 0.5 = 0.462 117 16; 1 / (1 + e^-0.5) = 0.622 459 33; e^-1 - 1 = -0.632 120 56
    close(&of("Tanh", [0.5, -0.5]), &[0.462_117_16, -0.462_117_16]);
    close(&of("Sigmoid", [0.5, 0.0]), &[0.622_459_33, 0.5]);
    close(&of("Elu", [-1.0, 3.0]), &[-0.632_120_56, 3.0]);
    close(&of("LeakyRelu", [-1.0, 3.0]), &[-0.01, 3.0]);
    // ln(1 + e) = 1.313 261 69; ln(1 + e^-50) is nothing beside 50
    close(&of("Softplus", [1.0, 50.0]), &[1.313_261_7, 50.0]);
    close(&of("Softplus", [0.0, -50.0]), &[std::f32::consts::LN_2, 0.0]);
    // Phi(1) = 0.841 344 75 and Phi(-2) = 0.022 750 13, from tables of the normal distribution
    close(&of("Gelu", [1.0, -2.0]), &[0.841_344_8, -0.045_500_26]);
    let mut by_tanh = node("Gelu", &["x"], "y");
    by_tanh.attribute.push(with("approximate", |attribute| attribute.s = b"tanh".to_vec()));
    // sqrt(2 / pi) 1.044 715 = 0.833 561 97; tanh of it 0.682 383 98; (1 + 0.682 383 98) / 2
    close(&outputs(vec![by_tanh], vec![], [1.0, 0.0]), &[0.841_192, 0.0]);
    // e / (e + 1) for a difference of one
    close(&of("Softmax", [1_001.0, 1_000.0]), &[0.731_058_6, 0.268_941_4]);
    let pair = |operator: &str| {
        let by = tensor("c", &[1, 2], &[4.0, -2.0]);
        outputs(vec![node(operator, &["x", "c"], "y")], vec![by], [1.0, 3.0])
    };
    assert_eq!((pair("Add"), pair("Sub")), (vec![5.0, 1.0], vec![-3.0, 5.0]));
    assert_eq!((pair("Mul"), pair("Div")), (vec![4.0, -6.0], vec![0.25, -1.5]));
    let half = tensor("c", &[], &[0.5]);
    assert_eq!(outputs(vec![node("Sub", &["c", "x"], "y")], vec![half.clone()], [1.0, 3.0]), [-0.5, -2.5]);
    let clip = vec![node("Clip", &["x", "", "c"], "y")];
    assert_eq!(outputs(clip, vec![half.clone()], [-9.0, 9.0]), [-9.0, 0.5]);
    // "When 'min' is greater than 'max', the clip operator sets all the 'input' values to the value of 'max'." (ONNX, Clip-13)
    let crossed = vec![node("Clip", &["x", "low", "c"], "y")];
    let low = tensor("low", &[], &[3.0]);
    assert_eq!(outputs(crossed, vec![low, half.clone()], [-9.0, 9.0]), [0.5, 0.5]);
    let joined = vec![node("Tanh", &["x"], "t"), node("Mul", &["x", "t"], "y")];
    close(&outputs(joined, vec![], [0.5, 0.0]), &[0.231_058_58, 0.0]);
}

#[test]
fn constants_in_nodes_and_reshapes_are_read() {
    let shape = TensorProto {
        name: String::new(),
        dims: vec![2],
        data_type: INT64,
        int64_data: vec![-1, 2],
        ..TensorProto::default()
    };
    let mut constant = node("Constant", &[], "shape");
    constant.attribute.push(with("value", |attribute| attribute.t = Some(shape)));
    let mut two = node("Constant", &[], "two");
    two.attribute.push(with("value_float", |attribute| attribute.f = 2.0));
    let nodes = vec![constant, two, node("Reshape", &["x", "shape"], "r"), node("Mul", &["r", "two"], "y")];
    assert_eq!(outputs(nodes, vec![], [1.5, -2.0]), [3.0, -4.0]);
    let numbers = TensorProto {
        name: "c".into(),
        dims: vec![2],
        data_type: FLOAT,
        float_data: vec![1.0, 2.0],
        ..TensorProto::default()
    };
    assert_eq!(outputs(vec![node("Add", &["x", "c"], "y")], vec![numbers], [0.0, 0.0]), [1.0, 2.0]);
}

/// The export of the distribution around PPO's mean: y = x, through its shape.
#[test]
fn shapes_are_known_and_numbers_stay() {
    let nodes = vec![
        node("Shape", &["x"], "shape"),
        node("ConstantOfShape", &["shape"], "zeros"),
        node("Exp", &["x"], "e"),
        node("Add", &["zeros", "e"], "sum"),
        node("Shape", &["sum"], "again"),
        node("Expand", &["x", "again"], "y"),
    ];
    assert_eq!(outputs(nodes.clone(), vec![], [1.5, -2.0]), [1.5, -2.0]);
    let sum = [&nodes[..3], &[node("Add", &["zeros", "e"], "y")]].concat();
    close(&outputs(sum, vec![], [0.0, 1.0]), &[1.0, std::f32::consts::E]);
    let mut sevens = node("ConstantOfShape", &["shape"], "sevens");
    sevens.attribute.push(with("value", |attribute| attribute.t = Some(tensor("", &[1], &[7.0]))));
    let with_sevens = vec![node("Shape", &["x"], "shape"), sevens, node("Add", &["x", "sevens"], "y")];
    assert_eq!(outputs(with_sevens, vec![], [1.0, -7.0]), [8.0, 0.0]);
    let wider = TensorProto {
        name: "wider".into(),
        dims: vec![2],
        data_type: INT64,
        int64_data: vec![3, 2],
        ..TensorProto::default()
    };
    let error = refusal(&file(vec![node("Expand", &["x", "wider"], "y")], vec![wider], 2, TWO), None);
    assert!(error.contains("repeats 2 numbers into the shape [3, 2]"), "{error}");
}

#[test]
fn a_choice_may_come_as_its_number_and_an_action_as_itself() {
    let greedy = |keep| {
        let nodes = vec![with_integer(with_integer(node("ArgMax", &["x"], "y"), "axis", 1), "keepdims", keep)];
        Policy::from_onnx(&file(nodes, vec![], 1, TWO), None).unwrap_or_else(|error| panic!("{error}"))
    };
    for keep in [0, 1] {
        assert_eq!(greedy(keep).action(&[3.0, 4.0], &mut Work::new()), 1.0);
        assert_eq!(greedy(keep).action(&[4.0, 4.0], &mut Work::new()), 0.0); // the first of equals
    }
    let layer: [(&[f32], &[f32]); 1] = [(&[0.5, -1.0], &[0.25])];
    let policy = Policy::from_onnx(&policy_file(RANGE, None, layer.into_iter()), None).expect("right");
    assert_eq!(policy.action(&[3.0, 1.0], &mut Work::new()), 0.75); // 1.5 - 1 + 0.25
    assert_eq!(policy.action(&[f32::MAX, f32::INFINITY], &mut Work::new()), 0.0); // no number: nothing is done
}

#[test]
fn what_a_learner_saw_is_brought_to_size_as_it_was() {
    let mut normaliser = Normaliser::new(&Normalisation::Running, 2);
    for number in [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0] {
        normaliser.observe(&[number, 3.0]);
    }
    let layer: [(&[f32], &[f32]); 1] = [(&[1.0, 0.0, 0.0, 1.0], &[0.0, 0.0])];
    let file = policy_file(TWO, Some(&normaliser), layer.into_iter());
    let policy = Policy::from_onnx(&file, None).unwrap_or_else(|error| panic!("{error}"));
    let mut work = Work::new();
    // mean 5, variance (9+1+1+1+0+0+4+16)/8 = 4; no further than 5 deviations; what never changed says nothing
    assert_eq!(policy.network.evaluate(&[9.0, 7.0], &mut work), [2.0, 0.0]);
    assert_eq!(policy.network.evaluate(&[-99.0, 3.0], &mut work), [-5.0, 0.0]);
}

#[test]
fn what_the_action_does_not_need_is_not_looked_at() {
    let weights = tensor("w", &[2, 2], &[1.0, 0.0, 0.0, 1.0]);
    let nodes = vec![node("MatMul", &["x", "w"], "action"), node("RandomNormalLike", &["action"], "noise")];
    let (input, output) = (vec![row("x", 2)], vec![row("noise", 2), row("action", 2)]);
    let graph = GraphProto { name: String::new(), node: nodes, initializer: vec![weights], input, output };
    let policy = Policy::from_onnx(&model(graph, TWO).encode_to_vec(), None).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(policy.action(&[1.0, 2.0], &mut Work::new()), 1.0);
}

#[test]
fn mistakes_say_where_they_are_and_what_to_do() {
    let one = |node: NodeProto| file(vec![node], vec![tensor("w", &[3, 2], &[0.0; 6])], 2, TWO);
    for (bytes, words) in [
        (b"no protobuf at all".to_vec(), vec!["must be an ONNX file", "torch.onnx.export"]),
        (Vec::new(), vec!["must be an ONNX file", "with a graph"]),
        (one(node("GRU", &["x"], "y")), vec!["operator GRU", "\"GRU_y\"", "feed-forward", "one LSTM", "Gemm"]),
        (one(node("Add", &["x", "nothing"], "y")), vec!["\"nothing\"", "before it is computed"]),
        (one(node("MatMul", &["x", "w"], "y")), vec!["takes 3 numbers, but gets 2", "observations"]),
        (one(node("MatMul", &["w", "x"], "y")), vec!["MatMul", "computed", "feed-forward network"]),
        (file(vec![node("Add", &["x", "v"], "y")], vec![tensor("v", &[3], &[0.0; 3])], 2, TWO), vec!["[1, 2]", "[3]"]),
        (one(with_integer(node("ArgMax", &["x"], "y"), "axis", 0)), vec!["axis 0", "-1"]),
        (
            file(vec![node("Relu", &["x"], "y")], vec![], 2, "{}"),
            vec!["takes observations of shape [1, 2], not 3", "[1, 3]"],
        ),
        (file(vec![node("Relu", &["x"], "y")], vec![], 2, RANGE), vec!["gives 2 numbers", "-2 to 2", "mean"]),
        (two_layers(&TWO.replace("[-1, 1]", "[-1, 0, 1]")), vec!["gives 2 numbers where the action has 3 choices"]),
        (
            // ONNX: ArgMax of two values is 0 or 1, which never is the third of three choices
            file(
                vec![with_integer(node("ArgMax", &["x"], "y"), "axis", 1)],
                vec![],
                1,
                &TWO.replace("[-1, 1]", "[-1, 0, 1]"),
            ),
            vec!["gives the number of one of 2 where the action has 3 choices", "their ArgMax"],
        ),
        (two_layers(r#"{"observations": ["speed"]}"#), vec!["ackclock.agent", "\"speed\"", "cwnd_segments"]),
        (file(vec![], vec![], 2, TWO), vec!["0 inputs", "one input"]),
    ] {
        let error = refusal(&bytes, None);
        for word in words {
            assert!(error.contains(word), "{word:?} is not in: {error}");
        }
    }
}

#[test]
fn weights_that_are_none_are_refused() {
    let with_weights = |change: fn(&mut TensorProto)| {
        let mut weights = tensor("w", &[2, 2], &[0.0; 4]);
        change(&mut weights);
        refusal(&file(vec![node("MatMul", &["x", "w"], "y")], vec![weights], 2, TWO), None)
    };
    assert!(with_weights(|tensor| tensor.data_location = 1).contains("external_data=False"));
    assert!(with_weights(|tensor| tensor.data_type = 10).contains("ONNX type 10"));
    assert!(with_weights(|tensor| tensor.raw_data.truncate(15)).contains("middle of a number"));
    assert!(with_weights(|tensor| tensor.raw_data.truncate(8)).contains("2 numbers"));
    assert!(with_weights(|tensor| tensor.dims = vec![i64::MAX, i64::MAX]).contains("shape"));
    assert!(with_weights(|tensor| tensor.dims = vec![-2, -2]).contains("shape"));
    assert!(with_weights(|tensor| tensor.raw_data[..4].copy_from_slice(&f32::NAN.to_le_bytes())).contains("NaN"));
}

#[test]
fn the_agent_is_said_once() {
    let bytes = two_layers(TWO);
    let mut model = ModelProto::decode(&bytes[..]).expect("right");
    model.metadata_props.clear();
    let bare = model.encode_to_vec();
    assert!(Policy::from_onnx(&bare, Some(TWO)).is_ok());
    let missing = Policy::from_onnx(&bare, None).expect_err("missing");
    assert!(missing.place == PolicyPlace::Agent && missing.remedy.contains("observations"), "{missing}");
    let twice = Policy::from_onnx(&bytes, Some(TWO)).expect_err("twice");
    assert!(twice.place == PolicyPlace::Agent && twice.remedy.contains("remove"), "{twice}");
}

#[test]
fn a_file_cut_short_anywhere_is_refused() {
    let bytes = two_layers(TWO);
    for length in 0..bytes.len() {
        assert!(Policy::from_onnx(&bytes[..length], None).is_err(), "cut to {length} of {}", bytes.len());
    }
    assert!(Policy::from_onnx(&bytes, None).is_ok());
}

#[test]
fn the_list_of_operators_is_that_of_the_reader() {
    for operator in OPERATORS {
        let found = Policy::from_onnx(&file(vec![node(operator, &["x", "x", "x"], "y")], vec![], 2, TWO), None);
        assert!(found.is_ok() || !found.unwrap_err().to_string().contains("has the operator"), "{operator}");
    }
}

#[test]
fn the_guide_lists_the_operators_that_there_are() {
    let guide = std::path::PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/how-to/policies.md");
    let text = std::fs::read_to_string(guide).expect("part of the tree").replace('\n', " ");
    let listed = format!("These operators are supported: {}.", OPERATORS.join(", "));
    assert!(text.contains(&listed), "docs/how-to/policies.md is to say: {listed}");
}

proptest! {
    #[test]
    fn bytes_at_random_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let _ = Policy::from_onnx(&bytes, Some(TWO));
    }

    #[test]
    fn a_right_file_with_wrong_bytes_never_panics(
        changes in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let mut bytes = two_layers(TWO);
        for (place, byte) in changes {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        if let Ok(policy) = Policy::from_onnx(&bytes, None) {
            let seen = vec![1.0; policy.config().observation_len()];
            policy.action(&seen, &mut Work::new());
        }
    }

    #[test]
    fn any_row_of_operators_never_panics(
        picks in proptest::collection::vec((0..OPERATORS.len(), 0..6_usize, 0..6_usize, -2..3_i64), 1..8),
    ) {
        let constants = vec![tensor("c", &[2, 2], &[1.0, -1.0, 0.5, 2.0]), tensor("d", &[2], &[1.0, 0.0]), tensor("e", &[], &[3.0])];
        let name = |at: usize, step: usize| match at {
            0 => "c".to_owned(),
            1 => "d".to_owned(),
            2 => "e".to_owned(),
            _ => if step == 0 { "x".to_owned() } else { format!("v{}", step - 1) },
        };
        let last = picks.len() - 1;
        let nodes = picks.iter().enumerate().map(|(step, (operator, a, b, axis))| {
            let out = if step == last { "y".to_owned() } else { format!("v{step}") };
            with_integer(node(OPERATORS[*operator], &[&name(*a, step), &name(*b, step)], &out), "axis", *axis)
        });
        for agent in [TWO, RANGE] {
            if let Ok(policy) = Policy::from_onnx(&file(nodes.clone().collect(), constants.clone(), 2, agent), None) {
                policy.action(&[1.0, 2.0], &mut Work::new());
            }
        }
    }
}

//! Controllers that learn.

use super::{ControllerInfo, ParameterInfo};

const WORD_OF_TWO: &str = "true or false";

const fn parameter(
    name: &'static str,
    default: &'static str,
    range: &'static str,
    meaning: &'static str,
) -> ParameterInfo {
    ParameterInfo { name, default, range, meaning }
}

const DROPOUT: ParameterInfo =
    parameter("dropout", "0.1", "0 to 0.9", "probability that a hidden node is silent in a step of learning");
const OPTIMIZER: ParameterInfo = parameter("optimizer", "\"adam\"", "\"adam\" or \"sgd\"", "what takes the steps");
const LEARNING_RATE: ParameterInfo = parameter("learning_rate", "0.001", "1e-9 to 1", "of the optimizer");
const DISCOUNT: ParameterInfo =
    parameter("discount", "0.9", "0 to 0.9999", "gamma: what a reward is worth a step later");
const BATCH: ParameterInfo = parameter("batch", "32", "1 to 4096, tuples", "drawn for a step of learning");
const TARGET_UPDATE: ParameterInfo = parameter(
    "target_update",
    "100",
    "0 to 1e9, steps of learning",
    "from a copy of the network for the targets to the next; 0: the network is its own target",
);
const REPLAY_CAPACITY: ParameterInfo =
    parameter("replay_capacity", "10000", "1 to 1e7, tuples", "the most that are kept; the oldest makes room");
const WARM_UP: ParameterInfo =
    parameter("warm_up", "2000", "0 to 1e9, tuples", "stored before anything is learnt; actions are random until then");
const EPSILON: ParameterInfo =
    parameter("epsilon", "0.015", "0 to 1", "the fraction of actions that are random after the warm-up");
const LEARN_ON: ParameterInfo =
    parameter("learn_on", "\"tuple\"", "\"action\" or \"tuple\"", "a step of learning with each action, or each tuple");
const NORMALISATION: ParameterInfo = parameter(
    "normalisation",
    "\"running\"",
    "\"running\", \"fixed\" or \"raw\"",
    "states by the mean and deviation seen so far, divided by the two scales, or as they are",
);
const SEGMENT_SCALE: ParameterInfo =
    parameter("segment_scale", "1000", "1e-6 to 1e9, segments", "a window that counts as 1 under \"fixed\"");
const TIME_SCALE: ParameterInfo =
    parameter("time_scale", "\"100 ms\"", "more than zero", "a time that counts as 1 under \"fixed\"");
const MAX_THROUGHPUT: ParameterInfo = parameter(
    "max_throughput",
    "\"congestion\"",
    "\"congestion\" or \"always\"",
    "what rewards relate to: the greatest cwnd/RTT at a congestion so far, or of all so far",
);
const BETA: ParameterInfo =
    parameter("beta", "0.7", super::BETA_RANGE, "fraction of the flight size kept on congestion: the threshold");
const MIN_WINDOW: ParameterInfo =
    parameter("min_window", "2", "1 to 10000, segments", "no action takes the window below");
const BELOW_SSTHRESH: ParameterInfo = parameter(
    "below_ssthresh",
    "\"slow_start\"",
    "\"slow_start\" or \"avoidance\"",
    "what holds when an action takes the window below ssthresh: RFC 5681's rule, or the agent's",
);

pub(super) const DQN_NEWRENO: ControllerInfo = ControllerInfo {
    name: "dqn_newreno",
    summary: "Reno's window whose increase a deep Q-network chooses, which learns in the flow; also \"dqn-newreno\"",
    source: "Seo, Cho, DQN-based NewReno, J. KICS, 2023",
    departures: "what the paper leaves unsaid is a parameter (docs/explanation/dqn.md); acknowledged bytes are counted; the loss recovery is the stack's",
    parameters: &[
        parameter("store_on", "\"ack\"", "\"ack\" or \"action\"", "when a tuple is stored"),
        parameter("hidden", "[30, 30, 30]", "up to 16 numbers, 1 to 1024", "nodes of each hidden layer"),
        DROPOUT,
        OPTIMIZER,
        LEARNING_RATE,
        DISCOUNT,
        BATCH,
        TARGET_UPDATE,
        REPLAY_CAPACITY,
        WARM_UP,
        EPSILON,
        LEARN_ON,
        NORMALISATION,
        SEGMENT_SCALE,
        TIME_SCALE,
        MAX_THROUGHPUT,
        BETA,
        MIN_WINDOW,
        BELOW_SSTHRESH,
    ],
};

pub(super) const POLICY: ControllerInfo = ControllerInfo {
    name: "policy",
    summary: "a trained policy from an ONNX file, frozen: a network of layers that decides in the engine, without Python",
    source: "none; ONNX (onnx.ai) as torch.onnx.export writes it",
    departures: "feed-forward networks only; decides as the environment is stepped, after what an ACK by itself lets go",
    parameters: &[
        parameter("file", "required", "a path from the scenario's folder", "the ONNX file"),
        parameter("sha256", "as found", "64 hexadecimal digits", "what the file has to have"),
        parameter("controller", "\"cubic\"", "any other controller", "the flow's own, for slow start and losses"),
        parameter(
            "agent",
            "as the file's metadata say",
            "observations, history, scaled, decide, action, slow_start, on_loss",
            "what the policy was trained with, for a file that does not say so",
        ),
    ],
};

pub(super) const DQN_CUBIC: ControllerInfo = ControllerInfo {
    name: "dqn_cubic",
    summary: "CUBIC whose pace a deep Q-network chooses, which learns in the flow; also \"dqn-cubic\"",
    source: "Seo, Cho, DQN-based CUBIC, J. KICS, 2024",
    departures: "what the paper leaves unsaid is a parameter (docs/explanation/dqn.md); acknowledged bytes are counted; no floor of Reno's pace",
    parameters: &[
        parameter("c", "0.4", "1e-6 to 1e6, segments/s^3", "steepness of the curve"),
        parameter("formula_c", "true", WORD_OF_TWO, "C before the cube of action 2, as in CUBIC; false: as printed, 1"),
        parameter("hidden", "[50, 50, 50, 50, 50]", "up to 16 numbers, 1 to 1024", "nodes of each hidden layer"),
        DROPOUT,
        OPTIMIZER,
        LEARNING_RATE,
        DISCOUNT,
        BATCH,
        TARGET_UPDATE,
        REPLAY_CAPACITY,
        WARM_UP,
        EPSILON,
        LEARN_ON,
        NORMALISATION,
        SEGMENT_SCALE,
        TIME_SCALE,
        MAX_THROUGHPUT,
        BETA,
        MIN_WINDOW,
        BELOW_SSTHRESH,
    ],
};

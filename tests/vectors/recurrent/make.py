"""Write the ONNX files beside this script: policies with an LSTM by PyTorch, and what PyTorch makes of sequences.

Needs the packages of `ackclock[learn]`, and sb3-contrib, onnx, onnxscript and onnxruntime, which ackclock does not:

    make learn && .venv/bin/pip install sb3-contrib onnx onnxscript onnxruntime
    .venv/bin/python tests/vectors/recurrent/make.py

The expected outputs are those of PyTorch over a whole sequence from a state of zeros. ONNX Runtime runs each file step
by step, passing the state on, and must return the same. Weights are drawn from a seed; another PyTorch may
write other nodes.
"""

import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import torch
from gymnasium import spaces
from numpy.typing import NDArray
from sb3_contrib.common.recurrent.policies import RecurrentActorCriticPolicy
from sb3_contrib.common.recurrent.type_aliases import RNNStates

HERE = Path(__file__).parent
SEEN: dict[str, object] = {
    "observations": ["cwnd_segments", "srtt_ms", "loss_fraction"],
    "scaled": True,
    "decide": "round",
}
CHOICE = SEEN | {"action": {"kind": "deltas", "segments": [-3, -1, 0, 1, 3]}}
NUMBER = SEEN | {"action": "orca"}
WIDE = CHOICE | {
    "observations": [
        "cwnd_segments",
        "threshold_segments",
        "srtt_ms",
        "min_rtt_ms",
        "mean_rtt_ms",
        "delivery_rate_bps",
        "loss_fraction",
        "queue_share",
    ]
}
STEPS = 40
SEQUENCES = 2
State = tuple[torch.Tensor, torch.Tensor]


class Net(torch.nn.Module):
    """Layers around an LSTM; the state goes in and comes out."""

    def __init__(self, inputs: int, before: int, cells: int, after: int, outputs: int, *, batch_first: bool) -> None:
        """Take the sizes; 0 stands for no layer."""
        super().__init__()
        width = before or inputs
        self.before = torch.nn.Sequential(torch.nn.Linear(inputs, before), torch.nn.Tanh()) if before else None
        self.lstm = torch.nn.LSTM(width, cells, batch_first=batch_first)
        hidden = [torch.nn.Linear(cells, after), torch.nn.ReLU()] if after else []
        self.after = torch.nn.Sequential(*hidden, torch.nn.Linear(after or cells, outputs))

    def forward(self, x: torch.Tensor, h: torch.Tensor, c: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Return what it does, and the state after that."""
        y, (h, c) = self.lstm(x if self.before is None else self.before(x), (h, c))
        return self.after(y), h, c


class Kept(torch.nn.Module):
    """The same from zeros: whoever runs it keeps the state."""

    def __init__(self, net: Net) -> None:
        """Take a network."""
        super().__init__()
        self.net = net

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return what it does on a row."""
        seen = x.unsqueeze(0)
        y, _ = self.net.lstm(seen if self.net.before is None else self.net.before(seen))
        return self.net.after(y[-1])


class Recurrent(torch.nn.Module):
    """A policy of RecurrentPPO: its values for choices, or the mean of its action."""

    def __init__(self, policy: RecurrentActorCriticPolicy) -> None:
        """Take a policy."""
        super().__init__()
        self.policy = policy

    def forward(self, x: torch.Tensor, h: torch.Tensor, c: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Return what it does, and the state after that."""
        policy = self.policy
        features = policy.extract_features(x, policy.pi_features_extractor)
        y, (h, c) = policy.lstm_actor(features.unsqueeze(0), (h, c))
        return policy.action_net(policy.mlp_extractor.forward_actor(y.squeeze(0))), h, c


class Greedy(Recurrent):
    """All that such a policy gives: the choice, the value, its log-probability; and the state."""

    def forward(self, x: torch.Tensor, h: torch.Tensor, c: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Return them."""
        states = RNNStates((h, c), (h, c))
        action, value, probability, after = self.policy(x, states, torch.zeros(1), deterministic=True)
        return action, value, probability, *after.pi


@dataclass(frozen=True)
class Case:
    """A file to write."""

    name: str
    network: torch.nn.Module
    agent: dict[str, object]
    shape: tuple[int, ...]
    """Shape of the observations."""
    cells: int
    dynamo: bool
    """Export by PyTorch's present exporter; False is the older one."""


def cases() -> Iterator[Case]:
    """Yield them."""
    yield Case("first_old", Net(3, 0, 5, 0, 5, batch_first=False), CHOICE, (1, 1, 3), 5, dynamo=False)
    yield Case("between_old", Net(3, 6, 5, 7, 1, batch_first=True), NUMBER, (1, 1, 3), 5, dynamo=False)
    yield Case("kept", Kept(Net(3, 6, 4, 0, 5, batch_first=False)), CHOICE, (1, 3), 4, dynamo=True)
    yield Case("kept_old", Kept(Net(3, 0, 6, 5, 1, batch_first=False)), NUMBER, (1, 3), 6, dynamo=False)
    yield Case("wide_old", Net(8, 0, 32, 48, 5, batch_first=False), WIDE, (1, 1, 8), 32, dynamo=False)
    yield Case("ppo_old", Recurrent(ppo()), CHOICE | {"history": 2}, (1, 2, 3), 8, dynamo=False)
    yield Case("ppo_greedy_old", Greedy(ppo()), CHOICE | {"history": 2}, (1, 2, 3), 8, dynamo=False)


def ppo() -> RecurrentActorCriticPolicy:
    """Return a policy of RecurrentPPO as it begins."""
    seen, choice = spaces.Box(-1.0, 1.0, (2, 3), np.float32), spaces.Discrete(5)
    return RecurrentActorCriticPolicy(seen, choice, lambda _: 0.0, lstm_hidden_size=8, net_arch=[6])


def is_kept(case: Case) -> bool:
    """Whether the state is neither given nor returned."""
    return isinstance(case.network, Kept)


def written(case: Case) -> onnx.ModelProto:
    """Export a network."""
    state = torch.zeros(1, 1, case.cells)
    example = (torch.zeros(*case.shape),) if is_kept(case) else (torch.zeros(*case.shape), state, state)
    options = {"external_data": False, "verbose": False} if case.dynamo else {}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "policy.onnx"
        torch.onnx.export(case.network, example, str(file), dynamo=case.dynamo, **options)
        model = onnx.load(file)
    for node in model.graph.node:
        del node.metadata_props[:]  # the exporter's notes to itself
        node.doc_string = ""
    for value in [*model.graph.input, *model.graph.output, *model.graph.value_info]:
        del value.metadata_props[:]
    del model.graph.value_info[:], model.functions[:]
    model.metadata_props.add(key="ackclock.agent", value=json.dumps(case.agent))
    return model


def by_pytorch(case: Case, observations: torch.Tensor) -> NDArray[np.float32]:
    """Return what it does over a sequence; kept states by one pass over all of it."""
    with torch.no_grad():
        if isinstance(case.network, Kept):
            net = case.network.net
            seen = observations.reshape(STEPS, 1, -1)
            y, _ = net.lstm(seen if net.before is None else net.before(seen))
            return net.after(y).reshape(STEPS, -1).numpy()
        h = c = torch.zeros(1, 1, case.cells)
        rows = []
        for row in observations:
            out = case.network(row, h, c)
            h, c = out[-2:]
            rows.append(out[0].reshape(-1).numpy().astype(np.float32))
        return np.stack(rows)


def by_runtime(model: onnx.ModelProto, case: Case, observations: torch.Tensor) -> NDArray[np.float32]:
    """Return the same of ONNX Runtime: step by step with the state handed on, or a kept one in one sequence."""
    if is_kept(case):
        model = _with_states(model)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    names = [entry.name for entry in session.get_inputs()]
    h = c = np.zeros((1, 1, case.cells), np.float32)
    rows = []
    for row in observations:
        out = session.run(None, dict(zip(names, [row.numpy(), h, c], strict=True)))
        h, c = out[-2:]
        rows.append(np.asarray(out[0], np.float32).reshape(-1))
    return np.stack(rows)


def _with_states(model: onnx.ModelProto) -> onnx.ModelProto:
    """Return a file of a kept state with the state as inputs and outputs, which a runtime can be given."""
    model = onnx.ModelProto.FromString(model.SerializeToString())
    (node,) = [node for node in model.graph.node if node.op_type == "LSTM"]
    cells = next(onnx.helper.get_attribute_value(entry) for entry in node.attribute if entry.name == "hidden_size")
    node.input[5], node.input[6] = "h_in", "c_in"
    del node.output[1:]
    node.output.extend(["h_out", "c_out"])
    for names, entries in ((["h_in", "c_in"], model.graph.input), (["h_out", "c_out"], model.graph.output)):
        entries.extend(
            onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1, 1, cells]) for name in names
        )
    return model


def main() -> None:
    """Write the files."""
    torch.manual_seed(1)
    expected = {}
    for case in cases():
        case.network.eval()
        for parameter in case.network.parameters():
            torch.nn.init.uniform_(parameter, -1.0, 1.0)
        model = written(case)
        observations = 2 * torch.rand(SEQUENCES, STEPS, *case.shape) - 1
        outputs = np.stack([by_pytorch(case, rows) for rows in observations])
        runtime = np.stack([by_runtime(model, case, rows) for rows in observations])
        np.testing.assert_allclose(runtime, outputs, atol=2e-5)
        # A state that did not matter would show nothing.
        again = np.stack([by_runtime(model, case, rows[row : row + 1]) for rows in observations for row in [STEPS - 1]])
        assert case.name.startswith("ppo_greedy") or np.abs(again[:, 0] - outputs[:, -1]).max() > 0.01
        expected[case.name] = {
            "observations": observations.reshape(SEQUENCES, STEPS, -1).tolist(),
            "outputs": outputs.astype(float).tolist(),
        }
        content = model.SerializeToString()
        (HERE / f"{case.name}.onnx").write_bytes(content)
        print(f"{case.name}: {len(content)} bytes: {' '.join(node.op_type for node in model.graph.node)}")
    counting()
    wrong()
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(row)}" for name, row in expected.items())
    (HERE / "expected.json").write_text(f"{{\n{lines}\n}}\n")
    print(f"PyTorch {torch.__version__}, onnx {onnx.__version__}, ONNX Runtime {onnxruntime.__version__}")


def counting() -> None:
    """Write a policy that counts: a segment more at each of its first twenty decisions, then none.

    Its cell keeps all that it has and adds 0.01 a decision, and the second choice is the better one above 0.205.
    """
    network = Net(1, 0, 1, 0, 2, batch_first=False)
    agent = {"observations": ["cwnd_segments"], "scaled": True, "decide": "window"}
    case = Case(
        "counting_old", network, agent | {"action": {"kind": "deltas", "segments": [1, 0]}}, (1, 1, 1), 1, dynamo=False
    )
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.zero_()
        # input, forgetting, cell, output, as PyTorch has them: open, open, 0.01, open
        network.lstm.bias_ih_l0.copy_(torch.tensor([20.0, 20.0, float(np.arctanh(0.01)), 20.0]))
        network.after[0].weight.copy_(torch.tensor([[0.0], [1.0]]))
        network.after[0].bias.copy_(torch.tensor([0.0, -float(np.tanh(0.205))]))
    values = by_pytorch(case, torch.zeros(STEPS, 1, 1, 1))
    assert values.argmax(axis=1).tolist() == [0] * 20 + [1] * (STEPS - 20)
    (HERE / f"{case.name}.onnx").write_bytes(written(case).SerializeToString())


def wrong() -> None:
    """Write what PyTorch's present exporter makes of a state that is given: another network than PyTorch runs."""
    network = Net(3, 0, 5, 0, 5, batch_first=False)
    case = Case("wrong_both_from_c", network, CHOICE, (1, 1, 3), 5, dynamo=True)
    model = written(case)
    observations = 2 * torch.rand(STEPS, *case.shape) - 1
    apart = np.abs(by_runtime(model, case, observations) - by_pytorch(case, observations)).max()
    print(f"{case.name}: ONNX Runtime and PyTorch differ by {apart:.3f}")
    assert apart > 0.01, "PyTorch's present exporter is right now: move the file among those that are read"
    (HERE / f"{case.name}.onnx").write_bytes(model.SerializeToString())


if __name__ == "__main__":
    main()

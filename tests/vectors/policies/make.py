"""Write the ONNX files beside this script: policies of Stable-Baselines3 by PyTorch, and what PyTorch makes of them.

Needs the packages of `ackclock[learn]`, and onnx and onnxscript, which PyTorch's exporters need and ackclock does not:

    make learn && .venv/bin/pip install onnx onnxscript && .venv/bin/python tests/vectors/policies/make.py

Weights are drawn from a seed; another version of PyTorch may write other nodes for the same network.
"""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import torch
from gymnasium import spaces
from stable_baselines3.common.policies import ActorCriticPolicy, BasePolicy
from stable_baselines3.dqn.policies import DQNPolicy

HERE = Path(__file__).parent
SEEN = {
    "observations": ["cwnd_segments", "srtt_ms", "loss_fraction"],
    "scaled": True,
    "history": 2,
}
CHOICE = SEEN | {"action": {"kind": "deltas", "segments": [-3, -1, 0, 1, 3]}}
RANGE = SEEN | {"action": "aurora"}
SHAPE = (2, 3)
ROWS = 8


class Greedy(torch.nn.Module):
    """A policy as Stable-Baselines3's guide exports it: actions, and for PPO values and log-probabilities."""

    def __init__(self, policy: BasePolicy) -> None:
        """Take a policy."""
        super().__init__()
        self.policy = policy

    def forward(self, observation: torch.Tensor) -> torch.Tensor | tuple[torch.Tensor, ...]:
        """Return what the policy does."""
        return self.policy(observation, deterministic=True)


class Values(torch.nn.Module):
    """The values of a DQN's choices."""

    def __init__(self, policy: DQNPolicy) -> None:
        """Take a policy."""
        super().__init__()
        self.policy = policy

    def forward(self, observation: torch.Tensor) -> torch.Tensor:
        """Return a value for each choice."""
        return self.policy.q_net(observation)


class Mean(torch.nn.Module):
    """The mean of PPO's actions. (The present exporter does not take the distribution around it.)"""

    def __init__(self, policy: ActorCriticPolicy) -> None:
        """Take a policy."""
        super().__init__()
        self.policy = policy

    def forward(self, observation: torch.Tensor) -> torch.Tensor:
        """Return the mean."""
        features = self.policy.extract_features(observation, self.policy.pi_features_extractor)
        return self.policy.action_net(self.policy.mlp_extractor.forward_actor(features))


def policies() -> Iterator[tuple[str, torch.nn.Module, dict[str, object], bool]]:
    """Yield a name, a network, its agent, and whether PyTorch's present exporter writes it, or the one of old."""
    seen = spaces.Box(-1.0, 1.0, SHAPE, np.float32)
    choice, number = spaces.Discrete(5), spaces.Box(-1.0, 1.0, (1,), np.float32)

    def dqn(activation: type[torch.nn.Module]) -> DQNPolicy:
        return DQNPolicy(seen, choice, lambda _: 0.0, net_arch=[12, 9], activation_fn=activation)

    def ppo() -> ActorCriticPolicy:
        return ActorCriticPolicy(seen, number, lambda _: 0.0, net_arch=[12, 9])

    yield "dqn_values", Values(dqn(torch.nn.ReLU)), CHOICE, True
    yield "dqn_greedy", Greedy(dqn(torch.nn.ReLU)), CHOICE, True
    yield "dqn_greedy_old", Greedy(dqn(torch.nn.ReLU)), CHOICE, False
    yield "dqn_elu", Values(dqn(torch.nn.ELU)), CHOICE, True
    yield "dqn_leaky", Values(dqn(torch.nn.LeakyReLU)), CHOICE, True
    yield "dqn_silu", Values(dqn(torch.nn.SiLU)), CHOICE, True
    yield "dqn_gelu", Values(dqn(torch.nn.GELU)), CHOICE, True
    yield "dqn_softplus_old", Values(dqn(torch.nn.Softplus)), CHOICE, False
    yield "ppo_mean", Mean(ppo()), RANGE, True
    yield "ppo_greedy_old", Greedy(ppo()), RANGE, False


def written(network: torch.nn.Module, agent: dict[str, object], *, dynamo: bool) -> bytes:
    """Export a network.

    Args:
        network: It.
        agent: Agent that the policy was trained with.
        dynamo: By PyTorch's present exporter; else by the one of old.
    """
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "policy.onnx"
        example = (torch.zeros(1, *SHAPE),)
        options = {"external_data": False, "verbose": False} if dynamo else {}
        torch.onnx.export(network, example, str(file), dynamo=dynamo, input_names=["observation"], **options)
        model = onnx.load(file)
    for node in model.graph.node:
        del node.metadata_props[:]  # the exporter's notes to itself
        node.doc_string = ""
    for value in [*model.graph.input, *model.graph.output, *model.graph.value_info]:
        del value.metadata_props[:]
    del model.graph.value_info[:], model.functions[:]
    model.metadata_props.add(key="ackclock.agent", value=json.dumps(agent))
    content: bytes = model.SerializeToString()
    return content


def main() -> None:
    """Write the files."""
    torch.manual_seed(1)
    expected = {}
    for name, network, agent, dynamo in policies():
        network.eval()
        for parameter in network.parameters():
            torch.nn.init.uniform_(parameter, -1.0, 1.0)
        observations = 2 * torch.rand(ROWS, *SHAPE) - 1
        with torch.no_grad():
            outputs = [network(row.unsqueeze(0)) for row in observations]
        first = [out[0] if isinstance(out, tuple) else out for out in outputs]
        expected[name] = {
            "observations": [row.flatten().tolist() for row in observations],
            "outputs": [out.flatten().tolist() for out in first],
        }
        content = written(network, agent, dynamo=dynamo)
        (HERE / f"{name}.onnx").write_bytes(content)
        nodes = " ".join(node.op_type for node in onnx.load_from_string(content).graph.node)
        print(f"{name}: {len(content)} bytes: {nodes}")
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(row)}" for name, row in expected.items())
    (HERE / "expected.json").write_text(f"{{\n{lines}\n}}\n")
    print(f"PyTorch {torch.__version__}, onnx {onnx.__version__}")


if __name__ == "__main__":
    main()

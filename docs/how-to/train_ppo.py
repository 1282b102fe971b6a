"""PPO in one file, after CleanRL: read it from top to bottom, change it, run it.

    python docs/how-to/train_ppo.py --steps 60000 --output policy.onnx

The agent multiplies the window of a CUBIC flow once per round trip. Eight environments step on threads of the core.
The policy runs in the engine and, converted by `ackclock export --to bpf`, in the kernel. Algorithm: proximal policy
optimisation (Schulman et al., 2017) with generalised advantage estimation. Needs PyTorch and `ackclock[gym]`.
"""

import argparse
import time
from pathlib import Path

import gymnasium
import numpy as np
import torch
from gymnasium.vector import AutoresetMode
from torch import nn
from torch.distributions import Normal

import ackclock.gym

ENVS = 8
ROLLOUT = 128
"""Decisions of each environment between two updates."""
EPOCHS, BATCH = 6, 256
GAMMA, LAMBDA = 0.99, 0.95
CLIP = 0.2
LEARNING_RATE = 3e-4


def network(inputs: int, outputs: int) -> nn.Sequential:
    """Return a network with two hidden layers."""
    hidden = [nn.Linear(inputs, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh()]
    return nn.Sequential(nn.Flatten(), *hidden, nn.Linear(32, outputs))


class Agent(nn.Module):
    """Policy, the spread of its actions, and the value of an observation."""

    def __init__(self, envs: gymnasium.vector.VectorEnv) -> None:
        """Make the networks for the environments' spaces."""
        super().__init__()
        inputs = int(np.prod(envs.single_observation_space.shape))
        self.mean, self.value = network(inputs, envs.single_action_space.shape[0]), network(inputs, 1)
        self.log_spread = nn.Parameter(torch.full((1,), -0.5))

    def actions(self, observations: torch.Tensor) -> Normal:
        """Return the distribution of actions."""
        return Normal(self.mean(observations), self.log_spread.exp())


def rollout(envs: gymnasium.vector.VectorEnv, agent: Agent, first: torch.Tensor, returns: list[float]) -> dict:
    """Act for a while; the transitions as tensors of shape (decisions, environments, ...)."""
    kept: dict[str, list] = {name: [] for name in ("seen", "action", "log", "value", "reward", "ends")}
    seen = first
    for _ in range(ROLLOUT):
        with torch.no_grad():
            choice = agent.actions(seen)
            action = choice.sample()
            row = {
                "seen": seen,
                "action": action,
                "log": choice.log_prob(action).sum(1),
                "value": agent.value(seen)[:, 0],
            }
        bounded = np.clip(action.numpy(), envs.action_space.low, envs.action_space.high)
        after, reward, terminated, truncated, infos = envs.step(bounded)
        row |= {"reward": torch.tensor(reward, dtype=torch.float32)}
        row |= {"ends": torch.tensor(terminated | truncated, dtype=torch.float32)}
        for name, value in row.items():
            kept[name].append(value)
        if "episode" in infos:
            ended = infos["_episode"]
            returns += list(infos["episode"]["r"][ended] / infos["episode"]["l"][ended])
        seen = torch.tensor(after)
    return {name: torch.stack(values) for name, values in kept.items()} | {"last": seen}


def advantages(kept: dict, agent: Agent) -> torch.Tensor:
    """Return the advantage of each action, by generalised advantage estimation."""
    with torch.no_grad():
        later = agent.value(kept["last"])[:, 0]
    found, running = torch.zeros_like(kept["reward"]), torch.zeros(ENVS)
    for step in reversed(range(ROLLOUT)):
        goes_on = 1 - kept["ends"][step]
        surprise = kept["reward"][step] + GAMMA * goes_on * later - kept["value"][step]
        running = surprise + GAMMA * LAMBDA * goes_on * running
        found[step], later = running, kept["value"][step]
    return found


def update(agent: Agent, optimizer: torch.optim.Optimizer, kept: dict, gains: torch.Tensor) -> None:
    """Improve policy and values by a rollout."""
    flat = {name: kept[name].flatten(0, 1) for name in ("seen", "action", "log", "value")}
    gains = gains.flatten()
    targets = gains + flat["value"]
    for _ in range(EPOCHS):
        for chosen in torch.randperm(len(gains)).split(BATCH):
            log = agent.actions(flat["seen"][chosen]).log_prob(flat["action"][chosen]).sum(1)
            ratio = (log - flat["log"][chosen]).exp()
            gain = (gains[chosen] - gains[chosen].mean()) / (gains[chosen].std() + 1e-8)
            policy_loss = torch.max(-gain * ratio, -gain * ratio.clamp(1 - CLIP, 1 + CLIP)).mean()
            value_loss = (agent.value(flat["seen"][chosen])[:, 0] - targets[chosen]).square().mean()
            optimizer.zero_grad()
            (policy_loss + 0.5 * value_loss).backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            optimizer.step()


def main() -> None:
    """Train as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--environment", default="ackclock/Deployable-v0", choices=ackclock.gym.IDS)
    parser.add_argument("--steps", type=int, default=60_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", type=Path, default=Path("policy.onnx"))
    given = parser.parse_args()
    torch.manual_seed(given.seed)
    torch.set_num_threads(1)
    options = {"autoreset": AutoresetMode.SAME_STEP, "copy": True}
    many = gymnasium.make_vec(given.environment, ENVS, vectorization_mode="vector_entry_point", **options)
    envs = gymnasium.wrappers.vector.RecordEpisodeStatistics(many)
    agent = Agent(envs)
    optimizer = torch.optim.Adam(agent.parameters(), lr=LEARNING_RATE, eps=1e-5)
    seen, returns = torch.tensor(envs.reset(seed=given.seed)[0]), []
    before = time.perf_counter()
    for steps in range(ENVS * ROLLOUT, given.steps + 1, ENVS * ROLLOUT):
        kept = rollout(envs, agent, seen, returns)
        update(agent, optimizer, kept, advantages(kept, agent))
        seen = kept["last"]
        latest = f"reward for a decision {np.mean(returns[-40:]):.3f}, " if returns else ""
        print(f"{steps} decisions, {latest}{steps / (time.perf_counter() - before):.0f} in a second")
    linear = [layer for layer in agent.mean if isinstance(layer, nn.Linear)]
    layers = [(layer.weight.detach().numpy(), layer.bias.detach().numpy()) for layer in linear]
    given.output.write_bytes(many.unwrapped.settings.policy_file("tanh", layers))
    print(f"policy in {given.output}")


if __name__ == "__main__":
    main()

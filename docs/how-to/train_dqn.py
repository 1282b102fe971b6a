"""Deep Q-learning of a congestion window, in one file: read it from top to bottom, change it, run it.

    python docs/how-to/train_dqn.py --steps 50000 --output curve.png

The agent adds -10 to +10 segments to the window of a NewReno flow once for each window's worth of ACKs. Its network
says what each of the seven choices is worth; it learns from random transitions of its past (Mnih et al.,
Nature 2015). Needs `ackclock[learn]`, of which it uses PyTorch only.
"""

import argparse
import random
import time
from collections import deque

import gymnasium
import matplotlib.pyplot as plt
import numpy as np
import torch
from torch import nn

import ackclock.gym

GAMMA = 0.99
"""Discount factor: the worth of a reward one decision later."""
LEARNING_RATE = 5e-4
BATCH = 64
MEMORY = 20_000
"""Transitions in the replay memory."""
COPY_EVERY = 500
"""Decisions between copies of the network into the one that values what comes next."""
EXPLORE_FRACTION = 0.4
"""The share of the training in which random actions become rarer."""
LEAST_EXPLORATION = 0.05


def network(inputs: int, choices: int) -> nn.Module:
    """Return a network from an observation to the value of each choice."""
    return nn.Sequential(nn.Linear(inputs, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, choices))


def exploration(step: int, steps: int) -> float:
    """Return the probability of a random action: from 1 down to the least, then constant."""
    return max(LEAST_EXPLORATION, 1 - (1 - LEAST_EXPLORATION) * step / (EXPLORE_FRACTION * steps))


class Learner:
    """A network, its slower copy, and what they remember."""

    def __init__(self, env: gymnasium.Env) -> None:
        """Make networks for the environment's spaces."""
        self.size, self.choices = int(np.prod(env.observation_space.shape)), int(env.action_space.n)
        self.values, self.target = network(self.size, self.choices), network(self.size, self.choices)
        self.target.load_state_dict(self.values.state_dict())
        self.optimizer = torch.optim.Adam(self.values.parameters(), lr=LEARNING_RATE)
        self.memory: deque = deque(maxlen=MEMORY)

    def best(self, observation: np.ndarray) -> int:
        """Return the choice of the highest value."""
        with torch.no_grad():
            return int(self.values(torch.from_numpy(observation.reshape(-1))).argmax())

    def learn(self) -> float:
        """Take one step of gradient descent on a batch; the loss."""
        batch = random.sample(self.memory, BATCH)
        now, action, reward, after, terminated = (np.array(column) for column in zip(*batch, strict=True))
        chosen = self.values(torch.from_numpy(now)).gather(1, torch.from_numpy(action)[:, None])[:, 0]
        with torch.no_grad():
            future = self.target(torch.from_numpy(after)).max(1).values
        # After the end there is nothing. An episode that was cut off, though, would have gone on: its future counts.
        goes_on = torch.from_numpy(1 - terminated.astype(np.float32))
        loss = nn.functional.smooth_l1_loss(
            chosen, torch.from_numpy(reward.astype(np.float32)) + GAMMA * goes_on * future
        )
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()


def train(
    env: gymnasium.Env, *, steps: int, learning_starts: int, seed: int
) -> tuple[Learner, list[tuple[int, float]]]:
    """Train, and return the learner with a row for each episode: the step it ended at, its mean reward."""
    random.seed(seed)
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    learner, curve, rewards = Learner(env), [], []
    observation, _ = env.reset(seed=seed)
    for step in range(1, steps + 1):
        explores = random.random() < exploration(step, steps)
        action = random.randrange(learner.choices) if explores else learner.best(observation)
        after, reward, terminated, truncated, _ = env.step(action)
        learner.memory.append((observation.reshape(-1), action, reward, after.reshape(-1), terminated))
        rewards.append(reward)
        observation = after
        if terminated or truncated:
            curve.append((step, float(np.mean(rewards))))
            rewards = []
            observation, _ = env.reset()
        if step > max(learning_starts, BATCH):
            learner.learn()
        if step % COPY_EVERY == 0:
            learner.target.load_state_dict(learner.values.state_dict())
    return learner, curve


def episode(env: gymnasium.Env, learner: Learner, seed: int) -> tuple[float, dict]:
    """Let the learner act without exploring; the mean reward and the summary of its flow."""
    observation, _ = env.reset(seed=seed)
    rewards, is_over = [], False
    while not is_over:
        observation, reward, terminated, truncated, info = env.step(learner.best(observation))
        rewards.append(reward)
        is_over = terminated or truncated
    return float(np.mean(rewards)), info["summary"]["flows"][0]


def draw(curve: list[tuple[int, float]], path: str) -> None:
    """Draw the mean reward of each episode of the training."""
    figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
    axes.plot(*zip(*curve, strict=True), ".-")
    axes.set(
        xlabel="decisions", ylabel="mean reward of an episode", title="Deep Q-learning of a window", xlim=(0, None)
    )
    axes.grid(alpha=0.3)
    figure.savefig(path, dpi=140)


def main() -> None:
    """Train as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--environment", default="ackclock/DqnNewReno-v0", choices=ackclock.gym.IDS)
    parser.add_argument("--steps", type=int, default=50_000)
    parser.add_argument("--learning-starts", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", default="curve.png")
    given = parser.parse_args()
    env = gymnasium.make(given.environment, scaled=True)
    if not isinstance(env.action_space, gymnasium.spaces.Discrete):
        parser.error(f"{given.environment} takes a number, not a choice; try ackclock/DqnCubic-v0")
    before = time.perf_counter()
    learner, curve = train(env, steps=given.steps, learning_starts=given.learning_starts, seed=given.seed)
    took = time.perf_counter() - before
    reward, flow = episode(env, learner, given.seed + 1)
    rate, rtt = flow["goodput_bps"] / 1e6, flow["rtt_ms"]["mean"]
    print(f"{given.steps} decisions in {took:.0f} s; then a reward of {reward:.3f}, {rate:.1f} Mbit/s at {rtt:.1f} ms")
    if curve:
        draw(curve, given.output)
        print(f"learning curve in {given.output}")


if __name__ == "__main__":
    main()

"""PPO of RLlib on an environment.

    python docs/how-to/train_rllib.py --iterations 20

Needs `pip install 'ackclock[gym]' 'ray[rllib]' torch`.
"""

import argparse
from typing import Any

import gymnasium
from ray import tune
from ray.rllib.algorithms.ppo import PPOConfig


def environment(config: dict[str, Any]) -> gymnasium.Env:
    """Make the environment in whichever process Ray wants it, where nothing has registered it yet."""
    return gymnasium.make("ackclock.gym:ackclock/SingleFlow-v0", **config)


def plan() -> PPOConfig:
    """Return what RLlib is to do; all environments step in the process of the learner."""
    tune.register_env("single-flow", environment)
    config = PPOConfig().environment("single-flow", env_config={"history": 1, "on_loss": "stack"})
    config = config.env_runners(num_env_runners=0, num_envs_per_env_runner=4)
    return config.training(lr=3e-4, train_batch_size_per_learner=1024, minibatch_size=256, num_epochs=6)


def train(iterations: int) -> None:
    """Train once, and print the mean return of the latest episodes."""
    algorithm = plan().build_algo()
    for iteration in range(1, iterations + 1):
        result = algorithm.train()
        print(iteration, result["env_runners"].get("episode_return_mean"))
    algorithm.stop()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--iterations", type=int, default=20)
    train(parser.parse_args().iterations)

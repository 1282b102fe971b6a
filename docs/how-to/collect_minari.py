"""Offline data: episodes of a congestion controller, as a data set of Minari.

    python docs/how-to/collect_minari.py --episodes 20 --dataset ackclock/cubic-v0

The flow's own controller goes on between decisions of the action `orca`. An action of 0 leaves its window alone, so
that the episodes are the controller's own, in the agent's observations and rewards. Needs `ackclock[gym]` and
`pip install 'minari[create,hdf5]'`.
"""

import argparse

import gymnasium
import minari
import numpy as np

import ackclock.gym


def main() -> None:
    """Collect as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--environment", default="ackclock/Deployable-v0", choices=ackclock.gym.IDS)
    parser.add_argument("--episodes", type=int, default=20)
    parser.add_argument(
        "--spread", type=float, default=0.1, help="standard deviation of the actions; 0: the controller"
    )
    parser.add_argument("--dataset", default="ackclock/cubic-v0", help="name of the data set")
    given = parser.parse_args()
    random = np.random.default_rng(1)
    env = minari.DataCollector(gymnasium.make(given.environment))
    for seed in range(1, given.episodes + 1):
        env.reset(seed=seed)
        is_over = False
        while not is_over:
            action = random.normal(0, given.spread, env.action_space.shape).clip(-1, 1).astype(np.float32)
            *_, terminated, truncated, _ = env.step(action)
            is_over = terminated or truncated
    dataset = env.create_dataset(
        given.dataset, algorithm_name="CUBIC", description=f"{given.environment}, seeds from 1"
    )
    print(f"{dataset.total_episodes} episodes, {dataset.total_steps} decisions in {given.dataset}")


if __name__ == "__main__":
    main()

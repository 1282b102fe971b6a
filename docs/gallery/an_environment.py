"""An environment.

Observations, actions and rewards of an agent, as Gymnasium's `render` draws them.
"""

from ackclock.gym import FlowEnv

env = FlowEnv("scenarios/two-algorithms.toml", flow="old", reward="power", render_mode="rgb_array")
env.reset(seed=1)
for step in range(200):
    env.step(3 if step % 20 else 0)

figures = {"environment": env.render()}

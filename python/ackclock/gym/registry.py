"""Registration of the environments' names with Gymnasium, done on import of `ackclock.gym`."""

import gymnasium

_ENTRY_POINTS = {
    "ackclock/SingleFlow-v0": ("SingleFlow", "single_flow_vector"),
    "ackclock/Deployable-v0": ("Deployable", "deployable_vector"),
    "ackclock/SharedLink-v0": ("SharedLink", "shared_link_vector"),
    "ackclock/Trace-v0": ("Trace", "trace_vector"),
    "ackclock/Bench-v1": ("Bench", "bench_vector"),
    "ackclock/DqnNewReno-v0": ("DqnNewReno", "dqn_newreno_vector"),
    "ackclock/DqnCubic-v0": ("DqnCubic", "dqn_cubic_vector"),
}

IDS = tuple(_ENTRY_POINTS)
"""IDs of all registered environments."""


def register_environments() -> None:
    """Register the environments with Gymnasium; importing `ackclock.gym` calls this.

    They are made without Gymnasium's two default wrappers. The environments themselves refuse wrong actions and
    out-of-order steps, and the wrappers would take a fifth of the time of a step per ACK.
    """
    module = "ackclock.gym.environments"
    for name, (single, vector) in _ENTRY_POINTS.items():
        if name not in gymnasium.registry:
            gymnasium.register(
                id=name,
                entry_point=f"{module}:{single}",
                vector_entry_point=f"{module}:{vector}",
                order_enforce=False,
                disable_env_checker=True,
            )

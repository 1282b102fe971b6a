"""The environments' names; Gymnasium knows them once `ackclock.gym` is imported."""

import gymnasium

_ENTRY_POINTS = {
    "ackclock/SingleFlow-v0": ("SingleFlow", "single_flow_vector"),
    "ackclock/SharedLink-v0": ("SharedLink", "shared_link_vector"),
    "ackclock/Trace-v0": ("Trace", "trace_vector"),
    "ackclock/DqnNewReno-v0": ("DqnNewReno", "dqn_newreno_vector"),
    "ackclock/DqnCubic-v0": ("DqnCubic", "dqn_cubic_vector"),
}

IDS = tuple(_ENTRY_POINTS)
"""Every registered environment."""


def register_environments() -> None:
    """Tell Gymnasium of the environments; importing `ackclock.gym` calls this.

    They are made without the two wrappers that Gymnasium puts around others: a step out of order and a wrong action are
    refused by the environments themselves, and a fifth of the time of a step on each ACK would be the wrappers'.
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

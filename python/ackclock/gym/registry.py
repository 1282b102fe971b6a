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
    """Tell Gymnasium of the environments; importing `ackclock.gym` calls this."""
    module = "ackclock.gym.environments"
    for name, (single, vector) in _ENTRY_POINTS.items():
        if name not in gymnasium.registry:
            gymnasium.register(id=name, entry_point=f"{module}:{single}", vector_entry_point=f"{module}:{vector}")

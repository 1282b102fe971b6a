"""Packages that only a part of ackclock needs, and the extras that bring them.

    pip install 'ackclock[report]'

Whoever simulates, sweeps and reads results has no use for a library of figures, so `pip install ackclock` leaves these
out. What needs them asks here before it begins, so that nobody simulates for an hour to hear that nothing can be drawn.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import Final

EXTRAS: Final = {
    "report": ("figures and pages", ("jinja2", "matplotlib")),
    "notebook": ("a notebook's linked plots", ("anywidget",)),
    "gym": ("environments for agents", ("gymnasium", "pettingzoo")),
    "learn": ("training", ("torch", "stable_baselines3", "tensorboard")),
    "ray": ("a cluster", ("ray",)),
    "studies": ("the studies of sources", ("ackclock_studies",)),
}
"""By extra: what it is for, and what is imported of it."""


class MissingPackageError(ModuleNotFoundError):
    """A package is not installed that an extra brings; the message says which, what for, and how to get it."""


def require(*extras: str, loads: bool = False) -> None:
    """Find out whether the packages of extras are there.

    Args:
        extras: Keys of `EXTRAS`.
        loads: Load them, too, which some that are there do not let anybody do.

    Raises:
        MissingPackageError: If one is not.
    """
    for extra in extras:
        for package in EXTRAS[extra][1]:
            try:
                is_there = (import_module if loads else find_spec)(package) is not None
            except ImportError:
                is_there = False
            if not is_there:
                raise missing(extra, package)


def explained(error: ModuleNotFoundError) -> MissingPackageError | None:
    """Return what to tell of a package that was not found, if an extra brings it."""
    if isinstance(error, MissingPackageError):
        return error
    package = (error.name or "").partition(".")[0]
    found = [extra for extra, (_, packages) in EXTRAS.items() if package in packages]
    return missing(found[0], package) if found else None


def missing(extra: str, package: str | None = None) -> MissingPackageError:
    """Return what to tell of a package that an extra brings.

    Args:
        extra: A key of `EXTRAS`.
        package: The package, the extra's first by default.
    """
    package = package or EXTRAS[extra][1][0]
    purpose = EXTRAS[extra][0]
    verb = "need" if purpose.endswith("s") else "needs"
    return MissingPackageError(
        f"{purpose} {verb} {package}, which is not installed; pip install 'ackclock[{extra}]'", name=package
    )

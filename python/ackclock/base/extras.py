"""Optional packages, and the extras that install them.

    pip install 'ackclock[report]'

Simulating, sweeping and reading results need no plotting library, so `pip install ackclock` leaves these out. Commands
that need one check for it before they start, not after an hour of simulation.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import Final

EXTRAS: Final = {
    "report": ("figures and pages", ("jinja2", "matplotlib")),
    "notebook": ("a notebook's linked plots", ("anywidget",)),
    "attack": ("attacking a controller", ("cma",)),
    "gym": ("environments for agents", ("gymnasium", "pettingzoo")),
    "learn": ("training", ("torch", "stable_baselines3", "tensorboard")),
    "wandb": ("a log at Weights & Biases", ("wandb",)),
    "ray": ("a cluster", ("ray",)),
    "studies": ("studies, comparisons with a kernel and benchmarks", ("ackclock_studies",)),
}
"""Extras: purpose and imported packages of each."""


class MissingPackageError(ModuleNotFoundError):
    """Error: an optional package is not installed. The message gives its name, purpose and installing command."""


def require(*extras: str, loads: bool = False) -> None:
    """Check that the packages of extras are installed.

    Args:
        extras: Keys of `EXTRAS`.
        loads: Import them, too, as some installed packages cannot be imported.

    Raises:
        MissingPackageError: If one is missing.
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
    """Return the error to report for a failed import, if an extra provides the package."""
    if isinstance(error, MissingPackageError):
        return error
    package = (error.name or "").partition(".")[0]
    found = [extra for extra, (_, packages) in EXTRAS.items() if package in packages]
    return missing(found[0], package) if found else None


def missing(extra: str, package: str | None = None) -> MissingPackageError:
    """Return the error to report for a missing package of an extra.

    Args:
        extra: A key of `EXTRAS`.
        package: Name of the package; the first of the extra by default.
    """
    package = package or EXTRAS[extra][1][0]
    purpose = EXTRAS[extra][0]
    verb = "need" if purpose.endswith("s") else "needs"
    return MissingPackageError(
        f"{purpose} {verb} {package}, which is not installed; pip install 'ackclock[{extra}]'", name=package
    )

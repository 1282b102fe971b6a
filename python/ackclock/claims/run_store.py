"""Cache of results on disk, so that a long run of claims can be stopped and resumed."""

import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from ackclock._core import Scenario
from ackclock.base import storage
from ackclock.claims.origin import engine
from ackclock.results import Results
from ackclock.running import kernel, run
from ackclock.running.linux_kernels import Kernel
from ackclock.scenario.module_closure import identity

_LOCK = ".lock"


class DamagedWarning(UserWarning):
    """Warning: cached results are damaged, and are simulated again."""


@contextmanager
def held(kept: Path | None) -> Iterator[None]:
    """Lock a cache folder against other processes.

    Args:
        kept: The folder, created if missing; None locks nothing.

    Raises:
        ackclock.base.storage.OutputExistsError: If another process holds it.
    """
    if kept is None:
        yield
        return
    kept.mkdir(parents=True, exist_ok=True)
    with storage.locked(
        kept / _LOCK, f"another `ackclock claims` keeps its results in {kept}; wait for it, or choose another folder"
    ):
        yield


def run_or_load(scenario: Scenario, kept: Path | None = None) -> Results:
    """Simulate a scenario, or load its cached results.

    Args:
        scenario: Scenario to simulate.
        kept: Cache folder; None caches nothing. Results are keyed by the engine's sources, the scenario and its code.
            Damaged results, or those of another scenario, are simulated again, with a warning.
    """
    return _kept_or(run, scenario, kept, engine()[:16])


def run_or_load_on_kernel(scenario: Scenario, kept: Path | None = None, on: Kernel | None = None) -> Results:
    """Run a scenario on a kernel, or load cached results of a kernel of the same release, or the same in virtual time.

    The simulated endpoint has no part in such a run, so a changed engine does not repeat it.

    A run that was too late to be valid is repeated once. If that is late, too, it is returned with a note in its
    manifest, and not cached, so that it is tried again the next time. In virtual time nothing is late, and all runs of
    a scenario are equal, so that none is repeated.

    Args:
        scenario: Scenario to run.
        kept: Cache folder; None caches nothing.
        on: Kernel in virtual time; this machine's by default.
    """
    if on is not None:
        by = f"linux-{on.version}-{on.identity['sha256'][:16]}"
        return _kept_or(partial(kernel.run, on=on), scenario, kept, by)
    return _kept_or(_run_in_time, scenario, kept, f"kernel-{os.uname().release}", _was_in_time)


TRIES = 2
"""Number of attempts of a run on the kernel that is late."""


def _run_in_time(scenario: Scenario) -> Results:
    for _ in range(TRIES - 1):
        results = kernel.run(scenario)
        if _was_in_time(results):
            return results
    return kernel.run(scenario)


def _was_in_time(results: Results) -> bool:
    return bool(results.manifest["kernel"]["valid"])


def _kept_or(
    run: Callable[[Scenario], Results],
    scenario: Scenario,
    kept: Path | None,
    by: str,
    is_worth_keeping: Callable[[Results], bool] = lambda _: True,
) -> Results:
    if kept is None:
        return run(scenario)
    folder = kept / f"{by}-{identity(scenario)}"
    if folder.exists() or folder.is_symlink():
        try:
            if is_worth_keeping(results := _loaded(folder, scenario)):
                return results
        except (ValueError, OSError) as error:
            warnings.warn(f"{error}: it is simulated again", DamagedWarning, stacklevel=2)
    results = run(scenario)
    if is_worth_keeping(results):
        kept.mkdir(parents=True, exist_ok=True)
        _replace(folder, results)
    return results


def _loaded(folder: Path, scenario: Scenario) -> Results:
    results = Results.load(folder)
    if results.manifest["scenario_hash"] != scenario.hash:
        raise ValueError(f"{folder} holds the results of another scenario")
    return results


def _replace(folder: Path, results: Results) -> None:
    """Replace a cached folder; one that is not a result folder, or has other files, is renamed and not removed."""
    try:
        results.save(folder, force=True)
    except storage.OutputExistsError:
        folder.rename(storage.free_name(folder.with_name(f"{folder.name}.damaged")))
        results.save(folder)

"""The work of `ackclock script --differential`: random cases against the endpoint and this machine's kernel."""

import multiprocessing
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import TypeVar

import typer
from rich.table import Table

from ackclock.base import storage
from ackclock.base.system import cores
from ackclock.claims import locations
from ackclock.cli import failures
from ackclock.cli.answers import answer
from ackclock.plotting.terminal import name, output
from ackclock.running import mapped
from ackclock.running.inside import TICKS_PER_S, mapped_inside
from ackclock.running.linux_kernels import Kernel

from . import reactions
from .as_script import script_of
from .cases import CONTROLLERS, Case, draw
from .compare import Comparison, Kind, compare, on_this_kernel
from .shrink import shrink
from .states import Probe, draw_probe

ITEMS_AT_ONCE = 25
"""Number of cases that a kernel in virtual time is started for."""

SCRIPTS_AT_MOST = 20
"""Number of differences that are shrunk, at some seconds each."""


def play_cases(count: int, seed: int, into: Path | None, controller: str | None, on: Kernel | None = None) -> None:
    """Play cases, and print and answer their outcome.

    Args:
        count: The number of cases.
        seed: The seed of the first; the others count up from it.
        into: The folder for scripts, if they are wanted.
        controller: The congestion control, if not drawn.
        on: Kernel in virtual time; this machine's by default.

    Raises:
        typer.Exit: If a case differs.
    """
    if controller is not None and controller not in CONTROLLERS:
        raise failures.InputError(f"--controller {controller}: give one of {', '.join(CONTROLLERS)}")
    counts = differential(count, seed, into, controller, on)
    answer(cases=count, counts={str(kind): counts[kind] for kind in Kind})
    if counts[Kind.DIFFERENT]:
        raise typer.Exit(failures.FAILED)


def play_states(count: int, seed: int, on: Kernel | None = None) -> None:
    """Play single segments in every state, and print and answer their outcome.

    Args:
        count: The number of segments.
        seed: The seed of the first; the others count up from it.
        on: Kernel in virtual time; this machine's by default.

    Raises:
        typer.Exit: If a reaction differs.
    """
    counts = states(count, seed, on)
    answer(segments=count, counts={str(kind): counts[kind] for kind in reactions.Kind})
    if counts[reactions.Kind.DIFFERENT]:
        raise typer.Exit(failures.FAILED)


def differential(
    count: int, seed: int, into: Path | None, controller: str | None = None, on: Kernel | None = None
) -> Counter[Kind]:
    """Run cases, print their outcomes, and write a script for each difference.

    Args:
        count: Number of cases.
        seed: Seed of the first case; the others count up from it.
        into: Folder for scripts, if any.
        controller: Congestion control; drawn at random if not given.
        on: Kernel in virtual time; this machine's by default.

    Returns:
        Number of cases by outcome.
    """
    _need_a_kernel(controller, on)
    if into is not None:
        into.mkdir(parents=True, exist_ok=True)
    table = Table("seed", "case", "outcome", "the endpoint's for the kernel's", box=None, show_edge=False)
    counts: Counter[Kind] = Counter()
    for found in _played([draw(number, controller) for number in range(seed, seed + count)], on):
        counts[found.kind] += 1
        if found.kind is Kind.ALIKE:
            continue
        message = found.parting.message if found.parting else ""
        if found.kind is Kind.DIFFERENT and into is not None and counts[Kind.DIFFERENT] <= SCRIPTS_AT_MOST:
            file = _write(found, into, on)
            message += f"; see {file}" if file else "; only with timestamps, which no script can replay"
        table.add_row(str(found.case.seed), str(found.case), str(found.kind), name(message))
    if table.row_count:
        output().print(table)
    output().print(", ".join(f"{counts[kind]} {kind}" for kind in Kind) + f" of {count} cases")
    return counts


def states(count: int, seed: int, on: Kernel | None = None) -> Counter[reactions.Kind]:
    """Send single segments to connections in every state, and print where the endpoint and the kernel differ.

    Args:
        count: Number of segments.
        seed: Seed of the first; the others count up from it.
        on: Kernel in virtual time; this machine's by default.

    Returns:
        Number of segments by outcome.
    """
    _need_a_kernel(None, on)
    table = Table("seed", "segment", "outcome", "the endpoint", "the kernel", box=None, show_edge=False)
    counts: Counter[reactions.Kind] = Counter()
    seeds = range(seed, seed + count)
    probes = list(map(draw_probe, seeds))
    with _pool(count) as pool:
        many = mapped(pool, reactions.compare, probes) if on is None else _in_virtual_time(pool, _reactions, on, probes)
        for number, found in zip(seeds, many, strict=True):
            counts[found.kind] += 1
            if found.kind in (reactions.Kind.UNSETTLED, reactions.Kind.DIFFERENT):
                row = (str(number), str(found.probe), str(found.kind), found.ours, found.theirs)
                table.add_row(*map(name, row))
    if table.row_count:
        output().print(table)
    output().print(", ".join(f"{counts[kind]} {kind}" for kind in reactions.Kind) + f" of {count} segments")
    return counts


def _need_a_kernel(controller: str | None, on: Kernel | None) -> None:
    if on is not None:
        return  # ackclock linux build compiles in every controller
    from ackclock.script.kernel_host import KernelError, KernelHost

    try:
        KernelHost().close()
    except KernelError as error:
        raise failures.InputError(str(error)) from error
    if controller is not None and controller not in (there := _available()):
        raise failures.InputError(
            f"this machine's kernel has {', '.join(there)}, and no {controller}: modprobe tcp_{controller}"
        )


def _available() -> list[str]:
    return Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text(encoding="ascii").split()


def _played(cases: list[Case], on: Kernel | None) -> Iterator[Comparison]:
    with _pool(len(cases)) as pool:
        yield from mapped(pool, _compare, cases) if on is None else _in_virtual_time(pool, _comparisons, on, cases)


_Item = TypeVar("_Item")
_Found = TypeVar("_Found")


def _in_virtual_time(
    pool: Executor, compare_all: Callable[[Kernel, list[_Item]], list[_Found]], on: Kernel, items: list[_Item]
) -> Iterator[_Found]:
    """Yield the comparison of each item; a kernel is started for many."""
    chunks = [items[first : first + ITEMS_AT_ONCE] for first in range(0, len(items), ITEMS_AT_ONCE)]
    for found in mapped(pool, compare_all, [on] * len(chunks), chunks):
        yield from found


def _comparisons(on: Kernel, cases: Sequence[Case]) -> list[Comparison]:
    plays = mapped_inside(on, on_this_kernel, cases, locations.make_importable)
    return [
        compare(case, lambda _, theirs=theirs: theirs, times=1, ticks_per_s=TICKS_PER_S)  # type: ignore[misc]
        for case, theirs in zip(cases, plays, strict=True)
    ]


def _reactions(on: Kernel, probes: list[Probe]) -> list[reactions.Found]:
    found = mapped_inside(on, reactions.on_this_kernel, probes, locations.make_importable)
    return [reactions.compare(probe, lambda _, one=one: one) for probe, one in zip(probes, found, strict=True)]  # type: ignore[misc]


def _pool(count: int) -> ProcessPoolExecutor:
    """Return a pool with two processes per core, since kernel cases mostly wait."""
    return ProcessPoolExecutor(
        min(count, 2 * cores()),
        mp_context=multiprocessing.get_context("spawn"),
        initializer=locations.make_importable,
    )


def _compare(case: Case) -> Comparison:
    return compare(case, on_this_kernel)


def _write(found: Comparison, into: Path, on: Kernel | None) -> Path | None:
    least = shrink(found, partial(map, _compare) if on is None else partial(_comparisons, on))
    if least.case.has_timestamps:
        return None
    file, number = into / f"seed-{found.case.seed}.pkt", 1
    while file.exists() or file.is_symlink():  # of an earlier search, or somebody else's
        number += 1
        file = into / f"seed-{found.case.seed}-{number}.pkt"
    storage.write_file(file, script_of(least).encode())
    return file

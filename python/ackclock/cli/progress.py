"""Progress bars on standard error; callers use them only on a terminal.

`ackclock run` imports this module only on a terminal.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from rich.live import Live
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.spinner import Spinner
from rich.text import Text

from ackclock.base.printable import plain
from ackclock.cli.failures import errors
from ackclock.plotting.terminal import si
from ackclock.running import Progress as RunProgress


class _SimulatedTime(ProgressColumn):
    """Column with the simulated time: `12.4 / 50 s`."""

    def render(self, task: Task) -> Text:
        return Text(f"{task.completed:.1f} / {task.total or 0:g} s simulated", style="cyan")


class _Speed(ProgressColumn):
    """Column with the speed: simulated time and packets per second."""

    def render(self, task: Task) -> Text:
        progress: RunProgress | None = task.fields.get("progress")
        if progress is None or progress.wall_s <= 0:
            return Text("")
        return Text(
            f"{progress.now_s / progress.wall_s:,.3g} x real time, "
            f"{si(progress.packets_delivered / progress.wall_s)} packets/s",
            style="dim",
        )


@contextmanager
def run_progress(name: str, duration_s: float) -> Iterator[Callable[[RunProgress], None]]:
    """Show the progress of one run until the block ends.

    Yields:
        A function to call with each step.
    """
    shown = (TextColumn("{task.description}", markup=False), BarColumn(bar_width=24), _SimulatedTime(), _Speed())
    with Progress(*shown, TimeRemainingColumn(), console=errors(), transient=True) as bar:
        task = bar.add_task(name[:32], total=duration_s)
        yield lambda progress: bar.update(task, completed=progress.now_s, progress=progress)


@contextmanager
def busy(what: str) -> Iterator[None]:
    """Show an activity indicator on a terminal until the block ends.

    Args:
        what: Description of the activity.
    """
    if not sys.stderr.isatty():
        yield
        return
    # Drawn once at the beginning: the core may keep the thread that draws from running.
    with Live(Spinner("dots", Text(plain(what), style="dim")), console=errors(), transient=True):
        yield


@contextmanager
def points_progress(what: str, *, quiet: bool) -> Iterator[Callable[[int, int], Callable[[], None]]]:
    """Show the number of finished runs of a sweep or study until the block ends; the bar needs a terminal.

    Yields:
        A function to call with the total and the finished number of runs; it returns one to call after each run.
    """
    columns = (BarColumn(bar_width=32), TextColumn("{task.completed} of {task.total} points"), TimeRemainingColumn())
    with ExitStack() as stack:

        def begin(total: int, done: int) -> Callable[[], None]:
            if done and not quiet:
                errors().print(f"{done} of {total} {what} are done already")
            if quiet or done == total or not sys.stderr.isatty():
                return lambda: None
            bar = stack.enter_context(Progress(*columns, console=errors(), transient=True))
            task = bar.add_task("sweep", total=total, completed=done)
            return lambda: bar.advance(task)

        yield begin


@contextmanager
def simulations_progress(name: str) -> Iterator[Callable[[int, int], None] | None]:
    """Show the number of finished simulations, on a terminal.

    Yields:
        A function to call after each simulation with the finished and the total number; None without a terminal.
    """
    if not sys.stderr.isatty():
        yield None
        return
    columns = (BarColumn(bar_width=32), TextColumn("{task.completed} of {task.fields[all]} simulations"))
    with Progress(*columns, console=errors(), transient=True) as bar:
        task = bar.add_task(name, total=None, all="...")
        yield lambda done, total: bar.update(task, completed=done, total=total, all=total)


@contextmanager
def training_progress(name: str, steps: int) -> Iterator[Callable[[int, float | None], None] | None]:
    """Show the progress of a training, on a terminal.

    Yields:
        A function to call with the steps so far and the recent mean return, None at first; None without a terminal.
    """
    if not sys.stderr.isatty():
        yield None
        return
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        TextColumn("{task.completed:,.0f} of {task.total:,.0f} decisions  return {task.fields[paid]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=errors(), transient=True) as bar:
        task = bar.add_task(name, total=steps, paid="-")
        yield lambda done, paid: bar.update(task, completed=done, paid="-" if paid is None else f"{paid:.4g}")


@contextmanager
def build_progress(name: str) -> Iterator[Callable[[str, int, int | None], None]]:
    """Show the steps of building a kernel until the block ends.

    Yields:
        A function to call with the step, what is done of it, and its total if known.
    """
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        TextColumn("{task.fields[share]}"),
    )
    with Progress(*columns, TimeElapsedColumn(), console=errors(), transient=True) as bar:
        task = bar.add_task(name[:32], total=None, share="")

        def report(step: str, done: int, total: int | None) -> None:
            share = f"{100 * done / total:3.0f} %" if total else ""
            bar.update(task, completed=done, total=total, description=f"{name[:32]}: {step}", share=share)

        yield report

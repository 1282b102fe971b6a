"""Pictures of controllers and queues on the standard paths of `standard.toml`: windows above, the queue below.

A picture is drawn again only if its settings, the engine or this file have changed.
"""

import hashlib
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

import ackclock
from ackclock import _core
from ackclock.plotting.figures.theme import PAGE_IN, PAPER, look
from ackclock.plotting.notebook_figures import Picture
from ackclock.scenario.example_files import FOLDER as SCENARIOS
from ackclock.stats.metrics import extremes_per_bucket

HERE = Path(__file__).parent
STANDARD: dict[str, Any] = tomllib.loads((HERE / "standard.toml").read_text(encoding="utf-8"))
BOTTLENECK = "bottleneck"
MSS_BYTES = 1448
"""Payload of a full segment on every path of `standard.toml`."""

_BUCKETS = 500
_GREY = "#9a9a9a"
_PIXELS_PER_INCH = 160


@dataclass(frozen=True)
class Run:
    """One column of a picture: who is on which path.

    Attributes:
        title: Above the column.
        flows: Tables of flows, as `ackclock.dumbbell` takes them.
        path: The name of a path of `standard.toml`.
        queue: In place of the path's own.
    """

    title: str
    flows: Sequence[Mapping[str, Any]]
    path: str
    queue: str | Mapping[str, Any] | None = None

    def scenario(self) -> ackclock.Scenario:
        """Return what is to be simulated."""
        settings = dict(STANDARD["paths"][self.path]["scenario"])
        if self.queue is not None:
            settings["queue"] = self.queue
        return ackclock.dumbbell(flows=[dict(flow) for flow in self.flows], folder=SCENARIOS, **settings)


def picture(runs: Sequence[Run], file: Path, reference: Run | None = None) -> None:
    """Draw runs beside each other, unless the file is there and nothing has changed.

    Args:
        runs: The columns.
        file: PNG; beside it a file of what it was made of.
        reference: A run whose queue is drawn in grey behind that of the last column.
    """
    every = [*runs, reference] if reference else runs
    scenarios = [run.scenario() for run in every]
    key = _key(scenarios, [run.title for run in every])
    kept = file.with_suffix(".key")
    if file.exists() and kept.exists() and kept.read_text() == key:
        return
    results = [ackclock.run(scenario) for scenario in scenarios]
    file.parent.mkdir(parents=True, exist_ok=True)
    with mpl.rc_context(PAPER):
        _drawn(runs, results[: len(runs)], results[-1] if reference else None).savefig(file, dpi=_PIXELS_PER_INCH)
    kept.write_text(key)


def engine() -> str:
    """Return the hash of the engine's sources: what has the same gives the same pictures."""
    return str(_core.build_info()["engine"])


def _key(scenarios: Sequence[ackclock.Scenario], titles: Sequence[str]) -> str:
    parts = [Path(__file__).read_text(), engine(), *titles, *(scenario.hash for scenario in scenarios)]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _drawn(runs: Sequence[Run], results: Sequence[ackclock.Results], reference: ackclock.Results | None) -> Picture:
    figure = Picture(figsize=(PAGE_IN, 3.3), layout="constrained")
    grid = figure.subplots(2, len(runs), sharex="col", sharey="row", squeeze=False)
    for (above, below), run, result in zip(grid.T, runs, results, strict=True):
        scale, unit = (1e3, "ms") if result.summary["duration_s"] < 1 else (1.0, "s")
        for place, flow in enumerate(run.flows):
            rows = result.flows.filter(result.flows["flow"] == flow["name"])
            above.plot(*_window(rows, scale), color=look(place).colour, label=flow["name"])
        if reference is not None and result is results[-1]:
            below.plot(*_queue(reference, scale), color=_GREY, linewidth=0.8)
            below.set_title("grey: the same with drop_tail", loc="right", color=_GREY)
        below.plot(*_queue(result, scale), color="#1b1b1b", linewidth=0.8)
        above.set_title(run.title)
        if len(run.flows) > 1:
            above.legend(loc="upper right", ncols=len(run.flows))
        below.set_xlabel(f"time ({unit})")
        below.set_xlim(0, result.summary["duration_s"] * scale)
    grid[0, 0].set_ylabel("cwnd (segments)")
    grid[1, 0].set_ylabel("queue (packets)")
    for axes in grid.ravel():
        axes.set_ylim(bottom=0)
    _bound(grid[0], results)
    return figure


def _bound(row: Sequence[Any], results: Sequence[ackclock.Results]) -> None:
    """End the axis of windows a little above what they reach once slow start is over."""
    tops = []
    for result in results:
        rows = result.flows.filter(result.flows["time_s"] > 0.2 * result.summary["duration_s"])
        tops.append(float(rows["cwnd_bytes"].max() or 0) / MSS_BYTES)
    if max(tops) > 0:
        row[0].set_ylim(top=1.25 * max(tops))


def _window(rows: Any, scale: float) -> tuple[Any, Any]:
    values = rows["cwnd_bytes"].cast(float).fill_null(float("nan")).to_numpy() / MSS_BYTES
    time_s, values = extremes_per_bucket(rows["time_s"].to_numpy(), values, _BUCKETS)
    return np.asarray(time_s) * scale, values


def _queue(result: ackclock.Results, scale: float) -> tuple[Any, Any]:
    rows = result.links.filter(result.links["link"] == BOTTLENECK)
    time_s, values = extremes_per_bucket(
        rows["time_s"].to_numpy(), rows["queue_packets"].cast(float).to_numpy(), _BUCKETS
    )
    return np.asarray(time_s) * scale, values


def controller_runs(name: str) -> tuple[list[Run], str] | None:
    """Return the columns of a controller's picture and the name of its path; None if it has none.

    Args:
        name: Name as `ackclock list controllers` prints it.
    """
    entry = STANDARD["controllers"].get(name, {})
    if not entry.get("picture", True):
        return None
    path = entry.get("path", "wide")
    own = {"name": name, "controller": _found(entry.get("controller", name))}
    rival = entry.get("beside", "cubic")
    kind = rival if isinstance(rival, str) else rival["kind"]
    late = _start(path)
    beside = {"name": kind if kind != name else f"another {name}", "controller": rival, "start": late}
    title = f"with {'another' if kind == name else kind} from {late} on"
    return [Run(f"{name} alone", [own], path), Run(title, [own, beside], path)], path


def _found(controller: str | Mapping[str, Any]) -> str | dict[str, Any]:
    """A controller whose file stands beside the examples."""
    if isinstance(controller, str):
        return controller
    return dict(controller) | ({"file": f"{SCENARIOS}/{controller['file']}"} if "file" in controller else {})


def _start(path: str) -> str:
    """The other one starts when a fifth of the time is over."""
    number, unit = STANDARD["paths"][path]["scenario"]["duration"].split()
    return f"{float(number) / 5:g} {unit}"


def queue_runs(name: str) -> tuple[list[Run], Run | None, str]:
    """Return the columns of a queue's picture, a run beside it with DropTail, and the name of its path.

    Args:
        name: Name as `ackclock list queues` prints it.
    """
    entry = STANDARD["queues"].get(name, {})
    path = entry.get("path", "wide")
    queue = entry.get("queue", name)
    first, second = entry.get("flows", ["cubic", "cubic"])
    one = {"name": "first", "controller": first}
    other = {"name": "second", "controller": second, "start": _start(path)}
    both = Run(f"first: {first}; second: {second}, from {_start(path)} on", [one, other], path, queue)
    reference = None if name == "drop_tail" else Run("drop_tail", [one, other], path, "1 bdp")
    return [Run(f"one flow of {first}", [one], path, queue), both], reference, path

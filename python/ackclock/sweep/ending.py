"""What a sweep's folder comes to, for people: a table of means with intervals, and figures over its axes."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ackclock.estimates import estimate
from ackclock.reading import DamagedError
from ackclock.studies.plan import value_text
from ackclock.studies.quantities import is_wide, scale
from ackclock.tables import Column, Estimate, Table

if TYPE_CHECKING:
    from ackclock.studies.drawn import Drawn

_MEANS: Final = (
    Column("goodput_bps", "goodput", "Mbit/s", factor=1e-6),
    Column("throughput_bps", "sent", "Mbit/s", factor=1e-6),
    Column("rtt_ms_mean", "RTT", "ms"),
    Column("rtt_ms_p95", "RTT p95", "ms"),
    Column("retransmitted_segments", "resent", "segments"),
    Column("timeouts", "timeouts"),
    Column("completion_s", "complete", "s"),
    Column("jain_index", "Jain"),
    Column("utilization", "link used", "%", factor=100.0),
    Column("queueing_delay_ms_mean", "queueing", "ms"),
)
_OF_LINK: Final = ("utilization", "queueing_delay_ms_mean")
_FIGURES: Final = ("goodput_bps", "rtt_ms_mean", "utilization", "queueing_delay_ms_mean")

_Key = tuple[str, ...]


@dataclass(frozen=True)
class Sweep:
    """A finished sweep.

    Attributes:
        path: Its folder.
        axes: The swept parameters, the seed left out, and the values of each.
        constants: What was set to one value.
        seeds: The seeds.
        scenario: What its first point says of itself: name and duration.
        rows: As of sweep.parquet, with the figures of the bottleneck of the run.
    """

    path: Path
    axes: Mapping[str, Sequence[Any]]
    constants: Mapping[str, Any]
    seeds: Sequence[Any]
    scenario: str
    rows: Sequence[Mapping[str, Any]]

    @property
    def about(self) -> str:
        """What was run, as far as the folder tells."""
        profiles = dict.fromkeys(str(row["profile"]) for row in self.rows if row.get("profile"))
        parts = [
            self.scenario,
            *(f"{key} {value_text(value)}" for key, value in self.constants.items()),
            *(f"{key} {', '.join(map(value_text, values))}" for key, values in self.axes.items()),
            f"profile {', '.join(profiles)}" if profiles else "",
            f"{len(self.seeds)} seeds" if len(self.seeds) != 1 else f"seed {self.seeds[0]}",
        ]
        return "; ".join(part for part in parts if part)

    @cached_property
    def titles(self) -> dict[str, str]:
        """What tables and figures call each axis: the end of its path, as far as it tells it from the others."""
        found = {}
        for axis in self.axes:
            parts = axis.split(".")
            ends = (".".join(parts[-length:]) for length in range(1, len(parts) + 1))
            found[axis] = next(end for end in ends if sum(other.endswith(end) for other in self.axes) == 1)
        return found

    @cached_property
    def groups(self) -> dict[_Key, list[Mapping[str, Any]]]:
        """The rows of each combination and flow, over the seeds."""
        found: dict[_Key, list[Mapping[str, Any]]] = {}
        for row in self.rows:
            key = (*(value_text(row[axis]) for axis in self.axes), str(row["flow"]), str(row["controller"]))
            found.setdefault(key, []).append(row)
        return found

    @property
    def table(self) -> Table:
        """Means over the seeds with 95 % confidence intervals."""
        names = [*self.axes, "flow", "controller"]
        rows = [
            dict(zip(names, key, strict=True))
            | {"seeds": len(group)}
            | {column.key: estimate(row.get(column.key) for row in group) for column in _MEANS}
            for key, group in self.groups.items()
        ]
        wanted = [column for column in _MEANS if any(row[column.key] is not None for row in rows)]
        columns = [Column(name, self.titles.get(name, name), is_text=True) for name in names]
        notes = ("Means over the seeds with 95 % confidence intervals (Student's t).",) if len(self.seeds) > 1 else ()
        return Table("means over the seeds", self.about, [*columns, Column("seeds", "seeds"), *wanted], rows, notes)

    def figures(self) -> "Iterator[Drawn]":
        """Return the figures over each axis that is a number; without any, dots of goodput."""
        for axis, values in self.axes.items():
            known = scale(self.titles[axis], values)
            if known:
                for column in _MEANS:
                    if column.key in _FIGURES:
                        yield from self._over(
                            axis, dict(zip(map(value_text, values), known[0], strict=True)), known[1], column
                        )

    def _over(self, axis: str, where: Mapping[str, float], label: str, column: Column) -> "Iterator[Drawn]":
        from ackclock.figures import Axis, over
        from ackclock.figures.grid import MOST_PANELS
        from ackclock.studies.drawn import Drawn

        names = list(self.axes)
        place = names.index(axis)
        panels: dict[str, dict[str, list[tuple[float, Estimate]]]] = {}
        for key, group in self.groups.items():
            found = estimate(row.get(column.key) for row in group)
            if found is None:
                continue
            others = [f"{self.titles[name]} {key[at]}" for at, name in enumerate(names) if at != place]
            line = "the link" if column.key in _OF_LINK else key[-2] if key[-1] in key[-2] else f"{key[-2]} ({key[-1]})"
            points = panels.setdefault(", ".join(others), {}).setdefault(line, [])
            if where[key[place]] not in {at for at, _ in points}:
                points.append((where[key[place]], found.scaled(column.factor)))
        curves = {title: [_curve(name, points) for name, points in lines.items()] for title, lines in panels.items()}
        items = list(curves.items())
        x, y = Axis(label, is_log=is_wide(list(where.values()))), Axis(column.heading, low=0.0)
        for at in range(0, len(items), MOST_PANELS):
            page = dict(items[at : at + MOST_PANELS])
            suffix = f"-{at // MOST_PANELS + 1}" if len(items) > MOST_PANELS else ""
            name = f"{column.title.lower().replace(' ', '-')}-over-{self.titles[axis].replace('.', '-')}{suffix}"
            caption = f"Mean {column.title} over {self.titles[axis]}; bars: 95 % confidence intervals over seeds."
            yield Drawn(name, caption, lambda page=page: over(page, x, y))  # type: ignore[misc]


def _curve(name: str, points: Sequence[tuple[float, Estimate]]) -> Any:  # noqa: ANN401  loaded where it is used
    from ackclock.figures import Curve

    ordered = sorted(points, key=lambda point: point[0])
    halves = [0.0 if found.half is None else found.half for _, found in ordered]
    return Curve(name, [at for at, _ in ordered], [found.mean for _, found in ordered], halves if any(halves) else None)


def is_sweep(folder: Path) -> bool:
    """Say whether a folder is one of a sweep that has ended.

    Args:
        folder: Any.
    """
    return (folder / "sweep.json").is_file() and (folder / "sweep.parquet").is_file()


def load_sweep(folder: str | Path) -> Sweep:
    """Read a sweep's folder; nothing is simulated.

    Args:
        folder: That `ackclock sweep` wrote.

    Raises:
        FileNotFoundError: If it is none, or has not ended.
        DamagedError: If a file in it is not as it was written.
    """
    path = Path(folder)
    if not is_sweep(path):
        raise FileNotFoundError(f"{path} holds no finished sweep: there is no sweep.parquet in it")
    remedy = "give the same command again: the points that are done are kept"
    try:
        parameters = json.loads((path / "sweep.json").read_text(encoding="utf-8"))["parameters"]
        rows = _rows(path, list(parameters))
    except (ValueError, KeyError, TypeError, OSError) as error:
        raise DamagedError(path, str(error), remedy) from error
    seeds = parameters.pop("seed", [1])
    axes = {key: values for key, values in parameters.items() if len(values) > 1}
    constants = {key: values[0] for key, values in parameters.items() if len(values) == 1 and key != "trace"}
    return Sweep(path, axes, constants, seeds, _scenario(path, parameters), rows)


def _scenario(path: Path, parameters: Mapping[str, Any]) -> str:
    """What was run, by one of its points; what is swept is not said of it."""
    for file in sorted((path / "points").glob("*.json"))[:1]:
        summary = json.loads(file.read_text(encoding="utf-8"))["summary"]
        duration = "" if "duration" in parameters else f"; {summary['duration_s']:g} s"
        return f"{summary['scenario']}{duration}"
    return ""


def _rows(path: Path, parameters: Sequence[str]) -> list[dict[str, Any]]:
    import polars as pl

    flows, links = (pl.read_parquet(path / f"{name}.parquet") for name in ("sweep", "links"))
    keys = [name for name in parameters if name in flows.columns]
    bottleneck = "bottleneck" if "bottleneck" in links["link"].to_list() else None
    if bottleneck:
        links = links.filter(pl.col("link") == bottleneck)
    best = links.sort("utilization", descending=True).unique(subset=keys, keep="first", maintain_order=True)
    return flows.join(best.select(*keys, *_OF_LINK), on=keys, how="left", maintain_order="left").to_dicts()

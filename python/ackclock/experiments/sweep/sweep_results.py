"""Results of a sweep: a table of means with intervals, and figures over its axes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ackclock.base.checked_files import DamagedError, content, frame, inside
from ackclock.experiments.store import TABLES, Record, SweepFolder, said_place
from ackclock.experiments.studies.study_captions import axes_in_words
from ackclock.experiments.sweep import tidy_tables
from ackclock.experiments.sweep.connections import CONNECTIONS, NOTE, averaged
from ackclock.experiments.sweep.tidy_tables import by_cell, over_window
from ackclock.plotting.tables import Column, Table
from ackclock.results.manifests import VirtualTime
from ackclock.results.run_labels import distinct
from ackclock.scenario.setting_values import value_key, value_text
from ackclock.stats.bottlenecks import ranked, whose
from ackclock.stats.estimates import estimate, over_seeds
from ackclock.stats.flow_limits import LIMITS, buffer, buffer_notes

if TYPE_CHECKING:
    import polars as pl

    from ackclock.experiments.figure_list import Drawn

MEANS: Final = tuple(
    replace(column, low=0.0)
    for column in (
        Column("goodput_bps", "goodput", "Mbit/s", factor=1e-6),
        Column("throughput_bps", "sent", "Mbit/s", factor=1e-6),
        Column("rtt_ms_mean", "RTT", "ms"),
        Column("rtt_ms_p95", "RTT p95", "ms"),
        Column("added_latency_ms_mean", "added latency", "ms"),
        Column("added_latency_ms_p99", "added p99", "ms"),
        Column("retransmitted_segments", "resent", "segments"),
        Column("timeouts", "timeouts"),
        Column("completion_s", "completed at", "s"),
        Column("completed", "completed", "runs", is_text=True),
        Column("jain_index", "Jain", high=1.0),
        Column("utilization", "link used", "%", factor=100.0, high=1.0),
        Column("queueing_delay_ms_mean", "queueing", "ms"),
    )
)
_WINDOW: Final = (
    "Rates of a run are over one time: from the first flow's start, or the beginning of `measure` if that is later, to "
    "the end of the measurement, or to the moment at which the last flow was over."
)
OF_LINK: Final = ("utilization", "queueing_delay_ms_mean")
LINK: Final = "measured_link"
"""Key of a row with the name of its measured link."""


@dataclass(frozen=True)
class Group:
    """Rows of one combination and flow, over the seeds."""

    values: Mapping[str, Any]
    flow: str
    controller: str
    rows: Sequence[Mapping[str, Any]]

    @property
    def who(self) -> str:
        """Flow and controller."""
        return self.flow if self.controller in self.flow else f"{self.flow} ({self.controller})"


@dataclass(frozen=True)
class Sweep:
    """Finished sweep.

    Attributes:
        path: Folder of the sweep.
        axes: Swept parameters other than the seed, with the values of each.
        constants: Parameters with a single value.
        seeds: The seeds.
        scenario: Description by the first point: name and duration.
        rows: Rows of sweep.parquet, with groups of connections averaged; with the metrics of the most limiting link,
            the same one for all.
        on: Kernel that they ran on, in virtual time; None for the simulator.
    """

    path: Path
    axes: Mapping[str, Sequence[Any]]
    constants: Mapping[str, Any]
    seeds: Sequence[Any]
    scenario: str
    rows: Sequence[Mapping[str, Any]]
    on: VirtualTime | None = None

    @property
    def title(self) -> str:
        """Title of the page: the name of the folder."""
        return f"sweep {self.path.resolve().name}"

    @property
    def about(self) -> str:
        """Description of the runs, as far as the folder records it."""
        profiles = dict.fromkeys(str(row["profile"]) for row in self.rows if row.get("profile"))
        parts = [
            self.scenario,
            *(f"{key} {value_text(value)}" for key, value in self.constants.items()),
            *axes_in_words(self.axes, [group.values for group in self.groups]),
            f"profile {', '.join(profiles)}" if profiles else "",
            f"{len(self.seeds)} seeds" if len(self.seeds) != 1 else f"seed {self.seeds[0]}",
            "" if self.on is None else said_place(self.on),
        ]
        return "; ".join(part for part in parts if part)

    @cached_property
    def titles(self) -> dict[str, str]:
        """Label of each axis in tables and figures: the shortest unambiguous end of its path."""
        found = {}
        taken = {"flow", "controller", "seeds", *(column.title for column in MEANS)}
        for axis in self.axes:
            parts = axis.split(".")
            ends = (".".join(parts[-length:]) for length in range(1, len(parts)))
            free = (end for end in ends if end not in taken)
            alone = (end for end in free if sum(f".{other}".endswith(f".{end}") for other in self.axes) == 1)
            found[axis] = next(alone, axis)
        return found

    @cached_property
    def _texts(self) -> dict[tuple[str, str], str]:
        """Text of each value of each axis in tables and figures, unique within an axis."""
        return {
            (axis, value_key(value)): text
            for axis, values in self.axes.items()
            for value, text in zip(values, distinct([value_text(value) for value in values]), strict=True)
        }

    def text(self, axis: str, value: Any) -> str:  # noqa: ANN401
        """Return the text of a value in tables and figures."""
        return self._texts.get((axis, value_key(value)), value_text(value))

    @cached_property
    def groups(self) -> list[Group]:
        """Return the rows of each combination and flow, over the seeds."""
        found: dict[tuple[str, ...], list[Mapping[str, Any]]] = {}
        for row in self.rows:
            key = (*(value_key(row[axis]) for axis in self.axes), str(row["flow"]), str(row["controller"]))
            found.setdefault(key, []).append(row)
        return [
            Group({axis: rows[0][axis] for axis in self.axes}, flow, controller, rows)
            for (*_, flow, controller), rows in found.items()
        ]

    @property
    def table(self) -> Table:
        """Return the means over seeds with 95 % confidence intervals."""
        names = [*self.axes, "flow", "controller"]
        rows = [
            {axis: self.text(axis, value) for axis, value in group.values.items()}
            | {"flow": group.flow, "controller": group.controller, "seeds": len(group.rows)}
            | {
                column.key: estimate(row.get(column.key) for row in group.rows)
                for column in MEANS
                if not column.is_text
            }
            | {"completed": _completed(group.rows)}
            for group in self.groups
        ]
        wanted = [column for column in MEANS if any(row[column.key] is not None for row in rows)]
        columns = [Column(name, self.titles.get(name, name), is_text=True) for name in names]
        notes = over_seeds(len(self.seeds))
        columns += [Column("seeds", "seeds"), *wanted]
        link = whose(row[LINK] for row in self.rows)
        limits = buffer_notes(
            (group.who, buffer(_limits(row)))
            for group in self.groups
            for row in group.rows
            for _ in range(row.get(CONNECTIONS, 1))
        )
        groups = (NOTE,) if any(", mean of " in group.flow for group in self.groups) else ()
        return Table("means over the seeds", self.about, columns, rows, (*notes, *groups, _WINDOW, *link, *limits))

    @property
    def tables(self) -> list[Table]:
        """Table of means."""
        return [self.table]

    def figures(self) -> "Iterator[Drawn]":
        """Return goodput over delay, and means over each numeric axis, or dot plots without any."""
        from ackclock.experiments.figure_list import distinctly
        from ackclock.experiments.sweep.sweep_figures import figures

        return distinctly(figures(self))


def _limits(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the shares of `limited_by` as columns; an appliance limits a sender by its window."""
    taken = row.get("added_latency_ms_mean") is not None
    return {} if taken else {key: row.get(f"limited_by_{key}") for key in LIMITS}


def _completed(rows: Sequence[Mapping[str, Any]]) -> str | None:
    """Return a note on how many runs a flow finished in, which its mean completion time covers; None if in none."""
    known = sum(row.get("completion_s") is not None for row in rows)
    return f"{known} of {len(rows)}" if known else None


def is_sweep(folder: Path) -> bool:
    """Return whether a folder is that of a finished sweep."""
    return (folder / "sweep.json").is_file() and (folder / "sweep.parquet").is_file()


def load_sweep(folder: str | Path) -> Sweep:
    """Load a sweep's folder; nothing is simulated.

    Raises:
        FileNotFoundError: If it is not the folder of a finished sweep.
        DamagedError: If a file in it is damaged.
    """
    path = Path(folder)
    if not is_sweep(path):
        raise FileNotFoundError(f"{path} holds no finished sweep: it has no sweep.parquet")
    store = SweepFolder(path)
    grid = store.grid()
    parameters = dict(grid["parameters"])
    records = store.records()
    rows = averaged(list(_restored(_rows(_tables(store, records), list(parameters)), parameters)), list(parameters))
    seeds = parameters.pop("seed", [1])
    axes = {key: values for key, values in parameters.items() if len(values) > 1}
    constants = {key: values[0] for key, values in parameters.items() if len(values) == 1 and key != "trace"}
    return Sweep(path, axes, constants, seeds, _scenario(records, parameters), rows, grid.get("on"))


def _restored(
    rows: Sequence[Mapping[str, Any]], parameters: Mapping[str, Sequence[Any]]
) -> Iterator[Mapping[str, Any]]:
    """Yield rows with the requested values of parameters, in place of their column values."""
    asked = {key: by_cell(values) for key, values in parameters.items()}
    for row in rows:
        yield {**row, **{key: known.get(row[key], row[key]) for key, known in asked.items() if key in row}}


_REMEDY: Final = "run the same command again: finished points are kept"


def _scenario(records: Sequence[Record], parameters: Mapping[str, Any]) -> str:
    """Return a description of the scenario from one of its points, without swept values."""
    if not records:
        return ""
    summary = records[0]["summary"]
    duration = "" if "duration" in parameters else f"; {summary['duration_s']:g} s"
    return f"{summary['scenario']}{duration}"


def _tables(store: SweepFolder, records: Sequence[Record]) -> "dict[str, pl.DataFrame]":
    """Return the tables of the folder, checked against its points: these are signed, tables are not.

    Points with the same scenario share a file, which has the parameters of one of them; then only the form is checked.
    """
    read: dict[str, pl.DataFrame] = {}
    for name in TABLES:
        file = inside(store.path, store.table(name).name, _REMEDY)
        if name != "groups" or file.exists():
            read[name] = frame(content(file, None, _REMEDY), file, _REMEDY)
    of_points = [(record.get("parameters"), record["summary"]) for record in records]
    rows = [(parameters, summary) for parameters, summary in of_points if parameters is not None]
    are_all = len(rows) == len({record["scenario_hash"] for record in records}) == len(records)
    expected = tidy_tables.tables(rows) if are_all and rows else {}
    for name, table in read.items():
        if name in expected and not _are_alike(table, expected[name]):
            raise DamagedError(store.table(name), "it does not match the points of the sweep", _REMEDY)
    return read


def _are_alike(table: "pl.DataFrame", expected: "pl.DataFrame") -> bool:
    """Return whether two tables have the same rows in their common columns; other versions may have more columns."""
    common = [column for column in table.columns if column in expected.columns]
    if not common:
        return table.is_empty() and expected.is_empty()
    return table.select(common).equals(expected.select(common))


def _rows(tables: "Mapping[str, pl.DataFrame]", parameters: Sequence[str]) -> list[dict[str, Any]]:
    import polars as pl

    flows, links = (over_window(tables[name]) for name in ("sweep", "links"))
    keys = [name for name in parameters if name in links.columns]
    limits = ranked(tables["links"].select("link", *OF_LINK).fill_null(0.0).iter_rows())
    place = pl.col("link").replace_strict(limits, range(len(limits)), return_dtype=pl.Int64)
    best = links.sort(place, maintain_order=True).unique(subset=keys, keep="first", maintain_order=True)
    of_link = best.select(*keys, pl.col("link").alias(LINK), *OF_LINK)
    if flows.is_empty():  # short flows and media alone: what the link tells
        return of_link.with_columns(flow=pl.lit("-"), controller=pl.lit("-")).to_dicts()
    return flows.join(of_link, on=keys, how="left", maintain_order="left").to_dicts()

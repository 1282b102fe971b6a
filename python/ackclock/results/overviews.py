"""Series of a result folder, downsampled for a page: a quick sample first, then exact minima and maxima.

Files are not copied. The first picture samples rows at even distances, whose cost does not grow with the file. The
exact picture has the minimum and the maximum of each interval of time, one interval per column of the page. It reads
every row of the requested time in pieces, and stops when another time is requested. Rows of a series are ordered by
time. Checksums of the manifest are not verified, as that alone would read every file.
"""

import threading
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock.base import storage
from ackclock.base.checked_files import DamagedError, content, document
from ackclock.results.result_files import REMEDY

if TYPE_CHECKING:
    import polars as pl

NAMED_BY = {"flows": "flow", "links": "link", "media": "flow"}
"""Tables with series, and the column that names the flow or link."""

PLACES = 50
"""Number of rows sampled for the first picture."""

MOST_ROWS = 20_000
"""Largest number of rows that are shown without sampling."""

MOST_NAMES = 64
_PIECE_ROWS = 1 << 20


class OverviewError(ValueError):
    """Error: nothing can be shown; the message says why."""


class SupersededError(RuntimeError):
    """Interruption: the page asked for another part of the time."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Request of a page.

    Attributes:
        table: One of `NAMED_BY`.
        columns: Columns of that table.
        begin_s: Beginning of the requested time, seconds.
        end_s: End of the requested time, seconds.
        parts: Number of intervals that the time is divided into.
    """

    table: str
    columns: tuple[str, ...]
    begin_s: float
    end_s: float
    parts: int


class Overviews:
    """The series of one folder."""

    def __init__(self, folder: Path) -> None:
        """Open the folder; no column is read.

        Raises:
            OverviewError: If the folder has no series.
        """
        import polars as pl

        self._folder = folder
        self._tables: dict[str, pl.LazyFrame] = {}
        for name, by in NAMED_BY.items():
            file = folder / f"{name}.parquet"
            if not file.is_file():
                continue
            try:
                columns = pl.read_parquet_schema(file)
            except (pl.exceptions.PolarsError, OSError) as error:
                raise DamagedError(file, f"it cannot be read ({error})", "run the scenario again") from error
            if "time_s" in columns and by in columns:
                self._tables[name] = pl.scan_parquet(file, glob=False)
        if not self._tables:
            raise OverviewError(f"{folder} has no series: it has none of {', '.join(f'{n}.parquet' for n in NAMED_BY)}")
        self._counts: dict[str, int] = {}
        self._times: dict[tuple[str, int], float] = {}
        self._lock = threading.Lock()
        self._latest: dict[str, int] = {}

    def about(self) -> dict[str, Any]:
        """Return the data for a page's first load: names, tables with their columns and row counts, and time range."""
        tables = {}
        for name, table in self._tables.items():
            rows = self._rows(name)
            first, last = (self._time(name, row) for row in (0, rows - 1)) if rows else (0.0, 0.0)
            tables[name] = {"columns": _columns(table), "rows": rows, "begin_s": first, "end_s": last}
        file = self._folder / storage.MANIFEST
        manifest = document(content(file, None, REMEDY), file, dict[str, Any], REMEDY)
        scenario = manifest.get("scenario")
        scenario = scenario if isinstance(scenario, dict) else {}
        return {"folder": self._folder.name, "name": scenario.get("name", ""), "tables": tables}

    def first_look(self, asked: Asked) -> dict[str, Any]:
        """Return rows sampled at even distances, or all rows if there are few."""
        import polars as pl

        table = self._of(asked)
        low, high = self._span(asked)
        if high - low <= MOST_ROWS:
            return self._shown(table.slice(low, high - low).collect(), asked, is_exact=True)
        width = min(self._names_in_step(table, asked, low), MOST_NAMES)
        starts = [low + place * (high - low - width) // (PLACES - 1) for place in range(PLACES)]
        looks = [table.slice(start, width).collect() for start in starts]
        return self._shown(pl.concat(looks).unique(maintain_order=True), asked, is_exact=False)

    def whole(self, asked: Asked) -> dict[str, Any]:
        """Return the minimum and maximum of every column in each interval, taken over all rows.

        Raises:
            SupersededError: If another part of the time was requested meanwhile.
        """
        import polars as pl

        number = self._begin(asked.table)
        table = self._of(asked)
        low, high = self._span(asked)
        if high - low <= MOST_ROWS:
            return self._shown(table.slice(low, high - low).collect(), asked, is_exact=True)
        pieces: list[pl.DataFrame] = []
        for start in range(low, high, _PIECE_ROWS):
            if self._latest[asked.table] != number:
                raise SupersededError(f"another part of {asked.table} was asked for")
            pieces.append(_extremes(table.slice(start, min(_PIECE_ROWS, high - start)).collect(), asked))
        return self._shown(_as_rows(_merged(pieces, asked), asked), asked, is_exact=True)

    def _of(self, asked: Asked) -> "pl.LazyFrame":
        table = self._tables.get(asked.table)
        if table is None:
            raise OverviewError(f"unknown table {asked.table!r}; known: {', '.join(self._tables)}")
        known = _columns(table)
        unknown = [column for column in asked.columns if column not in known]
        if unknown or not asked.columns or len(set(asked.columns)) < len(asked.columns):
            what = ", ".join(unknown) or ("(none named)" if not asked.columns else "twice")
            raise OverviewError(f"{asked.table} has no column {what}; known: {', '.join(known)}")
        return table.select("time_s", NAMED_BY[asked.table], *asked.columns)

    def _begin(self, table: str) -> int:
        with self._lock:
            self._latest[table] = self._latest.get(table, 0) + 1
            return self._latest[table]

    def _rows(self, name: str) -> int:
        import polars as pl

        if name not in self._counts:
            self._counts[name] = int(self._tables[name].select(pl.len()).collect().item())
        return self._counts[name]

    def _time(self, name: str, row: int) -> float:
        """Return the time of a row, cached because searches ask for the same few rows again and again."""
        if (name, row) not in self._times:
            self._times[name, row] = float(self._tables[name].select("time_s").slice(row, 1).collect().item())
        return self._times[name, row]

    def _span(self, asked: Asked) -> tuple[int, int]:
        """Return the range of rows within the requested time."""
        rows, time_s = range(self._rows(asked.table)), partial(self._time, asked.table)
        return bisect_left(rows, asked.begin_s, key=time_s), bisect_right(rows, asked.end_s, key=time_s)

    @staticmethod
    def _names_in_step(table: "pl.LazyFrame", asked: Asked, low: int) -> int:
        return int(table.select(NAMED_BY[asked.table]).slice(low, 4 * MOST_NAMES).collect().to_series().n_unique())

    @staticmethod
    def _shown(rows: "pl.DataFrame", asked: Asked, *, is_exact: bool) -> dict[str, Any]:
        """Return the columns side by side over one time axis, with null where a flow or link has no value."""
        by = NAMED_BY[asked.table]
        names: Sequence[str] = rows[by].unique(maintain_order=True).to_list()[:MOST_NAMES]
        times = rows.select("time_s").unique().sort("time_s")
        series: dict[str, dict[str, list[float | None]]] = {column: {} for column in asked.columns}
        for name in names:
            own = rows.filter(rows[by] == name).unique(subset="time_s", keep="first")
            beside = times.join(own, on="time_s", how="left", maintain_order="left")
            for column in asked.columns:
                series[column][name] = _finite(beside[column])
        return {"time_s": times["time_s"].to_list(), "series": series, "is_exact": is_exact}


def _columns(table: "pl.LazyFrame") -> list[str]:
    """Return the numeric columns, which can be drawn over time."""
    return [name for name, kind in table.collect_schema().items() if kind.is_numeric() and name != "time_s"]


def _finite(values: "pl.Series") -> list[float | None]:
    """Return values as JSON can hold them: NaN and infinity, which user-written code may report, become null."""
    return [value if value is not None and isfinite(value) else None for value in values.to_list()]


def _extremes(rows: "pl.DataFrame", asked: Asked) -> "pl.DataFrame":
    import polars as pl

    scale = asked.parts / (asked.end_s - asked.begin_s)
    part = ((pl.col("time_s") - asked.begin_s) * scale).floor().clip(0, asked.parts - 1).cast(pl.UInt32).alias("part")
    ends = pl.col(asked.columns).min().name.suffix(".least"), pl.col(asked.columns).max().name.suffix(".greatest")
    return rows.lazy().group_by(NAMED_BY[asked.table], part).agg(ends).collect()


def _merged(pieces: "list[pl.DataFrame]", asked: Asked) -> "pl.DataFrame":
    import polars as pl

    ends = pl.col("^.*\\.least$").min(), pl.col("^.*\\.greatest$").max()
    return pl.concat(pieces).lazy().group_by(NAMED_BY[asked.table], "part").agg(ends).collect()


def _as_rows(merged: "pl.DataFrame", asked: Asked) -> "pl.DataFrame":
    """Return two rows per interval: the minimum at its first quarter, the maximum at its third."""
    import polars as pl

    by, width = NAMED_BY[asked.table], (asked.end_s - asked.begin_s) / asked.parts
    halves = [
        merged.select(
            (asked.begin_s + (pl.col("part") + offset) * width).alias("time_s"),
            by,
            *(pl.col(f"{column}.{end}").alias(column) for column in asked.columns),
        )
        for offset, end in ((0.25, "least"), (0.75, "greatest"))
    ]
    return pl.concat(halves)

"""Reader of a folder of recorded flows: `summary.csv` with a row for each flow, and `data/` with the samples."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from ackclock.base import input_files
from ackclock.stats.metrics import Flags, Floats

from .series import FlowSeries, QueueSeries

FOLDER = Path(__file__).parent / "recordings" / "linux-6.18"
"""Recordings of the package; a checkout has a link `validation` to the parent folder."""

SETTINGS: dict[str, type[pl.DataType]] = {
    "scenario": pl.String,
    "rep": pl.Int64,
    "flow": pl.Int64,
    "cc": pl.String,
    "rtt_ms": pl.Float64,
    "rate_mbps": pl.Float64,
    "queue_pkts": pl.Int64,
    "window_scaling": pl.Int64,
    "gso1": pl.Int64,
    "hystart": pl.Int64,
    "secs": pl.Float64,
    "flow_t0_minus_emulator_t0_s": pl.Float64,
}
"""Columns of `summary.csv` from which a scenario is built."""
POSITIVE = ("rtt_ms", "rate_mbps", "secs")
"""Columns whose values must be above 0."""

FLOW_COLUMNS = (
    "t_s", "cwnd_pkts", "ssthresh_pkts", "srtt_us", "ca_state", "retrans_total", "bytes_acked",
)  # fmt: skip
QUEUE_COLUMNS = ("t_s", "queue_pkts")

_NOT_SET = 2_147_483_647
"""Value of Linux's ssthresh while it is arbitrarily high."""
_REDUCED = 2
"""First congestion state in which the window is reduced: CWR, followed by recovery and loss."""


class RecordingError(ValueError):
    """Error: a folder is not a folder of recordings. The message has the place and the remedy."""


@dataclass(frozen=True, slots=True)
class FlowSettings:
    """Settings of one flow in all repetitions.

    Attributes:
        flow: Number of the flow in its run.
        cc: Linux's name of the controller.
        rtt_ms: Two-way propagation delay.
        hystart: Whether CUBIC's HyStart is on.
        window_scaling: Whether both ends offer window scaling.
        tso: Whether several segments may be sent as one burst.
    """

    flow: int
    cc: str
    rtt_ms: float
    hystart: bool
    window_scaling: bool
    tso: bool


@dataclass(frozen=True, slots=True)
class PathSettings:
    """Settings of the bottleneck, and the duration of the recording."""

    rate_mbps: float
    queue_packets: int
    secs: float


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """Repetition of a recording.

    Attributes:
        rep: Number of the repetition.
        starts_s: Time of each flow's SYN, the earliest at 0.
        flows: Samples of each flow.
        queue: Samples of the bottleneck; None without such a file.
    """

    rep: int
    starts_s: tuple[float, ...]
    flows: tuple[FlowSeries, ...]
    queue: QueueSeries | None


@dataclass(frozen=True, slots=True)
class Recording:
    """Repetitions with the same settings.

    Attributes:
        name: Name of the setting.
        path: Settings of the bottleneck.
        flows: Settings of each flow.
        runs: Repetitions with samples.
        without_samples: Repetitions that are only in `summary.csv`.
    """

    name: str
    path: PathSettings
    flows: tuple[FlowSettings, ...]
    runs: tuple[RecordedRun, ...]
    without_samples: tuple[int, ...]

    def offsets_s(self) -> list[float]:
        """Return the delay of each flow's start after the first flow's, in the first repetition."""
        up_s = [start + flow.rtt_ms / 1000 for start, flow in zip(self.runs[0].starts_s, self.flows, strict=True)]
        return [time_s - up_s[0] for time_s in up_s]


def load(folder: Path, only: Sequence[str] = ()) -> list[Recording]:
    """Read the recordings of a folder, in the order of its `summary.csv`.

    Args:
        folder: Folder with `summary.csv` and `data`.
        only: Names of scenarios; empty for all.

    Raises:
        RecordingError: If something is missing, damaged or contradictory, or a scenario is unknown.
    """
    texts = tuple(name for name, kind in SETTINGS.items() if kind is pl.String)
    summary = read_table(folder / "summary.csv", tuple(SETTINGS), texts=texts, positive=POSITIVE).with_columns(
        pl.col(name).cast(kind) for name, kind in SETTINGS.items()
    )
    names = summary["scenario"].unique(maintain_order=True).to_list()
    unknown = [name for name in only if name not in names]
    if unknown:
        raise RecordingError(f"{folder} has no scenario {', '.join(unknown)}; it has: {', '.join(names)}")
    wanted = [name for name in names if not only or name in only]
    return [_recording(folder, name, summary.filter(pl.col("scenario") == name)) for name in wanted]


def _recording(folder: Path, name: str, rows: pl.DataFrame) -> Recording:
    by_rep: dict[int, list[dict[str, float | str]]] = defaultdict(list)
    for row in rows.sort("rep", "flow").iter_rows(named=True):
        by_rep[int(row["rep"])].append(row)
    for rep, run in by_rep.items():
        _check_numbering(folder, name, rep, [int(row["flow"]) for row in run])
    settings = {tuple(_flow_settings(row) for row in run) for run in by_rep.values()}
    paths = {_path_settings(row) for run in by_rep.values() for row in run}
    if len(settings) > 1 or len(paths) > 1:
        raise RecordingError(
            f"{folder / 'summary.csv'}: the repetitions of {name} differ; name each setting differently"
        )
    complete = {rep: run for rep, run in by_rep.items() if all(_flow_file(folder, row).exists() for row in run)}
    runs = tuple(_run(folder, name, rep, run) for rep, run in complete.items())
    return Recording(name, paths.pop(), settings.pop(), runs, tuple(rep for rep in by_rep if rep not in complete))


def _check_numbering(folder: Path, name: str, rep: int, flows: list[int]) -> None:
    twice = sorted({flow for flow in flows if flows.count(flow) > 1})
    if twice:
        raise RecordingError(
            f"{folder / 'summary.csv'}: repetition {rep} of {name} has two rows for flow {twice[0]}; "
            "keep one, or give each flow and each repetition a number of its own"
        )


def _flow_file(folder: Path, row: dict[str, float | str]) -> Path:
    return folder / "data" / f"{row['scenario']}.r{row['rep']}.flow{row['flow']}.{row['cc']}.csv.gz"


def _flow_settings(row: dict[str, float | str]) -> FlowSettings:
    return FlowSettings(
        flow=int(row["flow"]),
        cc=str(row["cc"]),
        rtt_ms=float(row["rtt_ms"]),
        hystart=bool(row["hystart"]),
        window_scaling=bool(row["window_scaling"]),
        tso=not row["gso1"],
    )


def _path_settings(row: dict[str, float | str]) -> PathSettings:
    return PathSettings(float(row["rate_mbps"]), int(row["queue_pkts"]), float(row["secs"]))


def _run(folder: Path, name: str, rep: int, rows: list[dict[str, float | str]]) -> RecordedRun:
    up_s = [float(row["flow_t0_minus_emulator_t0_s"]) for row in rows]
    syn_s = [up - float(row["rtt_ms"]) / 1000 for up, row in zip(up_s, rows, strict=True)]
    starts_s = tuple(round(time_s - min(syn_s), 6) for time_s in syn_s)
    flows = tuple(flow_series(read_table(_flow_file(folder, row), FLOW_COLUMNS), row["secs"]) for row in rows)
    file = folder / "data" / f"{name}.r{rep}.queue.csv.gz"
    queue = _queue_series(read_table(file, QUEUE_COLUMNS), up_s[0]) if file.exists() else None
    return RecordedRun(rep, starts_s, flows, queue)


def flow_series(table: pl.DataFrame, secs: float | str) -> FlowSeries:
    """Return the samples of one flow's file.

    Args:
        table: Table with `FLOW_COLUMNS`.
        secs: Duration of the flow's recording.
    """
    ssthresh = _floats(table, "ssthresh_pkts")
    return FlowSeries(
        time_s=_floats(table, "t_s"),
        cwnd_segments=_floats(table, "cwnd_pkts"),
        ssthresh_segments=np.where(ssthresh >= _NOT_SET, np.nan, ssthresh),
        srtt_ms=_floats(table, "srtt_us") / 1000,
        in_recovery=in_recovery(table),
        acked_bytes=_floats(table, "bytes_acked"),
        secs=float(secs),
        retransmitted=int(table["retrans_total"][-1]),
    ).thinned()


def in_recovery(table: pl.DataFrame) -> Flags:
    """Return where the window is reduced for congestion.

    Args:
        table: Table with the column `ca_state`.
    """
    return np.asarray(table["ca_state"].to_numpy() >= _REDUCED)


def _queue_series(table: pl.DataFrame, up_s: float) -> QueueSeries:
    """Return the queue on its first flow's clock, without earlier samples."""
    time_s = _floats(table, "t_s") - up_s
    return QueueSeries(time_s[time_s >= 0], _floats(table, "queue_pkts")[time_s >= 0])


def _floats(table: pl.DataFrame, column: str) -> Floats:
    return table[column].cast(pl.Float64).to_numpy()


def read_table(
    file: Path, columns: tuple[str, ...], *, texts: tuple[str, ...] = (), positive: tuple[str, ...] = ()
) -> pl.DataFrame:
    """Read columns of a CSV file, compressed or not.

    Args:
        file: Path of the file.
        columns: Required columns.
        texts: Columns with arbitrary text; the others are numeric.
        positive: Columns whose numbers must be above 0.

    Raises:
        RecordingError: If it is missing, damaged, empty or lacks a column, or a cell has a wrong value.
    """
    try:
        content = input_files.unpacked(file, remedy="a folder of recordings has summary.csv and data/")
        table = pl.read_csv(content, infer_schema_length=None)
    except input_files.InputFileError as error:
        raise RecordingError(str(error)) from error
    except (pl.exceptions.PolarsError, OSError) as error:
        raise RecordingError(f"{file} is not a table: {error}; copy it anew") from error
    missing = [column for column in columns if column not in table.columns]
    if missing or table.is_empty():
        what = f"has no column {', '.join(missing)}" if missing else "has no rows"
        raise RecordingError(f"{file} {what}; record it as the README of {FOLDER.name} says")
    for column in columns:
        if column not in texts:
            _check_numbers(file, table[column], positive=column in positive)
    return table.select(columns)


def _check_numbers(file: Path, cells: pl.Series, *, positive: bool) -> None:
    """Check the numbers; the first row is on line 2, below the column names."""
    numbers = cells.cast(pl.Float64, strict=False)
    accepted = numbers.is_finite() & (numbers > 0 if positive else True)
    wrong = (~accepted.fill_null(value=False)).arg_true()
    if wrong.len():
        row = wrong[0]
        value = "empty" if cells[row] is None else repr(cells[row])
        wanted = "a number above 0" if positive else "a number"
        raise RecordingError(f"{file}, line {row + 2}: {cells.name} is {value}; {wanted} is wanted")

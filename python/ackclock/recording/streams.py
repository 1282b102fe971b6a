"""Recorded connections in the form of results: one stream for each direction that carried data."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np

from ackclock.base.checked_files import WHOLE_BELOW
from ackclock.base.input_files import InputFileError
from ackclock.results import Results, no_tables
from ackclock.results.manifests import Manifest, Recording
from ackclock.results.summaries import Distribution, LimitShares, RunSummary
from ackclock.stats.metrics import Floats

if TYPE_CHECKING:
    import polars as pl

SAMPLE_S: Final = 0.1
"""Interval of rates, seconds; between two ACKs they would be mere noise."""

SERIES: Final = (
    "cwnd_bytes", "ssthresh_bytes", "flight_size_bytes", "srtt_s", "rttvar_s", "rtt_sample_s", "min_rtt_s",
    "rwnd_bytes", "throughput_bps", "goodput_bps", "delivery_rate_bps", "pacing_rate_bps",
)  # fmt: skip
"""Columns of a recording's flows, beside time and flow; those that the source lacks are left out."""


class RecordingError(InputFileError):
    """Error: a file is not a readable recording. The message has file, place and remedy."""


@dataclass(slots=True)
class Episode:
    """Congestion episode, as far as observed; None for unknown values."""

    cause: str
    time_s: float
    duration_s: float | None = None
    cwnd_before_bytes: float | None = None
    cwnd_after_bytes: float | None = None
    ssthresh_before_bytes: float | None = None
    ssthresh_after_bytes: float | None = None
    lost_segments: int | None = None


@dataclass(slots=True)
class Stream:
    """Data sent by one end of a connection; times in seconds since the recording began, None for unknown values."""

    name: str
    start_s: float
    end_s: float
    controller: str | None = None
    completion_s: float | None = None
    goodput_bps: float | None = None
    throughput_bps: float | None = None
    delivered_bytes: int | None = None
    sent_segments: int | None = None
    retransmitted_segments: int | None = None
    lost_segments: int | None = None
    timeouts: int | None = None
    fast_recoveries: int | None = None
    limited_by: LimitShares | None = None
    rtt_ms: Distribution | None = None
    mss_bytes: int | None = None
    series: dict[str, Floats] = field(default_factory=dict)
    """Series: `time_s` and some of `SERIES`, all of the same length; NaN for missing values."""
    episodes: list[Episode] = field(default_factory=list)

    def summary(self) -> dict[str, Any]:
        """Entry of `summary.json`."""
        keys = (
            "name", "controller", "start_s", "completion_s", "goodput_bps", "throughput_bps", "delivered_bytes",
            "sent_segments", "retransmitted_segments", "lost_segments", "timeouts", "fast_recoveries",
        )  # fmt: skip
        rest = {"aborted": False, "limited_by": self.limited_by, "rtt_ms": self.rtt_ms}
        return {key: getattr(self, key) for key in keys} | rest


_SURPLUS: Final = 1.1
"""Factor by which delivered may exceed sent data, as the two may be counted over different times."""


def check(streams: Sequence[Stream], path: Path, recording: Recording) -> None:
    """Check that streams are plausible: numbers finite and not negative, and no more delivered than sent.

    Args:
        streams: Streams of one recording; one that delivered more than was sent loses its goodput.
        path: Path of the recording.
        recording: Its entry of the manifest, which gets a note on that.

    Raises:
        RecordingError: If a number is impossible.
    """
    for stream in streams:
        told = stream.summary() | {"duration": stream.end_s - stream.start_s, **(stream.rtt_ms or {})}
        told["mss_bytes"] = stream.mss_bytes
        for name, value in told.items():
            if isinstance(value, int | float):
                _check_numbers(np.array([value], dtype=float), name, stream, path)
            if isinstance(value, int) and value >= WHOLE_BELOW:
                raise RecordingError(
                    f"{path}: {stream.name}: {name} must be less than 2^64, and is {value}; record anew"
                )
        for name, values in stream.series.items():
            _check_numbers(values, name, stream, path)
        goodput, sent = stream.goodput_bps, stream.throughput_bps
        if goodput is not None and sent is not None and goodput > _SURPLUS * sent:
            stream.goodput_bps = stream.delivered_bytes = None
            stream.series.pop("goodput_bps", None)
            recording["notes"].append(f"{stream.name}: goodput is left out, for more was acknowledged than was sent")


def _check_numbers(values: Floats, name: str, stream: Stream, path: Path) -> None:
    """Refuse negative and infinite numbers; NaN stands for a missing value."""
    wrong = values[(values < 0) | np.isinf(values)]
    if wrong.size:
        raise RecordingError(f"{path}: {stream.name}: {name} must not be {wrong[0]:g}; record anew")


def recording_of(form: str, records: int, notes: Sequence[str], **known: Any) -> Recording:  # noqa: ANN401
    """Return the manifest's entry of a recording, with None for unknown values.

    Args:
        form: Kind of the recording.
        records: Number of records, packets or reports read.
        notes: Unknowns and assumptions.
        known: Known values, by the keys of `Recording`.
    """
    told: Recording = {
        "form": form, "release": None, "began_unix_s": None, "records": records, "missed": None, "cpu_s": None,
        "tracepoints_cpu_s": None, "notes": list(notes),
    }  # fmt: skip
    return cast(Recording, told | known)


def distribution_ms(samples_s: Floats) -> Distribution | None:
    """Return samples in seconds as a distribution in milliseconds; None without any.

    Args:
        samples_s: The samples; NaN are left out.
    """
    known = samples_s[~np.isnan(samples_s)] * 1e3
    if not known.size:
        return None
    p50, p95, p99 = (float(value) for value in np.percentile(known, (50, 95, 99)))
    return {"min": float(known.min()), "mean": float(known.mean()), "p50": p50, "p95": p95, "p99": p99}


def received(name: str, time_s: Floats, octets: Floats, **known: Any) -> Stream:  # noqa: ANN401
    """Return a stream whose receiver counted the data that arrived.

    Args:
        name: Name of the stream.
        time_s: Times of the samples.
        octets: Number of octets by each time.
        known: Further facts about the stream.
    """
    stream = Stream(name, float(time_s[0]), float(time_s[-1]), **known)
    stream.delivered_bytes = int(octets[-1] - octets[0])
    stream.goodput_bps = rate(stream.delivered_bytes, stream.end_s - stream.start_s)
    stream.series = {"time_s": time_s, "goodput_bps": rates(time_s, octets)}
    return stream


def rate(octets: float | None, seconds: float) -> float | None:
    """Return octets over a time as bits per second; None if either is unknown."""
    return None if octets is None or seconds <= 0 else 8.0 * octets / seconds


def rates(time_s: Floats, octets: Floats) -> Floats:
    """Return the rate of a cumulative count, once per `SAMPLE_S`; NaN in between.

    Examples:
        >>> rates(np.array([0.0, 0.04, 0.11, 0.14]), np.array([0.0, 500.0, 1000.0, 1375.0])).tolist()
        [nan, 100000.0, nan, 70000.0]
    """
    found = np.full(time_s.size, math.nan)
    if time_s.size < 2:
        return found
    bins = np.floor(time_s / SAMPLE_S)
    last = np.append(np.flatnonzero(np.diff(bins)), time_s.size - 1)
    before = np.concatenate([[0], last[:-1]])
    elapsed, gone = time_s[last] - time_s[before], octets[last] - octets[before]
    is_known = elapsed > 0
    found[last[is_known]] = 8.0 * gone[is_known] / elapsed[is_known]
    return found


def results(name: str, streams: Sequence[Stream], duration_s: float, recording: Recording) -> Results:
    """Return streams as results.

    Args:
        name: Name of the recording.
        streams: The streams; duplicate names are numbered.
        duration_s: Duration of the recording.
        recording: Entry of the manifest.
    """
    import polars as pl

    _number_alike(streams)
    goodputs = [stream.goodput_bps for stream in streams]
    summary = {
        "scenario": name,
        "seed": None,
        "duration_s": duration_s,
        "jain_index": _jain([value for value in goodputs if value is not None]) if None not in goodputs else None,
        "flows": [stream.summary() for stream in streams],
        "links": [],
    }
    links = pl.DataFrame(schema={"time_s": pl.Float64, "link": pl.String})
    tables = no_tables() | {"flows": _flows(streams), "links": links, "episodes": _episodes(streams)}
    origin = cast(Manifest, {"recording": recording, "versions": _versions()})
    return Results(lambda: cast(RunSummary, summary), origin, tables.__getitem__)


def _number_alike(streams: Sequence[Stream]) -> None:
    taken: set[str] = set()
    for stream in streams:
        name, number = stream.name, 1
        while stream.name in taken:
            number += 1
            stream.name = f"{name} ({number})"
        taken.add(stream.name)


def _jain(goodputs: Sequence[float]) -> float | None:
    most = max(goodputs, default=0.0)
    if most <= 0:
        return None
    shares = [one / most for one in goodputs]  # which have squares, however small a goodput is
    return sum(shares) ** 2 / (len(shares) * sum(share * share for share in shares))


def _versions() -> dict[str, str]:
    import platform

    import polars as pl

    from ackclock.base.version import __version__

    return {"ackclock": __version__, "python": platform.python_version(), "polars": pl.__version__}


def _flows(streams: Sequence[Stream]) -> "pl.DataFrame":
    """Return all series in order of time; a column that no stream has is left out."""
    import polars as pl

    kept = [column for column in SERIES if any(column in stream.series for stream in streams)]
    schema = {"time_s": pl.Float64, "flow": pl.String} | dict.fromkeys(kept, pl.Float64)
    parts = [pl.DataFrame(schema=schema)]
    for stream in (one for one in streams if "time_s" in one.series):
        columns = {name: values for name, values in stream.series.items() if name in schema}
        parts.append(pl.DataFrame(columns).with_columns(pl.lit(stream.name).alias("flow")))
    return (
        pl.concat(parts, how="diagonal_relaxed")
        .with_columns(pl.col(kept).fill_nan(None))
        .sort("time_s", maintain_order=True)
    )


def _episodes(streams: Sequence[Stream]) -> "pl.DataFrame":
    import polars as pl

    sizes = [f"{what}_{when}_bytes" for what in ("cwnd", "ssthresh") for when in ("before", "after")]
    schema: dict[str, Any] = {"flow": pl.String, "cause": pl.String, "time_s": pl.Float64}
    schema |= dict.fromkeys(sizes, pl.Float64) | {"lost_segments": pl.UInt64, "marked_segments": pl.UInt64}
    schema |= {"duration_s": pl.Float64, "spurious": pl.Boolean}
    rows = [
        {"flow": stream.name}
        | {key: getattr(episode, key, None) for key in schema if key not in ("flow", "marked_segments", "spurious")}
        for stream in streams
        for episode in stream.episodes
    ]
    return pl.DataFrame(rows, schema=schema).sort("time_s", maintain_order=True)


def name_of(path: Path) -> str:
    """Return the name of a recording in a file."""
    return path.name.split(".")[0] or path.name

"""Reader of `iperf3 --json` and `--json-stream` reports: the client's data of each interval and of the whole test.

Source: reports of iperf 3.12, generated for this project: `intervals[].streams[]` with `bytes`, `retransmits`,
`snd_cwnd`, `snd_wnd` (octets), `rtt` and `rttvar` (microseconds), `end.streams[].sender` and `.receiver`,
`end.sender_tcp_congestion`. `--json-stream` (since 3.17) writes `start`, each of `intervals` and `end` as `{"event":
..., "data": ...}` in a line of its own. Text before the report, such as a warning, is skipped, and so are messages of
iperf3 after it. A test that was stopped early has the intervals until then, and a note with the reason.

Departures: the RTT is the smoothed one at the end of each interval. A report has no single samples, hence there is no
distribution. The payload of a sender is what it wrote to its socket, which may buffer it. Reports of UDP are refused.
"""

import codecs
import math
import re
from pathlib import Path
from typing import Any, Final, NotRequired, TypedDict

import numpy as np

from ackclock.base.checked_files import mismatch
from ackclock.base.decoding import decoded
from ackclock.base.input_files import octets
from ackclock.recording.streams import RecordingError, Stream, recording_of
from ackclock.results.manifests import Recording

_MICRO: Final = 1e-6

_NOTES: Final = [
    "iperf3 reports the smoothed RTT at the end of each interval; losses, timeouts and episodes are unknown",
    "bytes sent are those that the program wrote to its socket",
]


def read(path: Path) -> tuple[list[Stream], float, Recording]:
    """Read a report.

    Raises:
        RecordingError: If it is not a report, or one of UDP, or of a test that failed before its first interval.
    """
    report = _report(path)
    start: dict[str, Any] = dict(report["start"])
    end: dict[str, Any] = dict(report.get("end") or {})
    intervals = report.get("intervals")
    if not intervals:
        raise RecordingError(f"{path}: intervals is missing or empty; record with iperf3 --json --interval 0.1")
    rows = _rows(intervals, path)
    streams = [_stream(socket, rows[socket], start, end) for socket in rows]
    lasted = max(stream.end_s for stream in streams)
    early = [f"the test was ended early: {report['error'][:200]}"] if report.get("error") else []
    began_s = (start.get("timestamp") or {}).get("timesecs")
    about = recording_of("iperf3", len(intervals), [*_NOTES, *early], release=_release(start), began_unix_s=began_s)
    return streams, lasted, about


class _Row(TypedDict):
    socket: int
    start: float
    end: float
    bytes: float
    omitted: NotRequired[bool]
    sender: NotRequired[bool]
    snd_cwnd: NotRequired[float]
    snd_wnd: NotRequired[float]
    rtt: NotRequired[float]
    rttvar: NotRequired[float]


class _Interval(TypedDict):
    streams: NotRequired[list[_Row]]


class _Half(TypedDict):
    socket: NotRequired[int]
    bytes: NotRequired[int]
    bits_per_second: NotRequired[float]
    retransmits: NotRequired[int]


class _Whole(TypedDict):
    sender: NotRequired[_Half | None]
    receiver: NotRequired[_Half | None]


class _End(TypedDict):
    streams: NotRequired[list[_Whole]]
    sender_tcp_congestion: NotRequired[str]


class _Connected(TypedDict):
    socket: int
    local_host: str
    local_port: int
    remote_host: str
    remote_port: int


class _Timestamp(TypedDict):
    timesecs: NotRequired[float]


class _Test(TypedDict):
    protocol: NotRequired[str]


class _Start(TypedDict):
    connected: NotRequired[list[_Connected]]
    timestamp: NotRequired[_Timestamp]
    test_start: NotRequired[_Test]
    tcp_mss_default: NotRequired[int]
    system_info: NotRequired[str]


class _Report(TypedDict):
    """Parts of a report that are read."""

    start: _Start
    intervals: NotRequired[list[_Interval]]
    end: NotRequired[_End | None]
    error: NotRequired[str]


BEGIN: Final = re.compile(rb"^\{\s*(\"start\"|\"event\"|$)", re.MULTILINE)
"""First bytes of a report."""

_AFTER: Final = re.compile(rb"(\n\s*iperf3: [^\n]*)+\s*\Z")
"""Messages after the report."""


def _report(path: Path) -> _Report:
    whole = octets(path, remedy="give one report of `iperf3 --json`").removeprefix(codecs.BOM_UTF8)
    begin = BEGIN.search(whole)
    content = _AFTER.sub(b"", whole[begin.start() :] if begin else whole)
    before = whole.count(b"\n", 0, begin.start()) if begin else 0
    try:
        lines = content.splitlines()
        found = _of_events(lines) if b'"event"' in lines[0] else decoded(content.decode(errors="replace"))
    except ValueError as error:
        number = before + getattr(error, "lineno", 1)
        said = getattr(error, "msg", error)
        raise RecordingError(
            f"{path}, line {number}: this is not JSON ({said}); give one report of `iperf3 --json`, or a trace of "
            "ackclock-kernel, that is whole"
        ) from error
    if not isinstance(found, dict) or "start" not in found:
        raise RecordingError(
            f"{path} is JSON, but neither a report of iperf3 (it has no start) nor a trace of ackclock-kernel"
        )
    _check_kind(found, path)
    if wrong := mismatch(_Report, found) or _impossible(found):
        raise RecordingError(f"{path}: {wrong}; is the file complete? Give a report of `iperf3 --json`")
    report: _Report = found  # type: ignore[assignment]  # it has the form
    return report


def _check_kind(report: dict[str, Any], path: Path) -> None:
    """Refuse a test that failed before its first interval, or used UDP."""
    if report.get("error") and not report.get("intervals"):
        raise RecordingError(f"{path}: iperf3 says that it failed: {str(report['error'])[:200]}")
    start = report["start"]
    test = start.get("test_start") if isinstance(start, dict) else None
    protocol = test.get("protocol", "TCP") if isinstance(test, dict) else "TCP"
    if protocol != "TCP":
        raise RecordingError(f"{path}: start.test_start.protocol is {str(protocol)[:20]}; only reports of TCP are read")


def _of_events(lines: list[bytes]) -> dict[str, Any]:
    """Return the report assembled from the lines of `--json-stream`."""
    found: dict[str, Any] = {"intervals": []}
    for number, line in enumerate(lines, start=1):
        try:
            event = decoded(line) if line.strip() else {}
        except ValueError as error:
            raise ValueError(f"line {number} of the events: {error}") from error
        name, data = (event.get("event"), event.get("data")) if isinstance(event, dict) else (None, None)
        if name == "interval":
            found["intervals"].append(data)
        elif isinstance(name, str):
            found[name] = data
    return found


def _impossible(report: dict[str, Any]) -> str | None:
    """Return the first impossible number of an interval, with its place."""
    for place, interval in enumerate(report.get("intervals", [])):
        for index, row in enumerate(interval.get("streams", [])):
            at = f"intervals[{place}].streams[{index}]"
            for key in ("start", "bytes", "snd_cwnd", "snd_wnd", "rtt", "rttvar"):
                if row.get(key, 0) < 0:
                    return f"{at}.{key} must not be negative, and is {row[key]:g}"
            if row["end"] < row["start"]:
                return f"{at}.end must not be before its start, and is {row['end']:g}"
    return None


def _rows(intervals: list[_Interval], path: Path) -> dict[int, list[_Row]]:
    """Return the reports on each socket, in order."""
    found: dict[int, list[_Row]] = {}
    for row in (row for interval in intervals for row in interval.get("streams", [])):
        if not row.get("omitted"):
            found.setdefault(row["socket"], []).append(row)
    if not found:
        raise RecordingError(f"{path}: no interval has a stream; record with iperf3 --json")
    return found


def _stream(socket: int, rows: list[_Row], start: dict[str, Any], end: dict[str, Any]) -> Stream:
    name = _name(socket, rows, start)
    time_s = np.array([row["end"] for row in rows], dtype=float)
    whole: dict[str, Any] = next(
        (one for one in end.get("streams") or () if (one.get("sender") or {}).get("socket") == socket), {}
    )
    sender, receiver = whole.get("sender") or {}, whole.get("receiver") or {}
    is_sender = bool(rows[0].get("sender", True))
    stream = Stream(name, float(rows[0]["start"]), float(time_s[-1]), mss_bytes=start.get("tcp_mss_default"))
    stream.controller = end.get("sender_tcp_congestion")
    stream.delivered_bytes = receiver.get("bytes")
    stream.goodput_bps = receiver.get("bits_per_second")
    stream.throughput_bps = sender.get("bits_per_second")
    stream.retransmitted_segments = sender.get("retransmits")
    rates = np.array(
        [8.0 * row["bytes"] / (row["end"] - row["start"]) if row["end"] > row["start"] else math.nan for row in rows]
    )
    stream.series = {"time_s": time_s} | (
        {"throughput_bps": rates} | _state(rows) if is_sender else {"goodput_bps": rates}
    )
    return stream


def _state(rows: list[_Row]) -> dict[str, Any]:
    columns = {
        "cwnd_bytes": ("snd_cwnd", 1.0),
        "rwnd_bytes": ("snd_wnd", 1.0),
        "srtt_s": ("rtt", _MICRO),
        "rttvar_s": ("rttvar", _MICRO),
    }
    found = {
        column: np.array([row.get(key, math.nan) for row in rows], dtype=float) * factor
        for column, (key, factor) in columns.items()
    }
    return {column: values for column, values in found.items() if not np.isnan(values).all()}


def _name(socket: int, rows: list[_Row], start: dict[str, Any]) -> str:
    for one in start.get("connected") or ():
        if one.get("socket") == socket:
            local = f"{one.get('local_host')}:{one.get('local_port')}"
            remote = f"{one.get('remote_host')}:{one.get('remote_port')}"
            return f"{local} > {remote}" if rows[0].get("sender", True) else f"{remote} > {local}"
    return f"socket {socket}"


def _release(start: dict[str, Any]) -> str | None:
    """Return the kernel release in a string `Linux HOST RELEASE VERSION MACHINE`."""
    words = str(start.get("system_info", "")).split()
    return words[2] if len(words) > 2 and words[0] == "Linux" else None

"""A report of `iperf3 --json` as streams: what its client says of each interval, and of the whole.

Source: reports of iperf 3.12, as they were made here: `intervals[].streams[]` with `bytes`, `retransmits`,
`snd_cwnd`, `snd_wnd` (octets), `rtt` and `rttvar` (microseconds), `end.streams[].sender` and `.receiver`,
`end.sender_tcp_congestion`.

Departures: the round trip is the smoothed one at the end of each interval; single samples are not in a report, so
that there is no distribution. What a sender is told to have sent is what it wrote to its socket, which may hold it
for a while. Reports of UDP are refused.
"""

import json
import math
from pathlib import Path
from typing import Any, Final

import numpy as np

from ackclock.manifests import Recording
from ackclock.recording.streams import RecordingError, Stream

_MICRO: Final = 1e-6

_NOTES: Final = [
    "of round trips iperf3 tells smoothed ones at the ends of intervals; losses, timeouts, episodes are not known",
    "what was sent is what the program wrote to its socket",
]


def read(path: Path) -> tuple[list[Stream], float, Recording]:
    """Read a report.

    Args:
        path: The file.

    Raises:
        RecordingError: If it is none, or one of UDP, or of a test that failed.
    """
    report = _report(path)
    start, end = _part(report, "start", path), _part(report, "end", path) if report.get("end") else {}
    protocol = _part(start, "test_start", path).get("protocol", "TCP") if "test_start" in start else "TCP"
    if report.get("error"):
        raise RecordingError(f"{path}: iperf3 says that it failed: {report['error']}")
    if protocol != "TCP":
        raise RecordingError(f"{path}: start.test_start.protocol is {protocol}; only reports of TCP are read")
    intervals = report.get("intervals")
    if not isinstance(intervals, list) or not intervals:
        raise RecordingError(f"{path}: intervals is missing or empty; record with iperf3 --json --interval 0.1")
    rows = _rows(intervals, path)
    streams = [_stream(socket, rows[socket], start, end) for socket in rows]
    lasted = max(stream.end_s for stream in streams)
    about: Recording = {
        "form": "iperf3",
        "release": _release(start),
        "began_unix_s": (start.get("timestamp") or {}).get("timesecs"),
        "records": len(intervals),
        "missed": None,
        "cpu_s": None,
        "tracepoints_cpu_s": None,
        "notes": list(_NOTES),
    }
    return streams, lasted, about


def _report(path: Path) -> dict[str, Any]:
    text = path.read_text(encoding="utf-8", errors="replace")
    try:
        found = json.loads(text)
    except json.JSONDecodeError as error:
        raise RecordingError(
            f"{path}, line {error.lineno}: this is no JSON ({error.msg}); give one report of `iperf3 --json` in a file"
        ) from error
    if not isinstance(found, dict) or "start" not in found:
        raise RecordingError(
            f"{path} is JSON, but neither a report of iperf3 (it has no start) nor a trace of ackclock-kernel"
        )
    return found


def _part(whole: dict[str, Any], name: str, path: Path) -> dict[str, Any]:
    part = whole.get(name)
    if not isinstance(part, dict):
        raise RecordingError(f"{path}: {name} is missing, or no object; give a report of `iperf3 --json`")
    return part


def _objects(found: Any) -> list[dict[str, Any]]:  # noqa: ANN401  whatever JSON can say
    """The objects of a list; nothing of what is none."""
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _rows(intervals: list[Any], path: Path) -> dict[int, list[dict[str, Any]]]:
    """The reports on each socket, in order."""
    found: dict[int, list[dict[str, Any]]] = {}
    for place, interval in enumerate(intervals):
        for index, row in enumerate(interval.get("streams", []) if isinstance(interval, dict) else []):
            for key in ("socket", "start", "end", "bytes"):
                if not isinstance(row, dict) or not isinstance(row.get(key), (int, float)):
                    raise RecordingError(
                        f"{path}: intervals[{place}].streams[{index}].{key} is no number; is the file whole?"
                    )
            if not row.get("omitted"):
                found.setdefault(row["socket"], []).append(row)
    if not found:
        raise RecordingError(f"{path}: no interval has a stream; record with iperf3 --json")
    return found


def _stream(socket: int, rows: list[dict[str, Any]], start: dict[str, Any], end: dict[str, Any]) -> Stream:
    name = _name(socket, rows, start)
    time_s = np.array([row["end"] for row in rows], dtype=float)
    whole: dict[str, Any] = next(
        (one for one in _objects(end.get("streams")) if (one.get("sender") or {}).get("socket") == socket), {}
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


def _state(rows: list[dict[str, Any]]) -> dict[str, Any]:
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


def _name(socket: int, rows: list[dict[str, Any]], start: dict[str, Any]) -> str:
    for one in _objects(start.get("connected")):
        if one.get("socket") == socket:
            local = f"{one.get('local_host')}:{one.get('local_port')}"
            remote = f"{one.get('remote_host')}:{one.get('remote_port')}"
            return f"{local} > {remote}" if rows[0].get("sender", True) else f"{remote} > {local}"
    return f"socket {socket}"


def _release(start: dict[str, Any]) -> str | None:
    """Out of `Linux HOST RELEASE VERSION MACHINE`."""
    words = str(start.get("system_info", "")).split()
    return words[2] if len(words) > 2 and words[0] == "Linux" else None

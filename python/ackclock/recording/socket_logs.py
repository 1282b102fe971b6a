r"""Logs of `ss -tin`, repeated with a time before each, as streams.

    while sleep 0.1; do date +%s.%N; ss -tin dst 192.0.2.1; done > ss.log

Source: the output of iproute2's `ss` for `TCP_INFO`, as observed (6.1) and remembered from its `misc/ss.c`. A time
stands on a line by itself or before every line (as `ts %.s` of moreutils does it): seconds since 1970, or the format of
`date --iso-8601=ns`.

A line without numbers is not a sample: its connection is closed, and the kernel has dropped its counters. A listening
socket is not a connection. Where counters decrease, the ports were reused by another connection.

The limits of a sender are its socket's counters from the first to the last sample (`busy`, `rwnd_limited`,
`sndbuf_limited`; ss omits zeros).

Departures: flight size is in whole segments. Round-trip times are smoothed ones; single samples, losses, timeouts and
episodes are not in a log. Acknowledged octets include SYN and FIN, and are limited by the data sent.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Final

import numpy as np

from ackclock.base.input_files import lines
from ackclock.recording.streams import RecordingError, Stream, rate, rates, received, recording_of
from ackclock.results.manifests import Recording
from ackclock.stats.flow_limits import of_socket
from ackclock.stats.metrics import Floats

_SECONDS: Final = re.compile(r"(\d{9,11}(?:[.,]\d+)?)(?:\s|$)")
_ISO: Final = re.compile(r"(\d{4}-\d\d-\d\dT\S+)(?:\s|$)")
_HEADINGS: Final = ("State", "Recv-Q", "Netid")
_CONNECTION: Final = re.compile(r"(?:[A-Za-z][\w-]*\s+){0,2}\d+\s+\d+\s+(\S+):(\S+)\s+(\S+):(\S+)(?:\s+(.*))?$")
_STATES: Final = ("LISTEN", "UNCONN")
"""States of sockets without a connection."""

_FLAGS: Final = ("ts", "sack", "ecn", "ecnseen", "fastopen", "usec_ts")
_RATES: Final = ("pacing_rate", "delivery_rate")
_UNITS: Final = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}

_REMEDY: Final = "log it so: while sleep 0.1; do date +%s.%N; ss -tin; done > ss.log"

_NOTES: Final = ["ss reports the smoothed RTT only; RTT samples, lost segments, timeouts and episodes are unknown"]


@dataclass(slots=True)
class _Connection:
    local: str
    remote: str
    controller: str | None = None
    times: list[float] = field(default_factory=list)
    samples: list[dict[str, float]] = field(default_factory=list)

    def column(self, name: str) -> Floats:
        return np.array([sample.get(name, math.nan) for sample in self.samples])


def read(path: Path) -> tuple[list[Stream], float, Recording]:
    """Read a log.

    Raises:
        RecordingError: If a line is not understood, or no time precedes a sample.
    """
    connections: dict[tuple[str, str], _Connection] = {}
    current: _Connection | None = None
    time_s: float | None = None
    first_s = last_s = 0.0
    count = 0
    for number, written in enumerate(_lines(path), start=1):
        place = f"{path}, line {number}"
        given, line = _timed(written, place)
        if given is not None:
            if time_s is not None and given < time_s:
                raise RecordingError(
                    f"{place}: this time is before that of the sample above it; the clock was set back"
                )
            first_s = given if time_s is None else first_s
            time_s = last_s = given
        if not line.strip() or line.split()[0] in _HEADINGS:
            continue
        if line[0].isspace() and current is not None:
            _take(current, line, place)
            continue
        current, rest = _connection(line, connections, place)
        if time_s is None:
            raise RecordingError(f"{place}: a time must precede this sample; {_REMEDY}")
        current.times.append(time_s - first_s)
        current.samples.append({})
        count += bool(current.local)
        _take(current, rest, place)
    if not connections:
        raise RecordingError(f"{path} has no connection; {_REMEDY}")
    lives = (life for connection in connections.values() for life in _lives(connection))
    streams = [stream for life in lives for stream in _streams(life)]
    if not streams:
        raise RecordingError(
            f"{path}: no connection sent or received anything between two samples; sample more often, or for longer"
        )
    return streams, last_s - first_s, recording_of("sockets", count, _NOTES, began_unix_s=first_s)


def _lines(path: Path) -> Iterator[str]:
    for line in lines(path, remedy="give the file of a log"):
        yield line.decode(errors="replace").rstrip("\r\n")


def _timed(line: str, place: str) -> tuple[float | None, str]:
    """Return the time at the beginning of a line, if there is one, and the rest."""
    if found := _SECONDS.match(line):
        return float(found[1].replace(",", ".")), line[found.end() :]
    if found := _ISO.match(line):
        try:
            return datetime.fromisoformat(found[1].replace(",", ".")).timestamp(), line[found.end() :]
        except ValueError as error:
            raise RecordingError(f"{place}: {found[1]!r} is not a time ({error}); write it with date +%s.%N") from error
    return None, line


def _connection(line: str, known: dict[tuple[str, str], _Connection], place: str) -> tuple[_Connection, str]:
    if any(word in _STATES for word in line.split()[:2]):  # the kind of socket may stand before its state
        return _Connection("", ""), ""
    found = _CONNECTION.match(line)
    if found is None:
        raise RecordingError(f"{place}: {line.strip()[:60]!r} is not a line of `ss -tin`; {_REMEDY}")
    if not (found[2].isdigit() and found[4].isdigit()):
        raise RecordingError(f"{place}: ports are names; log numbers, with -n: {_REMEDY}")
    local, remote = f"{found[1]}:{found[2]}", f"{found[3]}:{found[4]}"
    return known.setdefault((local, remote), _Connection(local, remote)), found[5] or ""


def _lives(connection: _Connection) -> Iterator[_Connection]:
    """Yield the consecutive connections that used the same ports."""
    kept = [(at, sample) for at, sample in zip(connection.times, connection.samples, strict=True) if sample]
    life: _Connection | None = None
    for at, sample in kept:
        before = life.samples[-1] if life else sample
        if life is None or any(sample.get(name, 0.0) < before.get(name, 0.0) for name in _COUNTS):
            if life is not None:
                yield life
            life = _Connection(connection.local, connection.remote, connection.controller)
        life.times.append(at)
        life.samples.append(sample)
    if life is not None:
        yield life


_COUNTS: Final = ("bytes_sent", "bytes_acked", "bytes_received", "bytes_retrans", "data_segs_out")


def _take(connection: _Connection, line: str, place: str) -> None:
    """Add the data of a line to the latest sample."""
    sample = connection.samples[-1]
    words = line.split()
    for index, word in enumerate(words):
        key, colon, value = word.partition(":")
        if not colon:
            if word in _RATES and index + 1 < len(words):
                sample[word] = _rate(words[index + 1], place)
            continue
        if key in ("wscale", "rto") and index and ":" not in words[index - 1] and words[index - 1] not in _FLAGS:
            connection.controller = words[index - 1]
        _number(sample, key, value, place)


def _number(sample: dict[str, float], key: str, value: str, place: str) -> None:
    """Parse one `key:value`; a value `a/b` has two parts."""
    if key in _TIMES:
        sample[key] = _plain(value.partition("ms")[0], word=f"{key}:{value}", place=place)
    elif key in ("rtt", "retrans"):
        first, _, second = value.partition("/")
        sample[key], sample[f"{key}/"] = (
            _plain(first, word=f"{key}:{value}", place=place),
            _plain(second or "0", word=value, place=place),
        )
    elif key in _READ:
        sample[key] = _plain(value, word=f"{key}:{value}", place=place)


_TIMES: Final = ("busy", "rwnd_limited", "sndbuf_limited")
"""Keys of times in milliseconds, as in `busy:1510ms rwnd_limited:120ms(7.9%)`."""

_READ: Final = (
    "mss", "cwnd", "ssthresh", "bytes_sent", "bytes_retrans", "bytes_acked", "bytes_received", "data_segs_out",
    "unacked", "snd_wnd", "minrtt",
)  # fmt: skip


def _plain(text: str, *, word: str, place: str) -> float:
    if not _NUMBER.fullmatch(text):
        raise RecordingError(f"{place}: {word!r} has no number where ss prints one; is the line cut?")
    return float(text)


_NUMBER: Final = re.compile(r"\d{1,20}(\.\d{1,20})?")


def _rate(text: str, place: str) -> float:
    found = re.fullmatch(r"(\d{1,20}(?:\.\d{1,20})?)([KMGT]?)bps", text)
    if found is None:
        raise RecordingError(f"{place}: {text!r} is not a rate as ss prints it, such as 10.5Mbps")
    return float(found[1]) * _UNITS[found[2]]


def _streams(connection: _Connection) -> Iterator[Stream]:
    time_s = np.array(connection.times)
    sent, come = connection.column("bytes_sent"), connection.column("bytes_received")
    if _grows(sent) or (np.isnan(sent).all() and _grows(connection.column("bytes_acked"))):
        yield _sent(connection, time_s)
    if _grows(come):
        yield received(f"{connection.remote} > {connection.local}", time_s, np.nan_to_num(come))


def _grows(counts: Floats) -> bool:
    """Return whether a count grows; ss omits zeros."""
    return _grown(counts) > 0


def _grown(counts: Floats) -> float:
    """Return the growth of a count."""
    known = np.nan_to_num(counts)
    return max(0.0, float(known[-1] - known[0]))


def _sent(connection: _Connection, time_s: Floats) -> Stream:
    column = connection.column
    sent, retransmitted = np.nan_to_num(column("bytes_sent")), np.nan_to_num(column("bytes_retrans"))
    acked = np.nan_to_num(column("bytes_acked"))
    has_sent = not np.isnan(column("bytes_sent")).all()
    delivered = np.minimum(acked, sent - retransmitted) if has_sent else acked
    stream = received(f"{connection.local} > {connection.remote}", time_s, delivered, controller=connection.controller)
    elapsed_s = stream.end_s - stream.start_s
    mss = column("mss")
    stream.mss_bytes = None if math.isnan(mss[-1]) else int(mss[-1])
    stream.throughput_bps = rate(sent[-1] - sent[0], elapsed_s) if has_sent else None
    segments, retransmissions = np.nan_to_num(column("data_segs_out")), np.nan_to_num(column("retrans/"))
    stream.sent_segments = int(segments[-1] - segments[0]) if not np.isnan(column("data_segs_out")).all() else None
    stream.retransmitted_segments = int(retransmissions[-1] - retransmissions[0])
    if elapsed_s > 0 and not np.isnan(column("busy")).all():
        stream.limited_by = of_socket(*(min(1.0, _grown(column(name)) / (1e3 * elapsed_s)) for name in _TIMES))
    series = {
        "cwnd_bytes": column("cwnd") * mss,
        "ssthresh_bytes": column("ssthresh") * mss,
        "flight_size_bytes": np.nan_to_num(column("unacked")) * mss,
        "srtt_s": column("rtt") / 1e3,
        "rttvar_s": column("rtt/") / 1e3,
        "min_rtt_s": column("minrtt") / 1e3,
        "rwnd_bytes": column("snd_wnd"),
        "throughput_bps": rates(time_s, sent) if has_sent else np.full(time_s.size, math.nan),
        "delivery_rate_bps": column("delivery_rate"),
        "pacing_rate_bps": column("pacing_rate"),
    }
    series |= stream.series
    stream.series = {name: values for name, values in series.items() if not np.isnan(values).all()}
    return stream

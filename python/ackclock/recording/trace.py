"""Reader of kernel TCP traces, written by `ackclock-kernel record` and `watch`, as streams.

A trace of `ackclock-proxy record` also has a line for each connection, which names its two sockets. Streams of the
client's side are then called `LISTENER NUMBER near`, of the server's side `LISTENER NUMBER far`, followed by both ends.

Source: the kernel's tracepoints `tcp_probe`, `tcp_cong_state_set`, `tcp_retransmit_skb` and `inet_sock_set_state`. An
RTT sample is derived from two values of the smoothed RTT, which the kernel keeps in eighths of a microsecond. Its
filter adds an eighth of the difference (RFC 6298 section 2): s' = s + r - s/8 in these eighths.

Departures: an ACK whose sample equals the smoothed value shows none. Timeouts are counted by entries into the state
of loss.
"""

import codecs
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import numpy as np

from ackclock.base.decoding import decoded
from ackclock.base.input_files import lines, octets
from ackclock.recording.streams import (
    Episode,
    RecordingError,
    Stream,
    distribution_ms,
    rate,
    rates,
    received,
    recording_of,
)
from ackclock.results.manifests import Pair, Recording
from ackclock.stats.metrics import Floats

if TYPE_CHECKING:
    import polars as pl

_NUMBERS: Final = (
    "time_s", "flow", "cwnd_segments", "ssthresh_segments", "srtt_s", "rttvar_s", "min_rtt_s", "inflight_segments",
    "flight_bytes", "lost_total", "retransmissions", "delivery_rate_bps", "pacing_rate_bps", "acked_bytes",
    "sent_bytes", "retransmitted_bytes", "received_bytes", "sent_segments", "duplicates", "rwnd_bytes", "mss_bytes",
)  # fmt: skip
_WHOLE: Final = ("flow", "acked_bytes", "sent_bytes", "retransmitted_bytes", "received_bytes", "sent_segments")

_NEEDED: Final = (
    "kind", "time_s", *_WHOLE, "mss_bytes", "cwnd_segments", "lost_total", "retransmissions", "srtt_s",
)  # fmt: skip
"""Fields of every record of a connection."""

_OF_PAIR: Final = ("flow", "with", "listener", "number")

_REMEDY: Final = "give the file of a trace"

_HEADS: Final = ("begin", "end", "flow", "pair")
"""Kinds of lines that are not records of a connection."""

_CAUSES: Final = {"recovery": "loss", "reduced": "ecn", "loss": "timeout"}
"""Causes of the kernel's congestion states that reduce the window."""

_EIGHTHS: Final = 8e6
"""Units of the kernel's smoothed RTT per second."""


def read(path: Path) -> tuple[list[Stream], float, Recording]:
    """Read a trace.

    Returns:
        The streams, the duration of the recording in seconds, and its entry of the manifest.

    Raises:
        RecordingError: If it is damaged; a missing last line, as after a kill, is accepted.
    """
    table = _table(path)
    heads = {kind: _rows(table, kind) for kind in _HEADS}
    begin, end = ((heads[kind] or [{}])[0] for kind in ("begin", "end"))
    records = table.filter(~table["kind"].is_in(_HEADS))
    if records.is_empty():
        raise RecordingError(f"{path} has no records of a connection; was there any, and did it carry data?")
    # Of a proxy, lines stand where it was known whose they are, which may be behind later ones.
    times_s = records["time_s"].to_numpy()
    first_s, last_s = (head["time_s"] if head else None for head in (begin, end))
    first_s = float(times_s.min()) if first_s is None else first_s
    last_s = float(times_s.max()) if last_s is None else last_s
    known = {row["flow"]: row for row in heads["flow"]}
    places = _places(heads["pair"])
    streams: list[Stream] = []
    pairs = {place.pair: Pair(name=place.pair, near=[], far=[]) for place in places.values()}
    for (number,), rows in records.group_by("flow", maintain_order=True):
        found = _streams(rows.sort("time_s", maintain_order=True), known.get(number) or {}, first_s)
        place = places.get(number)
        for stream in found if place else []:
            assert place is not None
            stream.name = f"{place.pair} {place.side}: {stream.name}"
            pairs[place.pair][place.side].append(stream.name)
        streams += found
    unended = "the recording has no last line: it was cut off, and the number of missed records is unknown"
    told = {key: end.get(key) for key in ("missed", "cpu_s", "tracepoints_cpu_s")}
    told |= {"release": begin.get("release"), "began_unix_s": begin.get("unix_s")}
    about = recording_of("trace", records.height, [] if end else [unended], **told)
    if places:
        streams.sort(key=lambda stream: stream.start_s)
        about["pairs"] = [pair for pair in pairs.values() if pair["near"] or pair["far"]]
    return streams, last_s - first_s, about


class _Place(NamedTuple):
    """Position of a socket in a proxy."""

    pair: str
    side: Literal["near", "far"]


def _places(rows: list[dict[str, Any]]) -> dict[int, _Place]:
    found: dict[int, _Place] = {}
    for row in rows:
        name = f"{row['listener']} {row['number']}"
        found |= {row["flow"]: _Place(name, "near"), row["with"]: _Place(name, "far")}
    return found


def _table(path: Path) -> "pl.DataFrame":
    import polars as pl

    words = ("kind", "state", "local", "remote", "controller", "release", "listener")
    schema: dict[str, Any] = dict.fromkeys(words, pl.String)
    schema |= {name: pl.UInt64 if name in _WHOLE else pl.Float64 for name in _NUMBERS}
    schema |= dict.fromkeys(("unix_s", "cpu_s", "tracepoints_cpu_s"), pl.Float64)
    schema |= dict.fromkeys(("records", "missed", "with", "number"), pl.UInt64)
    content = octets(path, remedy=_REMEDY).removeprefix(codecs.BOM_UTF8)
    try:
        read = pl.read_ndjson(content, schema=schema)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise RecordingError(_damage(path) or f"{path} is not a readable trace ({error})") from error
    _check_keys(path, read.filter(~read["kind"].is_in(_HEADS).fill_null(value=False)), _NEEDED, "record")
    _check_keys(path, read.filter(read["kind"] == "pair"), _OF_PAIR, "pair")
    return read


def _check_keys(path: Path, rows: "pl.DataFrame", needed: Sequence[str], what: str) -> None:
    import polars as pl

    missing = [name for name in needed if rows[name].has_nulls()]
    if missing:
        place = 1 + int(rows.select(pl.any_horizontal(pl.col(missing).is_null()).arg_max()).item())
        raise RecordingError(f"{path}: its {what} {place} has no {missing[0]}; record it anew with this version")


def _damage(path: Path) -> str | None:
    """Return a description of the first line that is not JSON."""
    for number, line in enumerate(lines(path, remedy=_REMEDY), start=1):
        try:
            decoded(line)
        except ValueError as error:
            return f"{path}, line {number}: this is not a record ({error}); cut the line, or record anew"
    return None


def _rows(table: "pl.DataFrame", kind: str) -> list[dict[str, Any]]:
    return table.filter(table["kind"] == kind).to_dicts()


def _streams(rows: "pl.DataFrame", who: dict[str, Any], first_s: float) -> list[Stream]:
    """Return the stream that this end sent and the one that it received, if not empty."""
    time_s = rows["time_s"].to_numpy() - first_s
    octets = {name: rows[name].cast(float).to_numpy() for name in _WHOLE[1:]}
    local, remote = who.get("local") or "?", who.get("remote") or "?"
    found = []
    if octets["sent_bytes"][-1] > octets["sent_bytes"][0]:
        found.append(_sent(f"{local} > {remote}", rows, time_s, octets, who.get("controller")))
    if octets["received_bytes"][-1] > octets["received_bytes"][0]:
        found.append(received(f"{remote} > {local}", time_s, octets["received_bytes"], **_known(rows, time_s)))
    return found


def _known(rows: "pl.DataFrame", time_s: Floats) -> dict[str, Any]:
    is_closed = rows["kind"][-1] == "closed"
    return {"mss_bytes": int(rows["mss_bytes"][-1]), "completion_s": float(time_s[-1]) if is_closed else None}


def _sent(name: str, rows: "pl.DataFrame", time_s: Floats, octets: dict[str, Floats], controller: str | None) -> Stream:
    stream = received(name, time_s, _payload(octets), controller=controller, **_known(rows, time_s))
    sent = octets["sent_bytes"]
    stream.throughput_bps = rate(sent[-1] - sent[0], stream.end_s - stream.start_s)
    for key, column in (
        ("sent_segments", "sent_segments"),
        ("retransmitted_segments", "retransmissions"),
        ("lost_segments", "lost_total"),
    ):
        setattr(stream, key, int(rows[column][-1] - rows[column][0]))
    stream.series = _series(rows) | {"throughput_bps": rates(time_s, sent)} | stream.series
    stream.rtt_ms = distribution_ms(stream.series["rtt_sample_s"])
    states = _states(rows, time_s)
    stream.timeouts = sum(state == "loss" for state, _ in states)
    stream.episodes = _episodes(rows, time_s, states)
    stream.fast_recoveries = sum(episode.cause == "loss" for episode in stream.episodes)
    return stream


def _payload(octets: dict[str, Floats]) -> Floats:
    """Return the acknowledged payload, without SYN and FIN, which the kernel counts."""
    return np.minimum(octets["acked_bytes"], octets["sent_bytes"] - octets["retransmitted_bytes"])


def _series(rows: "pl.DataFrame") -> dict[str, Floats]:
    column = {name: rows[name].cast(float).fill_null(math.nan).to_numpy() for name in _NUMBERS if name not in _WHOLE}
    srtt_s = np.where(column["srtt_s"] > 0, column["srtt_s"], math.nan)
    return {
        "cwnd_bytes": column["cwnd_segments"] * column["mss_bytes"],
        "ssthresh_bytes": column["ssthresh_segments"] * column["mss_bytes"],
        "flight_size_bytes": column["flight_bytes"],
        "srtt_s": srtt_s,
        "rttvar_s": np.where(column["srtt_s"] > 0, column["rttvar_s"], math.nan),
        "rtt_sample_s": samples(column["srtt_s"], is_begun=rows["kind"][0] != "established"),
        "min_rtt_s": np.where(column["srtt_s"] > 0, column["min_rtt_s"], math.nan),
        "rwnd_bytes": column["rwnd_bytes"],
        "delivery_rate_bps": np.where(column["delivery_rate_bps"] > 0, column["delivery_rate_bps"], math.nan),
        "pacing_rate_bps": column["pacing_rate_bps"],
    }


def samples(srtt_s: Floats, *, is_begun: bool = False) -> Floats:
    """Return the RTT samples that smoothed values imply, each at the place of its result.

    Args:
        srtt_s: Smoothed RTT of the kernel, 0 before the first sample.
        is_begun: Whether the connection is older than the first value, which then includes more samples than the
            handshake's.

    Examples:
        A first sample of 80 us is the smoothed value; 160 us after it make 80 + (160 - 80) / 8 = 90 us.

        >>> (1e6 * samples(np.array([0.0, 80e-6, 80e-6, 90e-6]))).round(3).tolist()
        [nan, 80.0, nan, 160.0]
    """
    kept = np.round(srtt_s * _EIGHTHS)
    found = np.full(kept.size, math.nan)
    if not is_begun and kept.size and kept[0] > 0:
        found[0] = (kept[0] // 8) * 8 / _EIGHTHS
    before, after = kept[:-1], kept[1:]
    shown = np.where(before == 0, after // 8, after - before + before // 8)
    is_new = (before != after) & (shown > 0)
    found[1:][is_new] = shown[is_new] * 8 / _EIGHTHS
    return found


def _states(rows: "pl.DataFrame", time_s: Floats) -> list[tuple[str, int]]:
    """Return the changes of state, each with its row."""
    places = (rows["kind"] == "state").arg_true().to_list()
    names = rows["state"].to_list()
    return [(str(names[place]), place) for place in places]


def _episodes(rows: "pl.DataFrame", time_s: Floats, states: list[tuple[str, int]]) -> list[Episode]:
    mss = rows["mss_bytes"].to_numpy()
    cwnd = rows["cwnd_segments"].to_numpy() * mss
    ssthresh = rows["ssthresh_segments"].to_numpy() * mss
    lost = rows["lost_total"].to_numpy()
    found: list[Episode] = []
    current, begun = "open", 0
    for number, (state, place) in enumerate(states):
        if state == current or state not in _CAUSES:
            current = state
            continue
        until = next((at for later, at in states[number + 1 :] if later != state), None)
        current, begun, last = state, max(place - 1, 0), until if until is not None else rows.height - 1
        found.append(
            Episode(
                _CAUSES[state],
                float(time_s[place]),
                None if until is None else float(time_s[last] - time_s[place]),
                float(cwnd[place]),
                float(cwnd[last]),
                _given(ssthresh[begun]),
                _given(ssthresh[place]),
                int(lost[last] - lost[begun]),
            )
        )
    return found


def _given(value: float | None) -> float | None:
    return None if value is None or math.isnan(value) else float(value)

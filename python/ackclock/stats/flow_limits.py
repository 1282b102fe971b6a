"""Limits of flows: the shares of `limited_by` in `summary.json`, as text for tables."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final

from ackclock.base.printable import amount
from ackclock.results.summaries import LimitShares

LIMITS: Final[Mapping[str, str]] = {
    "cwnd": "cwnd",
    "rwnd": "receiver's window",
    "send_buffer": "send buffer",
    "application": "application",
    "pacing": "pacing",
    "host": "host",
}
"""Keys of the shares that add up to 1, and their names in tables."""

_BUFFERS: Final = {"rwnd": "tcp.receive_buffer", "send_buffer": "tcp.send_buffer"}
"""Limits imposed by a buffer, independent of the controller."""

_MOST_NAMED: Final = 6


def of_socket(busy: float, rwnd: float, send_buffer: float) -> LimitShares:
    """Return the shares that a Linux socket reports.

    Args:
        busy: Share of time with data outstanding or waiting, 0 to 1.
        rwnd: Share with a full receive window.
        send_buffer: Share with a full send buffer.
    """
    return {
        "cwnd": None,
        "rwnd": rwnd,
        "send_buffer": send_buffer,
        "application": None,
        "pacing": None,
        "host": None,
        "busy": busy,
    }


def largest(flow: Mapping[str, Any]) -> str | None:
    """Name the dominant limit of a flow, within the measurement window if there is one.

    A Linux socket does not split the rest of its busy time, which is called `busy`; the remaining time is `idle`.

    Args:
        flow: Flow of `summary.json`; older versions have no such shares.

    Examples:
        >>> shares = dict.fromkeys(LIMITS, 0.0) | {"cwnd": 0.9254, "rwnd": 0.05, "application": 0.0246, "busy": 0.98}
        >>> largest({"limited_by": shares})
        'cwnd 93 %'
        >>> largest({"limited_by": of_socket(0.9, 0.2, 0.0)}), largest({"limited_by": None})
        ('busy 70 %', None)
    """
    shares = flow.get("window", flow).get("limited_by")
    if not shares:
        return None
    named = {name: shares[key] for key, name in LIMITS.items() if shares[key] is not None}
    if shares["cwnd"] is None:
        named |= {"busy": shares["busy"] - sum(named.values()), "idle": 1.0 - shares["busy"]}
    name = max(named, key=lambda name: named[name])
    return f"{name} {100 * named[name]:.0f} %"


def buffer(shares: Mapping[str, Any] | None) -> str | None:
    """Return the dominant limit of a flow if it is a buffer, else None.

    Args:
        shares: Its `limited_by` in `summary.json`. A socket's does not split the rest, which counts as one limit.

    Examples:
        >>> buffer(of_socket(1.0, 0.0, 0.0)), buffer(of_socket(1.0, 0.6, 0.0))
        (None, 'rwnd')
    """
    known = {key: shares[key] for key in LIMITS if shares.get(key) is not None} if shares else {}
    if known and "cwnd" not in known:
        known["rest"] = 1.0 - sum(known.values())
    found = max(known, key=lambda key: known[key]) if known else None
    return found if found in _BUFFERS else None


def buffer_notes(flows: Iterable[tuple[str, str | None]]) -> tuple[str, ...]:
    """Return the notes below a table of rates that name flows limited by a buffer rather than by a controller.

    Args:
        flows: Name in the table and limit, as returned by `buffer`, of each flow of each run.

    Examples:
        >>> buffer_notes([("cubic", "rwnd"), ("cubic", "rwnd"), ("bbr3", None)])
        ("Limited by the receiver's window, not by cwnd: cubic (2 of 2 flows). `tcp.receive_buffer` sets it.",)
        >>> buffer_notes([("cubic", None)])
        ()
    """
    known = list(flows)
    counts, totals = Counter(known), Counter(who for who, _ in known)
    notes = []
    for key, field in _BUFFERS.items():
        named = [
            f"{who} ({counts[who, key]} of {amount(total, 'flow')})"
            for who, total in totals.items()
            if counts[who, key]
        ]
        more = f" and {len(named) - _MOST_NAMED} more" if len(named) > _MOST_NAMED else ""
        if named:
            said = ", ".join(named[:_MOST_NAMED]) + more
            notes.append(f"Limited by the {LIMITS[key]}, not by cwnd: {said}. `{field}` sets it.")
    return tuple(notes)

"""Limits of flows: the shares of `limited_by` in `summary.json`, in the words of tables."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final

from ackclock.results.summaries import LimitShares

LIMITS: Final[Mapping[str, str]] = {
    "cwnd": "cwnd",
    "rwnd": "receiver's window",
    "send_buffer": "send buffer",
    "application": "application",
    "pacing": "pacing",
    "host": "host",
}
"""Keys of the shares that add up to 1, and what tables call them."""

_BUFFERS: Final = {"rwnd": "tcp.receive_buffer", "send_buffer": "tcp.send_buffer"}
"""Limits that a buffer sets, whatever the controller would send."""

_MOST_NAMED: Final = 6


def of_socket(busy: float, rwnd: float, send_buffer: float) -> LimitShares:
    """Return the shares that a socket of Linux tells.

    Args:
        busy: Share of the time with something outstanding or waiting, 0 to 1.
        rwnd: Share in which the receiver's window was full.
        send_buffer: Share in which the send buffer was full.
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
    """Name what limited a flow for the greatest share of its time, within the measurement window where there is one.

    A socket of Linux does not split the rest of its busy time: that is `busy`, and the rest of all time `idle`.

    Args:
        flow: As in `summary.json`; of an older version it has no such shares.

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
    """Return the limit of a flow where a buffer is what limited it for the greatest share of its time.

    Args:
        shares: Its `limited_by`, as in `summary.json`.
    """
    known = {key: shares[key] for key in LIMITS if shares.get(key) is not None} if shares else {}
    found = max(known, key=lambda key: known[key]) if known else None
    return found if found in _BUFFERS else None


def buffer_notes(flows: Iterable[tuple[str, str | None]]) -> tuple[str, ...]:
    """Return the notes below a table of rates which say whose were set by a buffer, and not by a controller.

    Args:
        flows: Of each flow of each run, what the table calls it, and its limit as `buffer` returns it.

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
        named = [f"{who} ({counts[who, key]} of {total} flows)" for who, total in totals.items() if counts[who, key]]
        more = f" and {len(named) - _MOST_NAMED} more" if len(named) > _MOST_NAMED else ""
        if named:
            said = ", ".join(named[:_MOST_NAMED]) + more
            notes.append(f"Limited by the {LIMITS[key]}, not by cwnd: {said}. `{field}` sets it.")
    return tuple(notes)

"""Limits of flows: the shares of `limited_by` in `summary.json`, in the words of tables."""

from collections.abc import Mapping
from typing import Final

from ackclock.summaries import LimitShares
from ackclock.tables import Entry

LIMITS: Final[Mapping[str, str]] = {
    "cwnd": "cwnd",
    "rwnd": "receiver's window",
    "send_buffer": "send buffer",
    "application": "application",
    "pacing": "pacing",
    "host": "host",
}
"""Keys of the shares that add up to 1, and what tables call them."""


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


def largest(flow: Entry) -> str | None:
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

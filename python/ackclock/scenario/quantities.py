"""Axis values as numbers, for scales of figures."""

import math
from collections.abc import Sequence
from typing import Any, Final

from ackclock.scenario.dumbbells import QUANTITY, UNITS, rate_text

_SHOWN: Final = {
    "s": ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")),
    "bit/s": ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s")),
    "B": ((1e6, "MB"), (1e3, "kB"), (1.0, "bytes")),
}

_NAMES: Final = {"rtt": "round-trip time", "rate": "bottleneck rate", "buffer": "buffer", "loss": "random loss"}


def seconds(text: object) -> float | None:
    """Return a duration in seconds; None if the text is not one.

    Examples:
        >>> seconds("1.5 min"), seconds("5 MB")
        (90.0, None)
    """
    found = _base(text)
    return found[0] if found and found[1] == "s" else None


def bits_per_second(text: object) -> float | None:
    """Return a rate in bit/s; None if the text is not one.

    Examples:
        >>> bits_per_second("2.5 Gbit/s"), bits_per_second({"trace": "cell.down"})
        (2500000000.0, None)
    """
    found = _base(text)
    return found[0] if found and found[1] == "bit/s" else None


def octets(text: object) -> float | None:
    """Return an amount of data in octets; None if the text is not one.

    Examples:
        >>> octets("1.5 kB"), octets("20 ms")
        (1500.0, None)
    """
    found = _base(text)
    return found[0] if found and found[1] == "B" else None


def _base(value: object) -> tuple[float, str] | None:
    """Return a value in its base unit."""
    if isinstance(value, bool):
        return None
    if isinstance(value, (int, float)):
        return float(value), ""
    if not isinstance(value, str):
        return None
    match = QUANTITY.fullmatch(rate_text(value))
    unit = UNITS.get(match["unit"]) if match else None
    return (float(match["number"]) * unit[0], unit[1]) if match and unit else None


def scale(key: str, values: Sequence[Any]) -> tuple[list[float], str] | None:
    """Return the values of an axis as numbers with its label; None if they are not numbers of one kind.

    Examples:
        >>> scale("rtt", ["20 ms", "0.1 s"]), scale("queue", ["red", "codel"])
        (([20.0, 100.0], 'round-trip time (ms)'), None)
        >>> scale("loss", [0, "1 %"]), scale("rate", ["1 MB/s", "16M"])
        (([0.0, 0.01], 'random loss'), ([8.0, 16.0], 'bottleneck rate (Mbit/s)'))
        >>> scale("start", ["0 s", "2 s"]), scale("limit", ["1 GiB", "1 TB"])
        (([0.0, 2.0], 'start (s)'), ([1073.741824, 1000000.0], 'limit (MB)'))
    """
    found = [_base(value) for value in values]
    if len(values) < 2 or any(entry is None for entry in found):
        return None
    known = [entry for entry in found if entry is not None]
    units = {unit for _, unit in known}
    if len(units) != 1:
        return None
    unit = units.pop()
    least = min((abs(number) for number, _ in known if number), default=0.0)  # 0 has no size of its own
    factor, shown = next(
        ((size, name) for size, name in _SHOWN.get(unit, ()) if least >= size), _SHOWN.get(unit, ((1.0, unit),))[-1]
    )
    name = _NAMES.get(key, key)
    return [_near(number / factor) for number, _ in known], f"{name} ({shown})" if shown else name


def _near(value: float) -> float:
    """Remove the rounding error of binary division: 20 instead of 20.000000000000004."""
    return float(f"{value:.12g}")


def is_wide(values: Sequence[float]) -> bool:
    """Return whether a logarithmic axis suits the numbers: all positive, and the largest five times the smallest."""
    return min(values) > 0 and max(values) / min(values) >= 5 and not math.isinf(max(values))

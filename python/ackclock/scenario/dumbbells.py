"""Dumbbell scenarios from a few values, for Python, studies and `ackclock run` without a file."""

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from functools import cache
from typing import Any, Final

from ackclock import _core
from ackclock._core import Scenario

QUANTITY: Final = re.compile(r"\s*(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>[A-Za-zµμ/%]+)\s*")
"""Number with its unit."""

UNITS: Final = {
    "ns": (1e-9, "s"), "us": (1e-6, "s"), "µs": (1e-6, "s"), "μs": (1e-6, "s"), "ms": (1e-3, "s"), "s": (1.0, "s"),
    "min": (60.0, "s"), "h": (3600.0, "s"),
    "bit/s": (1.0, "bit/s"), "kbit/s": (1e3, "bit/s"), "Mbit/s": (1e6, "bit/s"), "Gbit/s": (1e9, "bit/s"),
    "Tbit/s": (1e12, "bit/s"), "bps": (1.0, "bit/s"), "kbps": (1e3, "bit/s"), "Mbps": (1e6, "bit/s"),
    "Gbps": (1e9, "bit/s"), "B/s": (8.0, "bit/s"), "kB/s": (8e3, "bit/s"), "MB/s": (8e6, "bit/s"),
    "GB/s": (8e9, "bit/s"),
    "B": (1.0, "B"), "byte": (1.0, "B"), "bytes": (1.0, "B"), "kB": (1e3, "B"), "KB": (1e3, "B"), "MB": (1e6, "B"),
    "GB": (1e9, "B"), "TB": (1e12, "B"), "KiB": (1024.0, "B"), "MiB": (1024.0**2, "B"), "GiB": (1024.0**3, "B"),
    "TiB": (1024.0**4, "B"), "PiB": (1024.0**5, "B"),
    "packets": (1.0, "packets"), "segments": (1.0, "segments"), "bdp": (1.0, "BDP"), "%": (0.01, ""),
}  # fmt: skip
"""Units: the size of each in its base unit. A test compares them with the engine's."""

_IPERF_RATE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([KMGTkmgt])\s*")
_PERCENT = re.compile(r"\s*(\d+(?:\.\d+)?)\s*%\s*")
_REPEATED = re.compile(r"(?P<what>.*?)\s*\*\s*(?P<count>\d+)\s*")

_MOST_FLOWS: Final = 100_000
_LONGEST_NAME: Final = 100  # characters of a scenario's name
_BESIDE_A_TRACE: Final = "10 Gbit/s"
_BACK_FROM_A_TRACE: Final = "100 Mbit/s"
_TIMES_FASTER: Final = 100
_MOST_BITS: Final = 10**14  # no link of a scenario is faster


def dumbbell(
    *,
    bottleneck: str = "100 Mbit/s",
    rtt: str = "60 ms",
    flows: str | Sequence[str | dict[str, Any]] = "cubic",
    duration: str = "50 s",
    queue: str | dict[str, Any] | None = None,
    buffer: str | None = None,
    loss: float | str | dict[str, Any] | None = None,
    trace: str | None = None,
    profile: str | None = None,
    seed: int = 1,
    name: str | None = None,
    overrides: Sequence[str] = (),
    folder: str = ".",
) -> Scenario:
    """Build a scenario in which flows share one bottleneck and have the same propagation delay.

    The bottleneck has the whole delay. The access links are a hundred times faster, up to the fastest possible link,
    so that only the bottleneck queues.

    Args:
        bottleneck: Rate of the bottleneck; "100M" is "100 Mbit/s", as in iperf.
        rtt: Two-way propagation delay.
        flows: Controllers, one per flow: a list, or names separated by commas, where "cubic*4" is four flows. An entry
            may be a table of the scenario format's `[[flow]]` instead of a name.
        duration: Simulated time.
        queue: Queue discipline of the bottleneck, such as "fq_codel" or a table of its fields; or the limit of a
            DropTail queue, such as "1 bdp" or "unlimited". By default DropTail with 1 bdp, and 2 packets at least.
        buffer: Limit of the queue, for any discipline.
        loss: Random loss of data packets at the bottleneck: a probability, "1 %", or a table of `loss`.
        trace: File with a recorded rate in mahimahi's format, instead of `bottleneck`; the reverse path has 100 Mbit/s.
        profile: Stack profile of every host (`ackclock list profiles`); by default that of a scenario without one.
        seed: Seed of every random stream.
        name: Name of the scenario; derived from the arguments if not given.
        overrides: Further changes, each `path=value`, as in `ackclock run --set`.
        folder: Folder in which controller classes and trace files are searched.

    Raises:
        ScenarioError: If a value is wrong; it lists every mistake.
        ValueError: If `rtt` is not a duration, or there are no flows.

    Examples:
        >>> dumbbell(flows="cubic,reno", duration="1 s").flow_names
        ['cubic', 'reno']
        >>> dumbbell(flows="cubic*2", bottleneck="10M", queue="fq_codel", duration="1 s").flow_names
        ['cubic-1', 'cubic-2']
    """
    tables = flow_tables(flows)
    kind: str | dict[str, Any] | None = None if queue is None or is_limit(queue) else queue
    limit = buffer or (str(queue) if queue is not None and kind is None else None)
    where = f"the trace {trace}" if trace else rate_text(bottleneck)
    document = {
        "name": name or f"{who(tables)} over {where}, {rtt}"[:_LONGEST_NAME],
        "duration": duration,
        "seed": seed,
        "topology": topology(bottleneck, rtt, kind, limit, loss, trace),
        **({} if profile is None else {"tcp": {"profile": profile}}),
        "flow": tables,
    }
    return Scenario.from_json(scenario_text(document), overrides, folder)


def scenario_text(document: Mapping[str, Any]) -> str:
    """Return a scenario's tables as JSON; NaN and infinity become words, for the checker to report.

    Examples:
        >>> scenario_text({"a": [1.5, float("nan")]})
        '{"a": [1.5, "nan"]}'
    """
    text = json.dumps(document)
    return json.dumps(_in_words(document)) if "NaN" in text or "Infinity" in text else text


def _in_words(value: Any) -> Any:  # noqa: ANN401  whatever JSON holds
    if isinstance(value, Mapping):
        return {key: _in_words(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_in_words(inner) for inner in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def topology(
    rate: str,
    rtt: str,
    queue: str | dict[str, Any] | None = None,
    buffer: str | dict[str, Any] | None = None,
    loss: float | str | dict[str, Any] | None = None,
    trace: str | None = None,
) -> dict[str, Any]:
    """Return the `topology` of a dumbbell whose bottleneck has the whole delay.

    Raises:
        ValueError: If `rtt` is not a duration.
    """
    link: dict[str, Any] = {"rate": {"trace": trace} if trace else rate_text(rate), "delay": _half_of_rtt(rtt)}
    if trace:
        link["reverse"] = {"rate": _BACK_FROM_A_TRACE, "queue": "drop_tail"}
    table: dict[str, Any] = dict(queue) if isinstance(queue, dict) else {"kind": queue or "drop_tail"}
    if buffer is not None:
        table["limit"] = buffer
    link["queue"] = table
    if loss is not None and loss != 0:
        link["loss"] = _loss(loss)
    access = _BESIDE_A_TRACE if trace else _faster(rate_text(rate))
    return {"kind": "dumbbell", "access": {"rate": access, "delay": "0 ms"}, "bottleneck": link}


def is_limit(queue: str | dict[str, Any]) -> bool:
    """Return whether a queue argument is the limit of a DropTail queue: an amount, or "unlimited"."""
    return isinstance(queue, str) and (queue.strip()[:1].isdigit() or queue.strip() == "unlimited")


def _loss(loss: float | str | Mapping[str, Any]) -> dict[str, Any]:
    """Return a loss argument in the scenario format; wrong values are left for the checker to report."""
    if isinstance(loss, Mapping):
        return dict(loss)
    if isinstance(loss, bool):
        return {"kind": "random", "p": loss}
    if isinstance(loss, str) and (match := _PERCENT.fullmatch(loss)):
        return {"kind": "random", "p": float(Decimal(match[1]) / 100)}
    try:
        return {"kind": "random", "p": float(loss)}
    except (TypeError, ValueError):
        return {"kind": "random", "p": loss}


def rate_text(text: str) -> str:
    """Convert a rate in iperf's notation, or the name of a digital line, to the scenario format.

    Args:
        text: Any text; others, and what is no text, are returned unchanged for the checker to report.

    Examples:
        >>> rate_text("100M"), rate_text("2.5g"), rate_text("DS3"), rate_text("10 Mbit/s")
        ('100 Mbit/s', '2.5 Gbit/s', '44.736 Mbit/s', '10 Mbit/s')
    """
    if not isinstance(text, str):
        return text
    match = _IPERF_RATE.fullmatch(text)
    if match is None:
        return _line_rates().get(text.strip().replace("-", ""), text)
    prefix = {"K": "k"}.get(match[2].upper(), match[2].upper())
    return f"{match[1]} {prefix}bit/s"


@cache
def _line_rates() -> dict[str, str]:
    """Return the rates of digital lines, by their names without hyphens; the engine accepts either spelling."""
    return {name.replace("-", ""): rate for name, rate in _core.line_rates().items()}


def who(tables: Sequence[Mapping[str, Any]]) -> str:
    """Describe flows in a few words."""
    return ", ".join(str(table["name"]) for table in tables) if len(tables) <= 4 else f"{len(tables)} flows"


def flow_tables(flows: str | Sequence[str | dict[str, Any]]) -> list[dict[str, Any]]:
    """Return a table and a unique name for each flow: `cubic`, or `cubic-1`, `cubic-2` for several.

    Raises:
        ValueError: If there are none, or too many.
    """
    listed = [part.strip() for part in flows.split(",") if part.strip()] if isinstance(flows, str) else flows
    entries = list(listed) if isinstance(listed, Iterable) else []
    for entry in entries if isinstance(listed, Iterable) else [listed]:
        if not isinstance(entry, str | Mapping):
            raise ValueError(f"flows has {entry!r}; write controllers by name or as tables, such as 'cubic'")
    if not entries:
        raise ValueError('flows must name at least one controller, such as "cubic"')
    every = [one for entry in entries for one in _repeated(entry)]
    tables = [{"controller": entry} if isinstance(entry, str) else dict(entry) for entry in every]
    wanted = [str(table.get("name") or _controller_name(table)) for table in tables]
    counts = {stem: wanted.count(stem) for stem in set(wanted)}
    seen: dict[str, int] = {}
    for table, stem in zip(tables, wanted, strict=True):
        seen[stem] = seen.get(stem, 0) + 1
        table["name"] = stem if counts[stem] == 1 else f"{stem}-{seen[stem]}"
    return tables


def _repeated(entry: str | dict[str, Any]) -> list[str | dict[str, Any]]:
    match = _REPEATED.fullmatch(entry) if isinstance(entry, str) else None
    if match is None:
        return [entry]
    if not 1 <= int(match["count"]) <= _MOST_FLOWS:
        raise ValueError(f"{entry!r} asks for {match['count']} flows; write 1 to {_MOST_FLOWS}")
    return [match["what"]] * int(match["count"])


def _controller_name(table: dict[str, Any]) -> str:
    """Return the name from which a flow's name derives; for a Python class its own name."""
    controller = table.get("controller", "cubic")
    if isinstance(controller, dict):
        return str(controller.get("class") or controller.get("kind", "flow")).rpartition(":")[2]
    return str(controller).rpartition(":")[2]


def _half_of_rtt(rtt: str) -> str:
    match = QUANTITY.fullmatch(rtt) if isinstance(rtt, str) else None
    if match is None:
        raise ValueError(f'rtt is {rtt!r}, which is not a duration; write it like "60 ms"')
    if UNITS.get(match["unit"], (0.0, ""))[1] != "s":
        return rtt  # for the scenario's check to report as it was written
    return f"{(Decimal(match['number']) / 2).normalize():f} {match['unit']}"


def _faster(rate: str) -> str:
    """Return a hundred times a rate, up to the fastest link's; that one for a wrong rate, which is reported once."""
    match = QUANTITY.fullmatch(rate.replace("_", "")) if isinstance(rate, str) else None
    if match is None or UNITS.get(match["unit"], (0.0, ""))[1] != "bit/s":
        return f"{_MOST_BITS} bit/s"
    faster = Decimal(match["number"]) * _TIMES_FASTER
    if float(faster) * UNITS.get(match["unit"], (0.0, ""))[0] > _MOST_BITS:
        return f"{_MOST_BITS} bit/s"
    return f"{faster.normalize():f} {match['unit']}"

"""A dumbbell from a handful of words, for Python and for `ackclock run` without a file."""

import json
import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from ackclock._core import Scenario

_QUANTITY = re.compile(r"\s*(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>[A-Za-zµ]+)\s*")


def dumbbell(
    *,
    bottleneck: str = "100 Mbit/s",
    rtt: str = "60 ms",
    flows: str | Sequence[str | dict[str, Any]] = "cubic",
    duration: str = "50 s",
    queue: str = "1 bdp",
    profile: str | None = None,
    seed: int = 1,
    name: str | None = None,
    overrides: Sequence[str] = (),
) -> Scenario:
    """Make a scenario in which flows share one bottleneck and all have the same propagation delay.

    The whole delay lies on the bottleneck; the access links are a hundred times faster than it, so that only the
    bottleneck queues.

    Args:
        bottleneck: Rate of the bottleneck.
        rtt: Two-way propagation delay.
        flows: Controllers, one for each flow: a list, or names separated by commas. An entry may be a table of the
            scenario format's `[[flow]]` instead of a name.
        duration: Simulated time.
        queue: Limit of the bottleneck's DropTail queue, or `unlimited`.
        profile: Stack profile of every host (`ackclock profiles`); by default that of a scenario that names none.
        seed: Seed of every random stream.
        name: Name of the scenario; made from the arguments if not given.
        overrides: Further changes, each `path=value`, as in `ackclock run --set`.

    Raises:
        ScenarioError: If a value is wrong; it lists every mistake.
        ValueError: If `rtt` is no duration, or there are no flows.

    Examples:
        >>> dumbbell(flows="cubic,reno", duration="1 s").flow_names
        ['cubic', 'reno']
    """
    tables = _flow_tables(flows)
    document = {
        "name": name or f"{_who(tables)} over {bottleneck}, {rtt}",
        "duration": duration,
        "seed": seed,
        "topology": {
            "kind": "dumbbell",
            "access": {"rate": _scaled(bottleneck, 100), "delay": "0 ms"},
            "bottleneck": {
                "rate": bottleneck,
                "delay": _half_of_rtt(rtt),
                "queue": {"kind": "drop_tail", "limit": queue},
            },
        },
        **({} if profile is None else {"tcp": {"profile": profile}}),
        "flow": tables,
    }
    return Scenario.from_json(json.dumps(document), overrides)


def _who(tables: Sequence[dict[str, Any]]) -> str:
    """The flows in a few words."""
    return ", ".join(str(table["name"]) for table in tables) if len(tables) <= 4 else f"{len(tables)} flows"


def _flow_tables(flows: str | Sequence[str | dict[str, Any]]) -> list[dict[str, Any]]:
    """Give each flow a table and a name of its own: `cubic`, or `cubic-1`, `cubic-2` where there are several."""
    entries = [part.strip() for part in flows.split(",") if part.strip()] if isinstance(flows, str) else list(flows)
    if not entries:
        raise ValueError('there are no flows; name at least one controller, such as "cubic"')
    tables = [{"controller": entry} if isinstance(entry, str) else dict(entry) for entry in entries]
    wanted = [str(table.get("name") or _controller_name(table)) for table in tables]
    seen: dict[str, int] = {}
    for table, stem in zip(tables, wanted, strict=True):
        seen[stem] = seen.get(stem, 0) + 1
        table["name"] = stem if wanted.count(stem) == 1 else f"{stem}-{seen[stem]}"
    return tables


def _controller_name(table: dict[str, Any]) -> str:
    """What a flow is called after; a class of Python by its own name."""
    controller = table.get("controller", "cubic")
    if isinstance(controller, dict):
        return str(controller.get("class") or controller.get("kind", "flow")).rpartition(":")[2]
    return str(controller).rpartition(":")[2]


def _half_of_rtt(rtt: str) -> str:
    match = _QUANTITY.fullmatch(rtt)
    if match is None:
        raise ValueError(f'rtt is {rtt!r}, which is not a duration; write it like "60 ms"')
    return f"{(Decimal(match['number']) / 2).normalize():f} {match['unit']}"


def _scaled(rate: str, factor: int) -> str:
    """Multiply a rate; a text that is no rate is handed on as it is, for the scenario's check to report."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)(\D.*)", rate)
    return rate if match is None else f"{(Decimal(match[1]) * factor).normalize():f}{match[2]}"

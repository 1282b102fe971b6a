"""Picture of a scenario's network, as SVG: for a notebook, a report or a paper."""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from itertools import pairwise
from math import atan2, degrees
from typing import Any, Final, NamedTuple

from ackclock.base.printable import plain
from ackclock.plotting.figures.theme import COLOURS
from ackclock.plotting.sparks import TEXT, svg

_WIDTH: Final = 560
_MOST_HOSTS: Final = 6
"""Number of hosts of a dumbbell or star above which the rest is a word."""

_MOST_NODES: Final = 30
_STEP_X, _STEP_Y, _MARGIN = 170, 52, 60
"""Distances between nodes of other networks, and from the edge."""


def of_network(scenario: Mapping[str, Any], flows: Sequence[str]) -> str:
    """Return the picture of a network: in a dumbbell senders, bottleneck and receivers, otherwise nodes and links.

    Args:
        scenario: Tables of the scenario, as in `Scenario.to_json`.
        flows: Names of the flows.

    Returns:
        The picture; nothing for a network of more than 30 nodes.
    """
    topology = scenario["topology"]
    if topology["kind"] != "dumbbell":
        return _of_links(_LINKS[topology["kind"]](topology))
    if not flows:
        return ""
    shown = list(flows[:_MOST_HOSTS])
    height = max(76, 26 * len(shown) + 16)
    content = "".join(_hosts(shown, len(flows), height)) + _middle(topology["bottleneck"], height / 2)
    return svg(_WIDTH, height, content, "Senders, bottleneck and receivers")


def as_file(picture: str) -> str:
    """Return a picture as a file, with the mark of those that may be replaced without asking."""
    head, _, rest = picture.removeprefix("<svg").partition(">")
    mark = '<metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>ackclock</dc:title></metadata>'
    return f'<svg xmlns="http://www.w3.org/2000/svg"{head}>{mark}{rest}\n'


def _hosts(flows: Sequence[str], count: int, height: int) -> Iterator[str]:
    for place, name in enumerate(flows):
        y = height * (place + 0.5) / len(flows)
        colour = COLOURS[place % len(COLOURS)]
        label = f"and {count - place} more" if place == _MOST_HOSTS - 1 and count > _MOST_HOSTS else plain(name)[:14]
        for x, router, anchor, at in ((110, 190, "end", 100), (_WIDTH - 110, _WIDTH - 190, "start", _WIDTH - 100)):
            yield f'<path d="M{x} {y:.0f}L{router} {height / 2:.0f}" stroke="{colour}" stroke-width="1.2"/>'
            yield f'<circle cx="{x}" cy="{y:.0f}" r="5" fill="{colour}"/>'
            if anchor == "end":
                yield f'<text x="{at}" y="{y + 4:.0f}" text-anchor="{anchor}" {TEXT}>{escape(label)}</text>'


def _middle(bottleneck: Mapping[str, Any], y: float) -> str:
    left, right = 190, _WIDTH - 190
    queue = bottleneck.get("queue", "drop_tail")
    kind = queue.get("kind", "drop_tail") if isinstance(queue, Mapping) else queue
    limit = queue.get("limit") if isinstance(queue, Mapping) else None
    link = ", ".join(_value(bottleneck.get(key)) for key in ("rate", "delay"))
    waiting = f"{kind}, {limit}" if isinstance(limit, str) else str(kind)
    return (
        f'<path d="M{left} {y:.0f}H{right}" stroke="currentColor" stroke-width="3"/>'
        f'<rect x="{left - 8}" y="{y - 8:.0f}" width="16" height="16" rx="3" fill="currentColor"/>'
        f'<rect x="{right - 8}" y="{y - 8:.0f}" width="16" height="16" rx="3" fill="currentColor"/>'
        f'<text x="{_WIDTH / 2:.0f}" y="{y - 8:.0f}" text-anchor="middle" {TEXT}>{escape(link)}</text>'
        f'<text x="{_WIDTH / 2:.0f}" y="{y + 18:.0f}" text-anchor="middle" {TEXT}>{escape(waiting)}</text>'
    )


def _value(value: object) -> str:
    """Return a quantity as written, or a word for one that is random, scheduled or from a trace."""
    if isinstance(value, str):
        return plain(value)
    return "from a trace" if isinstance(value, Mapping) and "trace" in value else "varies"


# ---- nodes and links ------------------------------------------------------------------------------------------------


class _Link(NamedTuple):
    """Link between two nodes, with the table that describes it."""

    begin: str
    end: str
    table: Mapping[str, Any]


def _of_chain(topology: Mapping[str, Any]) -> list[_Link]:
    names = [node if isinstance(node, str) else node["name"] for node in topology["nodes"]]
    tables = topology.get("links") or [topology["link"]] * (len(names) - 1)
    return [_Link(*ends, table) for ends, table in zip(pairwise(names), tables, strict=True)]


def _of_star(topology: Mapping[str, Any]) -> list[_Link]:
    hosts = topology["hosts"]
    names = [f"host{place}" for place in range(1, hosts + 1)] if isinstance(hosts, int) else list(hosts)
    if len(names) > _MOST_HOSTS:
        names = [*names[: _MOST_HOSTS - 1], f"and {len(names) - _MOST_HOSTS + 1} more"]
    hub = topology.get("hub", "hub")
    return [_Link(names[0], hub, topology["link"]), *(_Link(hub, name, topology["link"]) for name in names[1:])]


def _of_parking_lot(topology: Mapping[str, Any]) -> list[_Link]:
    routers = [f"R{place}" for place in range(1, topology["hops"] + 2)]
    across = [_Link(*ends, topology["bottleneck"]) for ends in pairwise(routers)]
    return [*across, *(_Link(router, f"H{router[1:]}", topology["access"]) for router in routers)]


def _of_explicit(topology: Mapping[str, Any]) -> list[_Link]:
    return [_Link(link["from"], link["to"], link) for link in topology["link"]]


_LINKS: Final = {"chain": _of_chain, "star": _of_star, "parking_lot": _of_parking_lot, "explicit": _of_explicit}


def _of_links(links: Sequence[_Link]) -> str:
    """Return a picture with a column for each number of hops from the first node."""
    column = _columns(links)
    if len(column) > _MOST_NODES:
        return ""
    row: dict[str, int] = {}
    for name, place in column.items():
        row[name] = sum(column[other] == place for other in row)
    ends = {name: (_MARGIN + _STEP_X * column[name], 34 + _STEP_Y * row[name]) for name in column}
    size = [max(place) + _MARGIN for place in zip(*ends.values(), strict=True)]
    content = "".join([*(_drawn_link(link, ends) for link in links), *(_node(name, *ends[name]) for name in ends)])
    return svg(size[0], size[1] - _MARGIN + 26, content, "Nodes and links")


def _columns(links: Sequence[_Link]) -> dict[str, int]:
    """Return each node's number of hops from one that has another as far away as any has."""
    hops = _hops(links, links[0].begin)
    for _ in range(2):  # there and back
        hops = _hops(links, max(hops, key=lambda name: hops[name]))
    return hops


def _hops(links: Sequence[_Link], first: str) -> dict[str, int]:
    """Return the number of hops of every node from the first, in their order; unconnected nodes begin anew."""
    found = {first: 0}
    waiting = deque(found)
    while waiting:
        here = waiting.popleft()
        for link in links:
            for near, far in ((link.begin, link.end), (link.end, link.begin)):
                if near == here and far not in found:
                    found[far] = found[here] + 1
                    waiting.append(far)
    return found | {name: 0 for link in links for name in link[:2] if name not in found}


def _drawn_link(link: _Link, ends: Mapping[str, tuple[float, float]]) -> str:
    (x1, y1), (x2, y2) = sorted((ends[link.begin], ends[link.end]))
    said = ", ".join(_value(link.table.get(key)) for key in ("rate", "delay"))
    x, y = (x1 + x2) / 2, (y1 + y2) / 2
    along = f"rotate({degrees(atan2(y2 - y1, x2 - x1)):.1f} {x:.0f} {y:.0f})"
    place = f'x="{x:.0f}" y="{y - 5:.0f}" text-anchor="middle" transform="{along}"'
    return (
        f'<path d="M{x1:.0f} {y1:.0f}L{x2:.0f} {y2:.0f}" stroke="currentColor" stroke-width="1.5"/>'
        f"<text {place} {TEXT}>{escape(said)}</text>"
    )


def _node(name: str, x: float, y: float) -> str:
    return (
        f'<circle cx="{x:.0f}" cy="{y:.0f}" r="6" fill="{COLOURS[0]}"/>'
        f'<text x="{x:.0f}" y="{y + 20:.0f}" text-anchor="middle" {TEXT}>{escape(plain(name)[:18])}</text>'
    )

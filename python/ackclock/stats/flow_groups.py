"""Groups of similar flows or links, with percentiles, and the outermost single flows."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from ackclock.results.run_labels import controller_of
from ackclock.stats.metrics import Floats, jain_fairness
from ackclock.stats.run_window import count

Entry = Mapping[str, Any]

SHOWN_SINGLY: Final = 50
"""Number of flows or links above which tables and plots show groups, and single ones only at the extremes."""

OUTERMOST: Final = 10
"""Number of fastest and of slowest flows that tables show in addition."""

_MOST_GROUPS: Final = 6
"""Number of groups above which flows are grouped by controller alone; further groups are merged into one."""

_NUMBERED = re.compile(r"(.+)\.[1-9][0-9]*")
_NUMBER = re.compile(r"[\W_]*\d+$")

OTHERS: Final = "others"


def group_names(flows: Sequence[Entry]) -> list[str]:
    """Return the group name of each flow: its name without the number, and its controller.

    Args:
        flows: Flows of `summary.json`; links, which have no controller, form one group.

    Examples:
        >>> flow = {"controller": "cubic"}
        >>> group_names([flow | {"name": "web-1"}, flow | {"name": "web-2"}, flow | {"name": "old"}])
        ['web (cubic)', 'web (cubic)', 'old (cubic)']
    """
    stems = [_NUMBER.sub("", str(flow["name"])) or "flow" for flow in flows]
    controllers = [str(flow.get("controller") or "") for flow in flows]
    names = [f"{stem} ({of})" if of else "all" for stem, of in zip(stems, controllers, strict=True)]
    if len(set(names)) > _MOST_GROUPS:
        names = [of or "all" for of in controllers]
    common = {name for name, _ in Counter(names).most_common(_MOST_GROUPS)}
    return [name if name in common else OTHERS for name in names]


def grouped(flows: Sequence[Entry]) -> list[Entry]:
    """Return an entry for each group of flows, with percentiles over its flows.

    Args:
        flows: Flows of `summary.json`.
    """
    names = np.array(group_names(flows), dtype=object)
    columns = {
        "goodput_bps": _column(flow["goodput_bps"] for flow in flows),
        "retransmitted": _column(count(flow, "retransmitted_segments") for flow in flows),
        "timeouts": _column(count(flow, "timeouts") for flow in flows),
        "rtt_ms": _column((flow["rtt_ms"] or {}).get("mean") for flow in flows),
        "completion_s": _column(flow["completion_s"] for flow in flows),
    }
    return [
        {"name": name, "flows": int((names == name).sum())}
        | {key: _spread(values[names == name]) for key, values in columns.items()}
        for name in dict.fromkeys(names)
    ]


def stem(name: str) -> str | None:
    """Return the group name of a connection NAME.1, NAME.2, ...; None for other names."""
    found = _NUMBERED.fullmatch(name)
    return found[1] if found else None


def are_a_group(names: Sequence[str]) -> bool:
    """Return whether connections of one stem are a group: at least two, numbered from 1 on.

    Args:
        names: Names of the flows, in order.
    """
    return len(names) > 1 and [name.rpartition(".")[2] for name in names] == [str(n + 1) for n in range(len(names))]


def of_groups(flows: Sequence[Entry]) -> list[Entry]:
    """Return an entry for each group of connections, NAME.1, NAME.2, ..., with their mean goodput and RTT.

    Args:
        flows: Flows of `summary.json`.

    Examples:
        >>> kind = {"controller": "reno"}
        >>> flows = [{"name": f"A.{n}", "goodput_bps": n * 1e6, "rtt_ms": {"mean": 9.0 + n}} | kind for n in (1, 2)]
        >>> of_groups([*flows, {"name": "B", "goodput_bps": 5e6, "rtt_ms": None} | kind])
        [{'name': 'A', 'flows': 2, 'goodput_bps': 1500000.0, 'rtt_ms': 10.5}]
    """
    found: dict[tuple[str, str], list[Entry]] = {}
    for flow in flows:
        if (group := stem(str(flow["name"]))) is not None:
            found.setdefault((group, controller_of(flow)), []).append(flow)
    return [
        {"name": name, "flows": len(group), "goodput_bps": _mean(flow["goodput_bps"] for flow in group)}
        | {"rtt_ms": _mean((flow["rtt_ms"] or {}).get("mean") for flow in group)}
        for (name, _), group in found.items()
        if are_a_group([str(flow["name"]) for flow in group])
    ]


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def by_controller(flows: Sequence[Entry]) -> list[Entry]:
    """Return an entry for each controller: the totals of its flows, and the fairness among them.

    Args:
        flows: Flows of `summary.json`; in a recording some values may be unknown, and then their totals are, too.
    """
    every = _total(flows, "goodput_bps")
    found: list[Entry] = []
    for name in dict.fromkeys(map(controller_of, flows)):
        mine = [flow for flow in flows if controller_of(flow) == name]
        total = _total(mine, "goodput_bps")
        goodputs = _column(flow["goodput_bps"] for flow in mine)
        sent, again = _total(mine, "sent_segments"), _total(mine, "retransmitted_segments")
        rtts = _column((flow["rtt_ms"] or {}).get("mean") for flow in mine)
        found.append(
            {
                "name": name,
                "flows": len(mine),
                "goodput_bps": total,
                "share": total / every if total is not None and every else None,
                "jain": jain_fairness(goodputs) if total else None,
                "least_bps": None if total is None else float(goodputs.min()),
                "most_bps": None if total is None else float(goodputs.max()),
                "retransmitted": again / sent if again is not None and sent else None,
                "rtt_ms": float(np.nanmean(rtts)) if not np.isnan(rtts).all() else None,
            }
        )
    return found


def _total(flows: Sequence[Entry], key: str) -> float | None:
    values = [flow[key] for flow in flows]
    return None if None in values else float(sum(values))


def outermost(flows: Sequence[Entry], count: int = OUTERMOST) -> list[Entry]:
    """Return the flows with the highest and the lowest goodput, fastest first; all flows if there are no more.

    Args:
        flows: Flows of `summary.json`.
        count: Number of flows at each end.
    """
    return [flows[index] for index in outermost_places(flows, count)]


def outermost_places(flows: Sequence[Entry], count: int = OUTERMOST) -> list[int]:
    """Return the indices of the flows that `outermost` returns.

    Args:
        flows: Flows of `summary.json`.
        count: Number of flows at each end.
    """
    order = sorted(range(len(flows)), key=lambda index: -(flows[index]["goodput_bps"] or 0.0))
    return order if len(order) <= 2 * count else order[:count] + order[-count:]


def _column(values: Iterable[float | None]) -> Floats:
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


def _spread(values: Floats) -> dict[str, float | int] | None:
    known = values[~np.isnan(values)]
    if not known.size:
        return None
    p5, p50, p95 = np.percentile(known, (5, 50, 95))
    return {
        "count": int(known.size),
        "mean": float(known.mean()),
        "p5": float(p5),
        "p50": float(p50),
        "p95": float(p95),
    }

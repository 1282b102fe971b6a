"""Choice of the measured link for runs under comparison: the same one for all, so that no mean mixes links."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Entry = Mapping[str, Any]


def ranked(links: Iterable[tuple[str, float, float]]) -> list[str]:
    """Rank the links of all runs, the most limiting first; each run uses the first that it has.

    It is `bottleneck`, or else the link with the highest mean utilization. Ties, to a hundredth, are decided by the
    queueing delay.

    Args:
        links: Name, utilization and mean queueing delay of each link of each run.

    Examples:
        >>> ranked([("a", 0.9, 1.0), ("b", 0.8, 9.0), ("a", 0.5, 1.0), ("b", 0.7, 9.0)])
        ['b', 'a']
        >>> ranked([("behind", 0.902, 0.0), ("queue", 0.901, 40.0)])
        ['queue', 'behind']
    """
    known: dict[str, list[tuple[float, float]]] = {}
    for name, used, wait in links:
        known.setdefault(name, []).append((used, wait))

    def rank(name: str) -> tuple[bool, float, float]:
        used, wait = (sum(of) / len(of) for of in zip(*known[name], strict=True))
        return name == "bottleneck", round(used, 2), wait

    return sorted(known, key=rank, reverse=True)


def of_run(summary: Entry) -> list[tuple[str, float, float]]:
    """Return the links of a run in the form that `ranked` takes."""
    return [(link["name"], link["utilization"], link["queueing_delay_ms"]["mean"]) for link in summary["links"]]


def first_of(order: Iterable[str], links: Sequence[Entry]) -> Entry:
    """Return the link of a run that ranks first.

    Args:
        order: Names in the order returned by `ranked`.
        links: Links of the run.

    Raises:
        KeyError: If the run has none of them.
    """
    by_name = {link["name"]: link for link in links}
    found = next((name for name in order if name in by_name), None)
    if found is None:
        raise KeyError(f"unknown link {', '.join(order)}")
    return by_name[found]


def whose(names: Iterable[str | None]) -> tuple[str, ...]:
    """Return the note below a table that names its measured links; none if it is `bottleneck`."""
    known = [name for name in dict.fromkeys(names) if name is not None]
    if not known or known == ["bottleneck"]:
        return ()
    return (f"Use and queueing are those of the link {' or '.join(known)}.",)

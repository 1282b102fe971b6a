"""Mixes of controllers on a path: each alone, two of a kind, each pair, or explicit groups."""

import itertools
from collections.abc import Sequence
from typing import Any, Final, Literal

from ackclock.experiments.studies.plan import LineUp
from ackclock.scenario.dumbbells import flow_tables
from ackclock.scenario.mistakes import Mistakes

_FAMILIES: Final = ("alone", "itself", "pairs")


def line_ups_of(given: Any, labels: Sequence[str], mistakes: Mistakes) -> tuple[LineUp, ...]:  # noqa: ANN401
    """Read `line_ups`.

    Args:
        given: List of `alone` (each by itself), `itself` (two of each), `pairs` (each beside each other) and of groups,
            such as "cubic*4, bbr3"; None stands for the first three.
        labels: Labels of the controllers.
        mistakes: Collector of mistakes.
    """
    wanted = list(_FAMILIES) if given is None else given if isinstance(given, list) else [given]
    found: dict[str, LineUp] = {}
    for place, entry in enumerate(wanted):
        for line_up in _family(entry, labels, place, mistakes):
            found.setdefault(line_up.name, line_up)
    if not found and mistakes.are_none:
        mistakes.add(("line_ups",), "leaves no flow on the path", 'write it like ["alone", "pairs"]', given)
    return tuple(found.values())


def _family(entry: Any, labels: Sequence[str], place: int, mistakes: Mistakes) -> list[LineUp]:  # noqa: ANN401
    if entry == "alone":
        return [LineUp(f"{label} alone", "alone", (label,)) for label in labels]
    if entry == "itself":
        return [LineUp(f"{label} + {label}", "itself", (label, label)) for label in labels]
    if entry == "pairs":
        return [LineUp(f"{one} + {other}", "pair", (one, other)) for one, other in itertools.combinations(labels, 2)]
    return _group(entry, labels, place, mistakes)


def _group(entry: Any, labels: Sequence[str], place: int, mistakes: Mistakes) -> list[LineUp]:  # noqa: ANN401
    key = ("line_ups", place)
    remedy = f'write "alone", "itself", "pairs", or labels, such as "{labels[0] if labels else "cubic"}*4"'
    if not isinstance(entry, str):
        mistakes.add(key, "must be a string", remedy, entry)
        return []
    try:
        members = tuple(str(table["controller"]) for table in flow_tables(entry))
    except ValueError as error:
        mistakes.add(key, f"is wrong: {error}", remedy, entry)
        return []
    unknown = [member for member in dict.fromkeys(members) if member not in labels]
    if unknown:
        if labels:  # else the mistake lies there
            mistakes.add(key, f'names "{unknown[0]}", which is not one of the controllers', remedy, entry)
        return []
    counts = {member: members.count(member) for member in members}
    name = " + ".join(f"{count} {member}" if count > 1 else member for member, count in counts.items())
    kind: Literal["alone", "group"] = "alone" if len(members) == 1 else "group"
    return [LineUp(f"{name} alone" if kind == "alone" else name, kind, members)]

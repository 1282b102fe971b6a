"""Mean of a group's connections, NAME.1, NAME.2, ..., as one row of a sweep, as papers plot them."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ackclock.scenario.setting_values import value_key
from ackclock.stats.flow_groups import are_a_group, stem

Row = Mapping[str, Any]

NOTE: Final = "A row of a group of connections has their means; sweep.parquet has each of them."

CONNECTIONS: Final = "connections"
"""Key of a row with the number of connections that it averages."""

_OF_RUN: Final = ("jain_index", "utilization", "queueing_delay_ms_mean")


def averaged(rows: Sequence[Row], parameters: Sequence[str]) -> list[Row]:
    """Average the connections of each group: flows whose names end in .1, .2 and so on, with the same controller.

    Args:
        rows: Rows by point and flow, the flows of a point in order.
        parameters: Columns that distinguish points.

    Examples:
        >>> flows = [{"seed": 1, "flow": f"A.{n}", "controller": "vegas", "rtt": 10.0 * n} for n in (1, 2)]
        >>> averaged([*flows, {"seed": 1, "flow": "B", "controller": "reno", "rtt": 5.0}], ["seed"])[0]
        {'seed': 1, 'flow': 'A, mean of 2', 'controller': 'vegas', 'rtt': 15.0, 'connections': 2}
    """
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        group = stem(str(row["flow"]))
        name = (row["flow"], None) if group is None else (group, row["controller"])
        groups.setdefault((*(value_key(row[key]) for key in parameters), *name), []).append(row)
    return [row for group in groups.values() for row in _merged(group, parameters)]


def _merged(group: Sequence[Row], parameters: Sequence[str]) -> Sequence[Row]:
    if not are_a_group([str(row["flow"]) for row in group]):
        return group
    means = {key: _mean(key, [row[key] for row in group]) for key in group[0] if key not in (*parameters, *_OF_RUN)}
    name = f"{stem(str(group[0]['flow']))}, mean of {len(group)}"
    return [{**group[0], **means, "flow": name, CONNECTIONS: len(group)}]


def _mean(key: str, values: Sequence[Any]) -> Any:  # noqa: ANN401  of what is no number the first
    known = [value for value in values if value is not None]
    if not known or isinstance(known[0], (bool, str)) or not isinstance(known[0], (int, float)):
        return values[0]
    return None if key == "completion_s" and len(known) < len(values) else sum(known) / len(known)

"""Tables of a fit."""

import math
from typing import TYPE_CHECKING

from ackclock.plotting.tables import Column, Table, figure

if TYPE_CHECKING:
    from ackclock.recording.fit.search import Fit


def tables(found: "Fit") -> list[Table]:
    """Return the tables of the estimates, and of the agreement between recording and simulation."""
    return [_parameters(found), _residuals(found)]


def _parameters(found: "Fit") -> Table:
    columns = [
        Column("name", "path", is_text=True), Column("value", "found"), Column("low", "from"), Column("high", "to"),
    ]  # fmt: skip
    rows = [
        {
            "name": one.name,
            "value": figure(one.value),
            "low": figure(one.low),
            "high": "any more" if math.isinf(one.high) else figure(one.high),
        }
        for one in found.parameters
    ]
    note = "with 95 % confidence, if the path is of this kind: known paths around it were found again so"
    return Table("path", "", columns, rows, (note,))


def _residuals(found: "Fit") -> Table:
    columns = [Column("name", "quantity", is_text=True), Column("recorded", "recorded")]
    columns += [Column("simulated", "simulated"), Column("spread", "+/-"), Column("score", "score")]
    columns += [Column("within", "within", is_text=True)]
    rows = [
        {
            "name": one.name,
            "recorded": figure(one.recorded),
            "simulated": figure(one.simulated),
            "spread": figure(one.spread),
            "score": f"{one.score:.3f}",
            "within": "yes" if one.is_within else "no",
        }
        for one in found.residuals
    ]
    notes = (
        "simulated: the mean of six runs with other seeds and beginnings; +/-: where one run lies with 95 % "
        "confidence, over paths drawn from the intervals",
        "score: the lesser of the two over the greater",
    )
    return Table("recording and simulation", "", columns, rows, notes)

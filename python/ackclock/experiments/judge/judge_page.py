"""Result of judging as sentences, tables and one page."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from ackclock.experiments.judge.criterion_metrics import MORE_IS_BETTER
from ackclock.experiments.judge.judging import Row, Verdict, deciding
from ackclock.experiments.judge.row_records import places
from ackclock.experiments.judge.suite import Criterion, Suite, shown
from ackclock.plotting.pages import render
from ackclock.plotting.tables import Column, Estimate, Table, Tag, html, number
from ackclock.scenario.display_names import displayed

_KINDS: Final[Mapping[Verdict, str]] = {
    "safe": "agrees",
    "serves": "agrees",
    "unsafe": "differs",
    "falls short": "differs",
    "undecided": "undecided",
    "not run": "open",
}
"""Looks of verdicts, which are those of claims."""

_NUMBERS: Final = (
    Column("criterion", "criterion", is_text=True),
    Column("value", "value", low=0.0),
    Column("bound", "bound"),
    Column("place", "place"),
    Column("verdict", "verdict", is_text=True),
)
_UNIT: Final = Column("unit", "unit", is_text=True)
_CASE: Final = Column("case", "case", is_text=True)
_WHY: Final = Column("why", "rationale", is_text=True)


@dataclass(frozen=True)
class Judgement:
    """Rows of a controller, with what is needed to read them.

    Attributes:
        suite: The suite.
        year: Year of the draw.
        rows: A row for each case.
        others: Rows of other controllers by the same suite and draw.
        where: Where the runs were made, such as "in the simulator".
    """

    suite: Suite
    year: int
    rows: Sequence[Row]
    others: Sequence[Row]
    where: str = "in the simulator"

    @property
    def controller(self) -> str:
        """The controller, in one line."""
        return self.rows[0].controller

    @property
    def title(self) -> str:
        """Title of the page."""
        return f"{shown(self.controller)} by RFC 9743"

    @property
    def about(self) -> str:
        """Suite, draw, place and engine, as a sentence."""
        made_by = ", ".join(dict.fromkeys(row.made_by for row in self.rows))
        seeds = ", ".join(str(draw.seed) for draw in self.suite.draws_of(self.year))
        return (
            f"Suite {self.suite.name} (sha256 {self.suite.sha256[:16]}), draw of {self.year}, {self.where}, "
            f"by ackclock {made_by}. Seeds: {seeds}."
        )

    @cached_property
    def _criteria(self) -> dict[str, Criterion]:
        return {criterion.id: criterion for criterion in self.suite.criteria}

    @cached_property
    def decisive(self) -> list[Row]:
        """Row of the deciding case of each criterion."""
        return deciding(self.rows)

    def _with(self, *verdicts: Verdict) -> list[tuple[Criterion, Row]]:
        return [(self._criteria[row.criterion], row) for row in self.decisive if row.verdict in verdicts]

    @property
    def summary(self) -> list[tuple[str, str]]:
        """Answer in lines: safe or not, and against whom; pairs of a heading and a text."""
        lines = [(f"not safe for {whom}", _listed(of)) for whom, of in _by_victim(self._with("unsafe")).items()]
        harm = [row for row in self.decisive if self._criteria[row.criterion].is_harm and row.verdict != "not run"]
        undecided = [(criterion, row) for criterion, row in self._with("undecided") if criterion.is_harm]
        lines += [(f"undecided for {whom}", _listed(of)) for whom, of in _by_victim(undecided).items()]
        safe = ", ".join(criterion.title for criterion, _ in self._with("safe"))
        counted = f"by {len(self._with('safe'))} of {len(harm)}"
        lines += [("safe", f"{counted}{safe and f': {safe}'}")] if harm else []
        short = self._with("falls short")
        unclear = [pair for pair in self._with("undecided") if not pair[0].is_harm]
        served = len(self._with("serves"))
        count = served + len(short) + len(unclear)
        lines += [("serves its user", f"by {served} of {count}")] if count else []
        lines += [("falls short for its user", _listed(short))] if short else []
        lines += [("undecided for its user", _listed(unclear))] if unclear else []
        left = "; ".join(f"{criterion.title} ({row.reason})" for criterion, row in self._with("not run"))
        return [*lines, *([("not run", left)] if left else [])]

    @property
    def verdict(self) -> str:
        """First sentence: whether a criterion finds the controller unsafe."""
        count = len(self._with("unsafe"))
        if count:
            whom = ", ".join(_by_victim(self._with("unsafe")))
            return f"Not safe by {count} {'criterion' if count == 1 else 'criteria'}: it harms {whom}."
        if any(criterion.is_harm for criterion, _ in self._with("undecided")):
            return "No criterion finds it unsafe, and some cannot decide."
        return "No criterion finds it unsafe." if self._with("safe") else "No criterion about harm was run."

    def numbers(self) -> Table:
        """Table of values, bounds, places and verdicts, by criterion."""
        return Table("", "", _NUMBERS, self._cells(self.decisive), self._notes)

    @property
    def rationales(self) -> list[tuple[str, str]]:
        """Rationales of the criteria that are neither safe nor serve, as pairs of a heading and a text."""
        found = self._with("unsafe", "falls short", "undecided")
        return [
            (
                f"{criterion.section} {criterion.title}",
                f"{_why(criterion)} Unit: {criterion.unit}; decided by: {row.case}.",
            )
            for criterion, row in found
        ]

    def criteria_table(self) -> Table:
        """Table of the deciding cases, with the rationale of each criterion."""
        return Table("", "", (*_NUMBERS, _UNIT, _CASE, _WHY), self._cells(self.decisive), self._notes)

    def cases_table(self) -> Table:
        """Table of all cases."""
        return Table("", "", (_NUMBERS[0], _CASE, *_NUMBERS[1:], _UNIT), self._cells(self.rows))

    @property
    def _notes(self) -> tuple[str, ...]:
        return (
            "Values are means over the seeds, each on another path, with 95 % intervals (Student's t). The worst case "
            "of a criterion decides. A bound is the yardstick's mean and the margin. Verdict and place rest on the "
            "differences from it in that case, seed by seed.",
        )

    def _cells(self, rows: Sequence[Row]) -> list[dict[str, Any]]:
        found = places(rows, self.others)
        cells = []
        for row in rows:
            criterion = self._criteria[row.criterion]
            place, count = found.get((row.criterion, row.case), (0, 0))
            cells.append(
                {
                    "criterion": f"{criterion.section} {criterion.title}",
                    "value": None if row.value is None else Estimate(row.value, row.half, row.seeds),
                    "bound": _bound(criterion, row),
                    "place": f"{place} of {count}" if count > 1 else None,
                    "verdict": Tag(row.verdict, _KINDS[row.verdict]),
                    "unit": criterion.unit,
                    "case": row.case,
                    "why": _why(criterion),
                }
            )
        return cells

    def page(self) -> str:
        """Return the page, in HTML."""
        return render(
            "judge.html",
            title=self.title,
            verdict=self.verdict,
            about=self.about,
            summary=self.summary,
            criteria=html(self.criteria_table()),
            cases=html(self.cases_table()),
            unanswered=self.suite.unanswered,
        )

    def as_json(self) -> dict[str, Any]:
        """Return everything as JSON data."""
        found = places(self.rows, self.others)
        rows = []
        for row in self.rows:
            criterion = self._criteria[row.criterion]
            place, count = found.get((row.criterion, row.case), (None, None))
            values = {name: getattr(row, name) for name in Row.__slots__ if name != "controller"}
            decides = row in self.decisive
            of = {name: getattr(criterion, name) for name in ("section", "title", "against", "unit", "meaning")}
            rows.append(values | of | {"source": criterion.source, "place": place, "of": count, "decides": decides})
        return {
            "controller": self.controller,
            "suite": self.suite.name,
            "sha256": self.suite.sha256,
            "year": self.year,
            "seeds": [draw.seed for draw in self.suite.draws_of(self.year)],
            "where": self.where,
            "verdict": self.verdict,
            "rows": rows,
            "unanswered": list(self.suite.unanswered),
        }


def standings(suite: Suite, year: int, rows: Sequence[Row]) -> Table:
    """Return a row for each controller: how many criteria find it safe, unsafe and undecided, best first."""
    criteria = {criterion.id: criterion for criterion in suite.criteria}
    found: list[dict[str, Any]] = []
    for controller in dict.fromkeys(row.controller for row in rows):
        mine = deciding(row for row in rows if row.controller == controller)
        harm = [row.verdict for row in mine if criteria[row.criterion].is_harm]
        use = [row.verdict for row in mine if not criteria[row.criterion].is_harm]
        victims = {criteria[row.criterion].against: None for row in mine if row.verdict == "unsafe"}
        found.append(
            {"controller": shown(controller)}
            | {name: harm.count(name) for name in ("unsafe", "undecided", "safe")}
            | {"serves": use.count("serves"), "harms": ", ".join(victims)}
        )
    found.sort(key=lambda row: (row["unsafe"], -row["safe"], -row["serves"]))
    columns = (
        Column("controller", "controller", is_text=True),
        Column("unsafe", "unsafe"),
        Column("undecided", "undecided"),
        Column("safe", "safe"),
        Column("serves", "serves"),
        Column("harms", "harms", is_text=True),
    )
    harm_count = sum(criterion.is_harm for criterion in suite.criteria)
    note = (
        f"Criteria of suite {suite.name}, draw of {year}: {harm_count} about harm to others, "
        f"{len(suite.criteria) - harm_count} about the user's own service."
    )
    return Table("", "", columns, found, (note,))


def _by_victim(pairs: Sequence[tuple[Criterion, Row]]) -> dict[str, list[tuple[Criterion, Row]]]:
    found: dict[str, list[tuple[Criterion, Row]]] = {}
    for criterion, row in pairs:
        found.setdefault(criterion.against, []).append((criterion, row))
    return found


def _listed(pairs: Sequence[tuple[Criterion, Row]]) -> str:
    return "; ".join(
        f"{criterion.title} ({criterion.section}) {_figure(row.value)}, bound {_bound(criterion, row)}"
        for criterion, row in pairs
    )


def _figure(value: float | None) -> str:
    return "unknown" if value is None else number(value)


def _bound(criterion: Criterion, row: Row) -> str | None:
    """Return the limit, or the yardstick with the margin, such as "≤ 0.53 + 0.05"."""
    if row.yardstick is None:
        return None
    more = criterion.metric in MORE_IS_BETTER
    sign, way = ("\N{GREATER-THAN OR EQUAL TO}", "\N{MINUS SIGN}") if more else ("\N{LESS-THAN OR EQUAL TO}", "+")
    return f"{sign} {number(row.yardstick)}" + (f" {way} {number(row.margin)}" if row.margin else "")


def _why(criterion: Criterion) -> str:
    return f"{criterion.meaning} Bound: {_whence(criterion)}{criterion.source}."


def _whence(criterion: Criterion) -> str:
    if criterion.limit is not None:
        return ""
    names = dict.fromkeys(name for case in criterion.cases for name in case.yardsticks)
    return f"{' or '.join(map(displayed, names))} on the same path; "

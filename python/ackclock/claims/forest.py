"""Forest plots: the source's number, the range of agreement, and our number with its interval, a row for each claim.

They need numbers only, so recorded claims can be drawn, too.
Source of the form: Lewis and Clarke, BMJ 322, 2001 (from memory). Departures: the rows are claims, not studies, and
have a range of agreement; nothing is pooled.
"""

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ackclock.claims.figures import STYLE
from ackclock.claims.ledger import Choices, Finding
from ackclock.claims.measured import Measured
from ackclock.plotting.figures.theme import COLOURS

WIDTH = 9.6
"""Width of a page, inches."""
MOST = len(COLOURS)
"""Largest number of combinations in a row; a grid has more, and is drawn as a map."""


@dataclass(frozen=True, slots=True)
class Plot:
    """Claims with a common axis."""

    name: str
    title: str
    findings: tuple[Finding, ...]


def plots(findings: Sequence[Finding]) -> list[Plot]:
    """Return the possible plots: claims of a family and a unit, at least one of which is a mean of seeds."""
    groups: dict[tuple[str, str, tuple[str, ...]], list[Finding]] = {}
    for finding in findings:
        family = re.match(r"[A-Za-z]+\d*", finding.claim.id)
        single = finding.claim.share is None and finding.region is None and finding.measured.value is not None
        if family and single:
            options = tuple(name for name, _ in _options(finding))
            groups.setdefault((family[0], finding.claim.unit, options), []).append(finding)
    drawn = [group for group in groups.values() if any(found.seeds > 1 for found in group)]
    return [_plot(number, group) for number, group in enumerate(drawn, 1)]


def _plot(number: int, group: Sequence[Finding]) -> Plot:
    seeds = sorted({finding.seeds for finding in group})
    studies = dict.fromkeys(finding.claim.study.title for finding in group)
    ids = ", ".join(finding.claim.id for finding in group)
    title = (
        f"{ids}: the source (diamonds), what agrees (grey), ours with intervals of 95 % over "
        f"{' or '.join(map(str, seeds))} seeds; {'; '.join(studies)}"
    )
    return Plot(f"forest-{number}-{group[0].claim.id.lower()}", title, tuple(group))


def draw(plot: Plot) -> Figure:
    """Draw a plot."""
    with mpl.rc_context({**STYLE, "axes.grid": False}):
        figure = Figure(figsize=(WIDTH, 1.3 + 0.5 * len(plot.findings)), layout="constrained")
        axis = figure.subplots()
        for place, finding in enumerate(plot.findings):
            _row(axis, place, finding)
        _ranges(axis, plot.findings)
        axis.set_yticks(range(len(plot.findings)), _labels(plot.findings))
        axis.set_ylim(len(plot.findings) - 0.5, -0.5)
        axis.tick_params(axis="y", length=0)
        axis.set_xlabel(_measure(plot.findings))
        handles = dict(zip(*reversed(axis.get_legend_handles_labels()), strict=True))
        figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=4)
    return figure


def _row(axis: Axes, place: int, finding: Finding) -> None:
    tried = _options(finding)
    for index, (name, measured) in enumerate(tried):
        _dot(axis, place + (index - (len(tried) - 1) / 2) * 0.55 / len(tried), measured, COLOURS[index], name)
    published = number_of(finding.claim.published)
    if published is not None:
        axis.plot(published, place, "D", color="black", markersize=7, fillstyle="none", label="source")


def _ranges(axis: Axes, findings: Sequence[Finding]) -> None:
    """Shade the range of agreement of each claim, up to the edge if it has no limit."""
    left, right = axis.get_xlim()
    for place, finding in enumerate(findings):
        low, high = finding.claim.limits
        begin, end = max(low, left), min(high, right)
        axis.barh(place, max(end - begin, 0.0), left=begin, height=0.8, color="#e7e9ee", zorder=0)
    axis.set_xlim(left, right)


def _options(finding: Finding) -> list[tuple[str, Measured]]:
    """Return the measurement under each combination of choices, beginning with the one of the verdict."""
    choices = finding.claim.study.open_choices
    first: Choices = tuple(choice.options[0] for choice in choices)
    tried = [(first, finding.measured), *((chosen, measured) for chosen, measured, _ in finding.others)]
    named = [(", ".join(option.name for option in chosen) or "ours", found) for chosen, found in tried]
    return named[:MOST]


def _dot(axis: Axes, place: float, measured: Measured, colour: str, name: str) -> None:
    interval = measured.interval
    if measured.value is None or not math.isfinite(measured.value):
        return
    half = interval.half if interval is not None and interval.freedom else 0.0
    axis.errorbar(
        measured.value, place, xerr=half, fmt="o", color=colour, markersize=4, capsize=3, linewidth=1.3, label=name
    )


def _labels(findings: Sequence[Finding]) -> list[str]:
    """Label each row by its quantity, or by its study if rows of other studies have the same quantity."""
    rows_of = Counter(finding.claim.quantity for finding in findings)
    rows_of_both = Counter((finding.claim.quantity, finding.claim.study.title) for finding in findings)

    def label(finding: Finding) -> str:
        claim = finding.claim
        is_told_by_study = rows_of[claim.quantity] > 1 and rows_of_both[claim.quantity, claim.study.title] == 1
        text = claim.study.title if is_told_by_study else claim.quantity
        return f"{claim.id}  {text if len(text) <= 52 else text[:50] + ' ...'}"

    return [label(finding) for finding in findings]


def _measure(findings: Sequence[Finding]) -> str:
    """Return the label of the axis: the common quantity of all rows, or their unit."""
    quantities = {finding.claim.quantity for finding in findings}
    unit = findings[0].claim.unit
    if len(findings) == 1 or len(quantities) > 1:
        return unit or "ratio"
    return f"{quantities.pop()}, {unit}" if unit else quantities.pop()


def number_of(published: str) -> float | None:
    """Return the number in a source's text; None without one.

    Args:
        published: Text, as in `claims.toml`.

    Examples:
        >>> number_of("10.41"), number_of("about 13"), number_of("-1.84"), number_of("level"), number_of("up to 14")
        (10.41, 13.0, -1.84, None, 14.0)
    """
    found = re.fullmatch(r"(?:about |up to |close to )?(-?\d+(?:\.\d+)?)(?: \(.*\))?", published)
    return float(found[1]) if found else None

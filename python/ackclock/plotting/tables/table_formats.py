"""Formats of a table: Markdown, LaTeX, CSV, JSON and HTML.

LaTeX needs only `booktabs`; its special characters are escaped. CSV and JSON hold all digits, in the units of their
keys, with mean, half width of the interval and count as separate columns.
"""

import csv
import json
import re
from collections.abc import Callable, Mapping
from html import escape
from io import StringIO
from typing import Any, Final

from ackclock.base.printable import plain
from ackclock.plotting.tables.table import MINUS, NONE, Column, Figure, Table, Tag
from ackclock.stats.estimates import Estimate

_LATEX_SIGNS: Final = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "µ": r"\textmu{}",
    "±": r"$\pm$", MINUS: r"$-$", NONE: "--", "×": r"$\times$", "<": r"$<$", ">": r"$>$",
}  # fmt: skip


def markdown(table: Table) -> str:
    """Return a table as GitHub Markdown."""
    head = "| " + " | ".join(_for_markdown(column.heading) for column in table.columns) + " |"
    rule = "|" + "|".join("---" if column.is_text else "---:" for column in table.columns) + "|"
    rows = ["| " + " | ".join(map(_for_markdown, table.cells(row))) + " |" for row in table.rows]
    below = "".join(f"\n{_for_markdown(note)}  " for note in (table.about, *table.notes) if note)
    return f"**{_for_markdown(table.title)}**\n\n" + "\n".join((head, rule, *rows)) + f"\n{below}\n"


def _for_markdown(text: str) -> str:
    # CommonMark 0.31 section 2.4: what a backslash stands before is no markup; no name becomes HTML or a link.
    return re.sub(r"([\\|<\[`*])", r"\\\1", plain(text))


def latex(table: Table) -> str:
    """Return a table as LaTeX, with caption and label.

    Args:
        table: The table. Numbers are right-aligned; the package `booktabs` is required.
    """
    align = "".join("l" if column.is_text else "r" for column in table.columns)
    titles = " & ".join(for_latex(column.title) for column in table.columns)
    units = " & ".join(for_latex(column.unit) for column in table.columns)
    rows = "\n".join("  " + " & ".join(map(for_latex, table.cells(row))) + r" \\" for row in table.rows)
    parts = [part.rstrip(".") for part in (table.title, table.about, *table.notes) if part]
    caption = " ".join(part if part.endswith(("?", "!")) else f"{part}." for part in parts)
    label = "".join(sign if sign.isalnum() else "-" for sign in table.title.lower()).strip("-")
    return "\n".join(
        (
            r"% \usepackage{booktabs}",
            r"\begin{table}",
            rf"\caption{{{for_latex(caption)}}}",
            rf"\label{{tab:{label}}}",
            r"\centering",
            rf"\begin{{tabular}}{{{align}}}",
            r"\toprule",
            f"  {titles} \\\\",
            *([f"  {units} \\\\"] if any(column.unit for column in table.columns) else []),
            r"\midrule",
            rows,
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
            "",
        )
    )


def for_latex(text: str) -> str:
    r"""Escape a text for LaTeX.

    Examples:
        >>> for_latex("50 % of a_b ± 2")
        '50 \\% of a\\_b $\\pm$ 2'
    """
    return "".join(_LATEX_SIGNS.get(sign, sign) for sign in plain(text))


def as_csv(table: Table) -> str:
    """Return a table as CSV with all digits; comment lines above it describe the runs."""
    content = StringIO()
    for line in (table.title, table.about):
        content.write(f"# {plain(line)}\n")
    estimated = _estimated(table)
    writer = csv.writer(content, lineterminator="\n")
    writer.writerow([name for column in table.columns for name in _names(column, estimated)])
    for row in table.rows:
        writer.writerow([value for column in table.columns for value in _values(row, column, estimated)])
    return content.getvalue()


def _estimated(table: Table) -> set[str]:
    """Return the keys of columns that hold a mean with an interval."""
    return {
        column.key for column in table.columns if any(isinstance(row.get(column.key), Estimate) for row in table.rows)
    }


def _names(column: Column, estimated: set[str]) -> list[str]:
    if column.key not in estimated:
        return [column.key]
    return [column.key, f"{column.key}_ci95", f"{column.key}_count"]


def _values(row: Mapping[str, Any], column: Column, estimated: set[str]) -> list[Any]:
    value = row.get(column.key)
    if not isinstance(value, Estimate):
        return [_plain_value(value), *(["", ""] if column.key in estimated else [])]
    return [value.mean, "" if value.half is None else value.half, value.count]


def as_json(table: Table) -> dict[str, Any]:
    """Return a table as JSON data, with all digits."""
    rows = [{column.key: _plain_value(row.get(column.key)) for column in table.columns} for row in table.rows]
    return {"title": table.title, "about": table.about, "notes": list(table.notes), "rows": rows}


def _plain_value(value: Any) -> Any:  # noqa: ANN401
    if isinstance(value, Estimate):
        return {"mean": value.mean, "ci95": value.half, "count": value.count}
    if isinstance(value, Figure):
        return value.value
    return None if value == NONE else str(value) if isinstance(value, Tag) else value


def html(table: Table) -> str:
    """Return a table as an HTML fragment."""
    head = "".join(f"<th{_kind(column)}>{_text(column.title)}{_unit(column)}</th>" for column in table.columns)
    body = "".join(
        "<tr>"
        + "".join(
            f"<td{_kind(column)}>{_cell(row.get(column.key), cell)}</td>"
            for column, cell in zip(table.columns, table.cells(row), strict=True)
        )
        + "</tr>"
        for row in table.rows
    )
    notes = "".join(f'<p class="note">{_text(note)}</p>' for note in table.notes)
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>{notes}'


def _kind(column: Column) -> str:
    return ' class="word"' if column.is_text else ""


def _cell(value: Any, cell: str) -> str:  # noqa: ANN401
    if not isinstance(value, Tag):
        return _text(cell)
    if value.target:
        return f'<a href="{_text(value.target)}">{_text(cell)}</a>'
    return f'<span class="badge {_text(value.kind)}">{_text(cell)}</span>'


def _unit(column: Column) -> str:
    return f"<br><small>{_text(column.unit)}</small>" if column.unit else ""


def _text(text: str) -> str:
    return escape(plain(text))


def json_text(table: Table) -> str:
    """Return a table as JSON text."""
    return json.dumps(as_json(table), indent=1, ensure_ascii=False) + "\n"


FORMS: Final[dict[str, Callable[[Table], str]]] = {
    "md": markdown,
    "tex": latex,
    "csv": as_csv,
    "json": json_text,
    "html": html,
}
"""Formats of a table, by file suffix."""

"""Tables for papers, pages and programs: a table once, as Markdown, LaTeX, CSV, JSON or HTML."""

from ackclock.estimates import Estimate
from ackclock.tables.cells import Cell, Entry, count_of, figure_of, of_cells
from ackclock.tables.forms import FORMS, as_csv, as_json, html, json_text, latex, markdown
from ackclock.tables.table import Column, Table, Tag, figure, number, shown

__all__ = [
    "FORMS",
    "Cell",
    "Column",
    "Entry",
    "Estimate",
    "Table",
    "Tag",
    "as_csv",
    "as_json",
    "count_of",
    "figure",
    "figure_of",
    "html",
    "json_text",
    "latex",
    "markdown",
    "number",
    "of_cells",
    "shown",
]

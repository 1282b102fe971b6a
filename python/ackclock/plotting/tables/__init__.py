"""Tables for papers, pages and programs: declared once, rendered as Markdown, LaTeX, CSV, JSON or HTML."""

from ackclock.plotting.tables.cells import Cell, Entry, columns_of_runs, count_of, figure_of, of_cells
from ackclock.plotting.tables.table import Column, Table, Tag, figure, number, shown
from ackclock.plotting.tables.table_formats import FORMS, as_csv, as_json, html, json_text, latex, markdown
from ackclock.stats.estimates import Estimate

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
    "columns_of_runs",
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

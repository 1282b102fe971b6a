"""`ackclock report` and `ackclock compare`: pages and tables from result folders, without simulation."""

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ackclock.base import extras, storage
from ackclock.base.printable import unknown
from ackclock.cli.answers import answer, is_asked, put
from ackclock.cli.failures import InputError
from ackclock.cli.folders import Kind, experiment_of, kind_of, runs_of
from ackclock.cli.progress import busy

if TYPE_CHECKING:
    from ackclock.plotting.report.page_content import Window
    from ackclock.plotting.tables import Table

Form = Literal["text", "md", "tex", "csv"]
"""Format of a table."""

_Folders = Annotated[
    list[Path],
    typer.Argument(metavar="DIR...", help="Folders of runs, or one folder of a sweep or study.", show_default=False),
]


def report(
    folders: _Folders,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FILE.html", help="Write the page to this file.")
    ] = Path("report.html"),
    static: Annotated[
        Path | None,
        typer.Option(
            "--static",
            metavar="DIR",
            help="Also write the figures as SVG and PNG to this folder.",
            show_default=False,
        ),
    ] = None,
    window: Annotated[
        str | None,
        typer.Option(
            "--window",
            metavar="FROM..TO",
            help="Show only this time, in more detail, e.g. 10s..12s.",
            show_default=False,
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Also replace files that ackclock did not write.")] = False,
) -> None:
    """Write one self-contained HTML page of results.

    A page and figures of an earlier report are replaced.
    """
    extras.require("report")
    if output.is_dir():
        raise InputError(f"{output} is a folder; give the name of the page, such as {output / 'report.html'}")
    if output.suffix.lower() in (".pdf", ".svg", ".png"):
        raise InputError(f"{output}: a report is a page, .html; ackclock plot draws a figure as {output.suffix}")
    storage.check_file(output, force=force)
    kind = kind_of(folders)
    shown = _window(window)
    if kind != "run":
        if shown is not None:
            raise InputError(f"--window needs runs; {folders[0]} is a {kind}")
        _report_of_many(kind, folders[0], output, static, force=force)
        return
    results = runs_of(folders)
    end_s = max(result.summary["duration_s"] for result in results)
    if shown is not None and shown.begin_s >= end_s:
        raise InputError(f"--window {window} must begin before the end of the runs, which is {end_s:g} s")
    from ackclock.plotting.report import write_report

    with busy(f"drawing {output}"):
        write_report(results, output, static, force=force, window=shown)
    from ackclock.results.run_labels import labels

    of = zip(folders, labels(results), strict=True)
    answer(page=str(output), kind=kind, runs=[{"folder": str(folder), "label": label} for folder, label in of])
    print(output)


def _window(text: str | None) -> "Window | None":
    from ackclock.plotting.report.page_content import Window
    from ackclock.scenario.quantities import seconds

    if text is None:
        return None
    begin, dots, end = text.partition("..")
    found = [seconds(f"{part} s" if part.replace(".", "", 1).isdigit() else part) for part in (begin, end)]
    if not dots or found[0] is None or found[1] is None or found[0] >= found[1]:
        raise InputError(f"--window {text}: write two times, the first the earlier, such as 10s..12s or 500ms..800ms")
    return Window(found[0], found[1])


def _report_of_many(kind: Kind, folder: Path, output: Path, static: Path | None, *, force: bool) -> None:
    from ackclock.plotting.report.grid_page import write

    shown = experiment_of(kind, folder)
    with busy(f"drawing {output}"):
        write(shown, output, static, force=force)
    answer(page=str(output), kind=kind, folder=str(folder))
    print(output)


def compare(
    folders: _Folders,
    form: Annotated[Form, typer.Option("--form", help="Select the format: text, Markdown, LaTeX or CSV.")] = "text",
    columns: Annotated[
        str | None,
        typer.Option("--columns", metavar="NAME,...", help="Print only these columns of a sweep or study, by title."),
    ] = None,
) -> None:
    """Print runs side by side, or the means of a sweep or study."""
    if is_asked() and form != "text":
        raise InputError(f"--json and --form {form} exclude each other; give one of them")
    kind = kind_of(folders)
    if kind == "run" and len(folders) < 2:
        raise InputError("compare needs at least two result folders, or one of a sweep or study")
    if kind != "run":
        _print(_narrowed(experiment_of(kind, folders[0]).tables, columns), form)
    elif columns is not None:
        raise InputError("--columns needs a sweep or study; runs are compared in all columns")
    else:
        _compare_runs(folders, form)


def _narrowed(tables: "list[Table]", columns: str | None) -> "list[Table]":
    """Return the tables that have some of the columns, with these only."""
    if columns is None:
        return tables
    names = [name.strip() for name in columns.split(",")]
    known = list(dict.fromkeys(column.title.strip() for table in tables for column in table.columns))
    keys = {column.key for table in tables for column in table.columns}
    if strange := [name for name in names if name not in known and name not in keys]:
        raise InputError(f"--columns: {unknown('column', strange[0], known)}")
    return [
        table.narrowed(names)
        for table in tables
        if any({column.title.strip(), column.key} & set(names) for column in table.columns)
    ]


def _compare_runs(folders: list[Path], form: Form) -> None:
    results = runs_of(folders)
    from ackclock.plotting.report.run_comparison import tables
    from ackclock.plotting.terminal import name, output
    from ackclock.results.run_labels import common, facts, labels

    if is_asked():
        runs = [
            {"folder": str(folder), "label": label, "facts": facts(result), "summary": result.summary}
            for folder, label, result in zip(folders, labels(results), results, strict=True)
        ]
        put(json.dumps({"runs": runs}, indent=1, ensure_ascii=False) + "\n")
        return
    found = tables(results)
    if form == "text" and (about := common(results)):
        output().print(name(f"the same in all: {about}"), style="dim")
        output().print()
        found = [replace(table, about="") for table in found]
    _print(found, form, whole=True)


def _print(tables: "list[Table]", form: Form, *, whole: bool = False) -> None:
    from ackclock.cli.table_output import print_table, put_tables
    from ackclock.plotting.tables import FORMS

    if is_asked():
        put_tables(tables)
    elif form == "text":
        for table in tables:
            print_table(table, whole=whole)
    else:
        sys.stdout.write("\n".join(FORMS[form](table) for table in tables))

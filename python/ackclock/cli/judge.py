"""`ackclock judge`: a congestion controller by the criteria of RFC 9743."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from ackclock import _core
from ackclock.base import extras, storage
from ackclock.base.printable import amount, unknown
from ackclock.cli import check
from ackclock.cli.answers import answer, is_asked, put
from ackclock.cli.failures import InputError, WorkError, errors
from ackclock.cli.places import On, kernel_of
from ackclock.cli.progress import points_progress
from ackclock.cli.sweep import Jobs
from ackclock.plotting.terminal import name, output

if TYPE_CHECKING:
    from ackclock.experiments.judge.judge_page import Judgement
    from ackclock.experiments.judge.judging import Row
    from ackclock.experiments.judge.suite import Criterion, Suite
    from ackclock.running.linux_kernels import Kernel

_PAGE: Final = "judge.html"
_ROWS: Final = "rows.csv"
_ONE, _ALL = "judge", "judge --all"
"""Kinds of folders."""


def judge(
    controller: Annotated[
        str | None,
        typer.Argument(
            metavar="CONTROLLER",
            help="Controller as in a scenario: a name, python:MODULE:CLASS, or a TOML table.",
            show_default=False,
        ),
    ] = None,
    everything: Annotated[
        bool,
        typer.Option("--all", help="Judge every built-in controller that needs no parameter."),
    ] = False,
    verify: Annotated[
        str | None,
        typer.Option(
            "--verify",
            metavar="ROW",
            help="Recompute rows on record, CONTROLLER/CRITERION or a line of a file of rows, and compare the bytes.",
            show_default=False,
        ),
    ] = None,
    only: Annotated[
        str | None,
        typer.Option("--only", metavar="CRITERIA", help="Judge by these criteria, separated by commas."),
    ] = None,
    suite_name: Annotated[str, typer.Option("--suite", metavar="NAME", help="Judge by this suite.")] = "2027.1",
    year: Annotated[
        int | None,
        typer.Option(
            "--year",
            min=2000,
            max=9999,
            help="Take the draw of another year, which gives other seeds and paths (default: the suite's).",
            show_default=False,
        ),
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="DIR", help="Write page and rows to this folder (default with --all: out/judge)."
        ),
    ] = None,
    lists: Annotated[bool, typer.Option("--list", help="List the criteria, without judging.")] = False,
    jobs: Jobs = None,
    on: On = "simulator",
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only errors.")] = False,
    trust: check.Trust = False,
) -> None:
    """Judge a congestion controller by the criteria of RFC 9743.

    The first lines say what is safe, what is not, and against whom. Then there is a row for each criterion:
    value, bound, place among the controllers on record, verdict.

    An interrupted --all continues after the last controller that was judged.
    """
    from ackclock.experiments.judge import suite as suites

    chosen = [option for option, given in _given(controller, verify, everything=everything, lists=lists) if given]
    if len(chosen) != 1:
        said = f"{' and '.join(chosen)} exclude each other" if chosen else "name a controller, such as cubic"
        raise InputError(f"{said}; give one of CONTROLLER, --all, --verify and --list")
    suite = suites.load(suite_name)
    criteria = _criteria(suite, only)
    if lists:
        _list(criteria)
        return
    kernel = kernel_of(on)
    draw = suite.year if year is None else year
    if verify is not None:
        if only is not None or folder is not None:
            raise InputError("--verify recomputes rows and writes nothing; leave out --only and -o")
        _verify(suite, draw, verify, kernel, jobs, trusts=trust, quiet=quiet)
    elif controller is not None:
        given = suites.controller_of(controller)
        trusted(given, controller, trusts=trust)
        _judge_one(suite, criteria, given, draw, folder, kernel, jobs, quiet=quiet)
    else:
        _judge_all(suite, criteria, draw, folder or Path("out/judge"), kernel, jobs, quiet=quiet)


def _given(controller: str | None, verify: str | None, *, everything: bool, lists: bool) -> list[tuple[str, bool]]:
    return [
        ("CONTROLLER", controller is not None), ("--all", everything), ("--verify", verify is not None),
        ("--list", lists),
    ]  # fmt: skip


def _criteria(suite: "Suite", only: str | None) -> "Sequence[Criterion]":
    if only is None:
        return suite.criteria
    known = {criterion.id: criterion for criterion in suite.criteria}
    wanted = [word.strip() for word in only.split(",") if word.strip()]
    if not wanted:
        raise InputError("--only names no criterion; ackclock judge --list lists them")
    for word in wanted:
        if word not in known:
            raise InputError(f"--only: {unknown('criterion', word, known)}")
    return [criterion for criterion in suite.criteria if criterion.id in wanted]


def _list(criteria: "Sequence[Criterion]") -> None:
    from ackclock.cli.table_output import print_list

    if is_asked():
        keys = ("id", "section", "title", "against", "unit", "meaning", "source")
        put(json.dumps([{key: getattr(one, key) for key in keys} for one in criteria], indent=1) + "\n")
        return
    print_list(("criterion", "section", "title", "against"), ((c.id, c.section, c.title, c.against) for c in criteria))


def trusted(controller: Any, text: str, *, trusts: bool) -> None:  # noqa: ANN401  a name or a table
    """Ask before code of the user is run.

    Raises:
        InputError: If the user refuses.
    """
    use = controller.get("use", []) if isinstance(controller, dict) else []
    code = _core.code_of(json.dumps({"use": use, "flow": [{"controller": controller}]})) or []
    if code and not trusts:
        check.agree(Path(text), code)


def _judge_one(
    suite: "Suite", criteria: "Sequence[Criterion]", controller: Any, year: int, folder: Path | None,  # noqa: ANN401
    kernel: "Kernel | None", jobs: int | None, *, quiet: bool,
) -> None:  # fmt: skip
    from ackclock.experiments.judge import judging
    from ackclock.experiments.judge.judge_page import Judgement

    if folder is not None:
        extras.require("report")
        storage.check_folder(folder, kind=_ONE, renews=True)
    with points_progress("runs", quiet=quiet) as begin:
        rows = judging.judge(
            suite, controller, criteria, year=year, folder=str(Path.cwd()), on=kernel, jobs=jobs, on_begin=begin
        )
    found = Judgement(suite, year, rows, _on_record(suite, year, kernel), _where(kernel))
    if folder is not None:
        _write(folder, _ONE, suite, year, kernel, rows, {_PAGE: found.page()})
    _print(found, folder, quiet=quiet)


def _write(
    folder: Path, kind: str, suite: "Suite", year: int, kernel: "Kernel | None", rows: "Sequence[Row]",
    pages: dict[str, str],
) -> None:  # fmt: skip
    from ackclock.experiments.judge import row_records as records

    with storage.new_folder(folder, kind=kind, renews=True) as partial:
        for file, text in ({_ROWS: records.text(suite, year, rows, _where(kernel))} | pages).items():
            (partial / file).write_text(text, encoding="utf-8")


def _on_record(suite: "Suite", year: int, kernel: "Kernel | None") -> "list[Row]":
    """Return the rows that come with the suite; none for another draw, or on a kernel."""
    from ackclock.experiments.judge import row_records as records

    is_theirs = year == suite.year and kernel is None and records.file_of(suite).is_file()
    return records.read(records.file_of(suite), suite, year) if is_theirs else []


def _where(kernel: "Kernel | None") -> str:
    from ackclock.experiments.judge import row_records as records

    return records.SIMULATOR if kernel is None else f"on Linux {kernel.version}"


def _print(found: "Judgement", folder: Path | None, *, quiet: bool) -> None:
    if is_asked():
        put(json.dumps(found.as_json(), indent=1, ensure_ascii=False) + "\n")
        return
    if quiet:
        return
    from ackclock.cli.table_output import print_table

    console = output()
    console.print(name(found.title), style="bold")
    console.print(name(found.verdict))
    for heading, text in found.summary:
        console.print(name(f"{heading}: {text}"))
    console.print(name(found.about), style="dim")
    console.print()
    print_table(found.numbers(), whole=True)
    for heading, text in found.rationales:
        console.print(name(f"{heading}: {text}"))
    if folder is not None:
        print(f"page and rows in {folder}: {_PAGE}, {_ROWS}")


def _judge_all(
    suite: "Suite", criteria: "Sequence[Criterion]", year: int, folder: Path, kernel: "Kernel | None",
    jobs: int | None, *, quiet: bool,
) -> None:  # fmt: skip
    """Judge every built-in controller; rows are written after each, so that an interruption loses one at most."""
    from ackclock.experiments.judge import judging
    from ackclock.experiments.judge import row_records as records
    from ackclock.experiments.judge.judge_page import Judgement, standings

    extras.require("report")
    storage.check_folder(folder, kind=_ALL, renews=True)
    file = folder / _ROWS
    rows = records.read(file, suite, year, _where(kernel)) if file.exists() else []
    yardsticks: dict[str, str] = {}
    left_out = []
    for label in [one["name"] for one in json.loads(_core.controllers())]:
        missing = _missing(criteria, [row for row in rows if row.controller == label])
        try:
            judging.check(suite, label)
        except InputError as error:
            left_out.append(str(error))
            continue
        if not missing:
            continue
        try:
            with points_progress(f"runs of {label}", quiet=quiet) as begin:
                found = judging.judge(
                    suite, label, missing, year=year, on=kernel, jobs=jobs, on_begin=begin, yardsticks=yardsticks
                )
        except KeyboardInterrupt:
            if rows:
                kept = amount(len({row.controller for row in rows}), "controller")
                errors().print(name(f"{file} keeps the rows of {kept}; the same command goes on after them"))
            raise
        rows = records.merged(suite, rows, found)
        _write(folder, _ALL, suite, year, kernel, rows, {})
    labels = list(dict.fromkeys(row.controller for row in rows))
    pages = {
        f"{label}.html": Judgement(
            suite, year, [row for row in rows if row.controller == label], rows, _where(kernel)
        ).page()
        for label in labels
    }
    _write(folder, _ALL, suite, year, kernel, rows, pages)
    answer(controllers=len(labels), left_out=left_out)
    if quiet:
        return
    from ackclock.cli.table_output import print_table

    for text in left_out:
        errors().print(name(f"not judged: {text}"), style="yellow", soft_wrap=True)
    print_table(standings(suite, year, rows), whole=True)
    print(f"{amount(len(rows), 'row')} in {file}, and a page for each controller beside it")


def _missing(criteria: "Sequence[Criterion]", rows: "Sequence[Row]") -> "list[Criterion]":
    """Return the criteria of which a case has no row that this version made."""
    from ackclock.experiments.judge import judging

    known = {(row.criterion, row.case) for row in rows if row.made_by == judging.made_by()}
    return [one for one in criteria if not {(one.id, case.name) for case in one.cases} <= known]


def _verify(
    suite: "Suite", year: int, text: str, kernel: "Kernel | None", jobs: int | None, *, trusts: bool, quiet: bool
) -> None:
    """Recompute rows of a criterion, and compare them with those on record.

    Raises:
        InputError: If there is no such row.
        WorkError: If a recomputed row differs.
    """
    from ackclock.experiments.judge import judging
    from ackclock.experiments.judge import row_records as records
    from ackclock.experiments.judge.suite import controller_of

    rows = [records.parsed(text)] if "," in text else _rows_of(suite, year, text, kernel)
    (criterion,) = _criteria(suite, rows[0].criterion)
    cases = {case.name: case for case in criterion.cases}
    for row in rows:
        if row.case not in cases:
            raise InputError(f"--verify: {unknown('case', row.case, cases)}")
    controller = controller_of(rows[0].controller)
    trusted(controller, rows[0].controller, trusts=trusts)
    chosen = replace(criterion, cases=tuple(cases[row.case] for row in rows))
    with points_progress("runs", quiet=quiet) as begin:
        again = judging.judge(suite, controller, [chosen], year=year, on=kernel, jobs=jobs, on_begin=begin)
    pairs = [(was, found, records.is_equal(was, found)) for was, found in zip(rows, again, strict=True)]
    answer(
        rows=[
            {"row": records.line(was), "recomputed": records.line(found), "is_equal": same}
            for was, found, same in pairs
        ]
    )
    for was, found, same in pairs:
        if not same:
            raise WorkError(_difference(was, found, f"for the draw of {year}, {_where(kernel)}"))
        if not quiet:
            older = "" if was.made_by == found.made_by else f" but for {found.made_by}, which makes it now"
            output().print(name(f"equal, byte for byte{older}: {records.line(was)}"), soft_wrap=True)


def _rows_of(suite: "Suite", year: int, text: str, kernel: "Kernel | None") -> "list[Row]":
    """Return the rows on record of a controller and criterion."""
    known: dict[str, list[Row]] = {}
    for row in _on_record(suite, year, kernel):
        known.setdefault(f"{row.controller}/{row.criterion}", []).append(row)
    if not known:
        raise InputError(f"--verify {text}: no rows are on record for the draw of {year}; give the line of a file")
    if text not in known:
        raise InputError(f"--verify: {unknown('row', text, known)}")
    return known[text]


def _difference(was: "Row", found: "Row", where: str) -> str:
    from ackclock.experiments.judge import row_records as records

    text = f"the row differs: on record {records.line(was)}, recomputed {records.line(found)} {where}"
    if was.made_by == found.made_by:
        return f"{text}; was it made by the same?"
    return f"{text}; {was.made_by} made it, and this is {found.made_by}: verify it with that version, or judge again"

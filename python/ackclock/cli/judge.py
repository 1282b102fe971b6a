"""`ackclock judge`: a congestion controller by the criteria of RFC 9743."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from ackclock import _core
from ackclock.base import extras, storage
from ackclock.base.printable import amount, unknown
from ackclock.base.version import __version__
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
        bool, typer.Option("--all", help="Judge every built-in controller that needs no parameter.")
    ] = False,
    verify: Annotated[
        str | None,
        typer.Option(
            "--verify",
            metavar="ROW",
            help="Recompute a row on record, CONTROLLER/CRITERION or a line of a file of rows, and compare the bytes.",
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
            raise InputError("--verify recomputes one row, and writes nothing; leave out --only and -o")
        _verify(suite, draw, verify, kernel, jobs, trusts=trust, quiet=quiet)
    elif controller is not None:
        given = suites.controller_of(controller)
        _trusted(given, controller, trusts=trust)
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


def _trusted(controller: Any, text: str, *, trusts: bool) -> None:  # noqa: ANN401  a name or a table
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
    from ackclock.experiments.judge import row_records as records
    from ackclock.experiments.judge import suite as suites
    from ackclock.experiments.judge.judge_page import Judgement

    if folder is not None:
        extras.require("report")
        _check_free(folder, records.head(suite, year, _where(kernel)))
        _check_own(folder, suites.label_of(controller))
    with points_progress("runs", quiet=quiet) as begin:
        rows = judging.judge(
            suite, controller, criteria, year=year, folder=str(Path.cwd()), on=kernel, jobs=jobs, on_begin=begin
        )
    found = Judgement(suite, year, rows, _on_record(suite, year, kernel), _where(kernel))
    if folder is not None:
        _write(folder, {_PAGE: found.page(), _ROWS: records.text(suite, year, rows, _where(kernel))})
    _print(found, folder, quiet=quiet)


def _on_record(suite: "Suite", year: int, kernel: "Kernel | None") -> "list[Row]":
    """Return the rows that come with the suite; none for another draw, or on a kernel."""
    from ackclock.experiments.judge import row_records as records

    is_theirs = year == suite.year and kernel is None and records.file_of(suite).is_file()
    return records.read(records.file_of(suite), suite, year) if is_theirs else []


def _where(kernel: "Kernel | None") -> str:
    from ackclock.experiments.judge import row_records as records

    return records.SIMULATOR if kernel is None else f"on Linux {kernel.version}"


def _check_free(folder: Path, head: str) -> None:
    """Refuse a folder with other things than an earlier judgement by the same suite and draw."""
    if not folder.exists():
        return
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder; choose another place with -o")
    others = [entry.name for entry in folder.iterdir() if entry.name not in (_PAGE, _ROWS) and entry.suffix != ".html"]
    rows = folder / _ROWS
    if others or (rows.exists() and not rows.read_text(encoding="utf-8", errors="replace").startswith(head)):
        raise InputError(f"{folder} holds other things than judgements by this suite; choose another folder with -o")


def _check_own(folder: Path, controller: str) -> None:
    """Refuse a folder with rows of other controllers, which those of this one would replace."""
    from ackclock.experiments.judge import row_records as records

    file = folder / _ROWS
    if not file.exists():
        return
    found = {records.parsed(line).controller for line in file.read_text(encoding="utf-8").splitlines()[2:]}
    if others := sorted(found - {controller}):
        raise InputError(f"{file} has rows of {', '.join(others[:3])}; choose another folder with -o")


def _write(folder: Path, texts: dict[str, str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for file, text in texts.items():
        storage.write_file(folder / file, text.encode())


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
    _check_free(folder, records.head(suite, year, _where(kernel)))
    file = folder / _ROWS
    rows = records.read(file, suite, year, _where(kernel)) if file.exists() else []
    wanted = {criterion.id for criterion in criteria}
    yardsticks: dict[str, str] = {}
    left_out = []
    for one in json.loads(_core.controllers()):
        label = one["name"]
        mine = [row for row in rows if row.controller == label]
        if wanted <= {row.criterion for row in mine}:
            continue
        try:
            judging.check(suite, label)
        except InputError as error:
            left_out.append(str(error))
            continue
        with points_progress(f"runs of {label}", quiet=quiet) as begin:
            found = judging.judge(
                suite, label, criteria, year=year, on=kernel, jobs=jobs, on_begin=begin, yardsticks=yardsticks
            )
        rows = [row for row in rows if row not in mine] + found
        _write(folder, {_ROWS: records.text(suite, year, rows, _where(kernel))})
    for label in dict.fromkeys(row.controller for row in rows):
        mine = [row for row in rows if row.controller == label]
        _write(folder, {f"{label}.html": Judgement(suite, year, mine, rows, _where(kernel)).page()})
    answer(controllers=len(dict.fromkeys(row.controller for row in rows)), left_out=left_out)
    if quiet:
        return
    from ackclock.cli.table_output import print_table

    for text in left_out:
        errors().print(name(f"not judged: {text}"), style="yellow", soft_wrap=True)
    print_table(standings(suite, year, rows), whole=True)
    print(f"{amount(len(rows), 'row')} in {file}, and a page for each controller beside it")


def _verify(
    suite: "Suite", year: int, text: str, kernel: "Kernel | None", jobs: int | None, *, trusts: bool, quiet: bool
) -> None:
    """Recompute a row, and compare it with the one on record.

    Raises:
        InputError: If there is no such row.
        WorkError: If the recomputed row differs.
    """
    from ackclock.experiments.judge import judging
    from ackclock.experiments.judge import row_records as records
    from ackclock.experiments.judge.suite import controller_of

    if "," in text:
        row = records.parsed(text)
    else:
        rows = _on_record(suite, year, kernel)
        known = {f"{row.controller}/{row.criterion}": row for row in rows}
        if not known:
            raise InputError(f"--verify {text}: no rows are on record for the draw of {year}; give the line of a file")
        if text not in known:
            raise InputError(f"--verify: {unknown('row', text, known)}")
        row = known[text]
    criteria = _criteria(suite, row.criterion)
    controller = controller_of(row.controller)
    _trusted(controller, row.controller, trusts=trusts)
    with points_progress("runs", quiet=quiet) as begin:
        again = judging.judge(suite, controller, criteria, year=year, on=kernel, jobs=jobs, on_begin=begin)[0]
    was, found = records.line(row), records.line(again)
    answer(row=was, recomputed=found, is_equal=was == found)
    if was != found:
        made = f"by ackclock {__version__} for the draw of {year}, {_where(kernel)}"
        raise WorkError(f"the row differs: on record {was}, recomputed {found} {made}; was it made by the same?")
    if not quiet:
        output().print(name(f"equal, byte for byte: {found}"), soft_wrap=True)

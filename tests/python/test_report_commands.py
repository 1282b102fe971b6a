"""`ackclock report` and `compare` on the command line; what they draw is tested beside the drawing."""

from pathlib import Path

import pytest

import ackclock
from conftest import Cli


@pytest.fixture
def folder(results: ackclock.Results, tmp_path: Path) -> Path:
    return results.save(tmp_path / "run")


def test_report_writes_a_page_and_prints_its_place(cli: Cli, folder: Path, tmp_path: Path) -> None:
    done = cli("report", folder, "-o", "page.html")
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "page.html"
    page = (tmp_path / "page.html").read_text()
    assert "two flows" in page
    assert sorted(path.name for path in tmp_path.iterdir()) == ["page.html", "run"]


def test_the_run_of_the_listed_figures_is_named_once(cli: Cli, folder: Path) -> None:
    head, *figures = cli("plot", folder).stdout.splitlines()
    about = head.removesuffix(":")
    assert "two flows" in about and len(figures) > 5
    assert not any(about in line for line in figures)


def test_a_run_without_series_says_why_it_has_no_figures(cli: Cli, scenario_file: Path) -> None:
    """`ackclock plot` printed nothing, and took every figure for an unknown one."""
    assert cli("run", scenario_file, "--set", "trace=false", "-o", "bare").returncode == 0
    for arguments in ((), ("-f", "cwnd"), ("--json",)):
        done = cli("plot", "bare", *arguments)
        assert (done.returncode, "bare: no series to draw a figure of" in done.stderr) == (2, True), done
    assert "run it with its trace" in cli("fit", "bare").stderr


def test_a_comparison_is_drawn_like_a_run(cli: Cli, folder: Path) -> None:
    """No lines around cells, so that the columns of either are cut with the same tools."""
    compared = cli("compare", folder, folder).stdout
    assert "goodput (Mbit/s)" in compared
    assert not set("│┃─━") & set(compared)


def test_traces_of_links_have_a_command_of_their_own(cli: Cli) -> None:
    done = cli("list", "traces")
    assert (done.returncode, "`ackclock traces`" in done.stderr) == (2, True)


def test_static_figures_are_written_where_asked(cli: Cli, folder: Path, tmp_path: Path) -> None:
    assert cli("report", folder, "-o", "page.html", "--static", "figures").returncode == 0
    suffixes = {path.suffix for path in (tmp_path / "figures").iterdir()}
    assert suffixes == {".svg", ".png"}


def test_compare_sets_two_runs_side_by_side(cli: Cli, folder: Path, results: ackclock.Results, tmp_path: Path) -> None:
    results.save(tmp_path / "again")
    done = cli("compare", folder, "again")
    assert done.returncode == 0, done.stderr
    assert "goodput" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("report", "none"), "none is not a folder"),
        (("report", "."), "it has no summary.json"),
        (("report", "run", "-o", "run"), "run is a folder"),
        (("report", "run", "--window", "3s..2s"), "write two times"),
        (("report", "run", "--window", "20s..30s"), "must begin before the end of the runs, which is 2 s"),
        (("compare", "run"), "at least two"),
        (("compare", "none"), "none is not a folder"),
        (("claims", "new", "./mine", "-o", "other"), "takes no option"),
        (("run", "--flows", "cubic", "--seeds", "2", "--set", "duration=1 s"), "give --duration"),
    ],
)
def test_wrong_input_is_exit_code_2(cli: Cli, folder: Path, arguments: tuple[str, ...], said: str) -> None:
    assert folder.is_dir()
    done = cli(*arguments)
    assert done.returncode == 2
    assert said in done.stderr


def test_a_page_that_cannot_be_written_is_exit_code_1(cli: Cli, folder: Path) -> None:
    done = cli("report", folder, "-o", "/proc/none/page.html")
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1


def test_a_report_replaces_its_own_files_and_others_only_with_force(cli: Cli, folder: Path, tmp_path: Path) -> None:
    for _ in range(2):
        assert cli("report", folder, "-o", "page.html", "--static", "figures").returncode == 0
    (tmp_path / "notes.txt").write_text("precious")
    refused = cli("report", folder, "-o", "notes.txt")
    assert refused.returncode == 2
    assert "--force" in refused.stderr
    assert (tmp_path / "notes.txt").read_text() == "precious"
    drawn = [tmp_path / "figures" / f"cwnd.{suffix}" for suffix in ("svg", "png")]
    before = [file.read_bytes() for file in drawn]
    for number, file in enumerate(drawn):
        file.write_bytes(b"drawn by hand")
        assert cli("report", folder, "-o", "page.html", "--static", "figures").returncode == 2
        assert file.read_bytes() == b"drawn by hand"
        file.write_bytes(before[number])
    drawn[0].write_bytes(b"drawn by hand")
    assert cli("report", folder, "-o", "page.html", "--static", "figures", "--force").returncode == 0
    assert drawn[0].read_bytes() != b"drawn by hand"


def test_a_list_of_arrivals_replaces_no_file_unasked(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "notes.csv").write_text("precious")
    refused = cli("arrivals", "none.pcap", "-o", "notes.csv")
    assert refused.returncode == 2
    assert "--force" in refused.stderr

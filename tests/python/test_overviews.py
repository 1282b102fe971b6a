"""Series of folders of results, sampled down, and how a page asks for them."""

import json
import threading
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from ackclock.cli import studio_server
from ackclock.results import overviews
from ackclock.results.overviews import Asked, Overviews
from conftest import Cli


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Ten seconds, a row each 10 ms of a and of b in turn: a counts up from 0 and falls at 5 s, b is 7 and once 99."""
    steps = range(1000)
    rows = [(step / 100, name, value) for step in steps for name, value in (("a", step % 500), ("b", 7.0))]
    table = pl.DataFrame(rows, schema=["time_s", "flow", "cwnd_bytes"], orient="row", strict=False)
    table = table.with_columns(
        pl.when((pl.col("flow") == "b") & (pl.col("time_s") == 6.25))
        .then(99.0)
        .otherwise("cwnd_bytes")
        .alias("cwnd_bytes")
    )
    table.write_parquet(tmp_path / "flows.parquet", row_group_size=128)
    (tmp_path / "manifest.json").write_text(json.dumps({"scenario": {"name": "mine"}}))
    monkeypatch.setattr(overviews, "MOST_ROWS", 100)
    monkeypatch.setattr(overviews, "_PIECE_ROWS", 77)
    return tmp_path


def asked(begin_s: float, end_s: float, parts: int) -> Asked:
    return Asked("flows", ("cwnd_bytes",), begin_s, end_s, parts)


def test_it_says_what_is_there(folder: Path) -> None:
    table = {"columns": ["cwnd_bytes"], "rows": 2000, "begin_s": 0.0, "end_s": 9.99}
    assert Overviews(folder).about()["tables"] == {"flows": table}


def test_each_part_of_the_time_has_its_least_and_its_greatest_value(folder: Path) -> None:
    shown = Overviews(folder).whole(asked(0.0, 10.0, 2))
    # Two parts of five seconds; the least stands a quarter into each, the greatest three quarters.
    assert shown["time_s"] == [1.25, 3.75, 6.25, 8.75]
    assert shown["series"]["cwnd_bytes"] == {"a": [0, 499, 0, 499], "b": [7, 7, 7, 99]} and shown["is_exact"]


def test_of_a_short_time_every_row_is_shown(folder: Path) -> None:
    shown = Overviews(folder).whole(asked(6.24, 6.26, 1000))
    assert shown["time_s"] == [6.24, 6.25, 6.26]
    assert shown["series"]["cwnd_bytes"] == {"a": [124, 125, 126], "b": [7, 99, 7]}


def test_what_is_no_number_is_null(tmp_path: Path) -> None:
    rows = {"time_s": [0.0, 1.0, 2.0], "flow": ["a"] * 3, "gain": [1.5, float("nan"), float("inf")]}
    pl.DataFrame(rows).write_parquet(tmp_path / "flows.parquet")
    shown = Overviews(tmp_path).whole(Asked("flows", ("gain",), 0.0, 3.0, 10))
    assert json.loads(json.dumps(shown, allow_nan=False))["series"]["gain"]["a"] == [1.5, None, None]


def test_a_first_look_has_rows_of_all_the_time(folder: Path) -> None:
    shown = Overviews(folder).first_look(asked(0.0, 10.0, 500))
    assert not shown["is_exact"]
    assert (shown["time_s"][0], shown["time_s"][-1]) == (0.0, 9.99)
    gaps = [after - before for before, after in zip(shown["time_s"], shown["time_s"][1:], strict=False)]
    assert max(gaps) < 2 * 10.0 / overviews.PLACES
    for time_s, value in zip(shown["time_s"], shown["series"]["cwnd_bytes"]["a"], strict=True):
        assert value is None or value == round(time_s * 100) % 500


def test_one_that_is_not_wanted_any_more_ends(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    series, inner = Overviews(folder), overviews._extremes

    def interrupted(rows: pl.DataFrame, question: Asked) -> pl.DataFrame:
        series._begin("flows")  # as another question does
        return inner(rows, question)

    monkeypatch.setattr(overviews, "_extremes", interrupted)
    with pytest.raises(overviews.SupersededError):
        series.whole(asked(0.0, 10.0, 2))


def test_a_page_asks_by_address(folder: Path) -> None:
    server = studio_server.server(folder, to_open={"text": "", "files": {}}, series=studio_server.recorded(folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()

    def ask(place: str, host: str | None = None) -> Any:
        request = urllib.request.Request(f"http://127.0.0.1:{server.server_port}{place}")
        if host:
            request.add_header("Host", host)
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)

    try:
        assert ask("/opened.json")["recorded"] is True
        assert ask("/recorded/about.json")["name"] == "mine"
        place = "/recorded/whole.json?table=flows&columns=cwnd_bytes&from=0&to=10&parts=2"
        assert ask(place)["series"]["cwnd_bytes"]["b"] == [7, 7, 7, 99]
        for wrong in (
            place.replace("cwnd", "cwmd"),
            place.replace("cwnd_bytes", "cwnd_bytes,cwnd_bytes"),
            place.replace("cwnd_bytes", "flow"),
            place.replace("cwnd_bytes", "time_s"),
            place.replace("to=10", "to=nan"),
            place.replace("flows", "other"),
        ):
            with pytest.raises(urllib.error.HTTPError, match="400"):
                ask(wrong)
        with pytest.raises(urllib.error.HTTPError, match="403"):
            ask("/recorded/about.json", host="elsewhere.example:80")
        (folder / "flows.parquet").unlink()
        with pytest.raises(urllib.error.HTTPError, match="410"):
            ask(place)
    finally:
        server.shutdown()
        server.server_close()


def test_the_folder_of_a_run_is_opened(cli: Cli, scenario_file: Path, tmp_path: Path) -> None:
    assert cli("run", scenario_file, "-o", "out").returncode == 0
    series = studio_server.recorded(tmp_path / "out")
    assert series is not None
    assert series.about()["tables"].keys() == {"flows", "links"}
    assert studio_server.recorded(scenario_file) is None


def test_a_folder_may_have_any_name(folder: Path) -> None:
    """Polars takes `[1]` for a pattern, which the name of the folder beside it has."""
    named, other = folder / "a[1]", folder / "a1"
    for place in (named, other):
        place.mkdir()
        (place / "flows.parquet").write_bytes((folder / "flows.parquet").read_bytes())
        (place / "manifest.json").write_bytes((folder / "manifest.json").read_bytes())
    pl.read_parquet(folder / "flows.parquet").head(3).write_parquet(other / "flows.parquet")
    assert Overviews(named).about()["tables"]["flows"]["rows"] == 2000

"""Folders that were damaged, swapped or made by somebody who means ill, and names that are more than names."""

import json
import shutil
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ackclock
from ackclock.base import checked_files
from ackclock.base.checked_files import DamagedError, digest
from ackclock.base.printable import plain
from ackclock.plotting.report import write_report
from ackclock.plotting.result_panels import draw, panel
from ackclock.stats.flow_groups import grouped, outermost
from conftest import SCENARIO, Cli

EVIL = "[/red] \x1b[31m\u202e$x_<script>alert(1)</script>"


@pytest.fixture
def folder(results: ackclock.Results, tmp_path: Path) -> Path:
    return results.save(tmp_path / "out")


def _edit(file: Path, change: Callable[[Any], object]) -> None:
    """Change a JSON file in place."""
    value = json.loads(file.read_text())
    new = change(value)
    file.write_text(json.dumps(value if new is None else new))


def _without_hashes(folder: Path) -> Path:
    """Remove the hashes from a folder, as versions that wrote none have left it."""
    _edit(folder / "manifest.json", lambda manifest: manifest.pop("written") and None)
    return folder


FILES = ("summary.json", "flows.parquet", "links.parquet", "episodes.parquet")


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("damage", ["missing", "cut", "changed", "swapped"])
def test_every_damage_is_named(folder: Path, file: str, damage: str, tmp_path: Path) -> None:
    path = folder / file
    if damage == "missing":
        path.unlink()
    elif damage == "cut":
        path.write_bytes(path.read_bytes()[:-100])
    elif damage == "changed":
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1
        path.write_bytes(content)
    else:
        other = ackclock.run(ackclock.Scenario.parse(SCENARIO, overrides=["seed=8", "duration='1 s'"]))
        shutil.copy(other.save(tmp_path / "other") / file, path)
    with pytest.raises((DamagedError, FileNotFoundError), match=file):
        ackclock.Results.load(folder)


def test_a_changed_manifest_is_named(folder: Path) -> None:
    _edit(folder / "manifest.json", lambda manifest: manifest.update(seed=8))
    with pytest.raises(DamagedError, match=r"manifest\.json is damaged: .*SHA-256"):
        ackclock.Results.load(folder)


def test_folders_without_hashes_load(folder: Path, results: ackclock.Results) -> None:
    assert ackclock.Results.load(_without_hashes(folder)).summary == results.summary


@pytest.mark.parametrize("file", ["summary.json", "manifest.json"])
@pytest.mark.parametrize("text", ["{}", "[]", "null", "1", '"a"', "", "{", "[" * 100_000, '{"flows": NaN}', "\xff"])
def test_json_of_another_form_is_named(folder: Path, file: str, text: str) -> None:
    _without_hashes(folder)
    (folder / file).write_text(text, encoding="latin-1")
    with pytest.raises(DamagedError, match=file):
        ackclock.Results.load(folder)


@pytest.mark.parametrize("value", ["1", None, [], {}, True, 10**400, 1.5])
@pytest.mark.parametrize("key", ["seed", "flows", "scenario"])
def test_a_value_of_another_type_is_named_with_its_place(folder: Path, key: str, value: object) -> None:
    _without_hashes(folder)
    if (key, value) in (("scenario", "1"), ("flows", [])):
        return
    _edit(folder / "summary.json", lambda summary: summary.update({key: value}))
    with pytest.raises(DamagedError, match=rf"summary\.json is damaged: {key} must be"):
        ackclock.Results.load(folder)


@given(st.data())
def test_no_damage_of_json_is_a_fault_of_ackclock(folder_of_session: Path, data: st.DataObject) -> None:
    """Replace any value of a summary by any other: it loads, or says what is wrong."""
    file = folder_of_session / "summary.json"
    original = file.read_text()
    summary = json.loads(original)
    place: Any = summary
    while True:
        key = data.draw(st.sampled_from(sorted(place)) if isinstance(place, dict) else st.integers(0, len(place) - 1))
        if not isinstance(place[key], dict | list) or not place[key] or data.draw(st.booleans()):
            break
        place = place[key]
    place[key] = data.draw(st.sampled_from([None, True, "x", -1, 1e308, [], {}, [{}], {"a": 1}]))
    try:
        file.write_text(json.dumps(summary))
        write_tables(ackclock.Results.load(folder_of_session))
    except DamagedError:
        pass
    finally:
        file.write_text(original)


def write_tables(results: ackclock.Results) -> None:
    from ackclock.cli.tables import print_results
    from ackclock.plotting.report.run_tables import tables

    tables(results.summary)
    print_results(results)


@pytest.fixture(scope="session")
def folder_of_session(results: ackclock.Results, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _without_hashes(results.save(tmp_path_factory.mktemp("hostile") / "out"))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda table: table.rename({"flow": "link"}), "no column flow"),
        (lambda table: table.with_columns(pl.col("time_s").cast(pl.String)), "time_s has the type String"),
        (lambda table: table.with_columns(pl.lit("x").alias("cwnd_bytes")), "cwnd_bytes has the type String"),
        (lambda table: pl.DataFrame(), "no column"),
        (lambda table: table.with_columns(pl.lit(float("nan")).alias("time_s")), "and has nan in row 1"),
        (lambda table: table.with_columns(pl.lit(None, dtype=pl.Float64).alias("time_s")), "and has None in row 1"),
    ],
)
def test_a_parquet_file_of_another_table_is_named(folder: Path, change: Any, said: str) -> None:
    _without_hashes(folder)
    change(pl.read_parquet(folder / "flows.parquet")).write_parquet(folder / "flows.parquet")
    with pytest.raises(DamagedError, match=said):
        ackclock.Results.load(folder)


@pytest.mark.parametrize(
    "name", ["../../../../etc/passwd", "/etc/passwd", "..", ".", "", "a/b", "a\\b", "a\0b", 7, None]
)
def test_a_manifest_cannot_name_captures_elsewhere(folder: Path, name: object) -> None:
    _without_hashes(folder)
    _edit(folder / "manifest.json", lambda manifest: manifest.update(captures={"x": name}))
    with pytest.raises(DamagedError, match=r"no file of the folder|manifest"):
        ackclock.Results.load(folder)


@pytest.mark.parametrize("file", ["x.pcapng", *FILES, "manifest.json"])
def test_links_out_of_the_folder_are_not_followed(folder: Path, file: str, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    _without_hashes(folder)
    if file == "x.pcapng":
        _edit(folder / "manifest.json", lambda manifest: manifest.update(captures={"x": file}))
    (folder / file).unlink(missing_ok=True)
    (folder / file).symlink_to(secret)
    with pytest.raises(DamagedError, match=rf"{file}.*link"):
        ackclock.Results.load(folder)


def test_a_capture_that_was_changed_is_not_passed_on(tmp_path: Path) -> None:
    overrides = ["topology.bottleneck.capture=true"]
    first = ackclock.run(ackclock.dumbbell(duration="1 s", overrides=overrides)).save(tmp_path / "first")
    loaded = ackclock.Results.load(first)
    capture = next(iter(loaded.captures.values()))
    capture.write_bytes(capture.read_bytes()[:-4])
    with pytest.raises(DamagedError, match=capture.name):
        loaded.save(tmp_path / "second")


def test_the_command_says_it_in_one_line(cli: Cli, folder: Path) -> None:
    (folder / "summary.json").write_text("[]")
    for command in (("report", folder), ("compare", folder, folder)):
        done = cli(*command)
        assert done.returncode == 2
        assert (
            len(done.stderr.splitlines()) == 1 and "summary.json" in done.stderr and "run the scenario" in done.stderr
        )


def test_names_are_never_markup(cli: Cli, tmp_path: Path) -> None:
    """Also once they come from a file in which anything can be."""
    run = ackclock.run(ackclock.Scenario.parse(SCENARIO))
    folder = _without_hashes(run.save(tmp_path / "evil"))

    def rename(summary: dict[str, Any]) -> None:
        summary["scenario"] = EVIL
        for entry in (*summary["flows"], *summary["links"]):
            entry["name"] = f"{EVIL}{entry['name']}"
        summary["flows"][0]["controller"] = EVIL

    _edit(folder / "summary.json", rename)
    for table, column in (("flows", "flow"), ("episodes", "flow"), ("links", "link")):
        file = folder / f"{table}.parquet"
        pl.read_parquet(file).with_columns((pl.lit(EVIL) + pl.col(column)).alias(column)).write_parquet(file)
    done = cli("compare", folder, folder)
    assert done.returncode == 0, done.stderr
    assert "\x1b" not in done.stdout and "\u202e" not in done.stdout and "\\x1b" in done.stdout
    assert cli("report", folder, "-o", "page.html").returncode == 0
    page = (tmp_path / "page.html").read_text()
    assert "<script>alert(1)" not in page and "\x1b" not in page and "\u202e" not in page


def test_a_flow_may_be_called_like_markup(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(SCENARIO.replace('"old"', '"[/red] x"').replace('"two flows"', '"[bold]"'))
    for name in ("one", "two"):
        done = cli("run", "a.toml", "-o", name)
        assert done.returncode == 0 and "[/red] x" in done.stdout and "[bold]" in done.stdout
    done = cli("compare", "one", "two")
    assert done.returncode == 0 and "[/red] x" in done.stdout
    swept = cli("sweep", "a.toml", "-o", "grid", "--set", "seed=1..2")
    assert swept.returncode == 0 and "[/red] x" in swept.stdout


@given(st.text())
def test_what_is_shown_is_printable_and_says_all(text: str) -> None:
    shown = plain(text)
    assert all(sign.isprintable() or sign.isspace() or ord(sign) > 127 for sign in shown)
    assert not set(shown) & set("\x1b\x07\n\r\u202e\u2028")
    shown.encode()


# ---- sweeps ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def swept(cli: Cli, tmp_path: Path) -> Path:
    (tmp_path / "a.toml").write_text(SCENARIO)
    assert _sweep(cli).returncode == 0
    return tmp_path / "grid"


def _sweep(cli: Cli, values: str = "1..2") -> subprocess.CompletedProcess[str]:
    return cli("sweep", "a.toml", "-o", "grid", "--set", f"seed={values}")


def test_a_point_in_place_of_another_is_found(cli: Cli, swept: Path) -> None:
    one, two = sorted((swept / "points").glob("*.json"))
    shutil.copy(one, two)
    done = _sweep(cli)
    assert done.returncode == 2 and two.name in done.stderr and "another point" in done.stderr
    two.unlink()
    assert _sweep(cli).returncode == 0


def _cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-9])


def _faster(file: Path) -> None:
    _edit(file, lambda record: record["summary"]["flows"][0].update(goodput_bps=1.0))


@pytest.mark.parametrize(
    "damage", [_cut, _faster, lambda file: file.write_text("[]"), lambda file: file.write_text('{"summary": {}}')]
)
def test_a_damaged_point_is_told_before_anything_runs(cli: Cli, swept: Path, damage: Callable[[Path], object]) -> None:
    file = min((swept / "points").glob("*.json"))
    damage(file)
    done = _sweep(cli, "1..4")
    assert done.returncode == 2 and file.name in done.stderr and "remove it" in done.stderr
    assert len(list((swept / "points").glob("*.json"))) == 2


@pytest.mark.parametrize("text", ["{}", "[]", "null", '{"scenario_hashes": 1}', "{"])
def test_a_damaged_grid_is_named(cli: Cli, swept: Path, text: str) -> None:
    (swept / "sweep.json").write_text(text)
    done = _sweep(cli)
    assert done.returncode == 2 and "sweep.json is damaged" in done.stderr


def test_points_of_earlier_versions_have_no_hash(cli: Cli, swept: Path) -> None:
    for file in (swept / "points").glob("*.json"):
        _edit(file, lambda record: [record.pop(key) for key in ("sha256", "parameters")] and None)
    assert _sweep(cli).returncode == 0


# ---- many flows -----------------------------------------------------------------------------------------------------


def test_percentiles_of_a_group_are_those_of_its_flows() -> None:
    # of 0, 1, ..., 100 the p-th percentile is p; every second one has no RTT
    flows = [
        {
            "name": f"a.{i}",
            "controller": "cubic",
            "goodput_bps": float(i),
            "retransmitted_segments": i,
            "timeouts": 0,
            "rtt_ms": None if i % 2 else {"mean": 10.0},
            "completion_s": None,
        }
        for i in range(101)
    ]
    (group,) = grouped(flows)
    assert (group["name"], group["flows"], group["completion_s"]) == ("a (cubic)", 101, None)
    assert group["goodput_bps"] == {"count": 101, "mean": 50.0, "p5": 5.0, "p50": 50.0, "p95": 95.0}
    assert group["rtt_ms"] == {"count": 51, "mean": 10.0, "p5": 10.0, "p50": 10.0, "p95": 10.0}
    assert [flow["name"] for flow in outermost(flows, 2)] == ["a.100", "a.99", "a.1", "a.0"]


def test_a_page_of_many_flows_shows_groups_and_says_so(tmp_path: Path) -> None:
    result = ackclock.run(ackclock.dumbbell(flows=["cubic"] * 40 + ["reno"] * 40, duration="1 s"))
    drawing = draw([result], panel("cwnd"))
    assert drawing is not None and drawing.is_grouped and not drawing.is_crowded
    assert sum(line.is_single for line in drawing.lines) == 8
    write_report([result], tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "80 flows, in groups" in page and "80 in groups" in page
    assert page.count("<tr>") < 60


def test_an_archive_of_more_than_memory_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checked_files, "MOST", 1000)
    file = tmp_path / "model.zip"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as parts:
        parts.writestr("zeros", bytes(1001))
    with pytest.raises(DamagedError, match="its parts have 1001 octets in total, more than 1000"):
        checked_files.archive(file, "give another")


def test_a_digest_is_of_what_json_says() -> None:
    assert digest({"a": [1, 2.5], "b": None}) == digest(json.loads('{"b":null, "a":[1,2.5]}'))
    assert digest({"a": 1}) != digest({"a": 2})

"""Files and folders appear whole or not at all."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ackclock.base import storage


def test_a_folder_appears_when_the_block_ends(tmp_path: Path) -> None:
    target = tmp_path / "results"
    with storage.new_folder(target) as partial:
        (partial / "summary.json").write_text("{}")
        assert not target.exists()
        assert partial.parent == tmp_path
    assert (target / "summary.json").read_text() == "{}"
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt(), ValueError()])
def test_nothing_is_left_when_the_block_fails(tmp_path: Path, error: BaseException) -> None:
    def fail() -> None:
        with storage.new_folder(tmp_path / "a" / "b") as partial:
            (partial / "half").write_text("half")
            raise error

    with pytest.raises(type(error)):
        fail()
    assert list(tmp_path.iterdir()) == []


def test_a_failure_to_write_names_the_place(tmp_path: Path) -> None:
    def fill() -> None:
        with storage.new_folder(tmp_path / "results"):
            raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left on device") as caught:
        fill()
    assert caught.value.filename == str(tmp_path / "results")


def test_force_replaces_the_old_folder_only_at_the_end(tmp_path: Path) -> None:
    target = tmp_path / "results"
    _written(target, "old")
    with storage.new_folder(target, force=True) as partial:
        (partial / "summary.json").write_text("new")
        assert (target / "summary.json").read_text() == "old"
    assert (target / "summary.json").read_text() == "new"
    assert list(tmp_path.iterdir()) == [target]


def test_force_does_not_follow_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    with pytest.raises(storage.OutputExistsError, match="not a folder"):
        storage.check_folder(tmp_path / "link", force=True)


def test_checking_leaves_nothing_behind(tmp_path: Path) -> None:
    storage.check_folder(tmp_path / "a" / "b" / "c")
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "point.json"
    storage.write_file(path, b"one")
    storage.write_file(path, b"two")
    assert path.read_bytes() == b"two"
    assert list(tmp_path.iterdir()) == [path]


def _written(folder: Path, content: str = "new", **how: bool) -> None:
    with storage.new_folder(folder, **how) as partial:
        (partial / "summary.json").write_text(content)


def test_the_manifest_lists_what_was_written(tmp_path: Path) -> None:
    with storage.new_folder(tmp_path / "out", kind="claims") as partial:
        (partial / "figures").mkdir()
        (partial / "figures" / "a.svg").write_text("")
    listed = json.loads((tmp_path / "out" / "manifest.json").read_text())["written"]
    assert (listed["by"], listed["files"]) == ("claims", ["figures/a.svg", "manifest.json"])
    # of nothing: FIPS 180-4's example of the empty message, as NIST's vectors give it
    assert listed["sha256"] == {"figures/a.svg": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}


@pytest.mark.parametrize("name", ["thesis.txt", "notes/today.txt", ".git/HEAD", "empty/"])
def test_force_keeps_away_from_a_folder_with_something_foreign(tmp_path: Path, name: str) -> None:
    target = tmp_path / "out"
    _written(target, "old")
    foreign = target / name
    if name.endswith("/"):
        foreign.mkdir()
    else:
        foreign.parent.mkdir(exist_ok=True)
        foreign.write_text("precious")
    with pytest.raises(storage.OutputExistsError, match=name.strip("/")):
        _written(target, force=True)
    assert foreign.exists() and (target / "summary.json").read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("manifest", ["{}", "[]", '{"name": "an application", "files": ["a.js"]}', "no JSON"])
def test_a_manifest_of_others_is_not_ackclocks(tmp_path: Path, manifest: str) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "manifest.json").write_text(manifest)
    with pytest.raises(storage.OutputExistsError, match=r"no manifest\.json of ackclock's"):
        storage.check_folder(tmp_path / "mine", force=True)


def test_results_of_versions_that_did_not_list_their_files_may_be_replaced(tmp_path: Path) -> None:
    target = tmp_path / "out"
    target.mkdir()
    old = {"scenario": {}, "scenario_hash": "", "versions": {}, "captures": {"a->b": "a_b.pcapng"}}
    (target / "manifest.json").write_text(json.dumps(old))
    for name in ("summary.json", "flows.parquet", "a_b.pcapng"):
        (target / name).write_text("old")
    storage.check_folder(target, force=True)
    (target / "other.pcapng").write_text("precious")
    with pytest.raises(storage.OutputExistsError, match=r"other\.pcapng"):
        storage.check_folder(target, force=True)


def test_a_folder_of_one_kind_is_renewed_and_no_other(tmp_path: Path) -> None:
    target = tmp_path / "out"
    with storage.new_folder(target, kind="claims"):
        pass
    with storage.new_folder(target, kind="claims", renews=True):
        pass
    with pytest.raises(storage.OutputExistsError, match="choose another folder"):
        storage.check_folder(target, kind="validate-linux", renews=True)


def test_what_turns_up_meanwhile_stays_and_the_new_folder_is_put_beside(tmp_path: Path) -> None:
    target = tmp_path / "out"
    _written(target, "old")

    def replace() -> None:
        with storage.new_folder(target, force=True) as partial:
            (partial / "summary.json").write_text("new")
            (target / "notes.txt").write_text("precious")

    with pytest.raises(storage.OutputExistsError, match="out-2"):
        replace()
    assert (target / "notes.txt").read_text() == "precious"
    assert (tmp_path / "out-2" / "summary.json").read_text() == "new"


def test_the_present_folder_is_not_replaced_and_nothing_is_left_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    with pytest.raises(storage.OutputExistsError, match="the folder that you are in"):
        storage.check_folder(Path(), force=True)
    assert list(tmp_path.iterdir()) == [here]


_KILLED = """
import os, sys
from pathlib import Path
from ackclock.base import storage
real = {"rename": Path.rename, "exchange": storage.exchange}
countdown = [int(sys.argv[2])]

def step():
    countdown[0] -= 1
    if countdown[0] == 0:
        os.kill(os.getpid(), 9)

def rename(self, target):
    step()
    return real["rename"](self, target)

def exchange(one, other):
    step()
    done = sys.argv[3] == "exchange" and real["exchange"](one, other)
    if done:
        step()
    return done

Path.rename, storage.exchange = rename, exchange
with storage.new_folder(Path(sys.argv[1]), force=True) as partial:
    (partial / "summary.json").write_text("new")
    step()
"""


@pytest.mark.parametrize("how", ["exchange", "renames"])
@pytest.mark.parametrize("steps", [1, 2, 3, 4])
def test_a_kill_at_any_moment_leaves_old_or_new_and_a_later_run_tidies(tmp_path: Path, how: str, steps: int) -> None:
    target = tmp_path / "out"
    _written(target, "old")
    subprocess.run([sys.executable, "-c", _KILLED, str(target), str(steps), how], check=False, timeout=60)
    for left in tmp_path.iterdir():
        if left != target:  # made long ago
            os.utime(left, (0, 0))
    storage.check_folder(target, force=True)
    assert (target / "summary.json").read_text() in ("old", "new")
    assert list(tmp_path.iterdir()) == [target]


def test_what_a_living_process_holds_is_left_alone(tmp_path: Path) -> None:
    with storage.new_folder(tmp_path / "out") as partial:
        os.utime(partial, (0, 0))
        storage.check_folder(tmp_path / "out")
        assert partial.is_dir()


def test_without_an_exchange_two_renames_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage, "exchange", lambda *_: False)
    _written(tmp_path / "out", "old")
    _written(tmp_path / "out", "new", force=True)
    assert (tmp_path / "out" / "summary.json").read_text() == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_file_is_replaced_only_with_force_or_if_ackclock_drew_it(tmp_path: Path) -> None:
    notes, page = tmp_path / "notes.txt", tmp_path / "page.html"
    notes.write_text("all about ackclock")
    page.write_text('<html><meta name="generator" content="ackclock">')
    storage.check_file(page)
    storage.check_file(tmp_path / "new.csv")
    with pytest.raises(storage.OutputExistsError, match="--force"):
        storage.check_file(notes)
    storage.check_file(notes, force=True)
    with pytest.raises(storage.OutputExistsError, match="is a folder"):
        storage.check_file(tmp_path, force=True)
    with pytest.raises(storage.OutputExistsError, match="not a regular file"):
        storage.check_file(Path("/dev/null"), force=True)

"""Files and folders appear whole or not at all."""

from pathlib import Path

import pytest

from ackclock import storage


def test_a_folder_appears_when_the_block_ends(tmp_path: Path) -> None:
    target = tmp_path / "results"
    with storage.new_folder(target) as partial:
        (partial / "manifest.json").write_text("{}")
        assert not target.exists()
        assert partial.parent == tmp_path
    assert (target / "manifest.json").read_text() == "{}"
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
    target.mkdir()
    (target / "manifest.json").write_text("old")
    with storage.new_folder(target, force=True) as partial:
        (partial / "manifest.json").write_text("new")
        assert (target / "manifest.json").read_text() == "old"
    assert (target / "manifest.json").read_text() == "new"
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

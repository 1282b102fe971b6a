"""Folders of claims are found in the package, and in the studies of a checkout or of the installed distribution."""

import json
import sys
from pathlib import Path

import pytest

from ackclock.base import study_files
from ackclock.base.extras import MissingPackageError
from ackclock.claims import locations
from conftest import Cli

ROOT = Path(__file__).parents[2]
WRITTEN = 'title = "a source"\n[[claim]]\n'


def _names() -> list[str]:
    return [folder.name for folder in locations.found()]


def test_a_checkout_has_every_study(cli: Cli) -> None:
    there = {file.parent.name for file in (ROOT / "studies").glob("*/claims.toml")}
    assert set(_names()) == there | {"opnet-17"} and "vegas-1999" in there
    listed = cli("claims").stdout
    assert all(name in listed for name in there) and "pip install" not in listed


def test_a_wheel_alone_has_one_and_says_how_to_get_the_rest(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(study_files, "CHECKOUT", tmp_path)
    monkeypatch.setattr(study_files, "find_spec", lambda _name: None)
    assert _names() == ["opnet-17"]
    assert "pip install 'ackclock[studies]'" in locations.remedy()
    with pytest.raises(MissingPackageError, match=r"pip install 'ackclock\[studies\]'"):
        locations.tool("linux.command")


def test_the_installed_distribution_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    package = tmp_path / "ackclock_studies"
    (package / "mine").mkdir(parents=True)
    for file in (package / "__init__.py", package / "mine" / "__init__.py", package / "mine" / "command.py"):
        file.touch()
    (package / "mine" / "claims.toml").write_text(WRITTEN)
    monkeypatch.setattr(study_files, "CHECKOUT", tmp_path)
    monkeypatch.delitem(sys.modules, "ackclock_studies", raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    assert _names() == ["mine", "opnet-17"] and not locations.remedy()
    assert "ackclock_studies" not in sys.modules
    for _ in range(2):  # what a process has imported is found again
        assert locations.tool("mine.command").__name__ == "ackclock_studies.mine.command"
        assert _names() == ["mine", "opnet-17"]
    for name in ("ackclock_studies", "ackclock_studies.mine", "ackclock_studies.mine.command"):
        del sys.modules[name]


@pytest.mark.parametrize("option", [("--full",), ("-o", "out"), ("--seeds", "3")])
def test_options_without_a_claim_are_refused(cli: Cli, tmp_path: Path, option: tuple[str, ...]) -> None:
    failed = cli("claims", *option)
    assert failed.returncode == 2 and "ackclock claims all" in failed.stderr
    assert not list(tmp_path.iterdir())


def test_the_list_of_folders_is_json(cli: Cli) -> None:
    rows = {row["folder"]: row for row in json.loads(cli("claims", "--json").stdout)}
    assert rows["opnet-17"]["claims"] == 26 and rows.keys() >= {"opnet-17", "vegas-1999"}

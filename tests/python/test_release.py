"""Conditions for a release: one version, licences that are allowed, a readme that stands alone."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import ackclock

ROOT = Path(__file__).parents[2]


def _run(script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, ROOT / "release" / script, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def test_every_place_has_the_version() -> None:
    done = _run("versions.py", f"v{ackclock.__version__}")
    assert done.returncode == 0 and done.stdout.strip() == ackclock.__version__, done.stderr
    other = _run("versions.py", "v9.9.9")
    assert other.returncode == 1 and "the tag says 9.9.9" in other.stderr


def test_the_changelog_of_the_version_is_what_a_release_says() -> None:
    notes = _run("versions.py", "--notes").stdout
    assert notes.startswith("### ") and "\n## " not in notes


def test_licences_are_allowed() -> None:
    done = _run("licences.py")
    assert done.returncode == 0, done.stderr
    assert re.match(r"(\d+) of \1 crates ", done.stdout) and re.search(r"\n(\d+) of \1 packages ", done.stdout)


@pytest.mark.parametrize(
    ("expression", "is_allowed"),
    [
        ("MIT", True),
        ("GPL-3.0-only", False),
        ("MIT OR GPL-3.0-only", True),
        ("MIT AND GPL-3.0-only", False),
        ("(MIT/Apache-2.0) AND Unicode-3.0", True),
        ("Apache-2.0 WITH LLVM-exception", False),
        ("LGPL-2.1-only OR (MIT AND GPL-2.0-only)", False),
    ],
)
def test_an_expression_is_met_by_what_is_allowed(
    expression: str, is_allowed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "release"))
    from licences import allowed

    assert allowed(expression, frozenset({"MIT", "Apache-2.0", "Unicode-3.0"})) is is_allowed


def test_what_pypi_shows_has_no_link_into_the_repository() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    text = (ROOT / project["readme"]).read_text()
    assert not re.search(r"\]\((?!https://)", text)


def test_a_release_has_the_wheel_that_lecturers_are_told_to_download() -> None:
    """Its name is of the platform that the wheel is built for."""
    page = (ROOT / "docs" / "lessons" / "for-lecturers.md").read_text()
    built = re.search(r"^platform=(\S+)$", (ROOT / "release/pyodide/build.sh").read_text(), re.MULTILINE)
    assert built and f"ackclock-VERSION-cp311-abi3-{built[1]}.whl" in page
    publish = (ROOT / ".github/workflows/release.yml").read_text().partition("\n  publish:\n")[2]
    assert re.search(r"needs: \[.*\bpyodide\b", publish)
    assert re.search(r"gh release create .* pyodide/\*", publish)


def test_workflows_run_what_is_here() -> None:
    for file in (ROOT / ".github" / "workflows").glob("*.yml"):
        for script in re.findall(r"python (release/\w+\.py)", file.read_text()):
            assert (ROOT / script).is_file(), f"{file.name} runs {script}"

"""The site, as far as it can be tested without building it: `make site` does the rest."""

import ast
import importlib.util
import json
import re
import tomllib
from pathlib import Path
from types import ModuleType
from typing import get_args

import pytest
import typer

import ackclock
from ackclock import _core
from ackclock.cli.app import app
from ackclock.plotting import figures, plots
from ackclock.scenario.example_files import FOLDER as SCENARIOS

ROOT = Path(__file__).parents[2]
SITE = ROOT / "docs" / "site"
DOCS = ROOT / "docs"


def _module(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(SITE))
    spec = importlib.util.spec_from_file_location(f"site_{name}", SITE / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_gallery_lists_every_script_and_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    written = (DOCS / "gallery" / "README.md").read_text(encoding="utf-8")
    gallery = _module("gallery", monkeypatch)
    assert written == gallery.page(), "make -f docs/Makefile gallery writes it"
    assert {name for name, _, _ in gallery.recorded()} == {file.name for file in (DOCS / "images").iterdir()}


def test_the_gallery_draws_every_figure_that_there_is() -> None:
    used = set()
    for script in (DOCS / "gallery").glob("*.py"):
        tree = ast.parse(script.read_text(encoding="utf-8"))
        used |= {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
        used |= {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    assert set(get_args(plots.SeriesName)) <= used
    assert {name for names in figures._DRAWN.values() for name in names} <= used


def test_blocks_of_a_page_name_a_language_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = _module("stage", monkeypatch)
    text = '```toml study\na = "[x](y.md)"\n```\n\n```rust,no_run\nb\n```\n'
    rewritten = stage.Stage(ROOT / "target").rewritten(text, DOCS / "README.md")
    assert rewritten == '```toml\na = "[x](y.md)"\n```\n\n```rust\nb\n```\n'


def test_markdown_that_a_document_links_to_is_a_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    staged = _module("stage", monkeypatch).Stage(tmp_path)
    staged.add_documents()
    page = (tmp_path / "files/studies/kernel/RESULTS.md.md").read_text(encoding="utf-8")
    assert page.startswith("# Claims on the kernel")
    assert "](../../../explanation/truth.md)" in page
    for shown in (tmp_path / "files").rglob("*.md.md"):
        for link in re.findall(r"\]\(([^)#:]+\.md)", shown.read_text(encoding="utf-8")):
            assert (shown.parent / link).is_file(), f"{shown} links to {link}, which has no page"


def test_markdown_that_a_page_shows_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (
        "<p>a:</p><pre>``` **x**</pre><p>```toml study</p><p>\n- one\n</p><p>5 - 3, a **b</p><a href='none.html'>c</a>"
    )
    (tmp_path / "index.html").write_text(page)
    found = _module("links", monkeypatch).mistakes(tmp_path)
    assert found == [
        "index.html shows Markdown: '**bc'",
        "index.html shows Markdown: '- one\\n5 - 3, a **bc'",
        "index.html shows Markdown: '```toml study\\n- one\\n5 - 3, a **bc'",
        "index.html: none.html is not a page of the site",
    ]


def test_commands_of_pictures_exist() -> None:
    pictures = tomllib.loads((DOCS / "gallery" / "recorded.toml").read_text(encoding="utf-8"))["pictures"]
    known = set(getattr(typer.main.get_command(app), "commands", {}))
    for entry in pictures.values():
        for command in entry["command"].split(" && "):
            program, *rest = command.split()
            if program == "make":
                makefile, target = (rest[1], rest[2]) if rest[0] == "-f" else ("Makefile", rest[0])
                assert f"\n{target}:" in (ROOT / makefile).read_text(encoding="utf-8")
            elif program == "ackclock":
                assert rest[0] in known, command
            else:
                assert (ROOT / rest[0]).is_file(), command
            assert all((SCENARIOS.parent / word).exists() for word in rest if word.startswith("scenarios/")), command


@pytest.mark.parametrize(("family", "read"), [("controllers", _core.controllers), ("queues", _core.queues)])
def test_every_setting_of_a_picture_names_an_entry_and_a_path(family: str, read: object) -> None:
    standard = tomllib.loads((SITE / "standard.toml").read_text(encoding="utf-8"))
    names = {entry["name"] for entry in json.loads(read())}  # type: ignore[operator]
    assert set(standard[family]) <= names
    for entry in standard[family].values():
        assert entry.get("path", "wide") in standard["paths"]


def test_every_controller_and_queue_has_a_scenario_for_its_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    portraits = _module("portraits", monkeypatch)
    runs = []
    for entry in json.loads(_core.controllers()):
        found = portraits.controller_runs(entry["name"])
        runs += found[0] if found else []
    for entry in json.loads(_core.queues()):
        drawn, reference, _ = portraits.queue_runs(entry["name"])
        runs += [*drawn, *([reference] if reference else [])]
    for run in runs:
        assert isinstance(run.scenario(), ackclock.Scenario)


def test_every_page_can_be_reached_from_the_first_one() -> None:
    first = DOCS / "README.md"
    seen, waiting = set(), [first]
    while waiting:
        page = waiting.pop()
        seen.add(page)
        text = page.read_text(encoding="utf-8")
        targets = [(page.parent / part.split(")")[0].split("#")[0]).resolve() for part in text.split("](")[1:]]
        waiting += [target for target in targets if target.suffix == ".md" and target.exists() and target not in seen]
    assert set(DOCS.rglob("*.md")) <= seen


def test_how_tos_stand_under_the_headings_of_the_first_page(monkeypatch: pytest.MonkeyPatch) -> None:
    groups = _module("stage", monkeypatch).in_groups(DOCS, "how-to")
    assert groups["Begin"][0] == "how-to/install.md"
    assert "" not in groups, "each page stands under a heading"
    assert sum(len(pages) for pages in groups.values()) == len(list((DOCS / "how-to").glob("*.md")))


def test_links_that_lead_nowhere_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "index.html").write_text('<h1 id="here">x</h1>')
    (tmp_path / "index.html").write_text(
        '<a href="there/#here">a</a><a href="there/#gone">b</a><a href="gone/">c</a>'
        '<script src="https://elsewhere.example/x.js"></script><a href="https://elsewhere.example">d</a>'
    )
    assert _module("links", monkeypatch).mistakes(tmp_path) == [
        "index.html fetches https://elsewhere.example/x.js",
        "index.html: gone/ is not a page of the site",
        "index.html: there/#gone has no such place in its page",
    ]


def test_a_lesson_has_a_place_in_colab_once_the_project_has_one_on_github(monkeypatch: pytest.MonkeyPatch) -> None:
    colab = _module("colab", monkeypatch)
    assert colab.address("sawtooth", {"name": "ackclock"}) is None
    assert colab.address("sawtooth", {"urls": {"Documentation": "https://example.org/ackclock"}}) is None
    place = "https://colab.research.google.com/github/someone/ackclock/blob/gh-pages/lessons/sawtooth.ipynb"
    for url in ("https://github.com/someone/ackclock", "https://github.com/someone/ackclock.git"):
        assert colab.address("sawtooth", {"urls": {"Home": "https://example.org", "Repository": url}}) == place

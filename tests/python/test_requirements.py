"""The requirements are held to the sources: each way in which a table can be wrong is found."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

TOOL = Path(__file__).parent.parent / "requirements.py"

TABLE = """
["rfc5681-3.1-loss-window"]
level = "MUST"
asks = "begin again with one segment"
status = "met"

["rfc5681-4.1-restart-window"]
level = "SHOULD"
asks = "begin anew after idle time"
status = "departs"
because = "off, as in the papers"

["rfc9293-3.8.5-urgent"]
level = "MUST"
asks = "carry urgent data"
status = "not-applicable"
because = "nobody here sends any"
"""
CODE = """//! Timeouts.
//!
//! Source: RFC 6298. Departures: nothing happens after idle time.
//= rfc5681-3.1-loss-window
fn on_timeout() {}
//= rfc5681-4.1-restart-window
fn on_idle() {}

#[cfg(test)]
mod tests {
    //= rfc5681-3.1-loss-window
    #[test]
    fn one_segment() {}
}
"""


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("requirements", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["requirements"] = module
    spec.loader.exec_module(module)
    return module


def _tree(root: Path, table: str = TABLE, code: str = CODE, other: str = "") -> Path:
    for name, text in (("crates/tcp", table), ("crates/cc", other)):
        (root / name / "src").mkdir(parents=True, exist_ok=True)
        (root / name / "requirements.toml").write_text(text)
    (root / "crates/tcp/src/rto.rs").write_text(code)
    (root / "docs/reference").mkdir(parents=True, exist_ok=True)
    return root


def test_a_right_table_is_found_right_and_its_page_is_written(
    tool: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = _tree(tmp_path)
    assert tool.main(["--write"], root) == 0
    page = (root / tool.PAGE).read_text()
    assert "1 are met, 1 are departed from, 1 do not apply" in page
    assert "| 5681 section 4.1 | SHOULD | begin anew after idle time | off, as in the papers |" in page
    assert tool.main([], root) == 0
    assert tool.main(["rfc5681-3.1-loss-window"], root) == 0
    assert capsys.readouterr().out == "crates/tcp/src/rto.rs:4\ncrates/tcp/src/rto.rs:11\n"


def _without(text: str, part: str) -> str:
    assert part in text
    return text.replace(part, "", 1)


@pytest.mark.parametrize(
    ("table", "code", "said"),
    [
        (TABLE, _without(CODE, "//= rfc5681-3.1-loss-window\n"), "rfc5681-3.1-loss-window: stands beside no code"),
        (TABLE, _without(CODE, "    //= rfc5681-3.1-loss-window\n"), "rfc5681-3.1-loss-window: stands in no test"),
        (
            TABLE,
            _without(CODE, "//= rfc5681-4.1-restart-window\n"),
            "rfc5681-4.1-restart-window: stands beside no code",
        ),
        (TABLE, CODE.replace("//= rfc5681-4", "//= rfc5681-9"), "rto.rs:6: rfc5681-9.1-restart-window is in no req"),
        (TABLE, CODE + "//= rfc9293-3.8.5-urgent\n", "rfc9293-3.8.5-urgent: is not applicable and stands in"),
        (TABLE + TABLE, CODE, "crates/tcp/requirements.toml: "),
        (
            TABLE,
            CODE.replace("nothing happens after idle time", "none"),
            'rto.rs: says "Departures: none", and rfc5681-4.1',
        ),
        (TABLE.replace("MUST", "OUGHT"), CODE, "level must be one of MUST, "),
        (TABLE.replace('"met"', '"maybe"'), CODE, "status must be one of met, "),
        (_without(TABLE, 'because = "off, as in the papers"\n'), CODE, "because must say what is done instead"),
        (TABLE.replace('status = "met"', 'status = "met"\nbecause = "so"'), CODE, "because must say what is done"),
        (TABLE.replace("asks =", "ask ="), CODE, "unknown field ask"),
        (TABLE.replace("rfc5681-3.1-loss-window", "5681-loss"), CODE, "must be a table with an id such as"),
    ],
)
def test_each_mistake_is_found(
    tool: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str], table: str, code: str, said: str
) -> None:
    root = _tree(tmp_path, table, code)
    tool.main(["--write"], root)
    assert tool.main([], root) == 1
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("source", "is_right"),
    [
        ("RFC 5681 section 3.1, RFC 2018 section 4", True),
        ("RFC 5681 sections 3.2, 4", False),
        ("RFC 5681 (Reno)", False),
        ("RFC 9293", True),
    ],
)
def test_a_header_without_departures_cites_no_section_that_has_one(
    tool: ModuleType, tmp_path: Path, source: str, is_right: bool
) -> None:
    root = _tree(tmp_path)
    (root / "crates/tcp/src/idle.rs").write_text(f"//! Source: {source}. Departures: none.\n")
    _, _, found = tool.check(root)
    assert (found == []) is is_right, found


def test_an_id_in_both_tables_is_found(tool: ModuleType, tmp_path: Path) -> None:
    _, _, found = tool.check(_tree(tmp_path, other=TABLE))
    assert any("stands in crates/tcp/requirements.toml too" in mistake for mistake in found)


def test_a_stale_page_names_the_command(tool: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = _tree(tmp_path)
    (root / tool.PAGE).write_text("of yesterday")
    assert tool.main([], root) == 1
    assert "run python tests/requirements.py --write" in capsys.readouterr().err


def test_the_projects_own_tables_are_right(tool: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert tool.main([]) == 0, capsys.readouterr().err

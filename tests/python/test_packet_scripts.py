"""Every packet script of tests/scripts passes, says what it asks, and can fail."""

import ast
import re
from pathlib import Path

import pytest

from ackclock.script import Verdict, run_script

SCRIPTS_PATH = Path(__file__).parents[1] / "scripts"
#: What RFCs or Linux do and the endpoint does not yet.
DEPARTURES_PATH = Path(__file__).parents[1] / "scripts-failing"
SCRIPTS = sorted(SCRIPTS_PATH.rglob("*.pkt"))
DEPARTURES = sorted(DEPARTURES_PATH.rglob("*.pkt"))
#: A line that the endpoint has to fulfil: a packet that it sends, with its sequence numbers.
_SENT = re.compile(r"^(\S+\s+>\s+(?:\[\w+\]\s+)?\S+\s+)(\d+):(\d+)\((\d+)\)", re.MULTILINE)
_ASSERTION = re.compile(r"%\{ (assert .*?) \}%")
_MECHANISMS = """
    accurate-ecn close congestion-avoidance delayed-ack ecn fast-retransmit frto handshake idle limited-transmit nagle
    pacing prr push rack receiver-sack reset rto slow-start timestamps tlp undo user-timeout window writable
"""


def name_of(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


def run(path: Path, text: str | None = None) -> Verdict:
    """Run a script with the profile and the options that its head names."""
    head = path.read_text()
    profile = re.search(r"^// PROFILE: (\S+)$", head, re.MULTILINE)
    settings = re.findall(r"^// SET: ([\w.]+)=(.+)$", head, re.MULTILINE)
    if text is not None:
        path.write_text(text)
    return run_script(path, profile=profile[1] if profile else "linux-6.x", overrides=dict(settings))


def run_changed(path: Path, tmp_path: Path, text: str) -> Verdict:
    copy = tmp_path / path.name
    copy.write_text(path.read_text())
    assert text != path.read_text()
    return run(copy, text)


@pytest.mark.parametrize("path", SCRIPTS, ids=name_of)
def test_the_endpoint_does_as_the_script_says(path: Path) -> None:
    assert run(path).failure is None


@pytest.mark.xfail(reason="a known departure", raises=AssertionError)
@pytest.mark.parametrize("path", DEPARTURES, ids=name_of)
def test_the_endpoint_departs_as_noted(path: Path) -> None:
    assert run(path).failure is None


@pytest.mark.parametrize("path", [*SCRIPTS, *DEPARTURES], ids=name_of)
def test_a_script_opens_with_its_question_and_its_source(path: Path) -> None:
    first, second, *_ = path.read_text().splitlines()
    assert re.fullmatch(r"// QUESTION: .+\?", first)
    assert re.fullmatch(r"// SOURCE: .{20,}", second)


def test_there_are_enough_of_them_and_of_every_mechanism() -> None:
    assert len(SCRIPTS) >= 80
    mechanisms = {path.parent.name for path in SCRIPTS}
    assert set(_MECHANISMS.split()) <= mechanisms


@pytest.mark.parametrize("path", SCRIPTS, ids=name_of)
def test_a_script_with_another_expectation_fails(path: Path, tmp_path: Path) -> None:
    """The last packet that the script expects begins one octet later: the endpoint must not satisfy that."""
    text = path.read_text()
    last = [*_SENT.finditer(text)][-1]
    start, end = int(last[2]) + 1, int(last[3]) + 1
    wrong = f"{text[: last.start()]}{last[1]}{start}:{end}({last[4]}){text[last.end() :]}"
    failure = run_changed(path, tmp_path, wrong).failure
    assert failure is not None
    assert failure.line == text[: last.start()].count("\n") + 1
    assert "seq" in failure.what


@pytest.mark.parametrize("path", [path for path in SCRIPTS if _ASSERTION.search(path.read_text())], ids=name_of)
def test_a_script_with_an_inverted_assertion_fails(path: Path, tmp_path: Path) -> None:
    text = path.read_text()
    last = [*_ASSERTION.finditer(text)][-1]
    (assertion,) = ast.parse(last[1]).body
    assert isinstance(assertion, ast.Assert)
    wrong = f"{text[: last.start()]}%{{ assert not ({ast.unparse(assertion.test)}) }}%{text[last.end() :]}"
    failure = run_changed(path, tmp_path, wrong).failure
    assert failure is not None
    assert "the assertion does not hold" in failure.what


@pytest.mark.parametrize(
    ("script", "line", "instead", "complaint"),
    [
        ("rto/never-below-one-second", "+1    >", "+1.1  >", "at another time"),
        ("rto/never-below-one-second", "(4, ..., 1000) = 1000", "(4, ..., 1000) = 999", "returned something else"),
        ("handshake/syn-ack-answers-every-option-offered", "sackOK,TS val 100", "TS val 100", "sackOK"),
        ("handshake/syn-ack-answers-every-option-offered", "wscale 7>\n+.1", "wscale 8>\n+.1", "wscale"),
        ("ecn/ece-until-cwr", "> E. 1:1(0) ack 3001", "> . 1:1(0) ack 3001", "flags"),
        ("ecn/retransmissions-are-not-marked", "[noecn] . 1:1001", "[ect0] . 1:1001", "ecn"),
        ("receiver-sack/a-duplicate-and-a-hole", "sack 1:1001 2001:3001", "sack 2001:3001 1:1001", "sack"),
        ("close/half-open-for-reading", "EPIPE", "ENOTCONN", "returned something else"),
    ],
)
def test_every_part_of_a_script_counts(tmp_path: Path, script: str, line: str, instead: str, complaint: str) -> None:
    path = SCRIPTS_PATH / f"{script}.pkt"
    assert line in path.read_text()
    failure = run_changed(path, tmp_path, path.read_text().replace(line, instead, 1)).failure
    assert failure is not None
    assert complaint in failure.what

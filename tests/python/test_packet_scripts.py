"""Every packet script of tests/scripts passes, says what it asks, and can fail."""

import ast
import io
import re
from pathlib import Path

import pytest
from rich.console import Console

from ackclock.script.options import STRICT
from ackclock.script.parse import parse
from ackclock.script.runner import Failure, Verdict
from ackclock.script.runner import run as run_script
from ackclock.script.script_head import head_of
from ackclock.script.simulated_host import SimulatedHost
from ackclock.script.verdict_text import render

SCRIPTS_PATH = Path(__file__).parents[1] / "scripts"
SCRIPTS = sorted(SCRIPTS_PATH.rglob("*.pkt"))
#: A line that the endpoint has to fulfil: a packet that it sends, with its sequence numbers.
_SENT = re.compile(r"^(\S+\s+>\s+(?:\[\w+\]\s+)?\S+\s+)(\d+):(\d+)\((\d+)\)", re.MULTILINE)
_ASSERTION = re.compile(r"%\{ (assert .*?) \}%")
_MECHANISMS = """
    accurate-ecn close congestion-avoidance delayed-ack ecn eor epoll fast-retransmit frto handshake idle info inq
    limited-transmit nagle pacing prr push rack receiver-sack reneging reset rto slow-start timestamps tlp undo
    user-timeout window writable
"""


def name_of(path: Path) -> str:
    return str(path.relative_to(SCRIPTS_PATH).with_suffix(""))


def run(text: str) -> Verdict:
    """Run a script with the profile and the options that its head names."""
    head = head_of(text)
    return run_script(
        parse(text, "script.pkt"), SimulatedHost(head.profile or "linux-6.x", list(head.overrides)), STRICT
    )


def failure_of(text: str) -> Failure:
    failure = run(text).failure
    assert failure is not None
    return failure


def explained(verdict: Verdict) -> str:
    console = Console(width=160, record=True, file=io.StringIO())
    console.print(render(verdict))
    return console.export_text()


@pytest.mark.parametrize("path", SCRIPTS, ids=name_of)
def test_the_endpoint_does_as_the_script_says(path: Path) -> None:
    verdict = run(path.read_text())
    assert verdict.passed, explained(verdict)


@pytest.mark.parametrize("path", SCRIPTS, ids=name_of)
def test_a_script_opens_with_its_question_and_its_source(path: Path) -> None:
    comment = [line for line in path.read_text().splitlines() if line.startswith("//")]
    assert "?" in " ".join(comment[:3])
    assert any(word in line for line in comment for word in ("RFC", "Linux", "SOURCE"))


def test_there_are_enough_of_them_and_of_every_mechanism() -> None:
    assert len(SCRIPTS) >= 80
    mechanisms = {path.parent.name for path in SCRIPTS}
    assert set(_MECHANISMS.split()) <= mechanisms


def last_sent(text: str) -> re.Match[str] | None:
    """The last packet that a script expects, a SYN aside, whose number may be any."""
    found = [match for match in _SENT.finditer(text) if "S" not in match[1].split()[-1]]
    return found[-1] if found else None


@pytest.mark.parametrize("path", [path for path in SCRIPTS if last_sent(path.read_text())], ids=name_of)
def test_a_script_with_another_expectation_fails(path: Path) -> None:
    """The last packet that the script expects begins one octet later: the endpoint must not satisfy that."""
    text = path.read_text()
    last = last_sent(text)
    assert last is not None
    wrong = f"{text[: last.start()]}{last[1]}{int(last[2]) + 1}:{int(last[3]) + 1}({last[4]}){text[last.end() :]}"
    assert "seq" in failure_of(wrong).message


@pytest.mark.parametrize("path", [path for path in SCRIPTS if _ASSERTION.search(path.read_text())], ids=name_of)
def test_a_script_with_an_inverted_assertion_fails(path: Path) -> None:
    text = path.read_text()
    last = [*_ASSERTION.finditer(text)][-1]
    (assertion,) = ast.parse(last[1]).body
    assert isinstance(assertion, ast.Assert)
    wrong = f"{text[: last.start()]}%{{ assert not ({ast.unparse(assertion.test)}) }}%{text[last.end() :]}"
    assert "assertion failed" in failure_of(wrong).message


@pytest.mark.parametrize(
    ("script", "line", "instead", "complaint"),
    [
        ("rto/never-below-one-second", "+1    >", "+1.1  >", "sent at"),
        ("rto/never-below-one-second", "(4, ..., 1000) = 1000", "(4, ..., 1000) = 999", "must return"),
        ("handshake/syn-ack-answers-every-option-offered", "sackOK,TS val 100", "nop,nop,TS val 100", "options"),
        ("handshake/syn-ack-answers-every-option-offered", "wscale 10>\n+.1", "wscale 9>\n+.1", "options"),
        ("ecn/ece-until-cwr", "> E. 1:1(0) ack 3001", "> . 1:1(0) ack 3001", "flags"),
        ("ecn/retransmissions-are-not-marked", "[noecn] . 1:1001", "[ect0] . 1:1001", "ecn"),
        ("receiver-sack/a-duplicate-and-a-hole", "sack 1:1001 2001:3001", "sack 2001:3001 1:1001", "options"),
        ("close/half-open-for-reading", "EPIPE", "ENOTCONN", "must return"),
    ],
)
def test_every_part_of_a_script_counts(script: str, line: str, instead: str, complaint: str) -> None:
    text = (SCRIPTS_PATH / f"{script}.pkt").read_text()
    assert line in text
    assert complaint in failure_of(text.replace(line, instead, 1)).message

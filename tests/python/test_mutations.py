"""Packet scripts and captures with random changes: what is wrong is said as such a file's mistake.

`SOAK_SECONDS` makes each test go on for so long; without it there are a few hundred changes of each, seeded.
"""

import os
import random
import re
import time
from collections.abc import Iterator
from pathlib import Path

import dpkt
import pytest

import ackclock
from ackclock.recording.flow_arrivals import CaptureError, csv_text, flows_of_capture
from ackclock.script.parse import parse
from ackclock.script.runner import run
from ackclock.script.simulated_host import SimulatedHost
from ackclock.script.syntax import ScriptError
from conftest import SCENARIO

SOAK_SECONDS = float(os.environ.get("SOAK_SECONDS", "0"))
SEED = int(os.environ.get("SOAK_SEED", "1"))
SCRIPTS = sorted((Path(__file__).parents[1] / "scripts").rglob("*.pkt"))
NUMBERS = ["0", "-1", "1", "65535", "65536", "4294967295", "4294967296", "99999999999999999999", "1e9", "0x", ".5"]


def _rounds(name: str, least: int) -> Iterator[tuple[str, random.Random]]:
    end = time.monotonic() + SOAK_SECONDS
    count = 0
    while count < least or time.monotonic() < end:
        yield (round_ := f"{SEED} {name} {count}"), random.Random(round_)
        count += 1


def _changed_script(draw: random.Random, text: str) -> str:
    lines = text.splitlines()
    for _ in range(draw.choice([1, 1, 2, 5])):
        at = draw.randrange(len(lines))
        match draw.randrange(5):
            case 0 if len(lines) > 1:
                del lines[at]
            case 1:
                lines.insert(at, draw.choice(lines))
            case 2:
                lines[at] = re.sub(r"\d+", lambda found: draw.choice([found[0], *NUMBERS]), lines[at])
            case 3:
                place = draw.randrange(len(lines[at]) + 1)
                lines[at] = (
                    lines[at][:place] + draw.choice(list(" .,:;(){}<>[]-+*%`'\"\\=SFPRWEA0é")) + lines[at][place:]
                )
            case _:
                place = draw.randrange(len(lines[at]) + 1)
                lines[at] = lines[at][:place] + lines[at][place + 1 :]
    return "\n".join(lines)


def _play(text: str) -> None:
    try:
        script = parse(text, "changed.pkt")
        if "%{" not in text:  # code of Python is its author's
            run(script, SimulatedHost())
    except ScriptError as error:
        refused = error
    else:
        return
    assert refused.line >= 1 and refused.message


def test_scripts_with_changes_are_played_or_refused() -> None:
    texts = [script.read_text(encoding="utf-8") for script in SCRIPTS]
    for round_, draw in _rounds("script", 400):
        text = _changed_script(draw, draw.choice(texts))
        try:
            _play(text)
        except BaseException as error:  # a panic of the core is no Exception
            raise AssertionError(f"{round_}: {type(error).__name__}: {error}, from:\n{text}") from error


@pytest.fixture(scope="module")
def captures(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    """One as pcapng, and one as pcap."""
    folder = tmp_path_factory.mktemp("captures")
    overrides = ["duration='300 ms'", "topology.bottleneck.capture=true", "measure={}"]
    results = ackclock.run(ackclock.Scenario.parse(SCENARIO, overrides=overrides))
    file = next(results.save(folder / "out").glob("*.pcapng"))
    with file.open("rb") as source, (folder / "old.pcap").open("wb") as target:
        writer = dpkt.pcap.Writer(target, linktype=101)
        for time_s, frame in dpkt.pcapng.Reader(source):
            writer.writepkt(frame, time_s)
    return [file.read_bytes()[:20_000], (folder / "old.pcap").read_bytes()[:20_000]]


def _changed_capture(draw: random.Random, content: bytes) -> bytes:
    changed = bytearray(content)
    for _ in range(draw.choice([1, 2, 8])):
        at = draw.randrange(min(len(changed), draw.choice([60, 400, len(changed)])))
        match draw.randrange(4):
            case 0:
                changed[at] = draw.randrange(256)
            case 1:
                at -= at % 4
                changed[at : at + 4] = draw.choice([b"\0\0\0\0", b"\xff\xff\xff\xff", b"\0\0\0\x80", b"\1\0\0\0"])
            case 2:
                del changed[at : at + draw.choice([1, 4, 1000])]
            case _:
                changed[at:at] = draw.randbytes(draw.choice([1, 4, 16]))
        changed = changed or bytearray(b"\0")
    return bytes(changed)


def test_captures_with_changes_are_read_or_refused(captures: list[bytes], tmp_path: Path) -> None:
    file = tmp_path / "changed.pcap"
    for round_, draw in _rounds("capture", 300):
        content = _changed_capture(draw, draw.choice(captures))
        file.write_bytes(content)
        try:
            flows = flows_of_capture(file)
        except CaptureError:
            continue
        except BaseException as error:
            raise AssertionError(f"{round_}: {type(error).__name__}: {error}") from error
        assert all(flow.start_s >= 0 and flow.size_bytes >= 0 and flow.reply_bytes >= 0 for flow in flows)
        assert csv_text(flows)

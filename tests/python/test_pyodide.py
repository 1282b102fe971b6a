"""The wheel for Pyodide: Python in a browser simulates the same, to the byte.

`make -f release/Makefile pyodide-wheel pyodide-test` makes the wheel and runs these; without both they are skipped.
NumPy and Polars are not among what npm has of Pyodide, so tables and figures are not tested here.
"""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

import ackclock

ROOT = Path(__file__).parents[2]
RUNNER = ROOT / "release" / "pyodide" / "run.mjs"
WHEELS = sorted((ROOT / "dist/pyodide").glob(f"ackclock-{ackclock.__version__}-*-pyemscripten_*.whl"))
IS_READY = WHEELS and (RUNNER.parent / "node_modules" / "pyodide").is_dir() and shutil.which("node")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not IS_READY, reason="needs make -f release/Makefile pyodide-wheel pyodide-test"),
]

SUMMARIES = """\
import json

import ackclock

found = {}
for flows in ("cubic,bbr3", "reno,vegas", "copa,pcc_vivace", "prague,cubic"):
    path = ackclock.dumbbell(bottleneck="20 Mbit/s", flows=flows, queue="fq_codel", loss="0.1 %", duration="10 s")
    found[flows] = ackclock.run(path, threads=2).summary
"""

OWN = """\
from ackclock import CongestionController


class Mine(CongestionController):
    def on_ack(self, ack):
        self.grow(0.3)
        if ack.now_ns > 1_000_000_000:
            raise RuntimeError("mine")

    def on_congestion(self, event):
        pass
"""


def _in_pyodide(folder: Path, program: str) -> str:
    file = folder / "program.py"
    file.write_text(program)
    done = subprocess.run(["node", RUNNER, WHEELS[-1], file], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_browser_simulates_the_same_to_the_byte(tmp_path: Path) -> None:
    here: dict[str, object] = {}
    exec(SUMMARIES, here)  # a program of this file
    text = json.dumps(here["found"])
    assert len(text) > 5_000
    assert _in_pyodide(tmp_path, SUMMARIES + "print(json.dumps(found))\n") == text + "\n"


def test_exceptions_of_a_class_leave_the_simulation_in_a_browser(tmp_path: Path) -> None:
    """They unwind Rust's frames, which takes exceptions of WebAssembly."""
    program = f"""\
from pathlib import Path

import ackclock

Path("own.py").write_text({OWN!r})
made = ackclock.dumbbell(flows=[{{"controller": "python:own:Mine"}}], duration="3 s")
try:
    ackclock.run(ackclock.Scenario.parse(made.to_json(), "own.json"))
except RuntimeError as error:
    print(error, *error.__notes__)
try:
    ackclock.dumbbell(flows="cubik")
except ackclock.ScenarioError as error:
    print(error)
"""
    said = _in_pyodide(tmp_path, program)
    assert said.startswith("mine in on_ack of python:own:Mine at 1.0"), said
    assert "did you mean" in said, said


def test_exercises_are_checked_in_a_browser(tmp_path: Path) -> None:
    """The third of bufferbloat is answered by a run."""
    program = """\
from ackclock import lessons

print(lessons.load("sawtooth").check(1, 1))
print(lessons.load("bufferbloat").check(5, "codel"))
"""
    wrong, right = _in_pyodide(tmp_path, program).splitlines()
    assert wrong.startswith("Not yet.") and right.startswith("Right.")

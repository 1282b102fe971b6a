"""Mistakes in and about controllers written in Python: each is told with its place, its value and a remedy."""

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import ackclock
from ackclock import Scenario, ScenarioError
from ackclock._core import Simulation
from ackclock.controllers import Start
from ackclock.scenario import reno
from conftest import Cli, command, wait_until
from networks import dumbbell

TOML = f"""\
duration = "5 s"
{dumbbell('rate = "10 Mbit/s", delay = "10 ms"', rate="100 Mbit/s")}
[[flow]]
controller = CONTROLLER
"""

MODULE = '''\
import ackclock


class Steady(ackclock.CongestionController):
    """Does nothing wrong, and nothing else."""

    def __init__(self, start, *, segments=4):
        self.cwnd_bytes = segments * start.mss_bytes

    def on_ack(self, ack): pass

    def on_congestion(self, event): pass


class Dividing(Steady):
    def on_ack(self, ack):
        if ack.now_ns > 10**9:
            self.divide(0)

    def divide(self, by):
        return 1 / by


class Returning(Steady):
    def on_ack(self, ack):
        return self.cwnd_bytes + 1


class Endless(Steady):
    def on_ack(self, ack):
        open("begun", "w").close()
        while True:
            pass


class Unmade(Steady):
    def __init__(self, start):
        raise OSError("no licence")


class Deaf(ackclock.CongestionController):
    def on_ack(self, ack): pass


class Stranger:
    pass
'''


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text(MODULE)
    return tmp_path


@pytest.fixture(autouse=True)
def _forget_modules() -> object:
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if name.split(".")[0] in ("mine", "broken", "twin"):
            del sys.modules[name]


def _write(folder: Path, controller: str) -> Path:
    path = folder / "x.toml"
    path.write_text(TOML.replace("CONTROLLER", controller))
    return path


# ---- exceptions -----------------------------------------------------------------------------------------------------


def test_an_exception_ends_the_run_with_its_own_traceback(folder: Path, cli: Cli) -> None:
    done = cli("run", _write(folder, '"python:mine:Dividing"'), "--trust", "-o", "out")
    assert done.returncode == 1
    line = MODULE.splitlines().index("        return 1 / by") + 1
    assert f'mine.py", line {line}, in divide' in done.stderr
    assert "ZeroDivisionError: division by zero" in done.stderr
    assert "in on_ack of python:mine:Dividing at 1." in done.stderr
    assert "typer" not in done.stderr and "engine.py" not in done.stderr
    assert not (folder / "out").exists()


def test_python_gets_the_exception_itself(folder: Path) -> None:
    scenario = Scenario.load(str(_write(folder, '"python:mine:Dividing"')))
    with pytest.raises(ZeroDivisionError) as caught:
        ackclock.run(scenario)
    assert caught.traceback[-1].name == "divide"
    assert caught.value.__notes__[0].startswith("in on_ack of python:mine:Dividing at 1.")


def test_a_simulation_is_over_after_an_exception(folder: Path) -> None:
    simulation = Simulation(Scenario.load(str(_write(folder, '"python:mine:Dividing"'))))
    simulation.run_until(0.5)
    with pytest.raises(ZeroDivisionError):
        simulation.run_until(2.0)
    with pytest.raises(RuntimeError, match="a part failed"):
        simulation.run_until(3.0)


def test_a_constructor_may_fail_too(folder: Path, cli: Cli) -> None:
    done = cli("run", _write(folder, '"python:mine:Unmade"'), "--trust")
    assert done.returncode == 1
    assert "OSError: no licence" in done.stderr and "in __init__ of python:mine:Unmade" in done.stderr


def test_a_value_that_is_returned_is_no_window(folder: Path, cli: Cli) -> None:
    done = cli("run", _write(folder, '"python:mine:Returning"'), "--trust")
    assert done.returncode == 1
    line = MODULE.splitlines().index("class Returning(Steady):") + 2
    assert f"mine.py:{line}) returned 5793" in done.stderr  # four segments of 1448 bytes and one byte
    assert "assign what changes, such as self.cwnd_bytes" in done.stderr


@pytest.mark.alone
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_endless_method_can_be_interrupted(folder: Path, number: signal.Signals) -> None:
    scenario = _write(folder, '"python:mine:Endless"')
    process = subprocess.Popen(
        command("run", scenario, "--trust", "-o", "out"),
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_until((folder / "begun").exists, "the method, which has no end, is called")
    process.send_signal(number)
    _output, said = process.communicate(timeout=60)
    assert (process.returncode, said.strip()) == (130, "interrupted; no results were written")
    assert not (folder / "out").exists()


# ---- values ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value", "error", "remedy"),
    [
        ("cwnd_bytes", 1448.5, TypeError, r"1448.5 \(float\) is not a whole number; assign whole bytes"),
        ("cwnd_bytes", "10", TypeError, r"'10' \(str\)"),
        ("cwnd_bytes", None, TypeError, r"None \(NoneType\)"),
        ("cwnd_bytes", 0, ValueError, "assign 1 to"),
        ("cwnd_bytes", -1, ValueError, "-1 is out of range"),
        ("cwnd_bytes", 1 << 70, ValueError, "out of range"),
        ("ssthresh_bytes", 2.0, TypeError, "whole bytes"),
        ("ssthresh_bytes", 0, ValueError, "assign 1 to"),
        ("pacing_rate_bps", 1e6, TypeError, "whole bits per second"),
        ("pacing_rate_bps", 10**16, ValueError, "assign 1 to"),
    ],
)
def test_a_wrong_value_is_refused_where_it_is_assigned(
    name: str, value: object, error: type[Exception], remedy: str
) -> None:
    controller = reno.Reno(Start(mss_bytes=1_000, initial_window_bytes=4_000))
    with pytest.raises(error, match=f"{name} = .*{remedy}"):
        setattr(controller, name, value)
    assert (controller.cwnd_bytes, controller.ssthresh_bytes, controller.pacing_rate_bps) == (4_000, None, None)


# ---- names ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("controller", "field", "message", "remedy"),
    [
        ('"python:mine:Nothing"', "class", "Nothing is not in", "Steady"),
        ('"python:none_such:Steady"', "class", "module none_such is not found", "put none_such.py into"),
        ('"python:mine.deep:Steady"', "class", "module mine.deep is not found", "mine/deep.py"),
        ('"python:mine"', "class", "must name a class", "mymodule:MyController"),
        (
            '"python:mine:Stranger"',
            "class",
            "must be a controller",
            "derive the class from ackclock.CongestionController",
        ),
        ('"python:json:loads"', "class", "must be a controller", "derive"),
        ('"python:mine:Deaf"', "class", "must define on_congestion", "define on_congestion"),
        ('"python"', "class", "is missing", "class = "),
        ('{ kind = "python", class = 3 }', "class", "not 3", "write a text in quotes"),
        (
            '{ kind = "python", class = "mine:Steady", parameters = { segmnts = 3 } }',
            "parameters",
            "unexpected keyword argument 'segmnts'",
            "Steady takes: segments",
        ),
        ('{ kind = "external", name = "mine" }', "name", "is a controller of a Rust program", 'kind = "python"'),
    ],
)
def test_a_wrong_name_is_a_mistake_with_place_value_and_remedy(
    folder: Path, controller: str, field: str, message: str, remedy: str
) -> None:
    with pytest.raises(ScenarioError) as caught:
        Scenario.load(str(_write(folder, controller)))
    (mistake,) = caught.value.diagnostics
    assert mistake["field"] == f"flow[0].controller.{field}"
    assert message in mistake["message"]
    assert remedy in mistake["remedy"]
    assert mistake["line"] == 7


@pytest.mark.parametrize(
    ("text", "said"),
    [("1 / 0\n", "ZeroDivisionError: division by zero"), ("def x(:\n", "SyntaxError"), ("import nowhere\n", "nowhere")],
)
def test_a_module_that_cannot_be_imported_is_named_with_its_line(folder: Path, text: str, said: str) -> None:
    (folder / "broken.py").write_text("\n" + text)
    with pytest.raises(ScenarioError) as caught:
        Scenario.load(str(_write(folder, '"python:broken:Steady"')))
    (mistake,) = caught.value.diagnostics
    assert said in mistake["message"] and "broken.py:2" in mistake["message"]


STRANGE = """
from pathlib import Path
import ackclock
Path("ran").write_text("the module has run")

class Mine(ackclock.CongestionController):
    def on_ack(self, ack): pass
    def on_congestion(self, event): pass

class Deaf(ackclock.CongestionController):
    def on_ack(self, ack): pass

class Nothing: pass

class Derived(Mine): pass

def function(): pass

if True:
    Assigned = Mine
"""


def test_validate_and_what_reads_without_imports_run_nothing(folder: Path, cli: Cli, tmp_path: Path) -> None:
    (folder / "strange.py").write_text(STRANGE)
    for name in ("Mine", "Derived", "Assigned"):
        done = cli("validate", _write(folder, f'"python:strange:{name}"'))
        assert done.returncode == 0, done.stderr
        assert f"not imported: strange:{name} ({folder / 'strange.py'})" in done.stdout
    assert not list(tmp_path.rglob("ran")) and not Path("ran").exists()
    assert "strange" not in sys.modules
    read = Scenario.load(str(_write(folder, '"python:strange:Mine"')), imports=False)
    with pytest.raises(RuntimeError, match="imports=True"):
        ackclock.run(read)
    assert "strange" not in sys.modules


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("strange:Missing", "it has Mine, Deaf, Nothing, Derived"),
        ("strange:Deaf", "lacks on_congestion"),
        ("strange:Nothing", "is not a controller"),
        ("strange:function", "is not a controller"),
        ("strange:Mine.Inner", "Inner is not in"),
        ("nowhere:Mine", "module nowhere is not found"),
        ("broken:Mine", "SyntaxError"),
        ("not a name", "must name a class"),
    ],
)
def test_validate_finds_mistakes_in_the_text_of_a_module(folder: Path, cli: Cli, name: str, said: str) -> None:
    (folder / "strange.py").write_text(STRANGE)
    (folder / "broken.py").write_text("def x(:\n")
    done = cli("validate", _write(folder, f'"python:{name}"'))
    assert done.returncode == 2
    assert said in done.stderr


def test_modules_of_packages_are_found_without_importing_the_package(folder: Path) -> None:
    (folder / "kit").mkdir()
    (folder / "kit" / "__init__.py").write_text("1 / 0")
    (folder / "kit" / "inner.py").write_text(STRANGE)
    Scenario.load(str(_write(folder, '"python:kit.inner:Mine"')), imports=False)


def test_modules_of_the_same_name_are_told_apart(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    other = tmp_path_factory.mktemp("other")
    goodput_bps, files = [], []
    for place, segments in ((folder, 4), (other, 8)):
        (place / "twin.py").write_text(MODULE.replace("segments=4", f"segments={segments}"))
        results = ackclock.run(Scenario.load(str(_write(place, '"python:twin:Steady"'))))
        goodput_bps.append(results.flow("flow1")["goodput_bps"])
        files.append(results.manifest["controllers"]["twin:Steady"]["file"])
    assert files == [str(folder / "twin.py"), str(other / "twin.py")]
    # Windows of 4 and of 8 segments, neither of which fills the path's 18.
    assert goodput_bps[1] == pytest.approx(2 * goodput_bps[0], rel=0.05)


def test_the_search_path_is_left_as_it_was(folder: Path) -> None:
    before = list(sys.path)
    Scenario.load(str(_write(folder, '"python:mine:Steady"')))
    assert sys.path == before


def test_a_failure_in_a_sweep_is_told_as_in_a_run(
    folder: Path, cli: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    done = cli("sweep", _write(folder, '"python:mine:Dividing"'), "--trust", "--set", "seed=1..2", "-o", "grid")
    assert done.returncode == 1
    assert "in divide" in done.stderr and "ZeroDivisionError" in done.stderr

"""Custom parts in Python: named, read, checked, run, swept and copied like the built-in ones."""

import copy
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import ackclock
from ackclock import Scenario, ScenarioError
from ackclock._core import Simulation
from ackclock.scenario.example_files import FOLDER as SCENARIOS
from conftest import Cli
from networks import dumbbell

HEADER = """\
from collections import deque
from typing import Annotated, Literal
from ackclock.parts import *
from ackclock.controllers import AckEvent, CongestionEvent, Start
"""
DUMBBELL = f"""\
duration = "4 s"
trace = false
use = ["USE"]
{dumbbell('rate = "10 Mbit/s", delay = "8 ms"LINK', rate="100 Mbit/s")}
[[flow]]
name = "a"
FLOW
"""


def _text(link: str = "", flow: str = 'controller = "reno"', use: str = "parts") -> str:
    return DUMBBELL.replace("USE", use).replace("LINK", link).replace("FLOW", flow)


def _summary(text: str, overrides: tuple[str, ...] = (), folder: Path = SCENARIOS) -> dict[str, Any]:
    simulation = Simulation(Scenario.parse(text, str(folder / "x.toml"), list(overrides)))
    summary: dict[str, Any] = json.loads(simulation.finish().summary_json())
    return summary


@pytest.fixture
def own(tmp_path: Path, request: pytest.FixtureRequest) -> Callable[[str], str]:
    """Write a module beside the scenarios of this test, and return its name, which no other test uses."""
    name = f"parts_{hashlib.sha256(request.node.nodeid.encode()).hexdigest()[:12]}"

    def write(text: str) -> str:
        (tmp_path / f"{name}.py").write_text(HEADER + text)
        return name

    return write


# ---- what they do ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [1, 2])
def test_a_queue_in_python_gives_the_bytes_of_the_built_in_drop_tail(seed: int) -> None:
    two = 'controller = "reno"\n[[flow]]\nname = "b"\ncontroller = "cubic"\nstart = "100 ms"'
    mine = _text(', queue = { kind = "head_drop", packets = 12, drops = false }', two)
    ours = _text(', queue = { kind = "drop_tail", limit = "12 packets" }', two)
    own, built_in = (_summary(text, (f"seed={seed}",)) for text in (mine, ours))
    assert own["flows"] == built_in["flows"]
    # A link with the built-in one is a virtual clock, which counts what waits at the run's end otherwise.
    counts = ("drops", "delivered_packets", "queue_packets")
    for mine, ours in zip(own["links"], built_in["links"], strict=True):
        assert [mine[count] for count in counts] == [ours[count] for count in counts]
    assert sum(link["drops"] for link in own["links"]) > 0


def test_an_effect_is_added_to_the_round_trip() -> None:
    window = 'controller = { kind = "fixed", window = "1 segments" }\ntcp = { delayed_ack = false }'
    plain, slow = (
        _summary(_text(link, window))["flows"][0]["rtt_ms"]["p50"]
        for link in ("", ', effect = { kind = "late", by = "30 ms" }')
    )
    # Quantiles are within 1/128 of the value, which is 51 ms.
    assert slow - plain == pytest.approx(30, abs=51 / 128)


def test_a_source_writes_and_closes() -> None:
    flow = 'controller = "cubic"\napp = { kind = "pages", pages = 3, size = "10 kB", pause = "0.5 s" }'
    (found,) = _summary(_text(flow=flow))["flows"]
    assert found["delivered_bytes"] == 30_000
    # Two pauses, and then the last page: 7 segments in the window that has long opened, a round trip of some 28 ms.
    assert 1.0 < found["completion_s"] < 1.1


def test_a_controller_has_the_name_of_its_class_in_results() -> None:
    (found,) = _summary(_text(flow='controller = "gentle"'))["flows"]
    assert found["controller"] == "gentle" and found["delivered_bytes"] > 1_000_000


def test_a_run_of_the_example_names_its_files(cli: Cli, tmp_path: Path) -> None:
    done = cli("run", SCENARIOS / "own-parts.toml", "--trust", "--set", "duration=5 s", "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    file = SCENARIOS / "parts.py"
    sha256 = hashlib.sha256(file.read_bytes()).hexdigest()
    assert manifest["parts"] == {"parts": {"file": str(file), "sha256": sha256}}


def test_a_copy_of_a_simulation_goes_on_alike_and_on_its_own() -> None:
    scenario = Scenario.load(str(SCENARIOS / "own-parts.toml"), ["duration=6 s", "trace=false"])
    simulation = Simulation(scenario)
    simulation.run_until(2.0)
    twin = copy.copy(simulation)
    texts = [one.finish().summary_json() for one in (simulation, twin)]
    assert texts[0] == texts[1] == Simulation(scenario).finish().summary_json()


def test_a_sweep_of_own_controller_and_own_queue_is_the_runs_one_by_one(cli: Cli, tmp_path: Path) -> None:
    file, out = SCENARIOS / "own-parts.toml", tmp_path / "sweep"
    kept, room = "flow.mine.controller.kept", "topology.bottleneck.queue.packets"
    done = cli(
        *(
            "sweep",
            file,
            "--trust",
            "--set",
            "duration=3 s",
            "--set",
            f"{kept}=[0.5, 0.8]",
            "--set",
            f"{room}=[20, 60]",
        ),
        *("-o", out, "--jobs", "2"),
    )
    assert done.returncode == 0, done.stderr
    table = pl.read_parquet(out / "sweep.parquet").filter(pl.col("flow") == "mine")
    assert table.height == 4
    for row in table.to_dicts():
        overrides = ["duration=3 s", f"{kept}={row[kept]}", f"{room}={row[room]}", f"seed={row['seed']}"]
        alone = ackclock.run(Scenario.load(str(file), overrides))
        assert alone.flow("mine")["delivered_bytes"] == row["delivered_bytes"]


def test_a_file_and_a_module_are_used_alike(own: Callable[[str], str], tmp_path: Path) -> None:
    name = own("""
class Twice(CongestionController, name="twice"):
    def on_ack(self, ack): self.cwnd_bytes = 2 * self.mss_bytes
    def on_congestion(self, event): pass
""")
    flow = 'controller = "twice"'
    by_name, by_file = (_summary(_text(flow=flow, use=use), folder=tmp_path) for use in (name, f"{name}.py"))
    assert by_name == by_file
    # Two segments of 1448 bytes each round trip of 20 ms and 1.2 ms, or 1.2 ms more where they leave apart.
    pace_s = 2 * 1448 * 8 / by_name["flows"][0]["goodput_bps"]
    assert 0.0212 <= pace_s <= 0.0236


def test_quantities_come_in_base_units(own: Callable[[str], str], tmp_path: Path) -> None:
    name = own("""
class All(Queue, name="all"):
    def __init__(self, start, *, hold: Seconds = 0.005, room: ByteCount, rate: BitsPerSecond = 1_000_000,
                 mode: Literal["a", "b"] = "a", label: str = "x", on: bool = True, plain=3):
        assert (hold, room, rate, mode, label, on, plain) == (0.03, 64_000, 2_500_000, "b", "x", False, 3)
        assert type(plain) is int and start.rate_bps == 10_000_000 and self.rate_bps == 10_000_000
        self.waiting = deque()
    def enqueue(self, now_ns, packet): self.waiting.append(packet)
    def dequeue(self, now_ns): return self.waiting.popleft() if self.waiting else None
""")
    queue = 'kind = "all", hold = "30 ms", room = "64 kB", rate = "2.5 Mbit/s", mode = "b", on = false'
    assert _summary(_text(f", queue = {{ {queue} }}", use=name), folder=tmp_path)["flows"][0]["delivered_bytes"] > 0


def test_marks_are_of_packets_that_allow_them(own: Callable[[str], str], tmp_path: Path) -> None:
    name = own("""
class Marks(Queue, name="marks"):
    def __init__(self, start):
        self.waiting = deque()
    def enqueue(self, now_ns, packet):
        before = packet.ecn
        assert self.mark(packet) == (before != "not_ect")
        assert packet.ecn == ("not_ect" if before == "not_ect" else "ce")
        self.waiting.append(packet)
    def dequeue(self, now_ns):
        return self.waiting.popleft() if self.waiting else None
""")
    text = _text(', queue = "marks"', use=name) + "tcp = { ecn = 'request' }\n"
    link = _summary(text, folder=tmp_path)["links"][0]
    assert link["marks"] > 0 and link["drops"] == 0


def test_a_queue_holds_packets_back_until_they_are_ready(own: Callable[[str], str], tmp_path: Path) -> None:
    name = own("""
class Holds(Queue, name="holds"):
    def __init__(self, start, *, by: Seconds = 0.01):
        self.waiting, self.by_ns = deque(), round(by * 1e9)
    def enqueue(self, now_ns, packet): self.waiting.append(packet)
    def dequeue(self, now_ns):
        return self.waiting.popleft() if self.waiting and self.ready_at(now_ns) <= now_ns else None
    def ready_at(self, now_ns):
        return max(now_ns, self.waiting[0].since_ns + self.by_ns) if self.waiting else None
""")
    window = 'controller = { kind = "fixed", window = "1 segments" }\ntcp = { delayed_ack = false }'
    plain, held = (
        _summary(_text(link, window, name), folder=tmp_path)["flows"][0]["rtt_ms"]["p50"]
        for link in ("", ', queue = "holds"')
    )
    # The bottleneck has the queue in both directions. Quantiles are within 1/128 of the value, which is 41 ms.
    assert held - plain == pytest.approx(2 * 10, abs=41 / 128)


def test_a_queue_follows_the_rate_of_its_link(own: Callable[[str], str], tmp_path: Path) -> None:
    name = own("""
class Timed(Queue, name="timed"):
    def __init__(self, start, *, time: Seconds = 0.02):
        self.waiting, self.octets, self.time = deque(), 0, time
    def set_rate(self, now_ns, rate_bps):
        assert self.rate_bps == rate_bps
        self.most = int(rate_bps * self.time / 8)
    def enqueue(self, now_ns, packet):
        if self.octets > self.most:
            self.drop(packet)
        else:
            self.waiting.append(packet)
            self.octets += packet.octets
    def dequeue(self, now_ns):
        if not self.waiting:
            return None
        self.octets -= self.waiting[0].octets
        return self.waiting.popleft()
""")
    change = '[[change]]\nat = "2 s"\nlink = "bottleneck"\nrate = "2 Mbit/s"\n'
    mine, built_in = (
        _summary(_text(f", queue = {queue}", use=name) + change, folder=tmp_path)
        for queue in ('"timed"', '{ kind = "drop_tail", limit = "20 ms" }')
    )
    # The reference of limits: a time follows the rate of the link. Both queues have the same rule.
    assert built_in["links"][0]["drops"] > 0 and mine == built_in


# ---- what is wrong --------------------------------------------------------------------------------------------------


def test_mistakes_of_parameters_are_told_as_those_of_built_in_parts() -> None:
    with pytest.raises(ScenarioError) as caught:
        _summary(_text(', queue = { kind = "head_drop", packets = 0, size = 1 }'))
    assert "topology.bottleneck.queue.packets must be at least 1" in str(caught.value)
    assert "queue.size is not a known field" in str(caught.value)
    with pytest.raises(ScenarioError, match='did you mean "head_drop"'):
        _summary(_text(', queue = "head_drops"'))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "use[0] has no part that has a name"),
        ("x = 1 / 0", "must name a module that can be imported: ZeroDivisionError"),
        ('class A(TrafficSource, name="a"): pass', "that must define next"),
        (
            'class A(TrafficSource, name="a"):\n    def next(self, now_ns, unsent): pass\n'
            'class B(TrafficSource, name="a"):\n    def next(self, now_ns, unsent): pass',
            "has two parts called 'a': A and B",
        ),
        (
            'class A(TrafficSource, name="a"):\n    def next(self, now_ns, unsent): pass\n'
            "    def __init__(self, start, *, sizes: list[int] = []): pass",
            "whose parameter sizes is of a type list[int] that no scenario can write",
        ),
        (
            'class A(TrafficSource, name="a"):\n    def next(self, now_ns, unsent): pass\n'
            "    def __init__(self, start, *, gain: Annotated[float, Parameter(above=2)] = 1.0): pass",
            "the parameter gain has a default out of its own range: it must be more than 2",
        ),
        ('class A(TrafficSource, name="A b"): pass', "names in scenarios must be lower-case letters"),
        (
            'class A(TrafficSource, name="a"):\n    def next(self, now_ns, unsent): pass\n'
            "    def __init__(self, start, *, gain): pass",
            "whose parameter gain is without a type that no scenario can write",
        ),
    ],
)
def test_a_module_that_will_not_do(own: Callable[[str], str], tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        _summary(_text(use=own(text)), folder=tmp_path)
    assert message in str(caught.value)
    assert caught.value.diagnostics[0]["field"] == "use[0]" and caught.value.diagnostics[0]["remedy"]


@pytest.mark.parametrize("use", ["nowhere_to_be_found", "nowhere.py", "no module"])
def test_a_module_that_is_not_there(tmp_path: Path, use: str) -> None:
    with pytest.raises(ScenarioError, match=r"use\[0\] must"):
        _summary(_text(use=use), folder=tmp_path)


QUEUE = """
class Bad(Queue, name="bad"):
    def __init__(self, start): self.waiting = deque()
    def enqueue(self, now_ns, packet): {enqueue}
    def dequeue(self, now_ns): {dequeue}
"""


@pytest.mark.parametrize(
    ("enqueue", "dequeue", "message", "call"),
    [
        ("return packet", "return None", "it must be None", "enqueue"),
        ("self.drop(packet); self.drop(packet)", "return None", "was dropped already", "enqueue"),
        (
            "self.waiting.append(packet)",
            "return self.waiting[0] if self.waiting else None",
            "has left already",
            "dequeue",
        ),
        ("self.waiting.append(packet)", "return 7", "it must be a packet or None", "dequeue"),
        ("self.waiting.append(packet)", "return Packet()", "is not in this queue", "dequeue"),
        ("raise KeyError(now_ns)", "return None", "", "enqueue"),
        ("pass", "return None", "1 packets wait that may leave at once", "dequeue"),
        ("self.waiting.append(packet)", "return None", "packets wait that may leave at once", "dequeue"),
    ],
)
def test_wrong_answers_of_a_queue_end_the_run(
    own: Callable[[str], str], tmp_path: Path, enqueue: str, dequeue: str, message: str, call: str
) -> None:
    name = own(QUEUE.format(enqueue=enqueue, dequeue=dequeue))
    with pytest.raises((TypeError, ValueError, KeyError)) as caught:
        _summary(_text(', queue = "bad"', use=name), folder=tmp_path)
    assert message in str(caught.value)
    assert caught.value.__notes__[0].startswith(f"in {call} of bad ({name}.Bad) at ")


def test_a_queue_that_says_now_and_hands_out_nothing_ends_the_run(own: Callable[[str], str], tmp_path: Path) -> None:
    """It would be asked again a nanosecond later, and so on to the end."""
    bad = QUEUE.format(enqueue="self.waiting.append(packet)", dequeue="return None")
    name = own(f"{bad}    def ready_at(self, now_ns): return now_ns - 1\n")
    with pytest.raises(ValueError, match="packets wait that may leave at once") as caught:
        _summary(_text(', queue = "bad"', use=name), folder=tmp_path)
    assert "in ready_at of bad" in caught.value.__notes__[0]


def test_a_queue_without_packets_is_not_asked_when_one_may_leave(own: Callable[[str], str], tmp_path: Path) -> None:
    """A time that has passed would have the link look again every nanosecond while nothing waits."""
    good = QUEUE.format(
        enqueue="self.waiting.append(packet)", dequeue="return self.waiting.popleft() if self.waiting else None"
    )
    name = own(f"{good}    def ready_at(self, now_ns): return now_ns - 1\n")
    ours = _summary(_text(', queue = { kind = "drop_tail", limit = "unlimited" }'))
    assert _summary(_text(', queue = "bad"', use=name), folder=tmp_path)["flows"] == ours["flows"]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("return Supply(10, at_ns=now_ns)", "has passed already"),
        ("return Supply(0)", "it writes nothing and waits for nothing"),
        ("return Supply(1, at_ns=now_ns + 1, closes=True)", "give at_ns or closes, not both"),
        ("return None", "it must be a Supply"),
    ],
)
def test_wrong_answers_of_a_source_end_the_run(
    own: Callable[[str], str], tmp_path: Path, body: str, message: str
) -> None:
    name = own(f'class Bad(TrafficSource, name="bad"):\n    def next(self, now_ns, unsent_bytes): {body}')
    with pytest.raises((TypeError, ValueError), match=message) as caught:
        _summary(_text(flow='controller = "reno"\napp = "bad"', use=name), folder=tmp_path)
    assert "in next of bad" in caught.value.__notes__[0]


def test_a_negative_delay_is_refused_where_it_is_given(own: Callable[[str], str], tmp_path: Path) -> None:
    name = own(
        'class Bad(LinkEffect, name="bad"):\n    def on_packet(self, now_ns, packet): return Fate(delay_ns=-5)\n'
    )
    with pytest.raises(ValueError, match="delay_ns = -5 is out of range"):
        _summary(_text(', effect = { kind = "bad" }', use=name), folder=tmp_path)


def test_validate_runs_nothing_unless_it_is_told_to(cli: Cli) -> None:
    file = SCENARIOS / "own-parts.toml"
    done = cli("validate", file)
    assert done.returncode == 2 and "ackclock validate --load" in done.stderr
    done = cli("validate", "--load", file)
    assert done.returncode == 0 and "ok" in done.stdout, done.stderr

"""Controllers written in Python: told, asked, seeded, swept and copied like the built-in ones."""

import copy
import hashlib
import json
import math
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl
import pytest

import ackclock
from ackclock import Scenario
from ackclock._core import Simulation
from ackclock.controllers import Start
from ackclock.scenario import reno
from ackclock.scenario.example_files import FOLDER as SCENARIOS
from conftest import Cli
from networks import dumbbell, ten_over_random_loss

ROOT = Path(__file__).parents[2]
RENO = "python:ackclock.scenario.reno:Reno"
START = Start(mss_bytes=1_000, initial_window_bytes=10_000)

# Drops by a short queue, at random, and of a whole flight; and an application that is idle in between.
_LOSSY = (
    'rate = "10 Mbit/s", delay = "15 ms", '
    'discard = [{ kind = "probability", p = 0.002, of = "data" }, { kind = "window", from = "5 s", until = "5.4 s" }]'
)
LOSSES = f"""\
name = "losses"
duration = "20 s"
tcp = {{ profile = "rfc" }}
trace = false
{dumbbell(_LOSSY, rate="100 Mbit/s", limit="15 packets")}
[[flow]]
name = "bulk"
controller = "CONTROLLER"
[[flow]]
name = "files"
controller = "CONTROLLER"
app = {{ kind = "files", sizes = ["300 kB", "2 MB", "1 MB"], gap = "1.5 s" }}
"""


@pytest.fixture
def module(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Callable[[str], str]]:
    """Write a module beside the scenarios of this test, and return its name, which no other test uses."""
    name = f"own_{hashlib.sha256(request.node.nodeid.encode()).hexdigest()[:12]}"

    def write(text: str) -> str:
        header = "import ackclock\nfrom ackclock.controllers import *\n"
        (tmp_path / f"{name}.py").write_text(header + text)
        return name

    yield write
    sys.modules.pop(name, None)


_PLAIN = ("trace=false", "tcp.delayed_ack=false")


def _dumbbell(controller: str, folder: Path, duration: str = "3 s", **flow: object) -> Scenario:
    text = ackclock.dumbbell(
        flows=[{"name": "f", "controller": "cubic", **flow}],
        bottleneck="10 Mbit/s",
        rtt="40 ms",
        duration=duration,
        profile="rfc",
    ).to_json()
    return Scenario.from_json(text, [f"flow[0].controller={controller}", *_PLAIN], folder)


# ---- the same as ours -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("profile", ["rfc", "linux-6.x"])
def test_reno_in_python_gives_the_bytes_of_the_built_in(seed: int, profile: str) -> None:
    overrides = [f"seed={seed}", f"tcp.profile={profile}"]
    own = Scenario.parse(LOSSES.replace("CONTROLLER", RENO), overrides=overrides)
    # Linux's stack has its own ideas of Reno's parameters, which this Reno does not share.
    table = '{ kind = "reno", increase = "bytes" }'
    ours = Scenario.parse(LOSSES.replace('"CONTROLLER"', table), overrides=overrides)
    texts = [Simulation(scenario).finish().summary_json() for scenario in (own, ours)]
    assert texts[0].replace(RENO, "reno") == texts[1]
    bulk, files = json.loads(texts[0])["flows"]
    assert bulk["retransmitted_segments"] > 0 and bulk["timeouts"] > 0 and bulk["fast_recoveries"] > 0
    assert files["completion_s"] is not None


def test_a_scenario_file_finds_the_class_beside_it(cli: Cli) -> None:
    done = cli("run", SCENARIOS / "own-controller.toml", "--trust", "--set", "duration=5 s", "--json")
    assert done.returncode == 0, done.stderr
    mine, _reno = json.loads(done.stdout)["flows"]
    assert mine["controller"] == "python:aimd:Aimd"
    assert mine["delivered_bytes"] > 1_000_000


AIMD_ALONE = ten_over_random_loss(
    "150 s", '{ kind = "python", class = "aimd:Aimd", parameters = { increase = 0.2, decrease = 0.125 } }'
)


def test_aimd_has_the_throughput_of_its_law() -> None:
    # At a loss rate p AIMD(a, b) has a mean window of sqrt(a (2 - b) / (2 b p)) segments (Floyd, Handley, Padhye 2000):
    # for (1/5, 1/8) that is sqrt(1.5 / p), as Reno's. At p = 1/400: 24.5 segments of 1448 bytes in 50 ms.
    scenario = Scenario.parse(AIMD_ALONE, str(SCENARIOS / "x.toml"))
    summary = json.loads(Simulation(scenario).finish().summary_json())
    goodput_bps = sum(flow["goodput_bps"] for flow in summary["flows"]) / 10
    # What the law leaves out: one of the 16 round trips between losses is recovery, without growth (a less 1/16, the
    # window by 1/32); only whole segments leave (half of one in 24); timeouts. Together they come to 6 % and more.
    assert goodput_bps == pytest.approx(math.sqrt(1.5 / 0.0025) * 1448 * 8 / 0.050, rel=0.12)


def test_a_dumbbell_calls_flows_after_their_classes() -> None:
    table = {"controller": {"kind": "python", "class": "ackclock.scenario.reno:Reno"}}
    assert ackclock.dumbbell(flows=[RENO, "cubic", table], duration="1 s").flow_names == ["Reno-1", "cubic", "Reno-2"]
    assert ackclock.dumbbell(flows=f"{RENO},reno", duration="1 s").flow_names == ["Reno", "reno"]


# ---- what a class is told -------------------------------------------------------------------------------------------


def test_parameters_arrive_and_overrides_reach_them(tmp_path: Path, module: Callable[[str], str]) -> None:
    name = module("""
class Steady(CongestionController):
    def __init__(self, start, *, segments, label="x"):
        assert label == "y"
        self.cwnd_bytes = segments * start.mss_bytes
    def on_ack(self, ack): pass
    def on_congestion(self, event): pass
""")
    table = f'{{ kind = "python", class = "{name}:Steady", parameters = {{ segments = 3, label = "y" }} }}'
    scenario = _dumbbell(table, tmp_path)
    wider = Scenario.from_json(scenario.to_json(), ["flow.f.controller.parameters.segments=6"], tmp_path)
    three, six = (ackclock.run(each).flow("f") for each in (scenario, wider))
    # A window of 3 segments of 1448 bytes in a round trip of 40 ms and 1.2 ms for a packet on the bottleneck.
    assert three["goodput_bps"] == pytest.approx(3 * 1448 * 8 / 0.0412, rel=0.05)
    assert six["goodput_bps"] == pytest.approx(2 * three["goodput_bps"], rel=0.05)


def test_every_event_arrives_with_what_it_says(tmp_path: Path, module: Callable[[str], str]) -> None:
    name = module("""
log = []
class Logging(CongestionController):
    def __init__(self, start):
        log.append(("start", start.mss_bytes, start.initial_window_bytes, start.initial_ssthresh_bytes))
    def on_ack(self, ack):
        log.append(("ack", ack.now_ns, ack.newly_acked_bytes, ack.rtt_sample_ns, ack.min_rtt_ns, ack.srtt_ns))
        if ack.may_grow:
            self.cwnd_bytes += ack.newly_acked_bytes
    def on_congestion(self, event):
        log.append((event.cause, event.now_ns, event.flight_size_bytes, event.is_repeated))
        self.ssthresh_bytes = self.cwnd_bytes = 20 * self.mss_bytes
    def on_send(self, sent):
        log.append(("sent", sent.now_ns, sent.size_bytes, sent.idle_for_ns))
""")
    app = {"kind": "files", "sizes": ["1 MB", "1 kB"], "gap": "1 s"}
    ackclock.run(_dumbbell(f"python:{name}:Logging", tmp_path, app=app))
    log = sys.modules[name].log
    assert ("start", 1448, 14480, None) in log  # ten segments, RFC 6928
    sent = [entry for entry in log if entry[0] == "sent"]
    assert sum(entry[2] for entry in sent) >= 1_001_000
    acks = [entry for entry in log if entry[0] == "ack"]
    assert sum(entry[2] for entry in acks) == 1_001_001  # the FIN takes a sequence number, too (RFC 9293)
    # The propagation delay is 40 ms; a packet takes 1.2 ms on the bottleneck, a hundredth of it on each access link.
    assert 40_000_000 < min(entry[4] for entry in acks) < 41_400_000
    assert all(entry[3] is None or entry[3] >= entry[4] for entry in acks)
    assert {entry[0] for entry in log} == {"start", "ack", "sent", "loss"}
    assert max(entry[3] for entry in sent) > 900_000_000  # the second file came a second later


def test_an_event_that_is_kept_keeps_what_it_says(tmp_path: Path, module: Callable[[str], str]) -> None:
    name = module("""
kept, seen, passing = [], [], set()
class Keeping(CongestionController):
    def on_ack(self, ack):
        if len(kept) < 20 and ack.round % 2:
            kept.append(ack)
            seen.append(ack.now_ns)
        elif ack.round % 2 == 0:
            passing.add(id(ack))
    def on_congestion(self, event): pass
""")
    ackclock.run(_dumbbell(f"python:{name}:Keeping", tmp_path))
    found = sys.modules[name]
    assert [ack.now_ns for ack in found.kept] == found.seen
    assert len(set(found.seen)) == 20


def test_what_the_sender_sets_goes_through_a_method_that_overrides(
    tmp_path: Path, module: Callable[[str], str]
) -> None:
    name = module("""
from ackclock.scenario.reno import Reno
asked = []
class Asked(Reno):
    def set_cwnd(self, cwnd_bytes):
        asked.append(cwnd_bytes)
        super().set_cwnd(cwnd_bytes)
""")
    text = LOSSES.replace("CONTROLLER", f"python:{name}:Asked")
    scenario = Scenario.parse(text, str(tmp_path / "x.toml"))
    summary = ackclock.run(scenario).summary
    ours = ackclock.run(Scenario.parse(LOSSES.replace("CONTROLLER", "reno"))).summary
    assert sys.modules[name].asked
    assert summary["flows"][0]["goodput_bps"] == ours["flows"][0]["goodput_bps"]


def test_the_numbers_start_from_the_initial_window() -> None:
    controller = reno.Reno(Start(mss_bytes=1_000, initial_window_bytes=4_000, initial_ssthresh_bytes=9_000))
    assert (controller.cwnd_bytes, controller.ssthresh_bytes) == (4_000, 9_000)
    assert (controller.pacing_rate_bps, controller.mss_bytes) == (None, 1_000)
    controller.pacing_rate_bps, controller.ssthresh_bytes = 1_000_000, None
    assert (controller.pacing_rate_bps, controller.ssthresh_bytes) == (1_000_000, None)


def test_a_pacing_rate_is_kept_to(tmp_path: Path, module: Callable[[str], str]) -> None:
    name = module("""
class Paced(CongestionController):
    def __init__(self, start):
        self.pacing_rate_bps = 2_000_000
    def on_ack(self, ack):
        self.cwnd_bytes = 1000 * self.mss_bytes
    def on_congestion(self, event): pass
""")
    flow = ackclock.run(_dumbbell(f"python:{name}:Paced", tmp_path, duration="10 s")).flow("f")
    # Of the 10 s two round trips of 40 ms go before pacing begins, and leave ten segments unpaced, 0.01 Mbit/s.
    assert flow["throughput_bps"] == pytest.approx(2.0e6, rel=0.015)
    assert flow["retransmitted_segments"] == 0


# ---- simulations ----------------------------------------------------------------------------------------------------


def test_a_copy_of_a_simulation_goes_on_alike() -> None:
    first = Simulation(Scenario.parse(LOSSES.replace("CONTROLLER", RENO)))
    first.run_until(4.0)
    second = copy.copy(first)
    first.run_until(9.0)
    assert second.now_s == 4.0
    assert first.finish().summary_json() == second.finish().summary_json()


def test_a_copy_holds_nothing_of_the_original(tmp_path: Path, module: Callable[[str], str]) -> None:
    name = module("""
class Slotted(CongestionController):
    __slots__ = ("acked",)
    def __init__(self, start):
        self.acked, self.list = 0, []
    def on_ack(self, ack):
        self.acked += ack.newly_acked_bytes
        self.list.append(ack.now_ns)
        assert sorted(self.list) == self.list
        self.cwnd_bytes = 10 * self.mss_bytes + self.acked // 100
    def on_congestion(self, event): pass
""")
    first = Simulation(_dumbbell(f"python:{name}:Slotted", tmp_path))
    first.run_until(1.0)
    second = copy.copy(first)
    first.run_until(2.0)
    assert first.finish().summary_json() == second.finish().summary_json()


def test_a_sweep_in_processes_gives_what_single_runs_give(tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "mine.py").write_text("from ackclock.scenario.reno import Reno\nclass Mine(Reno): pass\n")
    (tmp_path / "x.toml").write_text(LOSSES.replace("CONTROLLER", "python:mine:Mine"))
    done = cli("sweep", "x.toml", "--trust", "--set", "seed=1..3", "-o", "grid", "--jobs", "2", "--quiet")
    assert done.returncode == 0, done.stderr
    swept = pl.read_parquet(tmp_path / "grid" / "sweep.parquet").filter(pl.col("flow") == "bulk")
    for seed in (1, 2, 3):
        ours = Scenario.parse(LOSSES.replace("CONTROLLER", "reno"), overrides=[f"seed={seed}"])
        goodput_bps = ackclock.run(ours).flow("bulk")["goodput_bps"]
        assert swept.filter(pl.col("seed") == seed)["goodput_bps"].to_list() == [goodput_bps]


def test_a_sweep_runs_again_when_the_class_has_changed(tmp_path: Path, cli: Cli) -> None:
    module = "from ackclock.scenario.reno import Reno\nclass Mine(Reno): pass\n"
    (tmp_path / "x.toml").write_text(LOSSES.replace("CONTROLLER", "python:mine:Mine"))
    points = tmp_path / "grid" / "points"
    for text, count in [(module, 1), (module, 1), (module + "# changed\n", 2)]:
        (tmp_path / "mine.py").write_text(text)
        assert cli("sweep", "x.toml", "--trust", "--set", "seed=[1]", "-o", "grid", "--quiet").returncode == 0
        assert len(list(points.glob("*.json"))) == count


def test_the_manifest_says_what_the_class_was() -> None:
    own = ackclock.run(Scenario.parse(LOSSES.replace("CONTROLLER", RENO), overrides=["duration=100 ms"]))
    file = ROOT / "python" / "ackclock" / "scenario" / "reno.py"
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    assert own.manifest["controllers"] == {RENO.removeprefix("python:"): {"file": reno.__file__, "sha256": digest}}
    ours = ackclock.run(Scenario.parse(LOSSES.replace("CONTROLLER", "reno"), overrides=["duration=100 ms"]))
    assert "controllers" not in ours.manifest


def test_a_manifest_has_the_code_that_ran_and_not_what_its_file_became(tmp_path: Path) -> None:
    """Python imports a module once: an edit, or the file's end, changes nothing of what runs."""
    file = tmp_path / "edited_later.py"
    file.write_text(
        'import ackclock\n\n\nclass Mine(ackclock.CongestionController, name="mine"):\n'
        "    def on_ack(self, ack):\n        pass\n\n    def on_congestion(self, event):\n        pass\n"
    )
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    text = LOSSES.replace('"20 s"', '"200 ms"').replace("CONTROLLER", "python:edited_later:Mine")
    scenario = Scenario.parse(f'use = ["edited_later.py"]\n{text}', str(tmp_path / "mine.toml"))
    for change in (lambda: file.write_text("raise"), file.unlink):
        change()
        manifest = ackclock.run(scenario).manifest
        assert manifest["controllers"]["edited_later:Mine"]["sha256"] == digest
        assert manifest["parts"]["edited_later.py"]["sha256"] == digest


def test_whoever_watches_is_told_of_the_states_that_a_controller_names(
    module: Callable[[str], str], tmp_path: Path
) -> None:
    name = module("""
class Own(CongestionController):
    acks = 0
    def on_ack(self, ack):
        self.acks += 1
        self.state_name = {3: "probing", 6: None}.get(self.acks, self.state_name)
    def on_congestion(self, event):
        self.ssthresh_bytes = self.cwnd_bytes
""")
    events = ackclock.run(_dumbbell(f"python:{name}:Own", tmp_path), events=["controller_state"]).events
    told = list(zip(events["from_state"], events["to_state"], strict=True))
    assert told[:2] == [("slow_start", "probing"), ("probing", "slow_start")]


@pytest.mark.parametrize(("feedback", "counted"), [("tcp.accurate_ecn=true", True), ("tcp.accurate_ecn=false", False)])
def test_a_controller_hears_whether_marks_are_counted_and_may_decline_ecn(
    module: Callable[[str], str], tmp_path: Path, feedback: str, *, counted: bool
) -> None:
    name = module("""
class Own(CongestionController):
    heard = []
    def on_feedback(self, counted):
        self.heard.append(counted)
        return counted
    def on_ack(self, ack):
        self.cwnd_bytes += ack.newly_acked_bytes // 8
    def on_congestion(self, event):
        self.cwnd_bytes = max(self.cwnd_bytes // 2, 2 * self.mss_bytes)

class Vague(Own):
    def on_feedback(self, counted):
        return "maybe"
""")
    marks = ["tcp.ecn=request", feedback, 'topology.bottleneck.queue={ kind = "threshold", threshold = "9 packets" }']

    def scenario(of: str) -> Scenario:
        text = _dumbbell(f"python:{name}:{of}", tmp_path).to_json()
        return Scenario.from_json(text, marks, tmp_path)

    results = ackclock.run(scenario("Own"))
    link = next(link for link in results.summary["links"] if link["name"] == "bottleneck")
    assert (link["marks"] > 0) == counted
    assert set(sys.modules[name].Own.heard) == {counted}
    with pytest.raises(TypeError, match=r"returned 'maybe'; it must be True, or False to decline ECN"):
        ackclock.run(scenario("Vague"))


def test_a_state_without_a_name_is_refused() -> None:
    state = ackclock.CongestionController.__mro__[1](START)
    for wrong, error in ((5, TypeError), ("", ValueError), ("x" * 65, ValueError)):
        with pytest.raises(error):
            state.state_name = wrong
    assert state.state_name is None


def test_growth_below_a_byte_adds_up() -> None:
    """A quarter of a byte in each of ten calls: two bytes, and a half to come."""
    controller = reno.Reno(START)
    windows = []
    for _ in range(10):
        controller.grow(0.25)
        windows.append(controller.cwnd_bytes - 10_000)
    assert windows == [0, 0, 0, 1, 1, 1, 1, 2, 2, 2]
    controller.grow(1000.5)
    assert controller.cwnd_bytes == 11_003

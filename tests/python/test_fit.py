"""`ackclock fit`: paths that are known are found in what was simulated over them, looked at as a recording."""

import json
import math
import os
import random
import tomllib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from ackclock import Results, Scenario, run
from ackclock.base.toml_text import scenario_toml
from ackclock.recording import read
from ackclock.recording.fit import FitError, fit
from ackclock.recording.fit.path import Path as Known
from ackclock.recording.fit.path import Sender, document
from ackclock.recording.fit.path_figures import Burst, burst_in, rate_outside
from ackclock.recording.fit.residuals import Residual
from ackclock.recording.fit.search import _unexplained
from conftest import Cli
from networks import dumbbell

ALL_PATHS = bool(os.environ.get("ACKCLOCK_FIT_PATHS"))
"""Set by `make -f tests/Makefile fit-paths`."""


@dataclass(frozen=True)
class Case:
    number: int
    controller: str
    path: Known

    def __str__(self) -> str:
        return f"{self.number}-{self.controller}"


def _cases() -> list[Case]:
    """Ten paths: CUBIC and Reno in turn, some with random loss, some with cross traffic of two fifths of the rate."""
    draws = random.Random(5)
    cases = []
    for number in range(10):
        rate_bps = math.exp(draws.uniform(math.log(5e6), math.log(60e6)))
        rtt_s = math.exp(draws.uniform(math.log(0.01), math.log(0.1)))
        queue = round(max(8, rate_bps * rtt_s / 8 / 1500 * draws.uniform(0.4, 2)))
        burst = Burst(0.4 * rate_bps, 6, 11) if number % 5 == 4 else None
        loss = (0.0, 0.0, 0.0004, 0.001)[number % 4]
        path = Known(rate_bps, np.array([rtt_s]), queue, loss, burst)
        cases.append(Case(number, ("cubic", "reno")[number % 2], path))
    return cases


def _simulated(case: Case, duration_s: float = 16.0) -> Results:
    tree = document("known", case.path, [Sender("one", case.controller, 0.0, None)], duration_s, "linux-6.x")
    return run(Scenario.parse(json.dumps(tree | {"seed": 77 + case.number}), "known.json"))


@pytest.mark.parametrize("case", [case for case in _cases() if ALL_PATHS or case.number in (4, 7)], ids=str)
def test_a_known_path_is_found_within_its_intervals(case: Case) -> None:
    found = fit(_simulated(case))
    path = case.path
    truth = {
        "rate (Mbit/s)": path.rate_bps / 1e6,
        "round trip (ms)": 1e3 * float(path.rtt_s[0]),
        "queue (packets)": path.queue_packets,
        "random loss (%)": 100 * path.loss,
        "cross traffic (Mbit/s)": path.burst.rate_bps / 1e6 if path.burst else 0.0,
    }
    intervals = {one.name: one for one in found.parameters}
    assert set(intervals) == {name for name in truth if truth[name] or name != "cross traffic (Mbit/s)"}
    for name, one in intervals.items():
        assert one.low <= truth[name] <= one.high, f"{name}: {truth[name]} is not in {one}"
    # An interval as wide as the world would hold anything.
    rate = intervals["rate (Mbit/s)"]
    assert rate.high == math.inf or rate.high / rate.low < 1.4
    assert Scenario.parse(found.text).name == found.scenario.name


def test_a_scenario_that_was_found_runs(cli: Cli, tmp_path: Path) -> None:
    _simulated(_cases()[7], 4.0).save(tmp_path / "recorded")
    done = cli("fit", "recorded", "-o", "mine.toml", "--keep", "fitted")
    assert done.returncode == 0, done.stderr
    assert "rate (Mbit/s)" in done.stdout
    assert cli("validate", "mine.toml").returncode == 0
    assert Results.load(tmp_path / "fitted").flow("one")["controller"] == "reno"


def test_less_that_arrives_for_a_while_is_a_burst() -> None:
    """20 windows of a quarter of a second at 10 Mbit/s, of which eight have 6."""
    totals = np.full(20, 10e6)
    totals[6:14] = 6e6
    middle_s = 0.25 * np.arange(20) + 0.125
    totals += np.tile([-1e5, 1e5], 10)
    is_busy = np.ones(20, dtype=bool)
    rate_bps, burst = rate_outside(totals, is_busy, middle_s, burst_in(totals, is_busy, middle_s, 0.25))
    assert rate_bps == pytest.approx(10e6, rel=0.02)
    assert burst is not None
    assert (burst.from_s, burst.until_s) == (1.5, 3.5)
    assert burst.rate_bps == pytest.approx(4e6, rel=0.05)


def test_a_recording_that_tells_too_little_is_refused(results: Results) -> None:
    silent = Results(lambda: results.summary | {"flows": []}, results.manifest, lambda name: getattr(results, name))
    with pytest.raises(FitError, match="no flow"):
        fit(silent)
    with pytest.raises(FitError, match=r"flow\[0\]\.controller must be .*use one of \"tahoe\""):
        fit(results, controller="nonesuch")


def test_what_a_path_does_not_explain_is_named() -> None:
    right = Residual("goodput (Mbit/s)", 19.0, 18.9, 0.05, 0.995)
    chance = Residual("retransmitted (%)", 0.2, 0.3, 0.4, 0.667)
    wrong = Residual("mean round trip (ms)", 57.0, 31.0, 0.1, 0.544)
    assert _unexplained([right, chance]) == []
    (said,) = _unexplained([right, chance, wrong])
    assert "mean round trip (ms):" in said and "--controller" in said and "goodput" not in said


ALONE = """
name = "alone"
duration = "15 s"
seed = {seed}
[topology]
kind = "dumbbell"
access = {{ rate = "1 Gbit/s", delay = "0 ns" }}
[topology.bottleneck]
rate = "{rate}"
delay = "15 ms"
queue = {{ kind = "drop_tail", limit = "{queue}" }}
loss = {{ kind = "random", p = {loss} }}
[tcp]
profile = "linux-6.x"
[[flow]]
name = "a"
controller = "{controller}"
receiver_tcp = {{ receive_buffer = "{buffer}" }}
[trace]
interval = "20 ms"
flows = ["cwnd", "goodput", "rtt_sample", "srtt", "rwnd"]
"""


def _alone(**changes: object) -> Results:
    chosen = {"seed": 1, "rate": "10 Mbit/s", "queue": "12 packets", "loss": 0, "controller": "reno", "buffer": "6 MB"}
    return run(Scenario.parse(ALONE.format(**chosen | changes), "alone.toml"))


def test_the_true_path_is_within_what_runs_of_it_show() -> None:
    """The path is found, not known: what a run of it shows is as uncertain as it is."""
    found = fit(_alone())
    assert [one.name for one in found.residuals if not one.is_within] == []


def test_a_queue_that_was_never_full_has_no_upper_end() -> None:
    """64 KiB over 30 ms are 17 of 100 Mbit/s: nothing ever waits, and the queue could have any length."""
    found = fit(_alone(rate="100 Mbit/s", queue="1 bdp", controller="cubic", buffer="64 KiB"))
    high = {one.name: one.high for one in found.parameters}
    assert high["queue (packets)"] == high["rate (Mbit/s)"] == math.inf
    assert any("receiver's window" in note for note in found.notes)


def test_one_flow_alone_has_no_cross_traffic() -> None:
    """BBRv3's own cycle and random losses make some windows slower than others."""
    found = fit(_alone(seed=2, queue="1 bdp", loss=0.001, controller="bbr3"))
    intervals = {one.name: one for one in found.parameters}
    assert "cross traffic (Mbit/s)" not in intervals
    assert intervals["rate (Mbit/s)"].low <= 10 <= intervals["rate (Mbit/s)"].high
    assert intervals["queue (packets)"].low <= 25 <= intervals["queue (packets)"].high


ONE_AFTER_THE_OTHER = f"""
duration = "20 s"
{dumbbell('rate = "10 Mbit/s", delay = "15 ms"', "0 ms", limit="40 packets")}
[[flow]]
name = "first"
app = {{ kind = "file", size = "4 MB" }}
capture = true
[[flow]]
name = "second"
start = "8 s"
app = {{ kind = "file", size = "4 MB" }}
capture = true
"""


def test_what_comes_after_a_flow_is_complete_says_nothing_of_its_path() -> None:
    """Either flow has the link for 4 s of the 20: no rate is lower because nobody sends."""
    found = fit(run(Scenario.parse(ONE_AFTER_THE_OTHER, "known.toml")))
    intervals = {one.name: one for one in found.parameters}
    for name, truth in {"rate (Mbit/s)": 10, "queue (packets)": 40, "round trip of flow 2 (ms)": 30}.items():
        assert intervals[name].low <= truth <= intervals[name].high, name


def test_files_whose_times_have_nothing_to_do_with_each_other_are_no_recording_of_a_path(tmp_path: Path) -> None:
    """The flows had 10 Mbit/s one after the other; as if at the same time they would have had 20."""
    run(Scenario.parse(ONE_AFTER_THE_OTHER, "known.toml")).save(tmp_path / "known")
    captures = sorted((tmp_path / "known").glob("flow_*.pcapng"))
    assert len(captures) == 2
    with pytest.raises(FitError, match=r"2 files, .* join captures with mergecap"):
        fit(read(captures))


def test_a_recording_with_a_gap_of_days_is_refused_for_its_length(tmp_path: Path) -> None:
    """The clock of a log was set by 100 days, as on a machine that has none of its own."""
    file = tmp_path / "ss.log"
    times = [1.6e9 + (100 * 86_400 if place > 30 else 0) + place / 10 for place in range(60)]
    state = "ESTAB 0 0 10.0.0.1:1 10.0.0.2:2 cubic rto:204 rtt:20/2 mss:1448 cwnd:10 bytes_sent:{0} bytes_acked:{0}"
    file.write_text("".join(f"{time:.1f}\n{state.format(1000 * place)}\n" for place, time in enumerate(times)))
    with pytest.raises(FitError, match=r"the recording lasts 8,640,006 s, in steps of 100 ms; cut it"):
        fit(read([file]))


def test_names_are_comments_of_a_scenario_whatever_is_in_them() -> None:
    """TOML 1.0, "Comment": control characters other than tab are not permitted."""
    tree = document("a", Known(1e7, np.array([0.05]), 50, 0.0, None), [Sender("f", "cubic", 0.0, None)], 1.0, "rfc")
    assert tomllib.loads(scenario_toml(tree, ["a\x01b\rc\nd\x7fe"]))["name"] == "a"

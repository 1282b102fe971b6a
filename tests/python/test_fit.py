"""`ackclock fit`: paths that are known are found in what was simulated over them, looked at as a recording."""

import json
import math
import os
import random
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from ackclock import Results, Scenario, run
from ackclock.fit import FitError, fit
from ackclock.fit.path import Path as Known
from ackclock.fit.path import Sender, document
from ackclock.fit.residuals import Residual
from ackclock.fit.search import _unexplained
from ackclock.fit.seen import Burst, rate_outside
from conftest import Cli

ALL_PATHS = bool(os.environ.get("ACKCLOCK_FIT_PATHS"))
"""Set by `make fit-paths`."""


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
    rate_bps, burst = rate_outside(totals + np.tile([-1e5, 1e5], 10), np.ones(20, dtype=bool), middle_s, None, 0.25)
    assert rate_bps == pytest.approx(10e6, rel=0.02)
    assert burst is not None
    assert (burst.from_s, burst.until_s) == (1.5, 3.5)
    assert burst.rate_bps == pytest.approx(4e6, rel=0.05)


def test_a_recording_that_tells_too_little_is_refused(results: Results) -> None:
    silent = Results(lambda: results.summary | {"flows": []}, results.manifest, lambda name: getattr(results, name))
    with pytest.raises(FitError, match="no flow"):
        fit(silent)
    with pytest.raises(FitError, match="--controller"):
        fit(results, controller="nonesuch")


def test_what_a_path_does_not_explain_is_named() -> None:
    right = Residual("goodput (Mbit/s)", 19.0, 18.9, 0.05, 0.995)
    chance = Residual("retransmitted (%)", 0.2, 0.3, 0.4, 0.667)
    wrong = Residual("mean round trip (ms)", 57.0, 31.0, 0.1, 0.544)
    assert _unexplained([right, chance]) == []
    (said,) = _unexplained([right, chance, wrong])
    assert "mean round trip (ms):" in said and "--controller" in said and "goodput" not in said

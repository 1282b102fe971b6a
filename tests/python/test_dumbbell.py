"""`ackclock.dumbbell` and `ackclock.run`."""

import json
from pathlib import Path
from typing import Any

import pytest

import ackclock
from conftest import Cli


def test_one_flow_fills_its_bottleneck() -> None:
    results = ackclock.run(ackclock.dumbbell(bottleneck="10 Mbit/s", rtt="20 ms", duration="10 s"))
    assert results.link("bottleneck")["utilization"] > 0.9
    # 1448 of 1500 octets of a packet are payload, so no more than 9.653 Mbit/s can arrive.
    assert 8.5e6 < results.flow("cubic")["goodput_bps"] < 9.654e6


def test_a_name_that_is_made_is_not_too_long(tmp_path: Path) -> None:
    trace = tmp_path / ("a" * 100)
    trace.write_text("1\n2\n")
    assert len(ackclock.dumbbell(trace=str(trace), duration="1 s").name) == 100


def test_seed_replaces_the_scenarios_own() -> None:
    scenario = ackclock.dumbbell(duration="1 s", seed=1)
    assert ackclock.run(scenario, seed=5).summary["seed"] == 5
    assert scenario.seed == 1


@pytest.mark.parametrize(
    ("rate", "access_bps"),
    # A hundred times the bottleneck; no link is faster than 10^14 bit/s (docs/reference/scenario.md).
    [("2 Mbit/s", 2e8), ("1_5 Mbit/s", 1.5e9), ("2000 Gbit/s", 1e14), ("2 Tbit/s", 1e14), ("200 GB/s", 1e14)],
)
def test_access_links_are_as_fast_as_links_can_be(rate: str, access_bps: float) -> None:
    access = json.loads(ackclock.dumbbell(bottleneck=rate, duration="1 ms").to_json())["topology"]["access"]
    number, unit = access["rate"].split()
    factor = {"Mbit/s": 1e6, "Gbit/s": 1e9, "Tbit/s": 1e12, "bit/s": 1.0}[unit]
    assert float(number) * factor == access_bps


def test_a_slow_link_has_room_by_default() -> None:
    """docs/reference/scenario.md: "1 bdp, but 2 packets at least"; a bdp of 64 kbit/s and 40 ms is 320 octets."""
    scenario = ackclock.dumbbell(bottleneck="64 kbit/s", rtt="40 ms", duration="9 s")
    assert ackclock.run(scenario).link("bottleneck")["queue_packets"]["max"] == 2
    path = {"rate": "64 kbit/s", "rtt": "40 ms"}
    study = ackclock.study({"controllers": ["reno"], "line_ups": "alone", "path": path, "seeds": 1, "duration": "9 s"})
    assert len(study.runs) == 1


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("bottleneck", "10 Mb", "a rate in a known unit"),
        ("rtt", "20 parsec", "a duration in a known unit"),
        ("queue", "redd", 'did you mean "red"?'),
        ("buffer", "-1 packets", "a whole number of packets"),
        ("loss", "nan", "must be a number"),
        ("flows", "cubicc", 'did you mean "cubic"?'),
        ("duration", "x", "a duration"),
        ("profile", "linux", "the name of a profile"),
        ("trace", "nowhere.down", "a file that can be read"),
    ],
)
@pytest.mark.parametrize("seeds", [(), ("--seeds", "2")], ids=["one run", "several"])
def test_a_mistake_of_an_option_is_placed_there(
    cli: Cli, option: str, value: str, said: str, seeds: tuple[str, ...]
) -> None:
    """docs/reference/command-line.md: every mistake with its place; nobody wrote the scenario that options make."""
    done = cli("run", f"--{option}", value, *seeds)
    assert done.returncode == 2 and done.stderr.startswith(f"--{option}: error: ") and said in done.stderr
    assert "1 mistake;" in done.stderr


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_number_that_is_none_is_a_mistake_of_its_field(value: float) -> None:
    path = {"rate": "1 Mbit/s", "loss": value}
    study = {"controllers": ["reno"], "line_ups": "alone", "path": path, "seeds": 1, "duration": "1 s"}
    for refused, place in (
        (lambda: ackclock.dumbbell(loss=value), "bottleneck.loss.p"),
        (lambda: ackclock.study(study), "path.loss"),
    ):
        with pytest.raises(ackclock.ScenarioError, match="must be a number") as raised:
            refused()
        assert raised.value.diagnostics[0]["field"].endswith(place)


def test_what_is_no_round_trip_is_shown_as_it_was_written() -> None:
    with pytest.raises(ackclock.ScenarioError) as raised:
        ackclock.dumbbell(rtt="40 parsec", duration="1 s")
    assert "40 parsec" in str(raised.value.diagnostics[0]["value"])
    with pytest.raises(ValueError, match='rtt is 20, which is not a duration; write it like "60 ms"'):
        ackclock.dumbbell(rtt=20)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"bottleneck": 10e6}, r"topology\.bottleneck\.rate must be a rate"),
        ({"bottleneck": None}, r"topology\.bottleneck\.rate"),
        ({"loss": True}, r"topology\.bottleneck\.loss\.p is true, and must be a number"),
        ({"flows": 5}, "flows has 5;"),
        ({"flows": ["cubic", 5]}, "flows has 5;"),
    ],
)
def test_a_value_of_another_type_is_named(given: dict[str, Any], said: str) -> None:
    """A rate as a number was `expected string or bytes-like object`, and a loss of True was all packets."""
    with pytest.raises(ValueError, match=said):
        ackclock.dumbbell(**given)


@pytest.mark.parametrize("seed", [-1, 2**64, 10**30])
def test_a_seed_that_is_none_is_a_message_with_its_value(seed: int) -> None:
    scenario = ackclock.dumbbell(duration="1 ms")
    for refused in (lambda: ackclock.run(scenario, seed=seed), lambda: scenario.with_seed(seed)):
        with pytest.raises(
            ValueError, match=rf"seed must be a whole number from 0 to 18446744073709551615, not {seed}"
        ):
            refused()
    with pytest.raises(ValueError, match="threads must be a whole number from 0 "):
        ackclock.run(scenario, threads=seed if seed < 0 else 2**64 + seed)


def test_a_number_with_decimals_is_no_seed() -> None:
    with pytest.raises(TypeError, match=r"seed must be a whole number .*, not 1\.5"):
        ackclock.run(ackclock.dumbbell(duration="1 ms"), seed=1.5)  # type: ignore[arg-type]


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as missing:
        ackclock.Scenario.load(tmp_path / "nope.toml")
    assert missing.value.filename == str(tmp_path / "nope.toml")
    with pytest.raises(OSError, match="it is a folder, not a regular file") as folder:
        ackclock.Scenario.load(tmp_path)
    assert folder.value.filename == str(tmp_path)


def test_a_flow_may_be_a_table() -> None:
    flows = [{"controller": "reno", "start": "500 ms"}, "cubic", {"controller": {"kind": "cubic"}, "name": "mine"}]
    scenario = ackclock.dumbbell(flows=flows, duration="1 s")
    assert scenario.flow_names == ["reno", "cubic", "mine"]


def test_rtt_is_split_exactly() -> None:
    document = json.loads(ackclock.dumbbell(rtt="0.513 s", duration="1 s").to_json())
    assert "256.5 ms" in json.dumps(document) or "0.2565 s" in json.dumps(document)


@pytest.mark.parametrize("rtt", ["60", "sixty ms", "-1 ms", ""])
def test_wrong_rtt_is_named(rtt: str) -> None:
    with pytest.raises(ValueError, match="60 ms"):
        ackclock.dumbbell(rtt=rtt)


def test_several_mistakes_are_one_error() -> None:
    with pytest.raises(ackclock.ScenarioError) as caught:
        ackclock.dumbbell(bottleneck="wide", duration="long", flows="qubic")
    fields = " ".join(diagnostic["field"] for diagnostic in caught.value.diagnostics)
    assert "duration" in fields
    assert "controller" in fields
    assert "rate" in fields


def test_progress_moves_forward_to_the_end() -> None:
    seen: list[float] = []
    ackclock.run(ackclock.dumbbell(duration="5 s"), on_progress=lambda progress: seen.append(progress.now_s))
    assert seen == sorted(seen)
    assert seen[-1] == 5.0


def test_an_exception_in_progress_ends_the_run() -> None:
    def stop(_progress: object) -> None:
        raise InterruptedError

    with pytest.raises(InterruptedError):
        ackclock.run(ackclock.dumbbell(duration="1000000 s"), on_progress=stop)

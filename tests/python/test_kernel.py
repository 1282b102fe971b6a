"""`ackclock run --on kernel`: the program that does it, its messages, and what a result folder of it holds."""

import json
import os
import stat
import subprocess
from pathlib import Path

import pytest

from ackclock import Results
from ackclock.running import kernel
from conftest import Cli
from networks import dumbbell

BULK = f"""
name = "bulk"
duration = "2 s"
{dumbbell('rate = "100 Mbit/s", delay = "10 ms"', "10 us", limit="1 bdp")}
[[flow]]
name = "one"
controller = "cubic"
"""


needs_kernel = pytest.mark.skipif(
    bool(kernel.missing()),
    reason=f"needs root and `make kernel` (`ackclock doctor` tells): {kernel.missing()}",
)


@pytest.fixture
def bulk(tmp_path: Path) -> Path:
    """A file with one flow."""
    file = tmp_path / "bulk.toml"
    file.write_text(BULK)
    return file


def _script(path: Path, text: str) -> str:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def test_without_the_program_it_says_where_it_was_looked_for(
    cli: Cli, bulk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACKCLOCK_KERNEL", "/nowhere/ackclock-kernel")
    done = cli("run", bulk, "--on", "kernel", "-o", "out")
    assert done.returncode == 1
    assert "/nowhere/ackclock-kernel" in done.stderr
    assert "make kernel" in done.stderr
    assert not (bulk.parent / "out").exists()


@pytest.mark.parametrize(("code", "expected"), [(1, 1), (2, 2), (7, 1), (130, 130)])
def test_its_exit_code_and_message_are_handed_on(
    cli: Cli, bulk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, expected: int
) -> None:
    program = _script(tmp_path / "fails", f"cat >/dev/null; echo 'error: flow[0].x: because' >&2; exit {code}")
    monkeypatch.setenv("ACKCLOCK_KERNEL", program)
    done = cli("run", bulk, "--on", "kernel", "-o", "out")
    assert done.returncode == expected, done.stderr
    assert ("because" in done.stderr) == (code != 130)
    assert not (tmp_path / "out").exists()


def test_options_of_the_simulator_are_refused(cli: Cli, bulk: Path) -> None:
    done = cli("run", bulk, "--on", "kernel", "--threads", "2")
    assert done.returncode == 2
    assert "--threads" in done.stderr


@needs_kernel
def test_a_run_leaves_a_folder_of_results(cli: Cli, bulk: Path, tmp_path: Path) -> None:
    done = cli("run", bulk, "--on", "kernel", "-o", "out")
    assert done.returncode == 0, done.stderr
    assert f"on Linux {os.uname().release}" in done.stdout
    results = Results.load(tmp_path / "out")
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["kernel"]["release"] == os.uname().release
    # 1448 of 1500 octets are payload, and slow start from 10 segments takes some of the 2 s.
    # A run that was too late, as the manifest says, may have carried less.
    is_in_time = manifest["kernel"]["valid"]
    assert (40e6 if is_in_time else 0) < results.flow("one")["goodput_bps"] < 96.6e6
    rtt = results.flow("one")["rtt_ms"]
    assert rtt is not None
    assert rtt["min"] >= 20.0, "twice 10.02 ms of propagation"
    # Each 10 ms from the handshake on, with none missing but where the machine was busy.
    times = results.flows["time_s"].to_list()
    assert (100 if is_in_time else 0) < len(times) <= 200
    assert times == sorted(times)
    compared = cli("compare", "out", "out")
    assert compared.returncode == 0, compared.stderr
    assert "Linux" in compared.stdout


@needs_kernel
def test_a_scenario_that_the_kernel_cannot_run_is_wrong_input(cli: Cli, bulk: Path) -> None:
    done = cli("run", bulk, "--on", "kernel", "--set", "flow[0].controller=pcc_vivace")
    assert done.returncode == 2
    assert "flow[0].controller" in done.stderr


@needs_kernel
def test_a_controller_of_the_program_is_loaded_for_the_run_alone(cli: Cli, bulk: Path) -> None:
    program = str(kernel.program())
    listed = subprocess.run([program, "list"], capture_output=True, text=True, check=False)
    if listed.returncode != 0:
        pytest.skip(f"{program} was built without controllers, for which `make kernel` needs clang and libelf-dev")
    available = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
    done = cli("run", bulk, "--on", "kernel", "--set", 'flow[0].controller={kind="aimd",a=0.2,b=0.125}', "-o", "aimd")
    assert done.returncode == 0, done.stderr
    assert Results.load(bulk.parent / "aimd").flow("one")["goodput_bps"] > 10e6
    # other tests have controllers there for as long as they run
    assert [name for name in available.read_text().split() if "aimd" in name] == [], "it went with the run"

"""`FlowEnv(on="linux")`: the agent's flow is a connection of a kernel in virtual time, which waits for decisions."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import gymnasium
import numpy as np
import pytest

import ackclock.gym
from ackclock import Scenario
from ackclock.gym import FlowEnv
from ackclock.running import kernel, linux_kernels
from conftest import wait_until
from networks import dumbbell

SCENARIO = f"""
duration = "3 s"
{dumbbell('rate = "20 Mbit/s", delay = "20 ms"', "0 ms", limit="2 bdp")}
[[flow]]
name = "learner"
controller = "reno"
tcp = {{ host_noise = "0 ns" }}
"""
"""40 ms there and back: 69 segments of 1448 octets fill the path, and 138 more its queue."""

# A program in the place of the kernel: the start of a connection, and two hundred of its ACKs, one a millisecond, with
# 40 ms of round trip; it loses a segment after 50 ms.
REPORTS = """
import json, os, socket, struct
channel = socket.socket(socket.AF_UNIX)
channel.connect("agent")
windows, cwnd, number = [], 10, 0

def asked(i, kind, lost=0, state=0):
    report = struct.pack("=QQ16I", 10**9 + i * 10**6, 0, 1, 4000, cwnd, 2**31 - 1, 40000, 40000, 40000, 10, 1, lost,
                         state, 1, 1000, 1448, number, 1)
    channel.sendall(report + struct.pack("=II40x", kind, 4096))
    return struct.unpack("=IIIIQQQ", channel.recv(40, socket.MSG_WAITALL))

assert asked(-1, 2)[2] == 0, "the window stays"
for i in range(200):
    state, lost = 3 * (50 <= i < 60), int(i == 50)
    number, flow, cwnd, owns_losses, *_ = asked(i, 0, lost, state)
    windows.append(cwnd)
    assert (number, flow, owns_losses) == (i + 1, 1, 1)
"""
ENDS = """
summary = {"flows": [{"name": "learner", "goodput_bps": 1e6}], "windows": windows}
for name, text in (("out", json.dumps({"summary": summary}) + "\\n"), ("err", ""), ("code", "0")):
    open(name, "w").write(text)
"""
STOPS = 'print("Kernel panic - not syncing: out of ideas")\n'
REFUSES = """
for name, text in (("out", ""), ("err", "error: flow[0]: not this one"), ("code", "2")):
    open(name, "w").write(text)
"""

Build = Callable[..., None]


@pytest.fixture
def build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Build:
    """Return a function that puts a program into the cache as the kernel 6.12, and watch the temporary folders."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("ACKCLOCK_KERNEL", sys.executable)
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))

    def built(code: str, form: int = linux_kernels.AGENT_FORM) -> None:
        folder = linux_kernels.cache() / "6.12"
        folder.mkdir(parents=True)
        program = folder / linux_kernels.PROGRAM
        program.write_text(f"#!{sys.executable}\n{code}")
        program.chmod(0o755)
        about = {"version": "6.12.1", "modules": [], "linux_sha256": "0" * 64, "agent": form}
        (folder / linux_kernels.ABOUT).write_text(json.dumps(about))

    return built


def _env(on: str = "linux", **settings: object) -> FlowEnv:
    settings = {"decide": "round", "action": {"kind": "cwnd", "low_segments": 4, "high_segments": 400}, **settings}
    observations = ("cwnd_segments", "rtt_ms", "min_rtt_ms", "delivery_rate_bps", "lost_segments")
    scenario = Scenario.parse(SCENARIO, "linux.toml")
    return FlowEnv(scenario, on=on, observations=observations, slow_start="agent", on_loss="agent", **settings)  # type: ignore[arg-type]


def _episode(env: FlowEnv, exponent: float = 0.0) -> tuple[list[np.ndarray], list[float], dict[str, object]]:
    observation, _ = env.reset(seed=1)
    seen, rewards, over = [observation], [], False
    while not over:
        observation, reward, _, over, told = env.step(np.array([exponent], np.float32))
        seen.append(observation)
        rewards.append(reward)
    return seen, rewards, told


def test_each_report_is_answered_with_the_window_that_was_decided(build: Build, tmp_path: Path) -> None:
    build(REPORTS + ENDS)
    env = _env()
    seen, _, told = _episode(env)
    # The geometric mean of 4 and 400 is 40 segments; one decision in 40 ms of the 200, after the first.
    assert told["summary"]["windows"][-1] == 40  # type: ignore[index]
    counters = told["kernel"]
    assert (counters["acks"], counters["in_force"], counters["flows"]) == (200, 200, 1)  # type: ignore[index]
    assert (counters["missed"], counters["absurd"], counters["fallbacks"]) == (0, 0, 0)  # type: ignore[index]
    assert 4 <= len(seen) <= 7 and seen[-1][1] == 40
    assert env.time_s == pytest.approx(0.199, abs=1e-6)
    again, rewards, _ = _episode(env)
    assert np.array_equal(seen, again) and len(rewards) == len(seen) - 1
    env.close()
    assert not list((tmp_path / "temporary").iterdir())


def test_an_agent_is_evaluated_there(build: Build, tmp_path: Path) -> None:
    pytest.importorskip("stable_baselines3")
    from ackclock.gym.learn.evaluation import Trained, evaluate
    from ackclock.gym.learn.setting import of_scenario

    class Holds:
        """A model that leaves the window as it is."""

        def set_random_seed(self, _seed: int) -> None: ...

        def predict(self, _observation: object, *, deterministic: bool) -> tuple[int, None]:
            assert deterministic
            return 3, None

    figures = {"rtt_ms": {"mean": 41.0, "p95": 45.0}, "lost_segments": 2, "sent_segments": 200, "timeouts": 1}
    build(REPORTS + ENDS.replace('"goodput_bps": 1e6', f'"goodput_bps": 1e6, **{figures}'))
    (tmp_path / "one.toml").write_text(SCENARIO)
    setting = of_scenario(tmp_path / "one.toml", [], {"decide": "round", "action": "deltas"}, discrete=True)
    trained = Trained("holds", Holds(), setting)  # type: ignore[arg-type]
    rows = list(evaluate(trained, [], [1, 2], ["random"], linux_kernels.find()))
    assert [(row.who, row.seed) for row in rows] == [(who, seed) for seed in (1, 2) for who in ("holds", "random")]
    assert {(row.on, row.lost_fraction, row.timeouts) for row in rows} == {("Linux 6.12.1", 0.01, 1)}
    assert not list((tmp_path / "temporary").iterdir())


def test_a_registered_environment_runs_there(build: Build) -> None:
    build(REPORTS + ENDS)
    env = gymnasium.make("ackclock/SingleFlow-v0", on="linux:6.12")
    env.reset(seed=3)
    assert env.step(env.action_space.sample())[0].shape == (10, 5)
    env.close()
    assert "ackclock/SingleFlow-v0" in ackclock.gym.IDS


def test_the_example_of_the_documentation_runs(
    build: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    build(REPORTS + ENDS)
    page = Path(__file__).parents[2] / "docs/how-to/real-kernel-without-root.md"
    (example,) = re.findall(r"(?s)```py\n(.*?)```", page.read_text())
    (tmp_path / "dumbbell.toml").write_text(SCENARIO)
    monkeypatch.chdir(tmp_path)
    exec(example, {})
    assert capsys.readouterr().out == "1000000.0 200\n"


def test_close_ends_the_kernel_and_removes_its_folder(build: Build, tmp_path: Path) -> None:
    build(f'open({str(tmp_path / "pid")!r}, "w").write(str(__import__("os").getpid()))\n{REPORTS}')
    env = _env()
    env.reset(seed=1)
    pid = int((tmp_path / "pid").read_text())
    os.kill(pid, 0)
    env.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert not list((tmp_path / "temporary").iterdir())


@pytest.mark.parametrize("ends", ["SIGINT", "an exception"])
def test_whatever_ends_a_program_ends_its_kernel(build: Build, tmp_path: Path, ends: str) -> None:
    """The kernel falls silent after the first decision; or the program fails between two of them."""
    told = tmp_path / "pid"
    build(
        f'{REPORTS.replace("range(200)", "range(3)")}\nopen({str(told)!r}, "w").write(str(os.getpid()))\n'
        "import time; time.sleep(600)"
    )
    (tmp_path / "scenario.toml").write_text(SCENARIO)
    last = "env.step(3)" if ends == "SIGINT" else "raise ValueError(env)"
    code = (
        "from ackclock.gym import FlowEnv\nimport sys\n"
        "env = FlowEnv(sys.argv[1], on='linux', decide='ack', action='deltas', slow_start='agent')\n"
        f"env.reset(seed=1); env.step(3); env.step(3)\n{last}"
    )
    environment = os.environ | {"TMPDIR": str(tmp_path / "temporary")}
    command = [sys.executable, "-c", code, str(tmp_path / "scenario.toml")]
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE) as child:
        try:
            if ends == "SIGINT":
                wait_until(lambda: told.is_file() and bool(told.read_text()), "the kernel is silent")
                child.send_signal(signal.SIGINT)
            _, said = child.communicate(timeout=120)
        finally:
            child.kill()
    assert (b"KeyboardInterrupt" if ends == "SIGINT" else b"ValueError") in said
    if told.is_file() and told.read_text():
        with pytest.raises(ProcessLookupError):
            os.kill(int(told.read_text()), 0)
    assert not list((tmp_path / "temporary").iterdir())


def test_a_kernel_that_stops_is_told_with_its_last_words(build: Build, tmp_path: Path) -> None:
    build(REPORTS + STOPS)
    env = _env()
    with pytest.raises(kernel.KernelError, match="out of ideas"):
        _episode(env)
    assert not list((tmp_path / "temporary").iterdir())


def test_a_scenario_that_the_kernel_refuses_is_told_at_reset(build: Build) -> None:
    build(REFUSES)
    with pytest.raises(kernel.RefusedError, match="not this one"):
        _env().reset(seed=1)


def test_a_kernel_with_an_older_controller_is_to_be_built_anew(build: Build) -> None:
    build(REPORTS, form=linux_kernels.AGENT_FORM - 1)
    with pytest.raises(kernel.KernelError, match=r"ackclock linux build 6\.12 --force"):
        _env()
    with pytest.raises(kernel.KernelError, match=r"ackclock linux build 9\.9"):
        _env("linux:9.9")


def test_what_cannot_be_is_said(build: Build) -> None:
    build(REPORTS)
    with pytest.raises(ValueError, match="linux:NAME"):
        _env("linux-6.12")
    with pytest.raises(ValueError, match="not rendered"):
        _env(render_mode="rgb_array")
    env = _env()
    with pytest.raises(ValueError, match="cannot be saved"):
        env.save()


@pytest.mark.alone
def test_a_fixed_window_in_the_real_stack_does_what_arithmetic_says() -> None:
    """40 segments of 1448 octets each 40 ms: 11.6 Mbit/s, below the 20 of the path, so that nothing waits."""
    try:
        env = _env()
    except kernel.KernelError as error:
        pytest.skip(f"{error}")
    try:
        seen, rewards, told = _episode(env)
        again = _episode(env)
    finally:
        env.close()
    later = np.array(seen[5:-1])
    assert np.all(later[:, 0] == 40) and np.all(later[:, 4] == 0)
    assert np.all(np.abs(later[:, 2] - 40) < 1.0)
    assert np.median(later[:, 3]) == pytest.approx(40 * 1448 * 8 / 0.0401, rel=0.05)
    assert told["kernel"]["fallbacks"] == 0  # type: ignore[index]
    assert np.array_equal(seen, again[0]) and rewards == again[1] and told == again[2]

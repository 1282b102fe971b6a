"""The packet scripts of this project: on the simulated endpoint, and on this machine's own Linux where that may be."""

from pathlib import Path

import pytest

from ackclock.script.kernel_host import KernelError, KernelHost
from ackclock.script.parse import parse
from ackclock.script.runner import run
from conftest import Cli
from test_packet_scripts import explained

FOLDER = Path(__file__).parents[1] / "scripts"
SCRIPTS = sorted(FOLDER.rglob("*.pkt"))
ON_THE_KERNEL = (
    "handshake-active", "out-of-order-sack", "fast-retransmit-sack", "close-active",
    "sockets/options-as-linux-keeps-them", "sockets/a-listening-socket-has-no-connection",
)  # fmt: skip
"""A few that take a fraction of a second; `ackclock script --kernel tests/scripts` runs all."""

HELLO = """\
0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 bind(3, ..., ...) = 0
+0 listen(3, 1) = 0
+0 < S 0:0(0) win 1000 <mss 1000>
+0 > S. 0:0(0) ack 1 <mss 1460>
+.1 < . 1:1(0) ack 1 win 1000
+0 accept(3, ..., ...) = 4
+0 write(4, ..., 100) = 100
+0 > P. 1:101(100) ack 1
"""


def _kernel() -> KernelHost:
    try:
        return KernelHost()
    except KernelError as error:  # it says which of the three is missing, and what to do
        pytest.skip(f"needs root, /dev/net/tun and iproute2: {error}")


@pytest.mark.alone
@pytest.mark.parametrize("name", ON_THE_KERNEL)
def test_linux_does_what_a_script_says(name: str) -> None:
    """A kernel keeps real time, to milliseconds: on a busy machine a script is given three tries."""
    file = FOLDER / f"{name}.pkt"
    for _ in range(3):
        verdict = run(parse(file.read_text(), file.name), _kernel())
        if verdict.passed:
            return
    pytest.fail(explained(verdict))


@pytest.mark.alone
def test_nothing_is_left_of_a_namespace() -> None:
    def interfaces() -> set[str]:
        return {path.name for path in Path("/sys/class/net").iterdir()}

    before = interfaces()
    host = _kernel()
    assert interfaces() == before
    host.close()
    assert interfaces() == before


# ---- the command ----------------------------------------------------------------------------------------------------


def test_the_command_says_which_passed_and_which_did_not(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "good.pkt").write_text(HELLO)
    (tmp_path / "bad.pkt").write_text(HELLO.replace("1:101(100) ack 1", "1:102(101) ack 2"))
    done = cli("script", "good.pkt", "bad.pkt")
    assert done.returncode == 1
    assert "pass  good.pkt" in done.stdout
    assert "bad.pkt:9: the packet differs: payload 100 for 101, ack 1 for 2" in done.stdout
    assert "1 passed, 1 failed" in done.stdout


def test_a_failure_shows_both_packets_and_marks_what_differs(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "bad.pkt").write_text(HELLO.replace("ack 1\n", "ack 2\n"))
    lines = cli("script", "bad.pkt").stdout.splitlines()
    expected = next(line for line in lines if line.startswith("  expected"))
    actual = next(line for line in lines if line.startswith("  actual"))
    marks = lines[lines.index(actual) + 1]
    place = marks.index("^")
    assert (expected[place : place + 5], actual[place : place + 5], marks.strip()) == ("ack 2", "ack 1", "^^^^^")


def test_a_script_that_cannot_be_read_is_a_wrong_input_and_the_others_run(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "a.pkt").write_text("0 > icmp unreachable\n")
    (tmp_path / "b.pkt").write_text(HELLO)
    done = cli("script", ".")
    assert done.returncode == 2
    assert "a.pkt:1: error: icmp packets are not supported" in done.stderr
    assert "1 passed, 1 cannot be run" in done.stdout


def test_there_must_be_scripts(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert cli("script", "empty").returncode == 2
    assert "x.pkt: file not found" in cli("script", "x.pkt").stderr


def test_options_of_the_endpoint_can_be_set(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "a.pkt").write_text(HELLO)
    assert cli("script", "a.pkt").returncode == 0
    done = cli("script", "a.pkt", "--set", "tcp.mss=500")
    assert done.returncode == 1
    assert "mss 512" in done.stdout  # 500 and the twelve octets of timestamps


def test_wrong_settings_are_explained(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "a.pkt").write_text(HELLO)
    done = cli("script", "a.pkt", "--set", "tcp.sakc=false")
    assert done.returncode == 2
    assert "--set: tcp.sakc is not a known field" in done.stderr and 'did you mean "sack"?' in done.stderr
    unknown = cli("script", "a.pkt", "--profile", "opnet-18")
    assert unknown.returncode == 2
    assert '--profile: unknown profile "opnet-18"; did you mean "opnet-17"?' in unknown.stderr

"""C25, C26: controllers of interactive media."""

from pathlib import Path

from ackclock.claims.folder import load_module
from ackclock.claims.measured import Measured, Runs
from ackclock.results import Results

_bbr = load_module(Path(__file__).parent / "measure_bbr.py")
_delay = load_module(Path(__file__).parent / "measure_delay.py")

BUFFER_MS, TARGET_MS = 300, 100


def received(results: Results) -> float:
    """Return what the call receives, bit/s."""
    return float(results.summary["datagrams"][0]["goodput_bps"])


def gcc_wait(runs: Runs) -> Measured:
    """GCC's mean wait over the buffer."""
    wait_ms = _delay.wait_ms(runs["gcc"])
    return Measured(wait_ms / BUFFER_MS, {"ms": wait_ms})


def gcc_use(runs: Runs) -> Measured:
    """GCC's use of the link."""
    return Measured(_bbr.link(runs["gcc"])["utilization"], {"Mbit/s": received(runs["gcc"]) / 1e6})


def gcc_beside_tcp(runs: Runs) -> Measured:
    """GCC's share beside CUBIC."""
    call, tcp = received(runs["gcc, tcp"]), _bbr.goodput(runs["gcc, tcp"], "tcp")
    return Measured(call / (call + tcp), {"GCC, Mbit/s": call / 1e6, "CUBIC, Mbit/s": tcp / 1e6})


def gcc_of_the_article_beside_tcp(runs: Runs) -> Measured:
    """GCC's share beside CUBIC, with the gains of its article."""
    case = "gcc of the article, tcp"
    call, tcp = received(runs[case]), _bbr.goodput(runs[case], "tcp")
    return Measured(call / (call + tcp), {"GCC, Mbit/s": call / 1e6, "CUBIC, Mbit/s": tcp / 1e6})


def scream_wait(runs: Runs) -> Measured:
    """SCReAM's mean wait over its target, with its use of the link."""
    found = _bbr.link(runs["scream_v1"])
    return Measured(_delay.wait_ms(runs["scream_v1"]) / TARGET_MS, {"use": found["utilization"]})


def scream_beside_tcp(runs: Runs) -> Measured:
    """SCReAM's goodput beside NewReno with a target that rises over that with one that stays."""
    found = {case: received(runs[case]) / 1e6 for case in ("scream_v1, tcp", "scream_v1, tcp, fixed")}
    rises, stays = found.values()
    return Measured(rises / stays, {"rises, Mbit/s": rises, "stays, Mbit/s": stays})


MEASURES = {
    "C25a": gcc_wait,
    "C25b": gcc_use,
    "C25c": gcc_beside_tcp,
    "C25d": gcc_of_the_article_beside_tcp,
    "C26a": scream_wait,
    "C26b": scream_beside_tcp,
}

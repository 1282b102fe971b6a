"""Progress on a terminal while a command is at work."""

import fcntl
import json
import os
import pty
import re
import shlex
import struct
import subprocess
import sys
import termios
from pathlib import Path
from typing import Any

import pytest

from ackclock.cli.check import _LARGE_BYTES
from conftest import Cli, command
from networks import dumbbell

FLOW = '[[flow]]\nname = "flow number {}"\ncontroller = "cubic"\n'
REST = 'duration = "1 s"\n' + dumbbell('rate = "1 Gbit/s", delay = "10 ms"', rate="10 Gbit/s", limit="1 bdp") + "\n"


def _shown(*arguments: str, folder: Path, program: tuple[str, ...] = ("-m", "ackclock")) -> bytes:
    """Return the output as a terminal shows it."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 80, 0, 0))
    parts = []
    with subprocess.Popen(
        [sys.executable, *program, *arguments], cwd=folder, stdin=theirs, stdout=theirs, stderr=theirs
    ) as process:
        os.close(theirs)
        try:
            while part := os.read(ours, 4096):
                parts.append(part)
        except OSError:  # how Linux says that nobody writes any more
            pass
        finally:
            os.close(ours)
    shown = b"".join(parts)
    assert process.returncode == 0, shown
    return shown


_CHECKING = """
import os
from ackclock.cli import check, main
load = check.Scenario.load
def told(*arguments, **options):
    os.write(2, b"it is checked now")
    return load(*arguments, **options)
check.Scenario = type("Scenario", (), {"load": staticmethod(told)})
main()
"""


def test_a_large_scenario_is_said_to_be_checked_before_it_is(tmp_path: Path) -> None:
    flows = "".join(FLOW.format(number) for number in range(_LARGE_BYTES // len(FLOW) + 1))
    (tmp_path / "large.toml").write_text(REST + flows)
    shown = _shown("validate", "large.toml", folder=tmp_path, program=("-c", _CHECKING))
    assert b"large.toml: ok" in shown
    assert 0 <= shown.find(b"checking large.toml") < shown.find(b"it is checked now")


def test_a_small_one_is_checked_and_nothing_else_is_said(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(REST + FLOW.format(1))
    assert b"checking" not in _shown("validate", "small.toml", folder=tmp_path)


def _links(run: Path) -> list[dict[str, Any]]:
    return list(json.loads((run / "summary.json").read_text())["links"])


def test_a_link_that_loses_all_is_shown(tmp_path: Path) -> None:
    (tmp_path / "dead.toml").write_text(REST + FLOW.format(1))
    loss = "topology.bottleneck.loss={ kind = 'random', p = 1.0 }"
    run = ("run", "dead.toml", "--set", loss, "--set", "duration=2 s")
    shown = re.sub(r"\x1b\[[0-9;]*m", "", _shown(*run, "-o", "out", folder=tmp_path).decode())
    (lost,) = {link["losses"] for link in _links(tmp_path / "out") if link["name"] == "bottleneck"}
    assert lost >= 2  # the SYN and another after a second: RFC 6298 section 2.1
    assert re.search(rf"(?m)^bottleneck +0 +{lost} *\r?$", shown)
    compared = _shown("compare", "out", "out", folder=tmp_path).decode()
    assert re.search(rf"losses +{lost} +{lost}", compared)


EVERY_TABLE = """duration = "3 s"
[topology]
kind = "dumbbell"
access = { rate = "1 Gbit/s", delay = "1 ms" }
bottleneck = { rate = "8 Mbit/s", delay = "10 ms", loss = { kind = "random", p = 0.01 } }
[[flow]]
name = "a-flow-of-a-long-name"
controller = "ledbat_plus_plus"
[[flow]]
name = "pages"
app = { kind = "request_response", request = "300 B", response = "30 kB" }
[[flow]]
name = "web"
arrivals = { rate = "20 /s", size = { exponential = "20 kB" } }
[[flow]]
name = "call"
protocol = "udp"
app = { kind = "media", controller = "gcc" }
"""


def test_no_name_and_no_number_is_cut_where_a_terminal_is_narrow(tmp_path: Path) -> None:
    """At 80 columns two links of a run were `bottlen...`, and a wait of 0.0058 ms `0.0058...`."""
    (tmp_path / "all.toml").write_text(EVERY_TABLE)
    shown = _shown("run", "all.toml", "-o", "out", folder=tmp_path).decode()
    for title in ("flows", "requests", "short flows: web", "datagrams", "media", "links"):
        assert title in shown
    assert "a-flow-of-a-long-name.right.reverse" in shown and "left out here: columns" not in shown
    assert "RTT p95" in shown and "complete" in shown and "wait max" in shown
    assert "…" not in shown
    shown = re.sub(r"\x1b\[[0-9;]*[A-Zm]", "", _shown("compare", *["out"] * 5, folder=tmp_path).decode())
    assert "retransmitted" in shown and "utilization" in shown and "controller" in shown
    assert all(len(line.rstrip()) <= 80 for line in shown.splitlines())
    (used,) = {link["utilization"] for link in _links(tmp_path / "out") if link["name"] == "bottleneck"}
    assert len(re.findall(rf"{100 * used:.1f} %", shown)) == 5, "each run's column is there"


_WIDE = """
from ackclock.cli.table_output import print_table
from ackclock.tables import Column, Table
names = ("tcp.window_scaling", "topology.node[2].discard", "line-up", "controller")
keys = [Column(name, name, is_text=True) for name in names]
figures = [Column(str(place), f"figure {place}", "Mbit/s") for place in range(7)]
def row(scaling, place):
    said = {"topology.node[2].discard": "probability (p 0.001)", "line-up": "reno alone", "controller": "reno"}
    return said | {"tcp.window_scaling": scaling} | {str(at): 1000 + 10 * place + at for at in range(7)}
print_table(Table("wide", "", [*keys, *figures], [row(*at) for at in (("true", 0), ("false", 1))] * %d))
"""


def test_what_differs_in_a_row_that_is_not_shown_is_not_the_same(tmp_path: Path) -> None:
    """Sixty rows, of which forty are shown; the last has other figures."""
    late = '[*[row("true", 0)] * 59, row("false", 1)])); print(")")'
    program = _WIDE.replace('[row(*at) for at in (("true", 0), ("false", 1))] * %d))', late)
    shown = _shown(folder=tmp_path, program=("-c", program)).decode()
    assert "the same in all rows" in shown and "figure 0 = 1,000" not in shown


def test_a_table_of_a_study_has_its_figures_in_a_narrow_terminal(tmp_path: Path) -> None:
    """At 80 columns the names of two axes left no room for a figure; now blocks have all, and of 50 rows the first."""
    lines = _shown(folder=tmp_path, program=("-c", _WIDE % 1)).decode().splitlines()
    shown = "\n".join(lines)
    assert all(f"{1000 + 10 * place + at:,}" in shown for place in range(2) for at in range(7))
    assert "the same in all rows" in shown and "controller = reno" in shown and "left out" not in shown
    assert all(len(re.sub(r"\x1b\[[0-9;]*m", "", line)) <= 80 for line in lines)
    shown = _shown(folder=tmp_path, program=("-c", _WIDE % 25)).decode()
    assert "1,000" in shown and "1,006" not in shown
    assert "left out here: 10 more rows; columns" in shown and "figure 6; `| less -S` shows them" in shown


_COMPARED = """
from itertools import product
from ackclock.cli.table_output import print_table
from ackclock.tables import Column, Table
axes = {
    "rtt": ("20 ms", "100 ms"), "buffer": ("0.5 bdp", "1 bdp"), "queue": ("drop_tail", "fq_codel"),
    "compared": ("each alone", "beside each other"), "first": ("cubic", "vegas"), "second": ("bbr3", "reno"),
}
figures = ("goodput, first less second", "p", "queueing, first less second")
keys = [Column(name, name, is_text=True) for name in (*axes, "has more")]
rows = [
    dict(zip(axes, values)) | {"has more": values[-1 - place % 2]} | {name: 1000.0 + place for name in figures}
    for place, values in enumerate(product(*axes.values()))
]
print_table(Table("differences", "", [*keys, *(Column(name, name, "Mbit/s") for name in figures)], rows))
"""


def test_a_narrow_terminal_shows_the_measured_column_and_the_verdict(tmp_path: Path) -> None:
    """Seven labels left no room for a figure, and `has more` was among what was left out."""
    shown = re.sub(r"\x1b\[[0-9;]*m", "", _shown(folder=tmp_path, program=("-c", _COMPARED)).decode())
    lines = [line.rstrip() for line in shown.splitlines()]
    assert all(len(line) <= 80 for line in lines)
    assert sum("has more" in line for line in lines) == 1 and "goodput,\n" in "\n".join(lines)
    assert "rtt 20 ms, buffer 0.5 bdp, queue drop_tail:" in lines
    assert ["beside", "each", "other", "vegas", "bbr3", "bbr3", "1,006", "1,006"] in [line.split() for line in lines]
    assert "left out here: 24 more rows; columns queueing, first less second; `| less -S`" in lines


def test_a_table_of_claims_keeps_words_whole_and_the_verdict(tmp_path: Path) -> None:
    shown = _shown("claims", "O2a", "-o", "out", folder=tmp_path).decode()
    assert all(word in shown for word in ("throughput", "framing,", "verdict", "agrees"))


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_closed_stream_is_no_failure(closed: str, scenario_file: Path) -> None:
    """A daemon's children have none; POSIX gives the number of a closed one to the next file that is opened."""
    line = f"{shlex.join(command('run', scenario_file, '-o', 'out', '--set', 'duration=500 ms'))} {closed}"
    done = subprocess.run(["sh", "-c", line], cwd=scenario_file.parent, check=False, capture_output=True, text=True)
    assert (done.returncode, "fault of ackclock" in done.stderr) == (0, False), done.stderr
    assert json.loads((scenario_file.parent / "out" / "summary.json").read_text())["scenario"] == "two flows"


def test_signs_that_an_encoding_has_not_are_written_out(scenario_file: Path, cli: Cli) -> None:
    scenario_file.write_text(scenario_file.read_text().replace('"two flows"', '"zwei Flüsse 😀"'))
    said = cli("run", scenario_file, "--json", env=os.environ | {"PYTHONIOENCODING": "ascii"})
    assert said.returncode == 0, said.stderr
    assert json.loads(said.stdout)["scenario"] == "zwei Flüsse 😀"
    shown = cli("run", scenario_file, env=os.environ | {"PYTHONIOENCODING": "latin-1:strict"}, encoding="latin-1")
    assert shown.returncode == 0, shown.stderr
    assert "zwei Flüsse \\ud83d\\ude00" in shown.stdout

"""Memory of a run of many flows, each in a process of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from networks import dumbbell

CROWD = f"""\
name = "crowd"
duration = "0.5 s"
{dumbbell('rate = "10 Gbit/s", delay = "10 ms"', "10 us", "10 Gbit/s", limit="1 bdp")}
[[flow]]
name = "f"
controller = "cubic"
count = COUNT
[trace]
flows = "none"
links = "none"
"""

WRITE_AND_MEASURE = """\
import sys
import ackclock
from ackclock.base.system import peak_bytes
before = peak_bytes()
ackclock.run(ackclock.Scenario.load(sys.argv[1])).save(sys.argv[2])
print(peak_bytes() - before)
"""


def _peak_bytes(count: int, folder: Path) -> int:
    """Return the peak memory of a run whose results are written."""
    scenario = folder / "crowd.toml"
    scenario.write_text(CROWD.replace("COUNT", str(count)))
    command = [sys.executable, "-c", WRITE_AND_MEASURE, str(scenario), str(folder / "out")]
    return int(
        subprocess.run(
            command,
            env=os.environ | {"POLARS_MAX_THREADS": "2"},
            capture_output=True,
            text=True,
            check=True,
            timeout=300,
        ).stdout
    )


@pytest.mark.alone
def test_twenty_thousand_flows_take_a_fifth_of_one_and_a_half_gigabytes(tmp_path: Path) -> None:
    """A flow takes 15 kB. Polars loads some 60 MB, with two threads, and lists that double have some MB of room."""
    peak = _peak_bytes(20_000, tmp_path)
    assert peak < 20_000 * 15_000 + 60e6 + 10e6, f"{peak / 20_000:.0f} bytes a flow"
    summary = json.loads((tmp_path / "out" / "summary.json").read_bytes())
    assert len(summary["flows"]) == 20_000
    assert summary["flows"][-1]["name"] == "f.20000"

"""Recordings of Linux's congestion control modules, to which tests hold the simulator where there is no kernel.

`python -m studies.linux.module_recordings FOLDER` makes them anew on a kernel in virtual time, one file a module: cwnd
and ssthresh where they change, and the segments in the order in which they left. Each is of a path of `modules.toml`
without its loss and reordering, through a small buffer.
"""

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

import ackclock
from ackclock import Scenario
from ackclock.running import kernel, linux_kernels

from . import modules

FOLDER: Final = Path(__file__).with_name("recordings") / "modules"
_EQUAL: Final = (
    *("bic", "cubic", "highspeed", "htcp", "illinois", "reno"),
    *("scalable", "vegas", "veno", "westwood", "yeah", "cdg", "nv"),
)
SEEDS: Final = dict.fromkeys(_EQUAL, 6) | {"bbr": 3, "dctcp": 5, "hybla": 4, "lp": 11}
"""Modules that the simulator equals, each with the seed of its path.

On other paths most differ first where Linux sends the last segment of a piece of the send buffer (61 segments) at once,
and the simulator with the next ACK. BBR's path is one on which both draw the same phase of its cycle.
"""
SHORT: Final = (
    'duration="3 s"',
    'change[0].at="2 s"',
    'flow[0].app="bulk"',
    'tcp.ecn="accept"',
    "topology.bottleneck.loss.p=0",
    "topology.bottleneck.reorder.p=0",
    'topology.bottleneck.queue={ kind = "drop_tail", limit = { uniform = ["8 packets", "20 packets"] } }',
)


@dataclass(frozen=True, slots=True)
class Recording:
    """A module's run.

    Attributes:
        module: Name of the module.
        seed: Seed of the path.
        linux: Version of the kernel.
        windows: Times at which cwnd or ssthresh has changed, in seconds, with both in segments.
        sent: First octets of the data segments, in the order in which they left.
    """

    module: str
    seed: int
    linux: str
    windows: tuple[tuple[float, float, float | None], ...]
    sent: tuple[int, ...]

    @classmethod
    def of(cls, module: str, seed: int, linux: str, side: modules.Side) -> "Recording":
        """Return the recording of a run."""
        return cls(module, seed, linux, tuple(_changes(side)), tuple(side.sent["seq"]))

    @classmethod
    def read(cls, file: Path) -> "Recording":
        """Read a recording."""
        told = json.loads(file.read_text(encoding="utf-8"))
        windows = tuple((float(time_s), float(cwnd), ssthresh) for time_s, cwnd, ssthresh in told["windows"])
        return cls(told["module"], told["seed"], told["linux"], windows, tuple(_spread(told["sent"])))

    def write(self, file: Path) -> None:
        """Write the recording, a change of the window a line."""
        told = {"module": self.module, "seed": self.seed, "linux": self.linux, "sent": _runs(self.sent)}
        head = json.dumps(told)[:-1].replace(', "sent"', ',\n"sent"')
        windows = ([time_s, _short(cwnd), _short(ssthresh)] for time_s, cwnd, ssthresh in self.windows)
        lines = ",\n".join(map(json.dumps, windows))
        file.write_text(f'{head},\n"windows": [\n{lines}\n]}}\n', encoding="utf-8")

    def difference(self, side: modules.Side) -> str | None:
        """Return the first difference of a run, if there is one."""
        ours = Recording.of(self.module, self.seed, self.linux, side)
        for one, other in zip(ours.windows, self.windows, strict=False):
            if one != other:
                return f"from {min(one[0], other[0])} s: {one} for {other} (seconds, cwnd, ssthresh)"
        if len(ours.windows) != len(self.windows):
            return f"{len(ours.windows)} changes of the window for {len(self.windows)}"
        for number, (mine, theirs) in enumerate(zip(ours.sent, self.sent, strict=False)):
            if mine != theirs:
                return f"segment {number} begins at octet {mine} for {theirs}"
        return None if len(ours.sent) == len(self.sent) else f"{len(ours.sent)} segments for {len(self.sent)}"


def _changes(side: modules.Side) -> Iterator[tuple[float, float, float | None]]:
    last = None
    for time_s, *window in side.series.drop_nulls("cwnd").iter_rows():
        if window != last:
            last = window
            yield time_s, window[0], window[1]


def _short(segments: float | None) -> float | None:
    return int(segments) if segments is not None and segments.is_integer() else segments


def _runs(sent: Sequence[int]) -> str:
    """Return offsets as text, where A-B are segments of full size from A to B."""
    breaks = [0, *(number for number, (one, other) in enumerate(pairwise(sent), 1) if other != one + modules.MSS_BYTES)]
    runs = [(sent[begin], sent[end - 1]) for begin, end in pairwise([*breaks, len(sent)])] if sent else []
    return " ".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def _spread(text: str) -> Iterator[int]:
    for run in text.split():
        first, _, last = run.partition("-")
        yield from range(int(first), int(last or first) + 1, modules.MSS_BYTES)


def scenario(controller: str, seed: int, changes: Sequence[str] = ()) -> Scenario:
    """Draw the path of a seed for a controller: see `modules.scenario`."""
    return modules.scenario(controller, seed, (*SHORT, *changes))


def simulated(module: str, seed: int, linux: str) -> modules.Side:
    """Simulate a module over the path of a seed, as on a kernel of this version."""
    changes = (*modules.changes(module, linux), *modules.host(module))
    return modules.side(ackclock.run(scenario(modules.SIMULATED.get(module, module), seed, changes)))


def record(module: str, seed: int, on: linux_kernels.Kernel) -> Recording:
    """Run a module on a kernel over the path of a seed."""
    drawn = scenario(module, seed, modules.changes(module, on.version))
    found = modules.side(kernel.run(drawn, on=modules.boot(module, on)))
    return Recording.of(module, seed, on.version, found)


def main() -> None:
    """Read the command line, and record."""
    parser = argparse.ArgumentParser(prog="python -m studies.linux.module_recordings", description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=FOLDER, help="folder of the recordings")
    parser.add_argument("--kernel", help="name of a kernel of `ackclock linux list`; the newest by default")
    given = parser.parse_args()
    try:
        on = linux_kernels.find(given.kernel)
        given.folder.mkdir(parents=True, exist_ok=True)
        for module, seed in SEEDS.items():
            record(module, seed, on).write(given.folder / f"{module}.json")
    except (OSError, ValueError, kernel.KernelError) as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()

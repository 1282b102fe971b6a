"""`python -m studies.linux.modules`: Linux's congestion control modules, simulated and on a kernel in virtual time.

Each seed draws one path of `modules.toml`, which one flow crosses once on either side.
"""

import argparse
import hashlib
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import polars as pl
from rich.table import Table

import ackclock
from ackclock import Results, Scenario
from ackclock.base.bounds import whole
from ackclock.plotting.terminal import name as cell
from ackclock.plotting.terminal import output
from ackclock.recording import captured_segments
from ackclock.running import kernel, linux_kernels
from ackclock.running.inside import TICKS_PER_S
from ackclock.script.simulated_host import LINUX_VARIANTS

MODULES: Final = (
    *("reno", "cubic", "bbr", "bic", "westwood", "highspeed"),
    *("hybla", "htcp", "vegas", "veno", "scalable", "yeah", "illinois", "dctcp"),
    *("cdg", "lp", "nv"),
)
_FIRST_TICK: Final = '"45.9937 ms"'
_TICK: Final = f'tick = "{1000 / TICKS_PER_S:g} ms", tick_offset = {_FIRST_TICK}'
_VARIANTS: Final = {name: f'variant = "{variant}"' for name, variant in ({"cubic": "linux"} | LINUX_VARIANTS).items()}
_PARAMETERS: Final = {
    **dict.fromkeys(("bic", "cubic", "htcp", "nv", "westwood"), _TICK),
    "cdg": "backoff_factor = 20_000",
}
SIMULATED: Final = {
    name: "{ " + ", ".join(filter(None, (f'kind = "{name}"', _VARIANTS.get(name), _PARAMETERS.get(name)))) + " }"
    for name in _VARIANTS | _PARAMETERS
}
"""Controllers that are simulated for modules, where the profile `linux-6.x` has other rules or another clock."""
HOST: Final = (
    "tcp.small_queues=false",
    'tcp.send_autotuning={ initial = "46080 B", max = "4 MiB" }',
    f"tcp.rto.tick_offset={_FIRST_TICK}",
)
"""Changes of a simulated host.

Nothing waits at one in virtual time, whose TUN device takes packets over at once. Its kernel is compiled with short
headers, so that ten segments of 1,448 bytes take 46,080 of its send buffer (`SO_SNDBUF`), and not 87,040. Its timers
fire 6.3 us before whole milliseconds, those of 63 ms and more with every eighth tick, of 504 ms
and more with every 64th.
"""
CLOCK: Final = {"lp": ('tcp.timestamp_step={ at = "0 ns", forward = "50006300 ns" }',)}
"""Changes of a simulated host for a module that reads timestamps: the kernel's clock is 50.0063 ms ahead."""
MARKING: Final = (
    'tcp.ecn="request"',
    "topology.bottleneck.queue={ choice = ["
    ' { kind = "threshold", threshold = { uniform = ["2 packets", "12 packets"] }, limit = "60 packets" },'
    ' { kind = "threshold", threshold = { uniform = ["2 packets", "12 packets"] }, limit = "20 packets" },'
    ' { kind = "codel", ce_threshold = { uniform = ["5 ms", "40 ms"] } },'
    ' { kind = "red", ecn = true } ] }',
)
"""Changes of a path for a module that answers marks."""
PATH: Final = {"dctcp": MARKING, "lp": ("tcp.timestamp_offset=0",)}
"""Changes of a path for a module; TCP-LP reads the receiver's clock, which has a secret offset on Linux otherwise."""
BOOT: Final = {"cdg": ("tcp_cdg.backoff_factor=20000",)}
"""Boot arguments of the kernel.

CDG answers a gradient of 200 us with a factor of 20,000 in all but one of 50 cases, and one of 2 us, which times in
whole microseconds make, in one of 25: chance has a small part. The factor is 42 by default.
"""
PROFILES: Final = ("6.12", "7.3")
"""Series of kernels that have a profile of their own."""
CHANCES: Final = {"bbr": 32, "cdg": 8}
"""Runs of a controller that draws random numbers: the one that is closest to the kernel's counts."""
PATHS: Final = Path(__file__).with_name("modules.toml")
MSS_BYTES: Final = 536
FLOW: Final = "one"
LASTS: Final = 2
"""Samples in a row that must differ: one alone may lie between an ACK and the same ACK some nanoseconds later."""
CLOSE: Final = 0.02
"""Relative difference of whole-run figures that counts as close."""
CLOSE_SEGMENTS: Final = 2.0
"""Difference of retransmitted segments that counts as close whatever their number."""
VERDICTS: Final = ("equal", "1 segment", "2 %", "differs")


@dataclass(frozen=True, slots=True)
class Side:
    """One run of a path.

    Attributes:
        series: Columns `time_s`, `cwnd` and `ssthresh`, in segments; ssthresh is null while it is arbitrarily high.
        sent: First octets of the data segments that left, in order, as `time_s` and `seq`.
        goodput_bps: Goodput of the whole run.
        retransmitted: Segments sent again.
    """

    series: pl.DataFrame
    sent: pl.DataFrame
    goodput_bps: float
    retransmitted: int


@dataclass(frozen=True, slots=True)
class Difference:
    """Differences of a path between the simulator and the kernel.

    Attributes:
        module: Name of the module.
        seed: Seed of the path.
        first_s: First instant from which cwnd, ssthresh and the order of sent segments differ; missing ones never do.
        most: Largest lasting difference of cwnd, segments.
        figures: Whole-run figures: the simulator's, the kernel's.
    """

    module: str
    seed: int
    first_s: dict[str, float]
    most: float
    figures: dict[str, tuple[float, float]]

    @property
    def apart(self) -> float:
        """Largest difference of a whole-run figure, in units of what counts as close."""
        return max(_apart(key, *pair) for key, pair in self.figures.items())

    @property
    def verdict(self) -> str:
        """The first of `VERDICTS` that holds."""
        if not self.first_s:
            return VERDICTS[0]
        if self.most <= 1 and self.apart <= 1:
            return VERDICTS[1]
        return VERDICTS[2] if self.apart <= 1 else VERDICTS[3]


def _apart(key: str, ours: float, theirs: float) -> float:
    allowed = CLOSE * theirs
    if key == "retransmitted":
        allowed = max(allowed, CLOSE_SEGMENTS)
    return abs(ours - theirs) / allowed if allowed > 0 else float(ours != theirs)


def scenario(controller: str, seed: int, changes: Sequence[str] = ()) -> Scenario:
    """Draw the path of a seed for a controller.

    Args:
        controller: Name of a module, or TOML that says how to simulate it.
        seed: Seed of the path.
        changes: Overrides of `modules.toml`, as `path=value`.
    """
    value = controller if controller.startswith("{") else f'"{controller}"'
    return Scenario.load(PATHS, [*changes, f"seed={seed}", f"flow[0].controller={value}"])


def changes(module: str, linux: str) -> tuple[str, ...]:
    """Return the changes of `modules.toml` for a module on a kernel of this version, for both sides."""
    series = ".".join(linux.split(".")[:2])
    profile = (f'tcp.profile="linux-{series}"',) if series in PROFILES else ()
    return (*PATH.get(module, ()), *profile)


def boot(module: str, on: linux_kernels.Kernel) -> linux_kernels.Kernel:
    """Return the kernel with the boot arguments of a module."""
    return replace(on, boot=BOOT.get(module, ()))


def host(module: str) -> tuple[str, ...]:
    """Return the changes of a simulated host for a module."""
    return (*HOST, *CLOCK.get(module, ()))


def side(results: Results) -> Side:
    """Return what is compared of a run."""
    series = results.flows.select(
        pl.col("time_s").round(3),
        cwnd=pl.col("cwnd_bytes") / MSS_BYTES,
        ssthresh=pl.col("ssthresh_bytes") / MSS_BYTES,
    )
    with tempfile.TemporaryDirectory() as folder:
        saved = Results.load(results.save(folder, force=True))
        (capture,) = saved.captures.values()
        sent = _sent(captured_segments.segments(capture))
    flow = results.summary["flows"][0]
    return Side(series, sent, float(flow["goodput_bps"]), flow["retransmitted_segments"])


def _sent(segments: Iterator[captured_segments.Captured]) -> pl.DataFrame:
    """Return when the segments of data left, with their sequence numbers counted from the first octet."""
    rows: list[tuple[float, int]] = []
    first: tuple[Any, int] | None = None
    for segment in segments:
        if first is None:
            first = (segment.source, segment.header.seq + 1)  # the SYN's
        if segment.source == first[0] and segment.payload > 0:
            rows.append((float(segment.time_s), (segment.header.seq - first[1]) % 2**32))
    return pl.DataFrame(rows, schema={"time_s": pl.Float64, "seq": pl.Int64}, orient="row")


class Kept:
    """Folder of the kernel's runs: one that is in it is not made again."""

    def __init__(self, folder: Path, on: linux_kernels.Kernel) -> None:
        """Create the folder if it is missing."""
        self.folder, self.on = folder, on
        folder.mkdir(parents=True, exist_ok=True)

    def run(self, module: str, seed: int) -> Side:
        """Return the kernel's side of a path."""
        drawn = scenario(module, seed, changes(module, self.on.version))
        booted = boot(module, self.on)
        key = " ".join((self.on.about["linux_sha256"], *booted.boot, drawn.to_json()))
        file = self.folder / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.json"
        if file.is_file():
            told = json.loads(file.read_text(encoding="utf-8"))
            return Side(
                pl.DataFrame(told["series"]), pl.DataFrame(told["sent"]), told["goodput_bps"], told["retransmitted"]
            )
        found = side(kernel.run(drawn, on=booted))
        told = {
            "module": module,
            "seed": seed,
            "goodput_bps": found.goodput_bps,
            "retransmitted": found.retransmitted,
            "series": found.series.to_dict(as_series=False),
            "sent": found.sent.to_dict(as_series=False),
        }
        unfinished = file.with_suffix(".part")
        unfinished.write_text(json.dumps(told), encoding="utf-8")
        unfinished.replace(file)
        return found


def compare(module: str, seed: int, ours: Side, theirs: Side) -> Difference:
    """Compare both runs of a path."""
    both = ours.series.join(theirs.series, on="time_s", suffix="_kernel").sort("time_s")
    first: dict[str, float] = {}
    gap = (pl.col("cwnd") - pl.col("cwnd_kernel")).abs()
    lasting = both.select(gap=pl.min_horizontal(gap, gap.shift(-1)))["gap"].max()
    for column in ("cwnd", "ssthresh"):
        differs = pl.col(column).ne_missing(pl.col(f"{column}_kernel"))
        lasts = differs
        for ahead in range(1, LASTS):
            lasts &= differs.shift(-ahead, fill_value=False)
        found = both.filter(lasts)["time_s"]
        if len(found):
            first[column] = found[0]
    if (at := _first_sent(ours.sent, theirs.sent)) is not None:
        first["sent"] = at
    figures = {
        "goodput": (ours.goodput_bps, theirs.goodput_bps),
        "window": (_mean(both["cwnd"]), _mean(both["cwnd_kernel"])),
        "retransmitted": (float(ours.retransmitted), float(theirs.retransmitted)),
    }
    most = lasting if isinstance(lasting, float) else 0.0
    return Difference(module, seed, first, most, figures)


def closest(module: str, seed: int, theirs: Side, linux: str) -> Difference:
    """Simulate a path as often as chance has a part in it, and compare it; the closest run counts.

    Args:
        module: Name of the module.
        seed: Seed of the path.
        theirs: The kernel's side.
        linux: Version of the kernel.
    """
    controller = SIMULATED.get(module, module)
    found = []
    for chance in range(CHANCES.get(module, 1)):
        named = f'flow[0].name="{FLOW}{chance or ""}"'  # chance follows from the name
        ours = side(ackclock.run(scenario(controller, seed, (*changes(module, linux), *host(module), named))))
        found.append(compare(module, seed, ours, theirs))
        if found[-1].verdict == VERDICTS[0]:
            break
    return min(found, key=lambda one: (VERDICTS.index(one.verdict), -min(one.first_s.values(), default=0.0)))


def _first_sent(ours: pl.DataFrame, theirs: pl.DataFrame) -> float | None:
    """Return when the order of sent segments first differs."""
    length = min(len(ours), len(theirs))
    unequal = (ours["seq"][:length] != theirs["seq"][:length]).arg_max() if length else None
    if unequal is not None and ours["seq"][unequal] != theirs["seq"][unequal]:
        return float(min(ours["time_s"][unequal], theirs["time_s"][unequal]))
    # The end of the run may cut off what left at the very end on one side.
    if abs(len(ours) - len(theirs)) <= 2:
        return None
    longer = ours if len(ours) > length else theirs
    return float(longer["time_s"][length])


def _mean(column: pl.Series) -> float:
    mean = column.drop_nulls().mean()
    return float(mean) if isinstance(mean, int | float) else 0.0


def line(found: Difference) -> str:
    """Return a path's differences in one line."""
    when = ", ".join(f"{key} from {at:.2f} s" for key, at in found.first_s.items()) or "all equal"
    told = ", ".join(f"{key} {ours:.4g} | {theirs:.4g}" for key, (ours, theirs) in found.figures.items())
    return f"{found.module} {found.seed}: {found.verdict}; {when}; {told}"


def table(found: Sequence[Difference]) -> Table:
    """Return the table of modules."""
    drawn = Table(header_style="bold", box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in ("module", "paths", *VERDICTS, "worst", "seed"):
        drawn.add_column(heading, justify="left" if heading == "module" else "right")
    for module in dict.fromkeys(one.module for one in found):
        of_it = [one for one in found if one.module == module]
        worst = max(of_it, key=lambda one: (VERDICTS.index(one.verdict), one.apart))
        counts = [str(sum(one.verdict == verdict for one in of_it)) for verdict in VERDICTS]
        drawn.add_row(cell(module), str(len(of_it)), *counts, f"{worst.apart * CLOSE:.1%}", str(worst.seed))
    return drawn


def main() -> None:
    """Read the command line, run and compare."""
    parser = argparse.ArgumentParser(prog="python -m studies.linux.modules", description=__doc__)
    parser.add_argument("modules", nargs="*", metavar="MODULE", help=f"all by default: {' '.join(MODULES)}")
    parser.add_argument("--paths", type=int, default=5, help="number of paths a module (5)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the first path (1)")
    parser.add_argument(
        "--keep", type=Path, required=True, help="folder of the kernel's runs, which are not made again"
    )
    parser.add_argument("--kernel", help="name of a kernel of `ackclock linux list`; the newest by default")
    given = parser.parse_args()
    modules = given.modules or MODULES
    if unknown := [module for module in modules if module not in MODULES]:
        parser.error(f"unknown module {unknown[0]!r}; Linux's are {', '.join(MODULES)}")
    try:
        paths = whole("paths", given.paths, 1, 100_000)
        kept = Kept(given.keep, linux_kernels.find(given.kernel))
        found = []
        for module in modules:
            for seed in range(given.seed, given.seed + paths):
                theirs = kept.run(module, seed)
                found.append(closest(module, seed, theirs, kept.on.version))
                print(line(found[-1]), file=sys.stderr, flush=True)
    except (OSError, ValueError, kernel.KernelError) as error:
        parser.error(str(error))
    output().print(table(found))


if __name__ == "__main__":
    main()

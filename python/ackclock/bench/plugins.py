"""What the boundary of a plug-in costs: the same run with parts built in and loaded, in turn.

The parts, and the program that runs them, are examples of the crate `ackclock-plugin`, which Cargo builds first.
"""

import json
import os
import statistics
import subprocess
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

GROUP = "plugins"
"""What names it on the command line."""

_BUILD = ("cargo", "build", "--quiet", "--locked", "--release", "--package", "ackclock-plugin", "--examples")


@dataclass(frozen=True, slots=True)
class PluginCost:
    """What a packet costs with a part built in, and from a plug-in.

    Attributes:
        part: Which part.
        built_in_ns: Wall time of a packet with the part built in, of each run, in ns.
        loaded_ns: The same from the plug-in, run in turn with those.
    """

    part: str
    built_in_ns: tuple[float, ...]
    loaded_ns: tuple[float, ...]

    @property
    def ratios(self) -> list[float]:
        """How many times as much a packet costs from the plug-in, of each pair, the least first."""
        return sorted(loaded / built_in for built_in, loaded in zip(self.built_in_ns, self.loaded_ns, strict=True))

    @property
    def median(self) -> float:
        """The median of these."""
        return statistics.median(self.ratios)

    @property
    def more_ns(self) -> float:
        """How much more a packet takes, median of the pairs, in ns."""
        pairs = zip(self.built_in_ns, self.loaded_ns, strict=True)
        return statistics.median(loaded - built_in for built_in, loaded in pairs)

    def as_dict(self) -> dict[str, Any]:
        """Return the entry of the JSON."""
        return asdict(self) | {"ratios": self.ratios, "median": self.median, "more_ns": self.more_ns}


def plugin_costs() -> list[PluginCost]:
    """Build the parts and measure them.

    Raises:
        RuntimeError: If this is no checkout, or Cargo or the program fails; the message says what to do.
    """
    if not Path("crates/plugin/examples/cost.rs").is_file():
        raise RuntimeError("crates/plugin/examples/cost.rs is not here: run it in the folder of ackclock's sources")
    _output(*_BUILD)
    examples = Path(os.environ.get("CARGO_TARGET_DIR", "target")) / "release" / "examples"
    said = _output(str(examples / "cost"), str((examples / "libparts.so").absolute()))
    return [_cost(json.loads(line)) for line in said.splitlines()]


def _cost(line: dict[str, Any]) -> PluginCost:
    built_in, loaded = zip(*line["ns_per_packet"], strict=True)
    return PluginCost(line["part"], built_in, loaded)


def _output(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise RuntimeError(f"{command[0]} is missing: install a Rust toolchain") from error
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} failed: {done.stderr.strip()[-2000:]}")
    return done.stdout

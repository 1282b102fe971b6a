"""The cost of calling a plug-in: the same run with a part built in and with the part loaded, in turn.

    python benches/engine/plugins.py [--json]

The parts, and the program that runs them, are examples of the crate `ackclock-plugin`, which Cargo builds first.
"""

import argparse
import json
import os
import statistics
import subprocess
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ackclock.base.system import processor

ROOT = Path(__file__).parents[2]
_BUILD = ("cargo", "build", "--quiet", "--locked", "--release", "--package", "ackclock-plugin", "--examples")


@dataclass(frozen=True, slots=True)
class PluginCost:
    """The cost of a packet with a part built in, and with the part from a plug-in.

    Attributes:
        part: The part's name.
        built_in_ns: Wall time per packet with the part built in, one value for each run, in ns.
        loaded_ns: Wall time per packet with the part from the plug-in, run in turn with those, in ns.
    """

    part: str
    built_in_ns: tuple[float, ...]
    loaded_ns: tuple[float, ...]

    @property
    def ratios(self) -> list[float]:
        """Time from the plug-in divided by the time built in, for each pair of runs, in ascending order."""
        return sorted(loaded / built_in for built_in, loaded in zip(self.built_in_ns, self.loaded_ns, strict=True))

    @property
    def median(self) -> float:
        """The median of `ratios`."""
        return statistics.median(self.ratios)

    @property
    def more_ns(self) -> float:
        """The difference per packet between plug-in and built-in part, median of the pairs, in ns."""
        pairs = zip(self.built_in_ns, self.loaded_ns, strict=True)
        return statistics.median(loaded - built_in for built_in, loaded in pairs)

    def as_dict(self) -> dict[str, Any]:
        """Return the entry of the JSON."""
        return asdict(self) | {"ratios": self.ratios, "median": self.median, "more_ns": self.more_ns}


def plugin_costs() -> list[PluginCost]:
    """Build the parts and measure them.

    Raises:
        RuntimeError: If Cargo or the program fails; the message says what to do.
    """
    _output(*_BUILD)
    examples = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release" / "examples"
    said = _output(str(examples / "cost"), str((examples / "libparts.so").absolute()))
    return [_cost(json.loads(line)) for line in said.splitlines()]


def _cost(line: dict[str, Any]) -> PluginCost:
    built_in, loaded = zip(*line["ns_per_packet"], strict=True)
    return PluginCost(line["part"], built_in, loaded)


def _output(*command: str) -> str:
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise RuntimeError(f"{command[0]} is missing: install a Rust toolchain") from error
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} failed: {done.stderr.strip()[-2000:]}")
    return done.stdout


def main(*, as_json: bool) -> None:
    """Measure and print.

    Args:
        as_json: Whether JSON is printed.
    """
    try:
        costs = plugin_costs()
    except RuntimeError as error:
        raise SystemExit(f"error: {error}") from error
    if as_json:
        print(json.dumps([cost.as_dict() for cost in costs], indent=2))
        return
    for cost in costs:
        least, most = cost.ratios[0], cost.ratios[-1]
        print(
            f"a packet with a {cost.part} of a plug-in takes {cost.median:.2f} times "
            f"({least:.2f} to {most:.2f}) as long as with the same built in, {cost.more_ns:.0f} ns more"
        )
    print(processor())


if __name__ == "__main__":
    reader = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    reader.add_argument("--json", action="store_true", help="print JSON")
    main(as_json=reader.parse_args().json)

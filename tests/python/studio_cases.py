"""The studio in a browser beside the native engine.

`python studio_cases.py [--scenarios N] [FOLDER]` runs N scenarios in both, compares the bytes of their summaries, uses
the page with mouse and keyboard, measures packets and frames a second, and takes pictures at three widths.
"""

import argparse
import base64
import json
import os
import shutil
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ackclock
import random_scenarios
from ackclock._core import ScenarioError, Simulation
from ackclock.cli import studio_server
from ackclock.scenario.example_files import FOLDER as SCENARIOS

ROOT = Path(__file__).parents[2]
DRIVER = ROOT / "studio" / "test" / "browser.mjs"
NOT_HERE = {"own-controller", "own-parts", "dqn-learns"}
"""Examples that need Python or a file for which a page has no place, or minutes."""
ALL_PARTS = "cases,use,edit,change,compare,draw,film,frames,pictures"
_LONGEST_S = 20.0


@dataclass(frozen=True, slots=True)
class Case:
    """A scenario as a page is given it.

    Attributes:
        name: Name of its files.
        text: TOML or JSON.
        files: Files that it names, by the names in the scenario.
    """

    name: str
    text: str
    files: dict[str, bytes]


def missing() -> str:
    """Return what a machine lacks to run the studio in a browser; nothing if it lacks nothing."""
    try:
        studio_server.page()
    except studio_server.StudioError as error:
        return str(error)
    if not shutil.which("node"):
        return "node is not there: apt-get install nodejs"
    if not (ROOT / "studio/node_modules/playwright-core").is_dir():
        return "playwright-core is not there: make studio"
    if not (os.environ.get("CHROMIUM") or shutil.which("chromium")):
        return "Chromium is not there: apt-get install chromium"
    return ""


def cases(count: int) -> list[Case]:
    """Return so many scenarios: the examples first, then random ones, which have a part of every kind.

    Args:
        count: Number of cases.
    """
    found = [_shortened(path) for path in sorted(SCENARIOS.glob("*.toml")) if path.stem not in NOT_HERE]
    found.sort(key=lambda case: not case.files)  # those with files are among the first
    seed = 0
    while len(found) < count:
        try:
            text = json.dumps(random_scenarios.scenario(seed))
            ackclock.Scenario.from_json(text)
            found.append(Case(f"random-{seed}", text, {}))
        except ScenarioError:
            pass
        seed += 1
    return found[:count]


def _shortened(path: Path) -> Case:
    """An example of at most `_LONGEST_S`, with the files that it names."""
    text = path.read_text()
    files = {name: base64.b64decode(content) for name, content in studio_server.opened(path)["files"].items()}
    scenario = ackclock.Scenario.load(path)
    lines = []
    for line in text.splitlines():
        if line.startswith("duration") and scenario.duration_s > _LONGEST_S:
            line = f'duration = "{_LONGEST_S} s"'
        elif line.startswith("measure") and scenario.duration_s > _LONGEST_S:
            continue
        lines.append(line)
    shortened = "\n".join(lines) + "\n"
    try:
        ackclock.Scenario.parse(shortened, str(path))
    except ScenarioError:  # something in it happens later
        shortened = text
    return Case(path.stem, shortened, files)


def native(case: Case, folder: Path) -> bytes:
    """Return the bytes of `summary.json` of a case, as `ackclock run` writes it.

    Args:
        case: Case to run.
        folder: Where its files are put for it.
    """
    home = folder / case.name
    for name, content in case.files.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_bytes(content)
    # A page calls every text scenario.toml, which is the name of one that has none.
    scenario = ackclock.Scenario.parse(case.text, str(home / "scenario.toml"))
    written = folder / f"{case.name}.native.json"
    Simulation(scenario).finish().write_summary(written)
    return written.read_bytes()


def in_browser(wanted: list[Case], folder: Path, *, parts: str = ALL_PARTS) -> dict[str, Any]:
    """Run cases in a browser; what it wrote is in the folder.

    Args:
        wanted: Cases to run.
        folder: For results and pictures.
        parts: Parts of what the driver can do.

    Returns:
        Report of the driver: `speeds`, `frames_per_second`, `errors`.
    """
    packed = [
        {
            "name": case.name,
            "text": case.text,
            "files": {name: base64.b64encode(b).decode() for name, b in case.files.items()},
        }
        for case in wanted
    ]
    (folder / "cases.json").write_text(json.dumps(packed))
    server = studio_server.server(studio_server.page())
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        done = subprocess.run(
            ["node", str(DRIVER), f"http://127.0.0.1:{server.server_port}/", str(folder)],
            capture_output=True, text=True, check=False, env={**os.environ, "STUDIO_PARTS": parts},
        )  # fmt: skip
    finally:
        server.shutdown()
        server.server_close()
    if not done.stdout.strip():
        raise RuntimeError(done.stderr)
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def left_by(parts: str, folder: Path) -> list[Case]:
    """Return the scenarios that a person's use of the page has left, with results beside them.

    Args:
        parts: Parts of the driver that ran.
        folder: Where it wrote them.
    """
    names = {"use": "changed", "draw": "drawn"}
    return [
        Case(name, (folder / f"{name}.toml").read_text(), {})
        for part, name in names.items()
        if part in parts.split(",")
    ]


def differing(wanted: list[Case], folder: Path) -> list[str]:
    """Return the names of the cases whose summaries differ between browser and native engine.

    Args:
        wanted: Cases that the browser has run.
        folder: Where it wrote them.
    """
    return [case.name for case in wanted if (folder / f"{case.name}.browser.json").read_bytes() != native(case, folder)]


def main() -> None:
    """Run all of it, and tell."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scenarios", type=int, default=50)
    parser.add_argument("--parts", default=ALL_PARTS)
    parser.add_argument("folder", type=Path, nargs="?", default=Path("out/studio"))
    arguments = parser.parse_args()
    if lacking := missing():
        sys.exit(f"the studio cannot be tried: {lacking}")
    arguments.folder.mkdir(parents=True, exist_ok=True)
    wanted = cases(arguments.scenarios)
    report = in_browser(wanted, arguments.folder, parts=arguments.parts)
    different = differing(wanted, arguments.folder) if "cases" in arguments.parts else []
    different += differing(left_by(arguments.parts, arguments.folder), arguments.folder)
    speeds = [speed for speed in report.get("speeds", []) if speed["seconds"] > 0]
    for speed in sorted(speeds, key=lambda speed: -speed["packets"]):
        rate = speed["packets"] / speed["seconds"] / 1e6
        print(f"{speed['name']:32} {speed['packets']:9} packets {rate:6.2f} M a second")
    total = sum(speed["packets"] for speed in speeds), sum(speed["seconds"] for speed in speeds)
    if total[1]:
        rate = total[0] / total[1] / 1e6
        print(f"{len(speeds)} scenarios, {rate:.2f} M packets a second; load {os.getloadavg()[0]:.1f}")
    if "frames_per_second" in report:
        cost = f"{report['cpu_ms_per_frame']:.1f} ms of the page's thread for each"
        print(f"{report['frames_per_second']:.1f} frames a second, {cost}")
    print(f"differ: {', '.join(different) or 'none'}; errors: {report['errors'] or 'none'}")
    sys.exit(bool(different or report["errors"]))


if __name__ == "__main__":
    main()

"""Install a wheel as a stranger would, into a clean environment, and run what the README runs first.

    python release/install_test.py --wheels dist                # packages from a local index, made at the first call
    python release/install_test.py --wheels dist --from-index   # packages from PyPI

Counted are `pip install ackclock` and `ackclock run --flows cubic,bbr3 --duration "5 s"`, together. Then: whether
`ackclock report` says how to get figures, whether the example scenarios are there, how long `import ackclock` takes,
how large it all is, and whether the studies of sources are found once their wheel, if it lies beside, is installed.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

RUN = ("run", "--flows", "cubic,bbr3", "--duration", "5 s")
RECORDINGS = """
from ackclock.claims import locations
recordings = locations.tool("linux.linux_recordings")
print(*(one.name for one in recordings.load(recordings.FOLDER)))
"""
MOST_TOGETHER_S = 20.0
MOST_IMPORT_S = 0.25
MOST_CORE_BYTES = 8_000_000


def main() -> int:
    """Install, run, measure; print the figures as JSON and what fails as sentences."""
    reader = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    reader.add_argument("--wheels", type=Path, required=True, help="folder with the wheel of ackclock")
    reader.add_argument("--index", type=Path, default=Path("target/index"), help="folder of the other packages' wheels")
    reader.add_argument("--from-index", action="store_true", help="install other packages from PyPI")
    reader.add_argument("--unhurried", action="store_true", help="print times, and hold them to nothing")
    given = reader.parse_args()
    with tempfile.TemporaryDirectory(prefix="ackclock-install-") as folder:
        wheel = choose(given.wheels, Path(folder) / "wheel")
        wanted = [str(wheel)]
        if not given.from_index:
            fill(given.index, wheel)
            wanted = [
                "--no-index",
                *(f"--find-links={place.resolve()}" for place in (given.wheels, given.index)),
                "ackclock",
            ]
        figures, wrong = measure(Path(folder), wanted)
        wrong += of_studies(Path(folder), given.wheels)
    print(json.dumps(figures, indent=1))
    late = () if given.unhurried else too_slow(figures)
    for sentence in (*wrong, *late):
        print(f"FAILED: {sentence}", file=sys.stderr)
    return 1 if wrong or late else 0


def choose(wheels: Path, place: Path) -> Path:
    """Return a copy of the wheel that is for this machine.

    Args:
        wheels: Folder with wheels for any.
        place: Where the copy goes.
    """
    call(
        sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-index", "-f", wheels, "-d", place, "ackclock"
    )
    return next(place.glob("ackclock-*.whl"))


def fill(index: Path, wheel: Path) -> None:
    """Download the packages that ackclock needs, once.

    Args:
        index: Where to.
        wheel: Wheel of ackclock.
    """
    if not any(index.glob("polars-*")):
        call(sys.executable, "-m", "pip", "download", "-q", "-d", index, wheel)
        (index / wheel.name).unlink()


def measure(folder: Path, wanted: list[str]) -> tuple[dict[str, float | int], list[str]]:
    """Install into a folder and use it.

    Args:
        folder: To make it in.
        wanted: Arguments of pip.

    Returns:
        Seconds and octets by name, and what is wrong.
    """
    venv.create(folder / "clean", with_pip=True)
    python, ackclock = programs(folder)
    began, cpu = time.monotonic(), cpu_s()
    call(python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *wanted)
    installed, cpu_installed = time.monotonic(), cpu_s()
    shown = call(ackclock, *RUN)
    figures: dict[str, float | int] = {"install_s": installed - began, "run_s": time.monotonic() - installed}
    figures |= {"install_cpu_s": cpu_installed - cpu, "run_cpu_s": cpu_s() - cpu_installed}
    wrong = [] if "cubic" in shown and "bbr3" in shown else [f"the run showed no flows:\n{shown}"]
    wrong += without_extras(ackclock, folder)
    timed = "import time; t = time.perf_counter(); import ackclock; print(time.perf_counter() - t)"
    figures["import_s"] = min(float(call(python, "-c", timed)) for _ in range(5))
    packages = Path(call(python, "-c", "import ackclock; print(ackclock.__path__[0])").strip()).parent
    figures["core_bytes"] = next(packages.glob("ackclock/_core*.*[od]")).stat().st_size
    own = [file for name in ("ackclock", "ackclock-*") for entry in packages.glob(name) for file in entry.rglob("*")]
    figures["ackclock_bytes"] = size(own)
    figures["all_bytes"] = size([file for file in packages.rglob("*") if not file.is_relative_to(packages / "pip")])
    if figures["core_bytes"] >= MOST_CORE_BYTES:
        wrong.append(f"the core has {figures['core_bytes']:,} octets, and may have {MOST_CORE_BYTES:,}; strip it")
    return {name: round(value, 3) for name, value in figures.items()}, wrong


def programs(folder: Path) -> tuple[Path, Path]:
    """Return Python and ackclock of the environment in a folder.

    Args:
        folder: Where it was made.
    """
    place = folder / "clean" / ("Scripts" if sys.platform == "win32" else "bin")
    return place / "python", place / "ackclock"


def of_studies(folder: Path, wheels: Path) -> list[str]:
    """Install the studies of sources if their wheel is there; say what a user is told wrongly of them.

    Args:
        folder: Where the environment was made.
        wheels: Folder of wheels.
    """
    python, ackclock = programs(folder)
    if "pip install 'ackclock[studies]'" not in (listed := call(ackclock, "claims")):
        return [f"ackclock claims did not say how to get the studies:\n{listed}"]
    wheel = next(wheels.glob("ackclock_studies-*.whl"), None)
    if wheel is None:
        return []
    call(python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-index", "--no-deps", wheel)
    listed = call(ackclock, "claims")
    wrong = [] if "vegas-1999" in listed else [f"ackclock claims did not list the installed studies:\n{listed}"]
    call(ackclock, "bench", "a", "--min-cpu", "0")
    names = call(python, "-c", RECORDINGS)
    return wrong if "d_reno_ws1" in names else [*wrong, f"the recordings of Linux were not found:\n{names}"]


def cpu_s() -> float:
    """Return the CPU time of the programs that were run, which a busy machine does not change much; 0 on Windows."""
    times = os.times()
    return times.children_user + times.children_system


def without_extras(ackclock: Path, folder: Path) -> list[str]:
    """Say what a user of the plain package is told wrongly.

    Args:
        ackclock: The program.
        folder: To write to.
    """
    wrong = []
    call(ackclock, *RUN, "-o", folder / "run")
    report = subprocess.run([ackclock, "report", folder / "run"], capture_output=True, text=True, check=False)
    if report.returncode != 2 or "pip install 'ackclock[report]'" not in report.stderr:
        wrong.append(f"ackclock report did not say which extra it needs:\n{report.stderr}")
    if "two-algorithms" not in call(ackclock, "examples"):
        wrong.append("ackclock examples has no two-algorithms")
    if "sawtooth" not in call(ackclock, "lessons"):
        wrong.append("ackclock lessons has no sawtooth")
    return wrong


def too_slow(figures: dict[str, float | int]) -> list[str]:
    """Say which times are too long.

    Args:
        figures: Measurements, as `measure` returns them.
    """
    together = figures["install_s"] + figures["run_s"]
    late = [f"installing and running took {together:.1f} s, and may take {MOST_TOGETHER_S:g} s"]
    late = late if together >= MOST_TOGETHER_S else []
    if figures["import_s"] > MOST_IMPORT_S:
        late.append(f"import ackclock took {figures['import_s']:.2f} s, and may take {MOST_IMPORT_S:g} s")
    return late


def size(files: list[Path]) -> int:
    """Return the octets of files.

    Args:
        files: Folders among them count for nothing; what Python compiled does not either.
    """
    return sum(file.stat().st_size for file in files if file.is_file() and file.suffix != ".pyc")


def call(*command: object) -> str:
    """Run a program and return what it printed; its failure is ours.

    Args:
        command: Command with its arguments.
    """
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"FAILED: {' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())

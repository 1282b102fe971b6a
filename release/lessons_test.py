"""Run each lesson's notebook in an environment that its own first cell fills, from a folder of wheels and nothing else.

    python release/lessons_test.py --wheels dist               # all lessons
    python release/lessons_test.py --wheels dist train         # some

A lecturer's machine has the wheel of ackclock alone, which writes the notebooks. Each notebook then runs in an
environment with Jupyter's kernel and nothing of ackclock; its exercises and solutions are judged.
"""

import argparse
import sys
import tempfile
import venv
from pathlib import Path

from install_test import call, choose, programs

RUNS = Path(__file__).resolve().parents[1] / "docs" / "site" / "notebook_runs.py"
KERNEL = ("ipykernel", "nbclient")


def main() -> int:
    """Download wheels, write the notebooks, run them."""
    reader = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    reader.add_argument("names", nargs="*", metavar="NAME", help="lessons (default: all)")
    reader.add_argument("--wheels", type=Path, required=True, help="folder with the wheel of ackclock")
    given = reader.parse_args()
    with tempfile.TemporaryDirectory(prefix="ackclock-lessons-") as name:
        folder = Path(name)
        course = written(folder, given.wheels, given.names)
        for notebook in sorted(course.glob("*.ipynb")):
            python = environment(folder / notebook.stem)
            call(python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *KERNEL)
            print(call(python, RUNS, notebook), end="", flush=True)
    return 0


def written(folder: Path, wheels: Path, names: list[str]) -> Path:
    """Return a folder with the solved notebooks and the wheels that they install from.

    Args:
        folder: Where to make it.
        wheels: Folder with the wheel of ackclock.
        names: Lessons; all if empty.
    """
    course = folder / "course"
    wheel = choose(wheels, course / "wheels")
    call(sys.executable, "-m", "pip", "download", "-q", "-d", course / "wheels", f"{wheel}[lessons]")
    python = environment(folder / "lecturer")
    call(python, "-m", "pip", "install", "-q", "--no-index", "--find-links", course / "wheels", "ackclock")
    ackclock = programs(folder / "lecturer")[1]
    call(ackclock, "lessons", *names, "--solved", "--find-links", "wheels", "-o", course)
    return course


def environment(folder: Path) -> Path:
    """Return the Python of a new environment.

    Args:
        folder: Where to make it.
    """
    venv.create(folder / "clean", with_pip=True)
    return programs(folder)[0]


if __name__ == "__main__":
    sys.exit(main())

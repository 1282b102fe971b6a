"""Commands of `ackclock`, each in a process of its own, forked from one that has imported the packages already.

Importing them takes longer than most commands do. What a fresh interpreter does is tested with `conftest.command`.
"""

import multiprocessing
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from ackclock.cli import main
from ackclock.cli.commands import COMMANDS

# Processes start in folders of their own, from where a relative path leads nowhere.
if os.environ.get("PYTHONPATH"):
    os.environ["PYTHONPATH"] = os.pathsep.join(map(os.path.abspath, os.environ["PYTHONPATH"].split(os.pathsep)))

SERVER = multiprocessing.get_context("forkserver")
# Installed packages only: the server looks in no folder of pytest's, and silent about a module that it does not find.
SERVER.set_forkserver_preload(
    [
        *(f"ackclock.cli.{command.module}" for command in COMMANDS.values()),
        "ackclock.cli.app",
        "ackclock.experiments.studies.study_tables",
        "ackclock.plotting.plots",
        "ackclock.plotting.report.report_page",
        "jinja2",
        "matplotlib.figure",
        "numpy",
        "polars",
        "rich.table",
    ]
)

LIMIT_S = 120


def run(arguments: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run `ackclock ARGUMENT...` in a folder.

    Args:
        arguments: Arguments of the command line.
        folder: Working directory.
    """
    with TemporaryDirectory() as outputs:
        files = [Path(outputs, name) for name in ("stdout", "stderr")]
        process = SERVER.Process(target=_execute, args=(arguments, folder, dict(os.environ), files))
        process.start()
        process.join(LIMIT_S)
        if process.exitcode is None:
            process.kill()
            raise subprocess.TimeoutExpired(["ackclock", *arguments], LIMIT_S)
        stdout, stderr = (file.read_text(encoding="utf-8") if file.exists() else "" for file in files)
    return subprocess.CompletedProcess(["ackclock", *arguments], process.exitcode, stdout, stderr)


def _execute(arguments: Sequence[str], folder: Path, environment: dict[str, str], outputs: Sequence[Path]) -> None:
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    for number, path in enumerate(outputs, start=1):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT), number)
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115  until the end
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
    sys.argv = ["ackclock", *arguments]
    main()

"""`ackclock linux`: Linux kernels that run as programs, in virtual time and without root."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from ackclock.base.printable import amount
from ackclock.cli import failures
from ackclock.cli.answers import answer, is_asked, put
from ackclock.plotting.terminal import si
from ackclock.running import linux_build, linux_kernels
from ackclock.running.kernel import KernelError
from ackclock.running.linux_kernels import Kernel

linux = typer.Typer(
    help="Build, list and remove Linux kernels that run in virtual time, without root.", no_args_is_help=True
)


@linux.command()
def build(
    source: Annotated[
        str,
        typer.Argument(
            metavar="[VERSION|DIR]", help="Series (6.12) or version (6.12.107) of Debian's sources, or a source folder."
        ),
    ] = linux_build.DEFAULT,
    modules: Annotated[
        list[Path] | None,
        typer.Option("--module", metavar="FILE.c", help="Compile this congestion control into the kernel; repeatable."),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(
            "--name", metavar="NAME", help="Name the kernel.", show_default="the version, and the names of modules"
        ),
    ] = None,
    mirrors: Annotated[
        list[str] | None,
        typer.Option(
            "--mirror", metavar="URL", help="Fetch from this Debian archive; repeatable.", show_default="deb.debian.org"
        ),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option("--jobs", metavar="N", min=1, max=1024, help="Compile N files at once.", show_default="cores"),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a kernel of the same name.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only errors.")] = False,
) -> None:
    """Build a Linux kernel as a program that runs in virtual time."""
    given = {} if mirrors is None else {"mirrors": mirrors}
    wanted = linux_build.Wanted(source, modules or (), name, jobs=jobs, force=force, **given)
    kernel = _built(wanted, quiet=quiet)
    answer(**_facts(kernel))
    if not quiet:
        about = kernel.about
        took = f"{about['build']['wall_s']:.0f} s ({about['build']['cpu_s']:.0f} s of CPU time)"
        print(f"{kernel.name}: Linux {kernel.version}, {si(kernel.size)}B, built in {took}")
        print(f"{amount(len(about['controllers']), 'controller')}: {' '.join(about['controllers'])}")
        if signature := about["source"].get("signature", ""):
            print(f"signature of the sources: {signature}")
        if about["left_out"]:
            print(f"this version lacks: {' '.join(about['left_out'])}")
        print(f"use it: ackclock run FILE --on linux:{kernel.name}")


def _built(wanted: linux_build.Wanted, *, quiet: bool) -> Kernel:

    if quiet or not sys.stderr.isatty():
        return linux_build.build(wanted)
    from ackclock.cli.progress import build_progress

    with build_progress(wanted.title) as report:
        return linux_build.build(wanted, report)


@linux.command("list")
def list_() -> None:
    """List the kernels that are built."""
    found = linux_kernels.kernels()
    if is_asked():
        put(json.dumps({"kernels": [_facts(kernel) for kernel in found]}, indent=1, ensure_ascii=False) + "\n")
        return
    if not found:
        print("no kernel is built yet; build one: ackclock linux build")
        return
    from ackclock.cli.table_output import print_list

    rows = [
        (kernel.name, kernel.version, f"{si(kernel.size)}B", " ".join(kernel.about["controllers"])) for kernel in found
    ]
    print_list(("name", "version", "size", "controllers"), rows)
    if kept := sum(file.stat().st_size for file in linux_build.sources().glob("*.deb")):
        print(f"\nsources kept for further builds: {si(kept)}B in {linux_build.sources()}")


@linux.command()
def remove(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", help="Kernels to remove.", show_default=False)
    ] = None,
    sources: Annotated[bool, typer.Option("--sources", help="Remove the fetched sources, too.")] = False,
) -> None:
    """Remove kernels from the cache."""
    if not names and not sources:
        raise failures.InputError(
            "ackclock linux remove: name a kernel, or give --sources; ackclock linux list has them"
        )
    try:
        gone = linux_kernels.remove(names or [])
    except KernelError as error:  # a name is wrong, which the user can correct
        raise failures.InputError(str(error)) from error
    files = linux_build.remove_sources() if sources else []
    answer(removed=[kernel.name for kernel in gone], sources=list(map(str, files)))
    for kernel in gone:
        print(f"removed {kernel.name} (Linux {kernel.version})")
    for file in files:
        print(f"removed {file}")


def _facts(kernel: Kernel) -> dict[str, object]:
    return {"name": kernel.name, "path": str(kernel.path), "size_bytes": kernel.size, **kernel.about}

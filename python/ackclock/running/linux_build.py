"""Building Linux as a program in virtual time: user-mode Linux with time travel (`ARCH=um`)."""

import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from ackclock.base import storage, system
from ackclock.base.storage import OutputExistsError
from ackclock.base.version import __version__
from ackclock.running import linux_archive, linux_tree
from ackclock.running.kernel import KernelError
from ackclock.running.linux_archive import Package, Report
from ackclock.running.linux_kernels import ABOUT, AGENT_FORM, NAME, PROGRAM, Kernel, cache, find, kernels

DEFAULT: Final = "6.12"
"""Series that is built if none is named: the kernel of Debian 13."""

KIND: Final = "kernel"
"""Kind of the folder of a kernel, as its manifest records it."""

_TOOLS: Final = {
    "gcc": "gcc", "make": "make", "flex": "flex", "bison": "bison", "bc": "bc", "ar": "binutils", "ld": "binutils",
    "perl": "perl", "xz": "xz-utils",
}  # fmt: skip
"""Programs of the build, with their Debian packages."""

_OPTIONS: Final = Path(__file__).with_name("linux.config")
"""Options of the configuration; all others are off."""

_AGENT: Final = Path(__file__).with_name("ackclock_agent.c")
"""Controller of every kernel, whose window an environment decides."""

_STEPS: Final = 1100
"""Number of lines that `make` prints, roughly, for a first progress bar."""

_SHOWN_LINES: Final = 6

_ENVIRONMENT: Final = {
    "LC_ALL": "C",
    "KBUILD_BUILD_TIMESTAMP": "1970-01-01",
    "KBUILD_BUILD_USER": "ackclock",
    "KBUILD_BUILD_HOST": "ackclock",
    "KBUILD_BUILD_VERSION": "1",
}
"""Environment of the build: the same sources give the same program."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Kernel to build.

    Attributes:
        source: Series or version of Debian's sources, or the folder of a tree.
        modules: C files with congestion controls to compile in.
        name: Name of the kernel; derived from source and modules if None.
        mirrors: Addresses of Debian archives.
        jobs: Number of processes that compile; the number of cores if None.
        force: Whether a kernel of that name is replaced.
    """

    source: str = DEFAULT
    modules: Sequence[Path] = ()
    name: str | None = None
    mirrors: Sequence[str] = linux_archive.MIRRORS
    jobs: int | None = None
    force: bool = False

    @property
    def tree(self) -> Path | None:
        """Folder of the sources; None if they come from Debian."""
        return None if re.fullmatch(r"\d+\.\d+(\.\d+)?", self.source) else Path(self.source)

    @property
    def title(self) -> str:
        """Name of the kernel."""
        if self.name is not None:
            return self.name
        base = self.source if self.tree is None else self.tree.resolve().name
        return "-".join([base, *(module.stem for module in self.modules)])


def missing() -> str:
    """Return what this machine lacks for building a kernel, and how to get it; empty if nothing."""
    if platform.system() != "Linux" or platform.machine() != "x86_64":
        found = f"{platform.system()} on {platform.machine()}"
        return f"a machine with Linux on x86_64, for which alone user-mode Linux exists (this one: {found})"
    tools = [tool for tool in _TOOLS if shutil.which(tool) is None]
    packages = [_TOOLS[tool] for tool in tools]
    if "gcc" not in tools and not _has_headers():
        tools.append("the headers of the C library")
        packages.append("libc6-dev")
    return f"{', '.join(tools)} (apt-get install {' '.join(dict.fromkeys(packages))})" if tools else ""


def check(wanted: Wanted) -> None:
    """Check all that can be checked before anything is fetched.

    Raises:
        KernelError: If the machine cannot build it, or an input is unusable.
        OutputExistsError: If there is a kernel of that name.
    """
    if lacking := missing():
        raise KernelError(f"building a kernel needs {lacking}")
    if not NAME.fullmatch(wanted.title):
        raise KernelError(
            f'"{wanted.title}": a kernel\'s name has letters, digits, ".", "_", "+", "-"; give --name NAME'
        )
    for module in wanted.modules:
        linux_tree.check_module(module)
    if wanted.tree is not None:
        linux_tree.check(wanted.tree)
    folder = cache() / wanted.title
    if re.search(r"[\s:]", str(folder)):
        raise KernelError(
            f"{cache()}: a path with spaces or colons is not usable by make; set XDG_CACHE_HOME to another"
        )
    if folder.exists() and not wanted.force:
        raise OutputExistsError(
            f"{wanted.title} is built already ({folder}); rebuild it with --force, or give --name NAME"
        )


def _has_headers() -> bool:
    done = subprocess.run(
        ["gcc", "-E", "-x", "c", "-"], input=b"#include <sys/epoll.h>\n", capture_output=True, check=False
    )
    return done.returncode == 0


def build(wanted: Wanted, report: Report = lambda *_: None) -> Kernel:
    """Build a kernel into the cache; interrupted or failed, it leaves nothing half-made.

    Args:
        wanted: The kernel to build.
        report: Receiver of progress.

    Returns:
        The kernel.

    Raises:
        KernelError: If it cannot be built.
        OutputExistsError: If there is a kernel of that name.
    """
    check(wanted)
    folder = cache() / wanted.title
    with storage.new_folder(folder, kind=KIND, force=wanted.force) as made:
        work = _Work(wanted, made, made / "work", report)
        try:
            about = work.done()
        except KernelError:
            raise  # whose log stays
        except BaseException:
            work.log.unlink(missing_ok=True)
            raise
        finally:
            shutil.rmtree(work.place, ignore_errors=True)
        (made / ABOUT).write_text(json.dumps(about, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return find(wanted.title)


@dataclass(slots=True)
class _Work:
    """One build: the folder of its results, and one for all else."""

    wanted: Wanted
    made: Path
    place: Path
    report: Report
    left_out: list[str] = field(default_factory=list)

    @property
    def tree(self) -> Path:
        return self.place / "source"

    @property
    def objects(self) -> Path:
        return self.place / "objects"

    @property
    def log(self) -> Path:
        return cache() / f"{self.wanted.title}.log"

    def done(self) -> dict[str, Any]:
        """Build it and return the facts about it."""
        self.objects.mkdir(parents=True)
        began = time.monotonic()
        source = self._sources()
        self.left_out += linux_tree.change(self.tree)
        linux_tree.add_modules(self.tree, [_AGENT, *self.wanted.modules])
        version = linux_tree.version(self.tree)
        cpu_before = os.times()
        config = self._configure()
        steps = self._compile()
        cpu_after = os.times()
        program = self.made / PROGRAM
        shutil.copyfile(self.objects / PROGRAM, program)
        program.chmod(0o755)
        (self.made / "config").write_text(config, encoding="utf-8")
        self.log.unlink(missing_ok=True)
        return {
            "version": version,
            "source": source,
            "modules": [{"file": file.name, "sha256": storage.sha256(file)} for file in self.wanted.modules],
            "config_sha256": hashlib.sha256(config.encode()).hexdigest(),
            "linux_sha256": storage.sha256(program),
            "compiler": _output(["gcc", "--version"]),
            "controllers": controllers(self.tree, config),
            "agent": AGENT_FORM,
            "disciplines": disciplines(self.tree, config),
            "left_out": self.left_out,
            "build": {
                "ackclock": __version__,
                "steps": steps,
                "wall_s": round(time.monotonic() - began, 1),
                "cpu_s": round(sum(cpu_after[2:4]) - sum(cpu_before[2:4]), 1),
            },
        }

    def _sources(self) -> dict[str, Any]:
        if self.wanted.tree is not None:
            linux_tree.copy(self.wanted.tree, self.tree, self.report)
            return {"folder": str(self.wanted.tree.resolve())}
        package = linux_archive.newest(self.wanted.source, self.wanted.mirrors, self.report)
        file = _kept(package, self.report)
        linux_tree.unpack(file, self.tree, self.report)
        return {
            "package": f"linux-source-{package.series}",
            "version": package.version,
            "suite": package.suite,
            "url": package.url,
            "sha256": package.sha256,
            "signature": package.signature,
        }

    def _configure(self) -> str:
        """Configure the kernel and return its configuration; note the options that it lacks."""
        self.report("configuring", 0, None)
        options = wanted_options(self.tree)
        fragment = self.place / "fragment"
        fragment.write_text("".join(f"{name}={value}\n" for name, value in options.items()), encoding="utf-8")
        self._make("allnoconfig", lambda: None, environment={"KCONFIG_ALLCONFIG": str(fragment)})
        config = (self.objects / ".config").read_text(encoding="utf-8")
        found = set(config.splitlines())
        self.left_out += [name for name, value in options.items() if f"{name}={value}" not in found]
        if "CONFIG_UML_TIME_TRAVEL_SUPPORT=y" not in found:
            version = linux_tree.version(self.tree)
            raise KernelError(f"Linux {version} has no virtual time (UML_TIME_TRAVEL_SUPPORT); take 5.15 or later")
        return config

    def _compile(self) -> int:
        """Compile the kernel and return the number of steps."""
        total = _steps_before()
        steps = 0

        def step() -> None:
            nonlocal steps
            steps += 1
            self.report("compiling", steps, max(total, steps))

        self._make(PROGRAM, step)
        return steps

    def _make(self, target: str, step: Callable[[], None], environment: Mapping[str, str] | None = None) -> None:
        """Run `make` in the tree, and call `step` after each of its steps."""
        jobs = self.wanted.jobs or system.cores()
        place = ["-C", str(self.tree), f"O={self.objects}", "ARCH=um"]
        command = ["make", "--no-print-directory", *place, f"-j{jobs}", target]
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ}
        told: deque[str] = deque(maxlen=200)
        with (
            self.log.open("a" if target == PROGRAM else "w", encoding="utf-8", buffering=1) as log,
            subprocess.Popen(
                command,
                env=kept | _ENVIRONMENT | dict(environment or {}),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                encoding="utf-8",
                errors="replace",
            ) as maker,
        ):
            try:
                for line in maker.stdout or ():
                    log.write(line)
                    told.append(line.rstrip())
                    if re.match(r" {2}[A-Z]", line):
                        step()
                code = maker.wait()
            except BaseException:
                maker.terminate()
                maker.wait()
                raise
        if code:
            raise KernelError(f"make {target} failed ({code}): {_error_lines(told)}; the whole log: {self.log}")


def _error_lines(told: Sequence[str]) -> str:
    """Return the last lines of a failed build that name errors, or its last lines."""
    lines = [line.strip() for line in told]
    others = [line for line in lines if not re.match(r"make(\[\d+\])?: ", line) and not re.match(r"[A-Z]+  ", line)]
    errors = [line for line in lines if re.search(r"\berror: |undefined reference|No rule to make", line)]
    return " | ".join((errors or others[-3:] or lines)[-_SHOWN_LINES:])


def _steps_before() -> int:
    """Return the number of steps of the last build."""
    steps = [int(kernel.about.get("build", {}).get("steps", 0)) for kernel in kernels()]
    return max(steps, default=0) or _STEPS


def _kept(package: Package, report: Report) -> Path:
    """Return the package in the cache of sources, fetched if it is not there; other versions of its series go."""
    folder = sources()
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"linux-source-{package.series}_{package.version}.deb"
    if not (file.is_file() and storage.sha256(file) == package.sha256):
        linux_archive.fetch(package, file, report)
    for other in folder.glob(f"linux-source-{package.series}_*.deb"):
        if other != file:
            other.unlink()
    return file


def sources() -> Path:
    """Return the folder of fetched packages of sources, kept for further builds."""
    return cache().with_name("linux-sources")


def remove_sources() -> list[Path]:
    """Delete the fetched packages of sources and return them."""
    files = sorted(sources().glob("*.deb"))
    for file in files:
        file.unlink()
    return files


# ---- options --------------------------------------------------------------------------------------------------------

_NOT_WANTED: Final = re.compile(r"CONFIG_(TCP_CONG_ADVANCED|NET_SCH_DEFAULT)")


def wanted_options(tree: Path) -> dict[str, str]:
    """Return the wanted options with their values: those of `linux.config`, every controller and every discipline."""
    text = _OPTIONS.read_text(encoding="utf-8")
    listed = dict(re.findall(r"(?m)^(CONFIG_\w+)=(\S+)$", text))
    found = [
        f"CONFIG_{name}"
        for name in (*_declared(tree, "net/ipv4", "TCP_CONG"), *_declared(tree, "net/sched", "NET_SCH"))
    ]
    return listed | {name: "y" for name in found if not _NOT_WANTED.fullmatch(name)}


def _declared(tree: Path, folder: str, prefix: str) -> list[str]:
    file = tree / folder / "Kconfig"
    text = file.read_text(encoding="utf-8") if file.is_file() else ""
    return re.findall(rf"(?m)^(?:menu)?config ({prefix}_\w+)$", text)


def controllers(tree: Path, config: str) -> list[str]:
    """Return the names of the congestion controls in a kernel, without those that only stand in for another."""
    found = _names(tree / "net/ipv4", config, r"tcp_congestion_ops\b[^;]*?\.name\s*=\s*\"([^\"]+)\"")
    return sorted(found - {"dctcp-reno"})


def disciplines(tree: Path, config: str) -> list[str]:
    """Return the kinds of queue disciplines in a kernel, as `tc` names them."""
    return sorted(_names(tree / "net/sched", config, r"Qdisc_ops\b[^;]*?\.id\s*=\s*\"([^\"]+)\""))


def _names(folder: Path, config: str, pattern: str) -> set[str]:
    """Return the names in the files of a folder that the configuration has compiled into the kernel."""
    on = set(re.findall(r"(?m)^(CONFIG_\w+)=y$", config))
    makefile = (folder / "Makefile").read_text(encoding="utf-8").replace("\\\n", " ")
    found: set[str] = set()
    for condition, objects in re.findall(r"(?m)^obj-(y|\$\(CONFIG_\w+\))\s*[:+]?=\s*(.*)$", makefile):
        if condition == "y" or condition[2:-1] in on:
            files = [folder / f"{name[:-2]}.c" for name in objects.split() if name.endswith(".o")]
            texts = [file.read_text(encoding="utf-8", errors="replace") for file in files if file.is_file()]
            found.update(name for text in texts for name in re.findall(pattern, text))
    return found


def _output(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.partition("\n")[0]

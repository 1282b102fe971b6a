"""The builds of ns-3 that are measured, and the program compiled against each.

`debian` is the package of the distribution, a release build with logging compiled in. `optimised` is built from the
source (`ns3_source.py`): ns-3's own profile of that name, without logging and assertions, for this very processor.
"""

import shutil
import subprocess
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import ns3_source

HERE = Path(__file__).resolve().parent
SOURCES = (HERE / "ns3_dumbbell.cc", HERE / "ns3_testbed.h")
DQN_SOURCES = tuple(HERE / name for name in ("ns3_dqn.cc", "ns3_dqn.h", "ns3_testbed.h", "dqn_agent.h"))
PROGRAMS = ns3_source.FOLDER

MODULES = ("internet", "applications", "point-to-point", "nix-vector-routing", "traffic-control", "network", "core")
REMEDY = "On Debian or Ubuntu: sudo apt-get install g++ pkg-config libns3-dev"

_CXX_20_SINCE = (3, 42)


class Ns3Missing(RuntimeError):
    """ns-3 or what is needed to build against it is not installed; the message has the remedy."""


@dataclass(frozen=True, slots=True)
class Ns3Build:
    """One ns-3.

    Attributes:
        name: On the command line and in the figures.
        version: Version of ns-3.
        how: Kind of the build, in a few words.
        flags: For the compiler and the linker of a program that uses it.
    """

    name: str
    version: str
    how: str
    flags: tuple[str, ...]

    @property
    def program(self) -> Path:
        """Where the program compiled against it is."""
        return PROGRAMS / f"ns3_dumbbell-{self.name}-{self.version}"


def debian() -> Ns3Build:
    """Return the build that is installed as a package.

    Raises:
        Ns3Missing: If it is not installed, or not all of it.
    """
    for tool in ("pkg-config", "g++"):
        if shutil.which(tool) is None:
            raise Ns3Missing(f"{tool} is not installed, so ns-3 cannot be measured. {REMEDY}")
    version = _run("pkg-config", "--modversion", "ns3-core")
    if version.returncode != 0:
        raise Ns3Missing(f"ns-3 is not installed (pkg-config knows no ns3-core). {REMEDY}")
    # Debian's files also name libraries that only ns-3 itself was linked with, and whose packages may be missing.
    done = _run("pkg-config", "--cflags", "--libs", *(f"ns3-{module}" for module in MODULES))
    if done.returncode != 0:
        raise Ns3Missing(f"parts of ns-3 are not installed: {done.stderr.strip()}. {REMEDY}")
    wanted = [flag for flag in done.stdout.split() if flag.startswith(("-I", "-L", "-lns3", "-D"))]
    flags = [flag.rstrip(";\\") for flag in wanted if flag.rstrip(";\\") != "-I/usr"]
    return Ns3Build("debian", version.stdout.strip(), "the distribution's package, logging compiled in", tuple(flags))


def optimised() -> Ns3Build:
    """Return the build from the source; it is downloaded and built first if need be.

    Raises:
        Ns3Missing: If it can be neither found nor built.
    """
    try:
        out = ns3_source.build()
    except ns3_source.BuildFailed as error:
        raise Ns3Missing(f"{error}; --builds debian does without it") from error
    libraries = sorted(file.stem.removeprefix("lib") for file in (out / "lib").glob("libns3*.so"))
    flags = ["-march=native", "-DNS3_BUILD_PROFILE_OPTIMIZED", f"-I{out / 'include'}", f"-L{out / 'lib'}"]
    flags += [*(f"-l{library}" for library in libraries), f"-Wl,-rpath,{out / 'lib'}"]
    how = "from source, profile optimized: -O3 -march=native, neither logging nor assertions"
    return Ns3Build("optimised", ns3_source.VERSION, how, tuple(flags))


BUILDS: dict[str, Callable[[], Ns3Build]] = {"optimised": optimised, "debian": debian}
"""Functions that provide each build, in the order in which the builds are measured."""


def compile_program(build: Ns3Build) -> Path:
    """Compile the dumbbell's program against a build, unless it is newer than its source.

    Args:
        build: The ns-3.

    Raises:
        Ns3Missing: If the program does not compile.
    """
    # A level of optimisation as ns-3's own profile has it; nearly all the work is in ns-3's libraries.
    return _compile(build, build.program, SOURCES, "-O3" if build.name == "optimised" else "-O2")


def compile_dqn(build: Ns3Build) -> Path:
    """Compile the program with controllers that learn, unless it is newer than its sources.

    Args:
        build: The ns-3.

    Raises:
        Ns3Missing: If the program does not compile.
    """
    program = PROGRAMS / f"ns3_dqn-{build.name}-{build.version}"
    # Learning is this program's own work, and products of matrices: for this very processor.
    return _compile(build, program, DQN_SOURCES, "-O3", "-march=native")


_COMPILING = threading.Lock()


def _compile(build: Ns3Build, program: Path, sources: Sequence[Path], *flags: str) -> Path:
    with _COMPILING:
        if program.exists() and program.stat().st_mtime > max(source.stat().st_mtime for source in sources):
            return program
        program.parent.mkdir(parents=True, exist_ok=True)
        standard = "-std=c++20" if _numbers(build.version) >= _CXX_20_SINCE else "-std=c++17"
        warnings = ("-Wall", "-Wextra")
        done = _run("g++", standard, *flags, *warnings, str(sources[0]), "-o", str(program), *build.flags)
        if done.returncode != 0:
            raise Ns3Missing(
                f"the program does not compile against ns-3 {build.version} ({build.name}):\n{done.stderr}"
            )
        return program


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())


def _run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False)

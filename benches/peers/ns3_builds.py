"""The builds of ns-3 that are measured.

`debian` is the package of the distribution, a release build with logging compiled in. `optimised` is built from the
source (`ns3_source.py`): ns-3's own profile of that name, without logging and assertions, for this very processor.
"""

import dataclasses
import shutil
import subprocess
from pathlib import Path

import ns3_source
from peer_programs import PeerBuild, PeerMissing, compile_program

HERE = Path(__file__).resolve().parent
SOURCES = (HERE / "ns3_dumbbell.cc", HERE / "ns3_testbed.h")
DQN_SOURCES = tuple(HERE / name for name in ("ns3_dqn.cc", "ns3_dqn.h", "ns3_testbed.h", "dqn_agent.h"))

MODULES = ("internet", "applications", "point-to-point", "nix-vector-routing", "traffic-control", "network", "core")
REMEDY = "On Debian or Ubuntu: sudo apt-get install g++ pkg-config libns3-dev"

_CXX_20_SINCE = (3, 42)


def debian() -> PeerBuild:
    """Return the build that is installed as a package.

    Raises:
        PeerMissing: If it is not installed, or not all of it.
    """
    for tool in ("pkg-config", "g++"):
        if shutil.which(tool) is None:
            raise PeerMissing(f"{tool} is not installed, so ns-3 cannot be measured. {REMEDY}")
    found = _run("pkg-config", "--modversion", "ns3-core")
    if found.returncode != 0:
        raise PeerMissing(f"ns-3 is not installed (pkg-config knows no ns3-core). {REMEDY}")
    # Debian's files also name libraries that only ns-3 itself was linked with, and whose packages may be missing.
    done = _run("pkg-config", "--cflags", "--libs", *(f"ns3-{module}" for module in MODULES))
    if done.returncode != 0:
        raise PeerMissing(f"parts of ns-3 are not installed: {done.stderr.strip()}. {REMEDY}")
    wanted = [flag for flag in done.stdout.split() if flag.startswith(("-I", "-L", "-lns3", "-D"))]
    libraries = [flag.rstrip(";\\") for flag in wanted if flag.rstrip(";\\") != "-I/usr"]
    version = found.stdout.strip()
    flags = (_standard(version), "-O2", *libraries)
    return PeerBuild("debian", "ns-3", version, "the distribution's package, logging compiled in", SOURCES, flags)


def optimised() -> PeerBuild:
    """Return the build from the source; it is downloaded and built first if need be.

    Raises:
        PeerMissing: If it can be neither found nor built.
    """
    try:
        out = ns3_source.build()
    except ns3_source.BuildFailed as error:
        raise PeerMissing(f"{error}; --builds debian does without it") from error
    libraries = sorted(file.stem.removeprefix("lib") for file in (out / "lib").glob("libns3*.so"))
    # A level of optimisation as ns-3's own profile has it; nearly all the work is in ns-3's libraries.
    flags = [_standard(ns3_source.VERSION), "-O3", "-march=native", "-DNS3_BUILD_PROFILE_OPTIMIZED"]
    flags += [f"-I{out / 'include'}", f"-L{out / 'lib'}"]
    flags += [*(f"-l{library}" for library in libraries), f"-Wl,-rpath,{out / 'lib'}"]
    how = "from source, profile optimized: -O3 -march=native, neither logging nor assertions"
    return PeerBuild("optimised", "ns-3", ns3_source.VERSION, how, SOURCES, tuple(flags))


def compile_dqn(build: PeerBuild) -> Path:
    """Compile the program with controllers that learn, unless it is newer than its sources.

    Args:
        build: The ns-3.

    Raises:
        PeerMissing: If the program does not compile.
    """
    # Learning is this program's own work, and products of matrices: for this very processor.
    flags = (*build.flags, "-O3", "-march=native")
    return compile_program(dataclasses.replace(build, sources=DQN_SOURCES, flags=flags))


def _standard(version: str) -> str:
    numbers = tuple(int(part) for part in version.split(".") if part.isdigit())
    return "-std=c++20" if numbers >= _CXX_20_SINCE else "-std=c++17"


def _run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False)

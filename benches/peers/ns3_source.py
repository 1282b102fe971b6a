"""An optimised ns-3, built from its source into a folder of its own, since no distribution packages one.

    python benches/peers/ns3_source.py

The archive is pinned by its hash. Only the modules that the program needs are built: some 250 files, half an hour of
CPU. What is done already is kept, so that an interrupted build goes on where it stopped.

The wheels of ns-3 on PyPI (3.42 to 3.44) will not do: they are built with logging and with assertions, and five seconds
of (a) took 3.44 six times the CPU time of Debian's 3.37.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import urllib.error
import urllib.request
from pathlib import Path

from peer_programs import FOLDER

VERSION = "3.37"
SHA256 = "dfa5ca1994ff3dbe1d4b23cef54e05e6079f5707a2ed6055f717bdd5b458c38d"
ADDRESSES = (
    f"http://deb.debian.org/debian/pool/main/n/ns3/ns3_{VERSION}.orig.tar.bz2",
    f"https://www.nsnam.org/releases/ns-allinone-{VERSION}.tar.bz2",
)
"""The release as Debian keeps it and as ns-3 published it: the hash says which file it must be."""

TARGETS = ("libinternet", "libapplications", "libpoint-to-point", "libnix-vector-routing")

PROFILE = (
    "-DCMAKE_BUILD_TYPE=Release",
    "-DNS3_NATIVE_OPTIMIZATIONS=ON",
    "-DNS3_ASSERT=OFF",
    "-DNS3_LOG=OFF",
    "-DNS3_WARNINGS_AS_ERRORS=OFF",
    "-DNS3_ENABLED_MODULES=internet;applications;point-to-point;nix-vector-routing",
)
"""The options that `./ns3 configure -d optimized` sets, for the modules that are needed."""


class BuildFailed(RuntimeError):
    """The source cannot be had or built; the message says what to do."""


def build() -> Path:
    """Build ns-3 unless it is built.

    Returns:
        The folder with `include` and `lib`.

    Raises:
        BuildFailed: If something is missing, or goes wrong.
    """
    home = FOLDER / f"ns3-{VERSION}-optimised"
    out = home / "out"
    if (home / "done").exists():
        return out
    for tool in ("cmake", "ninja", "g++"):
        if shutil.which(tool) is None:
            raise BuildFailed(f"{tool} is not installed: sudo apt-get install g++ cmake ninja-build")
    home.mkdir(parents=True, exist_ok=True)
    if not (home / "source" / "CMakeLists.txt").exists():
        _unpack(_archive(home), home)
    folders = ["-S", str(home / "source"), "-B", str(home / "build"), f"-DNS3_OUTPUT_DIRECTORY={out}"]
    _step(home, "configure", "cmake", *folders, "-G", "Ninja", *PROFILE)
    _step(home, "build", "ninja", "-C", str(home / "build"), f"-j{os.cpu_count() or 1}", *TARGETS)
    (home / "done").touch()
    return out


def _archive(home: Path) -> Path:
    file = home / f"ns3-{VERSION}.tar.bz2"
    if file.exists() and _hash(file) == SHA256:
        return file
    failures = []
    for address in ADDRESSES:
        sys.stderr.write(f"downloading {address} (40 MB)\n")
        try:
            urllib.request.urlretrieve(address, file)
        except (urllib.error.URLError, OSError) as error:
            failures.append(f"{address}: {error}")
            continue
        if _hash(file) == SHA256:
            return file
        failures.append(f"{address}: another file than that with SHA-256 {SHA256}")
    raise BuildFailed(f"the source of ns-3 {VERSION} cannot be had: {'; '.join(failures)}; or put it at {file}")


def _hash(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def _unpack(archive: Path, home: Path) -> None:
    part = home / "unpacking"
    shutil.rmtree(part, ignore_errors=True)
    with tarfile.open(archive) as opened:
        opened.extractall(part)
    (part / f"ns-allinone-{VERSION}" / f"ns-{VERSION}").rename(home / "source")
    shutil.rmtree(part)


def _step(home: Path, name: str, *command: str) -> None:
    log = home / f"{name}.log"
    sys.stderr.write(f"ns-3 {VERSION}: {name} (what it says is in {log})\n")
    with log.open("w", encoding="utf-8") as opened:
        done = subprocess.run(command, stdout=opened, stderr=subprocess.STDOUT, check=False)
    if done.returncode != 0:
        last = "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-5:])
        raise BuildFailed(f"{name} of ns-3 {VERSION} failed, see {log}:\n{last}")


if __name__ == "__main__":
    try:
        sys.stdout.write(f"{build()}\n")
    except BuildFailed as error:
        sys.exit(f"error: {error}")

"""The build of htsim that is measured: our program, compiled together with the core of the user's copy.

htsim (github.com/Broadcom/csg-htsim, BSD 2-Clause) is a network simulator in C++ whose packets carry their routes.
Nothing is written into the copy, and nothing of it is in this project.
"""

import hashlib
import shutil
from pathlib import Path

from peer_programs import PeerBuild, PeerMissing

PROGRAM = Path(__file__).resolve().parent / "htsim_dumbbell.cc"

CORE = (
    "eventlist",
    "pipe",
    "queue",
    "tcp",
    "tcppacket",
    "network",
    "config",
    "route",
    "mtcp",
    "fairpullqueue",
    "ndppacket",
    "eth_pause_packet",
)
"""The sources in the copy's folder `sim` that make up TCP over queues and pipes, and what these refer to."""

REMEDY = "give --htsim DIR (make: HTSIM=DIR) with DIR a checkout of https://github.com/Broadcom/csg-htsim"

SAME_TCP = (
    'flow.flow.controller="reno"',
    "tcp.sack=false",
    "tcp.limited_transmit=false",
    "tcp.delayed_ack=false",
    'tcp.rto.min="250 ms"',
)
"""ackclock's flows with what htsim's TCP has: NewReno, an ACK for each packet, and its least retransmission timeout."""


def htsim(copy: Path | None) -> PeerBuild:
    """Return the build from a copy of htsim's source.

    Args:
        copy: Folder of the checkout; none if none was given.

    Raises:
        PeerMissing: If there is no copy, or it lacks a source.
    """
    if copy is None:
        raise PeerMissing(f"no copy of htsim to measure: {REMEDY}")
    folder = copy.resolve() / "sim"
    core = tuple(folder / f"{name}.cpp" for name in CORE)
    if missing := [source.name for source in core if not source.is_file()]:
        raise PeerMissing(f"{folder} lacks {', '.join(missing)}: {REMEDY}")
    if shutil.which("g++") is None:
        raise PeerMissing("g++ is not installed, which compiles htsim: sudo apt-get install g++")
    headers = tuple(sorted(folder.glob("*.h")))
    text = b"".join(file.read_bytes() for file in (*core, *headers))
    # htsim's own sources do not compile without warnings.
    flags = ("-std=c++17", "-O3", "-march=native", "-DNDEBUG", "-w", f"-I{folder}")
    how = "from source: -O3 -march=native, neither logging nor assertions; NewReno without SACK"
    version = hashlib.sha256(text).hexdigest()[:12]
    return PeerBuild("htsim", "htsim", version, how, (PROGRAM, *core, *headers), flags, SAME_TCP)

"""The machine and the programs with which the figures were measured."""

import hashlib
import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from peer_programs import PeerBuild


def setting(builds: Sequence[PeerBuild]) -> dict[str, Any]:
    """Return what must be the same for two rounds to belong together.

    Args:
        builds: Builds of the peers.
    """
    from ackclock import _core

    sys.path.append(str(Path(__file__).parents[1] / "engine"))
    from instructions import compiler_of

    extension = Path(str(_core.__file__)).read_bytes()
    ours = {"compiler": compiler_of(extension), "sha256": hashlib.sha256(extension).hexdigest()}
    return {
        "processor": _line("/proc/cpuinfo", "model name") or platform.machine(),
        "cores": os.cpu_count(),
        "memory": _line("/proc/meminfo", "MemTotal"),
        "system": platform.platform(),
        "ackclock": _core.build_info() | ours,
        "g++": _said("g++", "-dumpfullversion"),
        "peers": [
            {"name": build.name, "simulator": build.simulator, "version": build.version, "built": build.how}
            for build in builds
        ],
    }


def moment() -> dict[str, Any]:
    """Return what changes from minute to minute: when it is, and how busy the machine."""
    return {"at": datetime.now(UTC).isoformat(timespec="minutes"), "load": list(os.getloadavg())}


def text(setting: dict[str, Any]) -> str:
    """Return the setting in lines for people.

    Args:
        setting: Settings, as `setting` returns them.
    """
    ours = setting["ackclock"]
    lines = [
        f"machine    {setting['processor']}, {setting['cores']} cores, {setting['memory']}, {setting['system']}",
        f"ackclock   {ours['version']} {ours['profile']}, rustc {ours['compiler']}",
        *(f"{peer['simulator']:<10} {peer['version']}, {peer['name']}: {peer['built']}" for peer in setting["peers"]),
        f"g++        {setting['g++']}, for the programs that run the peers, and for what is built from source",
    ]
    return "\n".join(lines)


def _line(file: str, name: str) -> str:
    try:
        lines = Path(file).read_text(encoding="utf-8").splitlines()
    except OSError:
        return ""
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(name)), "")


def _said(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip()

"""`python -m ackclock.bench.child CASE`: run one case and print the peak memory of this process as JSON."""

import json
import resource
import sys
from pathlib import Path

from ackclock.bench.cases import CASES
from ackclock.running import simulate


def peak_bytes() -> int:
    """Return the peak resident size of this process.

    Linux's `ru_maxrss` is inherited from the parent process, so the kernel's high-water mark of this address space is
    read instead, if available.
    """
    status = Path("/proc/self/status")
    if status.is_file():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main(name: str) -> None:
    """Run a case and print its peak memory.

    Args:
        name: Name of the case.
    """
    case = next(case for case in CASES if case.name == name)
    before = peak_bytes()
    simulate(case.scenario())
    print(json.dumps({"before": before, "peak": peak_bytes()}))


if __name__ == "__main__":
    main(sys.argv[1])

"""Run one case and print the peak memory of this process as JSON: `python child.py SCENARIO [OVERRIDE ...]`.

It is run by its path, so that the process has loaded the simulator and nothing else.
"""

import json
import sys
from collections.abc import Sequence

from ackclock._core import Scenario
from ackclock.base.system import peak_bytes
from ackclock.running import simulate


def main(file: str, overrides: Sequence[str]) -> None:
    """Run a case and print its memory.

    Args:
        file: The scenario.
        overrides: Changes to it.
    """
    before = peak_bytes()
    simulate(Scenario.load(file, overrides))
    print(json.dumps({"before": before, "peak": peak_bytes()}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])

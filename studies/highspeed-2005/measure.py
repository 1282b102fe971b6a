"""From the results of a study's cases to the number that is set beside the thesis' statement; a file for each kind."""

from collections.abc import Callable
from pathlib import Path

from ackclock.claims.folder import load_module
from ackclock.claims.measured import Measured, Runs

_HERE = Path(__file__).parent

MEASURES: dict[str, Callable[[Runs], Measured]] = {
    **load_module(_HERE / "measure_shares.py").MEASURES,
    **load_module(_HERE / "measure_buffers.py").MEASURES,
    **load_module(_HERE / "measure_latency.py").MEASURES,
}

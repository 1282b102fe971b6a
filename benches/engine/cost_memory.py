"""`python benches/engine/cost_memory.py FLOWS WINDOW TO_S TRACED`: what a run takes at each stage, as JSON.

A window other than 0 is one flow that holds it; TRACED other than 0 turns the default traces on.
"""

import json
import sys
import time

from cost_points import Point, shared, window

from ackclock._core import Simulation
from ackclock.base.system import resident_bytes


def main(point: Point, to_s: float) -> None:
    """Run a point to its end and print what it took.

    Args:
        point: The scenario.
        to_s: Simulated time that it lasts.
    """
    before, begun = resident_bytes(), time.process_time()
    simulation = Simulation(point.scenario(f'duration="{1e3 * to_s:.0f} ms"'))
    made, made_bytes = time.process_time(), resident_bytes() - before
    simulation.run_until(to_s)
    running_bytes, ran = resident_bytes() - before, time.process_time()
    simulation.finish()
    figures = {"setup_s": made - begun, "made_bytes": made_bytes, "running_bytes": running_bytes}
    print(json.dumps(figures | {"finish_s": time.process_time() - ran}))


def chosen(flows: str, segments: str, traced: str) -> Point:
    """Return the point that the command line names.

    Args:
        flows: Number of flows.
        segments: A window, or 0.
        traced: 1 for the default traces, or 0 for none.
    """
    changes = ("trace={}",) if int(traced) else ()
    return window(int(segments), 0.0) if int(segments) else shared("memory", flows, *changes, flows=int(flows))


if __name__ == "__main__":
    main(chosen(sys.argv[1], sys.argv[2], sys.argv[4]), float(sys.argv[3]))

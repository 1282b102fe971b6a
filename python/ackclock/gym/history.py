"""History of an episode for its picture, thinned to the resolution of the picture.

Values are sampled at decisions, when the environment pauses; values in between are not seen.
"""

from array import array
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ackclock._core import Outcome

Floats = NDArray[np.float64]

STEPS = 150
"""Number of intervals over which rates are averaged in the picture."""

_SAMPLES, _GAPS = 3000, 30
"""Largest number of samples within the picture; a pause longer than this fraction of its span is a gap."""
_COLUMNS = ("time_s", "cwnd_segments", "ssthresh_segments", "pacing_rate_bps", "read_bytes", "others_bytes")


class Look(Protocol):
    """Source of samples: `_core.Environment`, or an object with the same methods."""

    @property
    def now_s(self) -> float:
        """Simulated time."""

    def read(self, agent: int, name: str) -> float:
        """Return an observation."""

    def outcome(self) -> Outcome:
        """Return the results up to now."""

    def snapshot(self) -> tuple[list[tuple[int, float, int]], list[int]]:
        """Return window, SRTT and octets read of each flow, and the queue length of each link."""


class History:
    """Samples of an episode, thinned to the resolution of a picture."""

    def __init__(self, flow: int, links: int, shown_s: float) -> None:
        """Begin without samples."""
        self.shown_s = shown_s
        self._flow, self._links = flow, links
        self._columns = {name: array("d") for name in _COLUMNS}
        self._queues = [array("d") for _ in range(links)]

    def note(self, core: Look, *, must: bool = False) -> None:
        """Take a sample, unless one was taken a moment ago.

        If time went back, as after a restore, later samples are discarded.
        """
        now_s, times = core.now_s, self._columns["time_s"]
        while times and times[-1] > now_s:
            self._drop_last()
        if times and now_s - times[-1] < (0 if must else self.shown_s / _SAMPLES):
            return
        if times and times[-1] == now_s:
            self._drop_last()
        flows, queues = core.snapshot()
        read = [flow[2] for flow in flows]
        own = read[self._flow]
        seen = [core.read(0, name) for name in _COLUMNS[1:4]]
        for column, value in zip(self._columns.values(), (now_s, *seen, own, sum(read) - own), strict=True):
            column.append(value)
        for queue, waiting in zip(self._queues, queues, strict=True):
            queue.append(waiting)

    def _drop_last(self) -> None:
        for column in (*self._columns.values(), *self._queues):
            column.pop()

    def column(self, name: str) -> Floats:
        """Return a column of samples for the picture."""
        return np.array(self._columns[name][self._first() :])

    def longest_queue(self) -> tuple[int, Floats]:
        """Return the index of the link with the longest queue, and its queue length over time in packets."""
        place = max(range(self._links), key=lambda link: sum(self._queues[link]))
        return place, np.array(self._queues[place][self._first() :])

    def is_unseen(self) -> NDArray[np.bool_]:
        """Return where a gap precedes a sample, across which no line should be drawn."""
        times = self.column("time_s")
        steps = np.diff(times, prepend=times[:1])
        return steps > max(self.shown_s / _GAPS, 10 * float(np.median(steps)))

    def rate_bps(self, name: str) -> tuple[Floats, Floats]:
        """Return the ends of intervals, and the mean rate in each, bits per second."""
        times, total = self.column("time_s"), self.column(name)
        if times.size < 2:
            return np.empty(0), np.empty(0)
        step_s = self.shown_s / STEPS
        # Of each step the last sample, so that a rate is over a step at least, or over the time between two decisions.
        kept = np.flatnonzero(np.append(np.diff(np.floor(times / step_s)) > 0, True))
        kept = kept if kept[0] == 0 else np.insert(kept, 0, 0)
        return times[kept[1:]], 8 * np.diff(total[kept]) / np.diff(times[kept])

    def _first(self) -> int:
        times = self._columns["time_s"]
        return int(np.searchsorted(times, times[-1] - self.shown_s)) if times else 0

"""Recordings of real connections as results: traces of the kernel, captures, logs of `ss`, reports of `iperf3`.

What a recording does not tell is null in its results, never a guess.
"""

from ackclock.recording.recorded_files import read
from ackclock.recording.streams import RecordingError

__all__ = ["RecordingError", "read"]

"""Recordings of real connections as results: kernel traces, captures, logs of `ss`, reports of `iperf3`.

Values that a recording lacks are null in its results, never guessed.
"""

from ackclock.recording.recorded_files import read
from ackclock.recording.streams import RecordingError

__all__ = ["RecordingError", "read"]

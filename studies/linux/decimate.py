"""Reduction of recordings to a small copy with the same numbers: `python -m studies.linux.decimate`."""

import gzip
import shutil
import sys
from io import BytesIO
from pathlib import Path

import numpy as np
import polars as pl

from ackclock.stats.metrics import Flags

from .linux_recordings import FLOW_COLUMNS, QUEUE_COLUMNS, in_recovery, read_table
from .series import DENSE_S, kept_samples

_QUEUE_LEAD_S = 0.5
"""Approximate time between the emulator's start and the first flow."""


def decimate(source: Path, target: Path) -> None:
    """Copy recordings with only the samples and columns that are compared or drawn.

    Args:
        source: A folder of recordings.
        target: Destination.

    Raises:
        OSError: If the destination exists already.
        RecordingError: If a file of the source is damaged.
    """
    (target / "data").mkdir(parents=True)
    shutil.copyfile(source / "summary.csv", target / "summary.csv")
    for file in sorted((source / "data").glob("*.csv.gz")):
        is_queue = file.name.endswith(".queue.csv.gz")
        table = read_table(file, QUEUE_COLUMNS if is_queue else FLOW_COLUMNS)
        kept = _kept_of_queue(table) if is_queue else _kept_of_flow(table)
        _write(table.filter(pl.Series(kept)), target / "data" / file.name)


def _kept_of_flow(table: pl.DataFrame) -> Flags:
    """Return the samples to keep, including the last one for its counters."""
    ssthresh = table["ssthresh_pkts"].cast(pl.Float64).to_numpy()
    kept = kept_samples(table["t_s"].to_numpy(), ssthresh, in_recovery(table))
    kept[-1] = True
    return kept


def _kept_of_queue(table: pl.DataFrame) -> Flags:
    time_s = table["t_s"].to_numpy()
    steady = np.zeros(time_s.size)
    return kept_samples(np.maximum(time_s - _QUEUE_LEAD_S, 0.0), steady, steady > 0) | (time_s < DENSE_S)


def _write(table: pl.DataFrame, file: Path) -> None:
    """Write a table deterministically."""
    buffer = BytesIO()
    table.write_csv(buffer)
    file.write_bytes(gzip.compress(buffer.getvalue(), compresslevel=9, mtime=0))


if __name__ == "__main__":
    decimate(Path(sys.argv[1]), Path(sys.argv[2]))

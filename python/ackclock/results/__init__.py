"""Results of a run: their types, their folder, their files."""

from ackclock.results.result_files import (
    EVENTS,
    PERFETTO,
    CaptureSource,
    TableName,
    capture_file_names,
    json_bytes,
    no_tables,
    parquet,
)
from ackclock.results.run_results import Results

__all__ = [
    "EVENTS",
    "PERFETTO",
    "CaptureSource",
    "Results",
    "TableName",
    "capture_file_names",
    "json_bytes",
    "no_tables",
    "parquet",
]

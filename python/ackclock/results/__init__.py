"""Results of a run: their types, their folder, their files."""

from ackclock.results.run_results import (
    APPLIANCES,
    COMPLETIONS,
    EVENTS,
    MEDIA,
    PERFETTO,
    SUMMARY,
    TABLES,
    TRACE,
    CaptureSource,
    Results,
    TableName,
    capture_file_names,
    no_appliances,
    no_completions,
    parquet,
    summary_json,
)

__all__ = [
    "APPLIANCES",
    "COMPLETIONS",
    "EVENTS",
    "MEDIA",
    "PERFETTO",
    "SUMMARY",
    "TABLES",
    "TRACE",
    "CaptureSource",
    "Results",
    "TableName",
    "capture_file_names",
    "no_appliances",
    "no_completions",
    "parquet",
    "summary_json",
]

"""Files of a result folder: their names, their readers and the bytes that are written."""

import json
import re
import shutil
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, get_args

from ackclock.base import storage
from ackclock.base.checked_files import DamagedError, content, digest, document, inside, table
from ackclock.results.manifests import Manifest, RecordedManifest
from ackclock.results.summaries import RecordedRun, RunSummary

if TYPE_CHECKING:
    import polars as pl

TableName = Literal["flows", "links", "episodes", "completions", "appliances", "media", "events"]

TABLES: tuple[TableName, ...] = ("flows", "links", "episodes")

"""Tables of every run; others are written only if they are not empty."""

PERFETTO = "trace.perfetto-trace"
"""File written only on request."""

EVENTS = "events.parquet"
"""File written only by runs that kept events."""

SUMMARY = "summary.json"

TRACE = "trace.jsonl"
"""Only file of a folder of `ackclock-proxy record`."""

_FILES: dict[TableName, str] = {name: f"{name}.parquet" for name in get_args(TableName)}

REMEDY: Final = "restore it, or run the scenario again"

ENCODER: Final = json.JSONEncoder(indent=2, ensure_ascii=False, allow_nan=False)


def no_tables() -> "dict[TableName, pl.DataFrame]":
    """Return the optional tables of a run, all empty."""
    import polars as pl

    completions = {"flow": pl.String, "start_s": pl.Float64, "size_bytes": pl.UInt64, "fct_s": pl.Float64}
    empty: dict[TableName, pl.DataFrame] = {"appliances": pl.DataFrame(), "media": pl.DataFrame()}
    return empty | {
        "events": pl.DataFrame(),
        "completions": pl.DataFrame(schema=completions | {"slowdown": pl.Float64}),
    }


# ---- reading -------------------------------------------------------------------------------------------------------


def check_complete(path: Path) -> None:
    """Check that a folder has the files of every result folder.

    Raises:
        FileNotFoundError: If it is not a result folder; the message says what is missing.
    """
    if not path.is_dir():
        raise FileNotFoundError(f"{path} is not a folder; give one that `ackclock run -o` wrote")
    wanted = [SUMMARY, storage.MANIFEST, *(f"{table}.parquet" for table in TABLES)]
    missing = [file for file in wanted if not (path / file).is_file()]
    if missing:
        raise FileNotFoundError(f"{path} is not a folder of results: it has no {', '.join(missing)}")


def manifest_of(folder: Path) -> Manifest:
    """Read a manifest and check it against its own SHA-256; manifests of earlier versions have no checksum.

    Raises:
        DamagedError: If the manifest is damaged.
    """
    file = inside(folder, storage.MANIFEST, REMEDY)
    text = content(file, None, REMEDY)
    form = RecordedManifest if _is_recorded(text) else Manifest
    read: Manifest = document(text, file, form, REMEDY)  # type: ignore[assignment]  # `Results.is_recorded` tells
    written = read.get("written")
    own = written.get("manifest_sha256") if written else None
    if written and own is not None:
        others = {key: value for key, value in written.items() if key != "manifest_sha256"}
        if digest({**read, "written": others}) != own:
            raise DamagedError(file, "its SHA-256 differs: it was changed", REMEDY)
    return read


def _is_recorded(manifest: bytes) -> bool:
    try:
        read = json.loads(manifest)
    except (ValueError, RecursionError):
        return False  # which is told with the file's name once it is read in earnest
    return isinstance(read, dict) and "recording" in read


def summary_of(folder: Path, manifest: Manifest) -> RunSummary:
    """Read the summary of a run, or of a recording (`ackclock.summaries.RecordedRun`).

    Raises:
        DamagedError: If the summary is damaged.
    """
    form: Any = RecordedRun if "recording" in manifest else RunSummary
    summary: RunSummary = document(_content(folder, SUMMARY, _sums(manifest)), folder / SUMMARY, form, REMEDY)
    return summary


def tables_of(folder: Path, manifest: Manifest) -> dict[TableName, "pl.DataFrame"]:
    """Read every table that is present or required.

    Raises:
        DamagedError: If a table is damaged or missing.
    """
    sums = _sums(manifest)
    tables = no_tables()
    for name, file in _FILES.items():
        if name in TABLES or file in sums or (folder / file).exists():
            tables[name] = table(_content(folder, file, sums), folder / file, name, REMEDY)
    return tables


def check_names(folder: Path, summary: RunSummary, tables: Mapping[TableName, "pl.DataFrame"]) -> None:
    """Check that the tables name only flows and links of the summary.

    Raises:
        DamagedError: If a table names another.
    """
    entries = [entry for part in summary.values() if isinstance(part, list) for entry in part]
    known = {entry["name"] for entry in entries if isinstance(entry, dict) and "name" in entry}
    for name, column in (("flows", "flow"), ("episodes", "flow"), ("links", "link")):
        found = tables[name][column].drop_nulls().unique().to_list()  # type: ignore[index]  # they are names of tables
        if others := sorted(set(found) - known):
            what = f"it names no {column} {others[0][:60]!r}, which {_FILES[name]} has"  # type: ignore[index]
            raise DamagedError(folder / SUMMARY, what, REMEDY)


def _sums(manifest: Manifest) -> dict[str, str]:
    return manifest.get("written", {}).get("sha256", {})


def _content(folder: Path, name: str, sums: Mapping[str, str]) -> bytes:
    file = inside(folder, name, REMEDY)
    if not file.is_file():
        raise DamagedError(file, "it is missing, though the manifest lists it", REMEDY)
    return content(file, sums.get(name), REMEDY)


# ---- writing -------------------------------------------------------------------------------------------------------


class CaptureSource(Protocol):
    """Source of a run's summary, captured packets and events; the core's `Outcome` is one."""

    def write_summary(self, path: str) -> None:
        """Write `summary.json`."""

    @property
    def captures(self) -> list[str]:
        """Names of captures: links, and flows as `flow NAME`."""

    def write_pcapng(self, name: str, path: str) -> None:
        """Write one capture as a pcapng file."""

    @property
    def event_sources(self) -> list[str]:
        """Names of event sources: links, `flow NAME`, `relay NAME`; empty if no events were requested."""

    def write_qlog(self, paths: dict[str, str]) -> list[str]:
        """Write the events as qlog, a file for each source that has any, and return the names of these sources."""

    def write_perfetto(self, path: str) -> None:
        """Write the events as a Perfetto trace."""


def json_bytes(value: Mapping[str, Any]) -> bytes:
    """Return a document as the bytes of a JSON file, deterministically.

    Args:
        value: JSON data without NaN or infinity.
    """
    return (ENCODER.encode(value) + "\n").encode()


def parquet(table: "pl.DataFrame") -> bytes:
    """Return a table as a Parquet file: the same table gives the same bytes."""
    buffer = BytesIO()
    table.rechunk().write_parquet(
        buffer, compression="zstd", compression_level=3, statistics=True, row_group_size=1 << 20
    )
    return buffer.getvalue()


def capture_file_names(links: list[str], ending: str = ".pcapng") -> dict[str, str]:
    """Choose a file name for the capture of each link: its name with unusual characters replaced, made unique.

    Args:
        links: Names of links; any text.
        ending: Suffix of the files.

    Examples:
        >>> capture_file_names(["left->right", "left<-right", "../x"])
        {'left->right': 'left_right.pcapng', 'left<-right': 'left_right-2.pcapng', '../x': 'x.pcapng'}
    """
    files: dict[str, str] = {}
    for link in links:
        stem = re.sub(r"[^A-Za-z0-9.-]+", "_", re.sub(r"->|<-", "_", link)).strip("._-")[:100] or "link"
        number, file = 1, f"{stem}{ending}"
        while file.lower() in {taken.lower() for taken in files.values()}:
            number += 1
            file = f"{stem}-{number}{ending}"
        files[link] = file
    return files


def write_captures(
    folder: Path, captures: Mapping[str, Path], sums: Mapping[str, str], source: CaptureSource | None
) -> dict[str, str]:
    """Write a pcapng file for each captured link and flow.

    Args:
        folder: Destination.
        captures: Capture files of loaded results, which are copied.
        sums: SHA-256 of these files by name, as recorded in their folder.
        source: Source of the captures of a run that was not loaded.

    Returns:
        The names of the files by link or flow.

    Raises:
        DamagedError: If a file to be copied is damaged.
    """
    files = capture_file_names([*captures, *(source.captures if source else [])])
    for name, file in files.items():
        if name in captures:
            _copy_capture(captures[name], folder / file, sums)
        elif source:
            source.write_pcapng(name, str(folder / file))
    return files


def _copy_capture(file: Path, target: Path, sums: Mapping[str, str]) -> None:
    shutil.copyfile(inside(file.parent, file.name, REMEDY), target)
    if storage.sha256(target) != sums.get(file.name, storage.sha256(target)):
        raise DamagedError(file, "its SHA-256 differs: it is not the capture that was written", REMEDY)

"""Detection of a recording's format, from its content and not its name."""

import codecs
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from ackclock.base import storage
from ackclock.base.decoding import decoded
from ackclock.base.input_files import check_encoding, opened, spelled
from ackclock.recording import capture_streams, captured_segments, iperf, path_files, socket_logs, trace
from ackclock.recording.streams import RecordingError, Stream, check, name_of, results
from ackclock.results import Results
from ackclock.results.manifests import Recording

Read = tuple[list[Stream], float, Recording]

_MAGIC: Final = 4


def read(paths: Sequence[Path], *, name: str | None = None, by: str = "ackclock import") -> Results:
    """Read recordings as results.

    Args:
        paths: Files, each with one recording: a trace of `ackclock-kernel`, a capture (pcap, pcapng), a log of `ss
            -tin` or a report of `iperf3 --json` or `--json-stream`. Several must have one format; the times of each
            begin at 0.
        name: Name of the results; by default that of the first file.
        by: Command that reads them, for the manifest.

    Raises:
        RecordingError: If a file is none of these, or damaged; the message has the place in the file.
        OSError: If a file cannot be read.
    """
    found = [_read(path) for path in paths]
    forms = {about["form"] for _, _, about in found}
    if len(forms) > 1:
        raise RecordingError(
            f"{', '.join(map(str, paths))} have different formats ({', '.join(sorted(forms))}); import each alone"
        )
    streams = [stream for one, _, _ in found for stream in one]
    recording = _together([about for _, _, about in found])
    recording["by"] = by
    recording["sources"] = [{"file": spelled(path), "sha256": storage.sha256(path)} for path in paths]
    return results(spelled(name or name_of(paths[0])), streams, max(lasted for _, lasted, _ in found), recording)


def _together(abouts: Sequence[Recording]) -> Recording:
    first = abouts[0]
    if len(abouts) == 1:
        return first
    first["records"] = sum(about["records"] for about in abouts)
    first["notes"] = list(dict.fromkeys(note for about in abouts for note in about["notes"]))
    for key in ("missed", "cpu_s", "tracepoints_cpu_s"):
        values = [about[key] for about in abouts]
        first[key] = None if None in values else sum(value for value in values if value is not None)
    if any("pairs" in about for about in abouts):
        first["pairs"] = [pair for about in abouts for pair in about.get("pairs", [])]
    if len({about["began_unix_s"] for about in abouts}) > 1:
        first["notes"].append("several files: the times of each begin at 0")
    return first


def _read(path: Path) -> Read:
    streams, lasted, about = _reader(path)(path)
    check(streams, path, about)
    return streams, lasted, about


def _reader(path: Path) -> Callable[[Path], Read]:
    if path.is_dir():
        raise RecordingError(f"{path} is a folder; give the file of a recording")
    with opened(path, remedy="give the file of a recording") as file:
        head = file.read(1 << 16).removeprefix(codecs.BOM_UTF8)
    check_encoding(head, path)
    if not head.strip():
        raise RecordingError(f"{path} is empty; record again")
    if head[:_MAGIC] in captured_segments.MAGICS:
        return capture_streams.read
    if head[:2] == b"\x1f\x8b":
        raise RecordingError(f"{path} is compressed with gzip; unpack it first: gunzip {path.name}")
    if head.lstrip()[:1] in (b"{", b"["):
        return trace.read if _is_trace(head) else iperf.read
    if iperf.BEGIN.search(head):  # behind a warning
        return iperf.read
    if b"\0" in head:
        raise RecordingError(
            f"{path} is not a known recording: a capture (pcap, pcapng), a trace of ackclock-kernel, a log "
            "of `ss -tin` or a report of `iperf3 --json`"
        )
    if path_files.is_path(head.decode(errors="replace")):
        raise RecordingError(f"{path} describes a path; make a scenario of it: -o FILE.toml")
    return socket_logs.read


def _is_trace(head: bytes) -> bool:
    try:
        first = decoded(head.lstrip().splitlines()[0])
    except ValueError:
        return False
    return isinstance(first, dict) and "kind" in first

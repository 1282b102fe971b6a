"""Results of a run, in memory and as a folder."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar, get_args

from ackclock.base import storage
from ackclock.base.checked_files import inside
from ackclock.base.printable import amount
from ackclock.results import result_files as files
from ackclock.results.manifests import Engine, KernelRun, Manifest, Recording
from ackclock.results.result_files import CaptureSource, TableName
from ackclock.results.summaries import (
    ApplianceSummary,
    DatagramSummary,
    FlowSummary,
    GroupSummary,
    LinkSummary,
    RunSummary,
)

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

    from ackclock.plotting.notebook import Static
    from ackclock.plotting.plots import SeriesName
    from ackclock.plotting.report.report_widget import ReportWidget

_Entry = TypeVar("_Entry", FlowSummary, LinkSummary, GroupSummary, ApplianceSummary, DatagramSummary)


class _Views(Protocol):
    """Views of results, drawn by higher rooms and registered by `ackclock`."""

    def figure(self, results: "Results", series: "SeriesName") -> "Figure": ...

    def widget(self, results: "list[Results]", window_s: tuple[float, float] | None) -> "ReportWidget | Static": ...

    def html(self, results: "Results", origin: Manifest) -> str: ...

    def recorded(self, trace: Path, name: str) -> "Results": ...


@dataclass(frozen=True, repr=False, eq=False)
class Results:
    """Results of one run.

    Tables are built on first access, since loading Polars takes longer than a short run. So is the summary: with
    thousands of flows it takes more memory in Python than the run did in the engine.

    Attributes:
        captures: The pcapng file of each captured link or flow, for results that were loaded or saved.
    """

    _views: ClassVar[_Views]

    _read_summary: Callable[[], RunSummary]
    _origin: Manifest
    _table: Callable[[TableName], "pl.DataFrame"]
    captures: Mapping[str, Path] = field(default_factory=dict)
    _source: CaptureSource | None = None

    def __eq__(self, other: object) -> bool:
        """Return whether both have the same content and the same origin."""
        if not isinstance(other, Results):
            return NotImplemented
        mine, theirs = (self.summary, self.manifest, self.captures), (other.summary, other.manifest, other.captures)
        return mine == theirs

    __hash__ = None  # type: ignore[assignment]  # as of all that holds dictionaries

    def __reduce__(self) -> tuple[Callable[..., "Results"], tuple[Any, ...]]:
        """Return a recipe for pickling: summary, manifest and every table.

        Raises:
            TypeError: If they hold captures or events that are not in a file yet.
        """
        if self._source is not None and (self._source.captures or self._source.event_sources):
            raise TypeError(
                "results with captures or events in memory cannot be pickled; save them and load the folder"
            )
        tables = {name: getattr(self, name) for name in get_args(TableName)}
        return _of_tables, (self.summary, self.manifest, tables, dict(self.captures))

    def __repr__(self) -> str:
        """Return a short description."""
        summary = self.summary
        flows, links = len(summary["flows"]), len(summary["links"])
        size = amount(flows, "flow") if self.is_recorded else f"{amount(flows, 'flow')}, {amount(links, 'link')}"
        where = self.origin if self.is_recorded else f"seed {summary['seed']}"
        return f'<Results "{self.name}": {size}, {summary["duration_s"]:g} s, {where}>'

    @cached_property
    def summary(self) -> RunSummary:
        """Summary of the run, as in `summary.json`: averages and counts of each flow and link."""
        return self._read_summary()

    @cached_property
    def flows(self) -> "pl.DataFrame":
        """Time series of the flows, one row per flow and sample."""
        return self._table("flows")

    @cached_property
    def links(self) -> "pl.DataFrame":
        """Time series of the links."""
        return self._table("links")

    @cached_property
    def episodes(self) -> "pl.DataFrame":
        """Congestion episodes, one row each."""
        return self._table("episodes")

    @cached_property
    def completions(self) -> "pl.DataFrame":
        """Completed short flows and requests, one row each."""
        return self._table("completions")

    @cached_property
    def appliances(self) -> "pl.DataFrame":
        """Time series of each direction through each appliance."""
        return self._table("appliances")

    @cached_property
    def media(self) -> "pl.DataFrame":
        """Time series of each flow of interactive media."""
        return self._table("media")

    @cached_property
    def events(self) -> "pl.DataFrame":
        """Recorded events, one row each; without columns if none were requested."""
        return self._table("events")

    @property
    def manifest(self) -> Manifest:
        """Provenance of the numbers: scenario, hash, seed, versions and engine figures."""
        if self._source is None:
            return self._origin  # as the folder has it, which another version may have written
        import polars as pl

        return {**self._origin, "versions": {**self._origin["versions"], "polars": pl.__version__}}

    @property
    def scenario(self) -> dict[str, Any]:
        """Scenario with its overrides, read from the manifest without loading the rest.

        Empty for a recording.
        """
        return self._origin.get("scenario", {})

    @property
    def drawn(self) -> dict[str, Any]:
        """Values drawn by the seed, by their places in the scenario."""
        return dict(self._origin.get("drawn", {}))

    @property
    def engine(self) -> Engine:
        """Cost of the run: events, packets, times, and the partition of the network among threads.

        Raises:
            KeyError: If this is a recording, which was not run.
        """
        return self._origin["engine"].copy()

    @property
    def name(self) -> str:
        """Name of the scenario."""
        return str(self.summary["scenario"])

    @property
    def kernel(self) -> KernelRun | None:
        """Quality and cost of a run on the kernel, from the manifest; None for other results."""
        return self._origin.get("kernel")

    @property
    def is_of_kernel(self) -> bool:
        """True if the run took place on a kernel."""
        return "kernel" in self._origin

    @property
    def recording(self) -> Recording | None:
        """Provenance of a recording; None for a run."""
        return self._origin.get("recording")

    @property
    def is_recorded(self) -> bool:
        """True if real connections were recorded: the summary is then an `ackclock.summaries.RecordedRun`."""
        return "recording" in self._origin

    @property
    def origin(self) -> str:
        """Short origin that distinguishes results: the seed, the kernel's release, or the kind of recording."""
        recording = self.recording
        if recording is not None:
            return _recorded(recording)
        kernel = self.kernel
        if kernel is None:
            return f"seed {self.summary['seed']}"
        return f"Linux {kernel['release']}{'' if kernel['valid'] else ', not valid'}"

    def flow(self, name: str) -> FlowSummary:
        """Return the summary of one flow.

        Raises:
            KeyError: If the flow is unknown; the message lists the known ones.
        """
        return _named(self.summary["flows"], name, "flow")

    def link(self, name: str) -> LinkSummary:
        """Return the summary of one link.

        Raises:
            KeyError: If the link is unknown; the message lists the known ones.
        """
        return _named(self.summary["links"], name, "link")

    def group(self, name: str) -> GroupSummary:
        """Return the summary of one group of short flows.

        Raises:
            KeyError: If the group is unknown; the message lists the known ones.
        """
        return _named(self.summary.get("groups", []), name, "group of short flows")

    def appliance(self, name: str) -> ApplianceSummary:
        """Return the summary of one appliance.

        Raises:
            KeyError: If the appliance is unknown; the message lists the known ones.
        """
        return _named(self.summary.get("appliances", []), name, "appliance")

    def datagrams(self, name: str) -> DatagramSummary:
        """Return the summary of one flow of datagrams.

        Raises:
            KeyError: If the flow is unknown; the message lists the known ones.
        """
        return _named(self.summary.get("datagrams", []), name, "flow of datagrams")

    def plot(self, series: "SeriesName" = "cwnd") -> "Figure":
        """Draw one panel of the results; `ackclock.plots.figure` draws several runs together.

        Args:
            series: Name of the panel, one of `ackclock.plots.SeriesName`, such as "cwnd", "goodput", "rtt" or "queue".

        Returns:
            A Matplotlib figure, which a notebook shows.

        Raises:
            KeyError: If the panel is unknown.
            ValueError: If the results have no such series.
        """
        return self._views.figure(self, series)

    def widget(self, *others: "Results", window_s: tuple[float, float] | None = None) -> "ReportWidget | Static":
        """Return the report's plots as a notebook widget; zooming in one plot zooms all of them.

        It works in Jupyter, Colab, VS Code and marimo (there in `mo.ui.anywidget`). Without the packages of
        `ackclock[notebook]`, the static view of the results is returned, with a hint to install them.

        Args:
            others: Further runs, drawn into the same plots.
            window_s: Beginning and end of the time shown, seconds; all of it by default.

        Returns:
            A widget, whose `window_s` is the time shown; or its static form.

        Raises:
            ValueError: If the window ends before it begins.
        """
        return self._views.widget([self, *others], window_s)

    def _repr_html_(self) -> str:
        """Return the HTML view for a notebook: facts, tables of flows and links, and plots of windows and queue."""
        return self._views.html(self, self._origin)

    def write_qlog(self, directory: str | Path) -> list[Path]:
        """Write the events as qlog: a file for each flow, appliance and link that has any.

        Args:
            directory: Existing folder; files of the same names are replaced.

        Returns:
            The files: `flow_NAME.sqlog`, `relay_NAME.sqlog` and, for links, `NAME.sqlog`.

        Raises:
            ValueError: If no events were kept, or the results were loaded from a folder, which has the table only.
            OSError: If a file cannot be written.
        """
        source = self._watched()
        named = files.capture_file_names(source.event_sources, ".sqlog")
        paths = {name: Path(directory) / file for name, file in named.items()}
        return [paths[name] for name in source.write_qlog({name: str(path) for name, path in paths.items()})]

    def write_perfetto(self, path: str | Path) -> Path:
        """Write the events as a Perfetto trace, which https://ui.perfetto.dev opens.

        Args:
            path: Destination; an existing file is replaced.

        Raises:
            ValueError: If no events were kept, or the results were loaded from a folder, which has the table only.
            OSError: If the file cannot be written.
        """
        self._watched().write_perfetto(str(path))
        return Path(path)

    def _watched(self) -> CaptureSource:
        if self._source is None:
            raise ValueError("results that were loaded hold events as a table only; write traces after the run")
        if not self._source.event_sources:
            raise ValueError('no events were kept; run the scenario with events="all", or name the ones you want')
        return self._source

    def save(self, directory: str | Path, *, force: bool = False, qlog: bool = False, perfetto: bool = False) -> Path:
        """Write a result folder atomically.

        Args:
            directory: Destination.
            force: Replace an existing result folder, unless it holds files that ackclock did not write.
            qlog: Also write the events of each flow, appliance and link as qlog; see `write_qlog`.
            perfetto: Also write the events as `trace.perfetto-trace`.

        Raises:
            ValueError: If traces are requested and there are no events.
            ackclock.base.storage.OutputExistsError: If the folder exists and `force` is not set, or it holds other
                things.
            OSError: If it cannot be written.
        """
        path = Path(directory)
        with storage.new_folder(path, force=force) as partial:
            self._write_summary(partial / files.SUMMARY)
            for name in get_args(TableName):
                table = getattr(self, name)
                if name in files.TABLES or (table.width if name == "events" else not table.is_empty()):
                    (partial / f"{name}.parquet").write_bytes(files.parquet(table))
            if qlog:
                self.write_qlog(partial)
            if perfetto:
                self.write_perfetto(partial / files.PERFETTO)
            sums = self._origin.get("written", {}).get("sha256", {})
            captures = files.write_captures(partial, self.captures, sums, self._source)
            (partial / storage.MANIFEST).write_bytes(files.json_bytes({**self.manifest, "captures": captures}))
        return path

    def _write_summary(self, file: Path) -> None:
        """Write the summary directly from the core if it was never loaded into Python."""
        if self._source is not None and "summary" not in self.__dict__:
            self._source.write_summary(str(file))
            return
        with file.open("w", encoding="utf-8", newline="\n") as out:
            out.writelines(files.ENCODER.iterencode(self.summary))
            out.write("\n")

    @classmethod
    def load(cls, directory: str | Path) -> "Results":
        """Read a result folder.

        Args:
            directory: Folder written by `save`, `ackclock run -o` or `ackclock-proxy record`.

        Raises:
            FileNotFoundError: If it is not a result folder; the message says what is missing.
            ackclock.base.checked_files.DamagedError: If a file in it is damaged or was replaced; a `ValueError` whose
                message names the file.
        """
        path = Path(directory)
        if (path / files.TRACE).is_file() and not (path / storage.MANIFEST).exists():
            return cls._views.recorded(path / files.TRACE, path.name)
        files.check_complete(path)
        manifest = files.manifest_of(path)
        summary, tables = files.summary_of(path, manifest), files.tables_of(path, manifest)
        files.check_names(path, summary, tables)
        captures = {link: inside(path, file, files.REMEDY) for link, file in manifest.get("captures", {}).items()}
        return _of_tables(summary, manifest, tables, captures)


def _of_tables(
    summary: RunSummary, manifest: Manifest, tables: Mapping[TableName, "pl.DataFrame"], captures: Mapping[str, Path]
) -> Results:
    return Results(lambda: summary, manifest, tables.__getitem__, captures)


def _named(entries: list[_Entry], name: str, kind: str) -> _Entry:
    for entry in entries:
        if entry["name"] == name:
            return entry
    raise KeyError(f"unknown {kind} {name!r}; known: {', '.join(entry['name'] for entry in entries)}")


_FORMS = {"trace": "trace", "capture": "capture", "sockets": "log of ss", "iperf3": "report of iperf3"}
"""Kinds of recordings, in words."""


def _recorded(recording: Recording) -> str:
    what = _FORMS.get(recording["form"], recording["form"])
    release = recording["release"]
    return f"{what} on Linux {release}" if release else what

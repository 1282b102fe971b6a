"""What `manifest.json` holds, key by key: the types of `Results.manifest` and `Results.engine`."""

from typing import Any, NotRequired, TypedDict


class Partition(TypedDict):
    """How the network was cut for the threads that were asked for."""

    parts: int
    """Into how many parts."""

    lookahead_s: float | None
    """How far a part may go ahead of another at least, seconds; None if they send each other nothing."""

    largest_share: float
    """What the part with most to do has of all the work, 0 to 1, by a rough estimate."""

    ties: list[str]
    """What keeps nodes together, in words."""

    threads: int
    """Threads that were asked for."""


class Engine(TypedDict):
    """What a run cost; it says nothing of the network."""

    events: int
    """Events handled."""

    packets_delivered: int
    """Data packets that have reached a receiver."""

    wall_s: float
    """Time that it took, seconds."""

    cpu_s: float
    """CPU time of all its threads, seconds."""

    packets_per_cpu_s: float | None
    """Packets delivered in a second of CPU time; None if there was no time to measure."""

    partition: Partition
    """How the network was cut."""


class Lateness(TypedDict):
    """How much later than due packets were handed to hosts, microseconds."""

    packets: int
    """Packets handed to hosts."""

    mean: float
    """The mean."""

    p50: float
    """The median."""

    p90: float
    """The 90th percentile."""

    p99: float
    """The 99th percentile."""

    p999: float
    """The 99.9th percentile."""

    max: float
    """The latest."""


class KernelRun(TypedDict):
    """What the machine did in a run on its kernel."""

    release: str
    """Of the kernel, as `uname -r` says."""

    valid: bool
    """False if the emulator was too late or lost packets: the run is then of another network than the scenario's."""

    reasons: list[str]
    """Why it is not valid."""

    load: NotRequired[float]
    """Of the machine over the last minute of the run: threads that run or wait for a processor."""

    p99_bound_us: float
    """The most that the 99th percentile of lateness may be, microseconds."""

    p999_bound_us: float
    """The most that the 99.9th percentile may be, microseconds."""

    late_us: Lateness
    """How late packets were."""

    real_time: bool
    """Whether the emulator ran before all ordinary threads of the machine."""

    emulator_cpu_share: float
    """CPU time of the emulator over the time of the run, with the kernel's work for the hosts that get packets."""

    packets_entered: int
    """Packets that hosts sent."""

    packets_delivered: int
    """Packets that came to hosts."""

    packets_under_way: int
    """Packets in the network when the run ended."""

    device_drops: int
    """Packets lost between hosts and the emulator, of which the scenario knows nothing."""

    foreign_packets: int
    """Packets that were nothing of the scenario's."""

    parameters: list[dict[str, str]]
    """Parameters of the kernel for the hosts that open connections, and for those that accept them."""

    wall_s: float
    """Time that the run took, seconds."""

    cpu_s: float
    """CPU time of all its threads, seconds."""


class Source(TypedDict):
    """A file that a recording was read from."""

    file: str
    """Its path, as it was given."""

    sha256: str
    """SHA-256 of the file, 64 hexadecimal digits."""


class Pair(TypedDict):
    """A connection through a proxy of which both sides were recorded."""

    name: str
    """The proxy's listener and a number."""

    near: list[str]
    """Flows of the client's side."""

    far: list[str]
    """Flows of the server's side."""


class Recording(TypedDict):
    """Where the results of a recording come from."""

    form: str
    """Of what was recorded: `trace`, `capture`, `sockets` (of `ss`) or `iperf3`."""

    by: NotRequired[str]
    """The command that made the folder."""

    sources: NotRequired[list[Source]]
    """The files that were read; none of a recording that left no other file."""

    command: NotRequired[list[str]]
    """The command whose connections were recorded."""

    exit_code: NotRequired[int]
    """How it ended."""

    release: str | None
    """Of the kernel, as `uname -r` says; None where it is not known."""

    began_unix_s: float | None
    """When the recording began, seconds since 1970; None where it is not known."""

    records: int
    """Records, packets or reports that were read."""

    missed: int | None
    """Of these, such as found no room and are not there; None where it is not known."""

    cpu_s: float | None
    """CPU time of the program that recorded, seconds."""

    tracepoints_cpu_s: float | None
    """CPU time of the programs at the kernel's tracepoints, seconds."""

    pairs: NotRequired[list[Pair]]
    """Of a proxy: which flows belong together."""

    notes: list[str]
    """What is not known, or was taken for granted, in words."""


class Versions(TypedDict):
    """What made the results."""

    ackclock: str
    """Version of the package."""

    python: str
    """Version of Python."""

    polars: NotRequired[str]
    """Version of Polars, which writes the tables."""


class ControllerSource(TypedDict):
    """The file of a controller or of other parts of one's own."""

    file: str
    """Its path."""

    sha256: str
    """SHA-256 of the file, 64 hexadecimal digits."""


class Written(TypedDict):
    """What a folder of results holds."""

    by: str
    """The command that wrote it."""

    files: list[str]
    """The files in it; with others a folder is not replaced."""

    sha256: NotRequired[dict[str, str]]
    """SHA-256 of each of them but the manifest, 64 hexadecimal digits; earlier versions did not write it."""

    manifest_sha256: NotRequired[str]
    """SHA-256 of what the manifest says besides this: its JSON with sorted keys and no spaces."""


class Manifest(TypedDict):
    """Where the numbers of a run come from: `manifest.json`."""

    scenario: dict[str, Any]
    """The scenario with its overrides, as `Scenario.to_json` writes it."""

    scenario_hash: str
    """SHA-256 of that, 64 hexadecimal digits."""

    seed: int
    """Seed of the run."""

    versions: Versions
    """Of what made the results."""

    engine: Engine
    """What the run cost."""

    kernel: NotRequired[KernelRun]
    """What the machine did; only of a run on its kernel."""

    drawn: NotRequired[dict[str, Any]]
    """The values that the seed drew, by their places; only if there are any."""

    controllers: NotRequired[dict[str, ControllerSource]]
    """The controllers written in Python, by `module:Class`; only if there are any."""

    parts: NotRequired[dict[str, ControllerSource]]
    """The files that the scenario's `use` names, by its entries; only if there are any."""

    recording: NotRequired[Recording]
    """Where the results come from; only of a recording, which has no scenario, no seed and no engine."""

    captures: NotRequired[dict[str, str]]
    """The pcapng file of each captured link; only in a folder."""

    written: NotRequired[Written]
    """By what command the folder was written; only in a folder."""


class RecordedManifest(TypedDict):
    """The manifest of a recording."""

    recording: Recording
    """Where the results come from."""

    versions: Versions
    """Of what made the folder."""

    captures: NotRequired[dict[str, str]]
    """No file."""

    written: NotRequired[Written]
    """By what command the folder was written."""

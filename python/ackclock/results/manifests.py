"""Types of `manifest.json`, key by key: `Results.manifest` and `Results.engine`."""

from typing import Any, NotRequired, TypedDict


class Partition(TypedDict):
    """Partition of the network among the requested threads."""

    parts: int
    """Number of parts."""

    lookahead_s: float | None
    """Lookahead: least time by which a part may run ahead of another, seconds; None if parts exchange no packets."""

    largest_share: float
    """Estimated share of the total work in the busiest part, 0 to 1."""

    ties: list[str]
    """Reasons why nodes had to stay in one part, in words."""

    threads: int
    """Threads requested."""


class Engine(TypedDict):
    """Cost of the run: counts, times and threads of the engine."""

    events: int
    """Events handled."""

    packets_delivered: int
    """Data packets that have reached a receiver."""

    wall_s: float
    """Wall time, seconds."""

    cpu_s: float
    """CPU time of all threads, seconds."""

    packets_per_cpu_s: float | None
    """Packets delivered per second of CPU time; None if the CPU time is too short to measure."""

    partition: Partition
    """Partition of the network among threads."""


class Lateness(TypedDict):
    """Distribution of lateness: how long after its due time a packet was handed to a host, microseconds."""

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
    """The maximum."""


class VirtualTime(TypedDict):
    """Kernel that ran in virtual time; see `ackclock linux list`."""

    version: str
    """Version of the kernel's sources."""

    sha256: str
    """Hash of the kernel."""


class KernelRun(TypedDict):
    """Run on a kernel: its quality, its counts and its cost."""

    release: str
    """Kernel release, as printed by `uname -r`."""

    valid: bool
    """False if the emulator was too late or lost packets, so that the run does not represent the scenario's network."""

    reasons: list[str]
    """Reasons why the run is not valid."""

    virtual_time: NotRequired[VirtualTime]
    """Kernel that ran in virtual time, whose seconds the times below are; absent for this machine's own kernel."""

    load: NotRequired[float]
    """Load average of the machine over the last minute of the run: threads that run or wait for a processor."""

    p99_bound_us: float
    """Bound on the 99th percentile of lateness, microseconds."""

    p999_bound_us: float
    """Bound on the 99.9th percentile of lateness, microseconds."""

    late_us: Lateness
    """Lateness of packets."""

    real_time: bool
    """True if the emulator ran with real-time priority, ahead of all ordinary threads."""

    emulator_cpu_share: float
    """CPU time of the emulator, including the kernel's work for receiving hosts, divided by the run's wall time."""

    packets_entered: int
    """Packets that hosts sent."""

    packets_delivered: int
    """Packets that reached hosts."""

    packets_under_way: int
    """Packets still in the network when the run ended."""

    device_drops: int
    """Packets lost between hosts and emulator; the scenario does not model these losses."""

    foreign_packets: int
    """Packets that do not belong to the scenario."""

    parameters: list[dict[str, str]]
    """Kernel parameters of the hosts that open connections, and of those that accept them."""

    absent_parameters: NotRequired[list[str]]
    """Parameters of the scenario's hosts that this kernel does not have; they are left out."""

    wall_s: float
    """Wall time, seconds."""

    cpu_s: float
    """CPU time of all threads, seconds."""


class Source(TypedDict):
    """File that a recording was read from."""

    file: str
    """Path, as given."""

    sha256: str
    """SHA-256 of the file, 64 hexadecimal digits."""


class Pair(TypedDict):
    """Proxied connection of which both sides were recorded."""

    name: str
    """Name: the proxy's listener and a number."""

    near: list[str]
    """Flows on the client's side."""

    far: list[str]
    """Flows on the server's side."""


class Recording(TypedDict):
    """Provenance of the results of a recording."""

    form: str
    """Kind of recording: `trace`, `capture`, `sockets` (of `ss`) or `iperf3`."""

    by: NotRequired[str]
    """Command that made the folder."""

    sources: NotRequired[list[Source]]
    """Files that were read; absent if the recording left no other file."""

    command: NotRequired[list[str]]
    """Command whose connections were recorded."""

    exit_code: NotRequired[int]
    """Exit code of that command."""

    release: str | None
    """Kernel release, as printed by `uname -r`; None if unknown."""

    began_unix_s: float | None
    """Start of the recording, seconds since 1970; None if unknown."""

    records: int
    """Records, packets or reports that were read."""

    missed: int | None
    """Records lost because there was no room for them; None if unknown."""

    cpu_s: float | None
    """CPU time of the recording program, seconds."""

    tracepoints_cpu_s: float | None
    """CPU time of the programs attached to kernel tracepoints, seconds."""

    pairs: NotRequired[list[Pair]]
    """Pairs of flows that a proxy connects; only in a recording of a proxy."""

    notes: list[str]
    """Unknowns and assumptions, in words."""


class Versions(TypedDict):
    """Versions of the software that made the results."""

    ackclock: str
    """Version of the package."""

    python: str
    """Version of Python."""

    polars: NotRequired[str]
    """Version of Polars, which writes the tables."""


class ControllerSource(TypedDict):
    """Source file of a user-written controller or other part."""

    file: str
    """Path of the file."""

    sha256: str
    """SHA-256 of the file, 64 hexadecimal digits."""


class Written(TypedDict):
    """Files of a result folder, with their checksums."""

    by: str
    """Command that wrote the folder."""

    files: list[str]
    """Files in the folder; a folder with any other file is never replaced."""

    sha256: NotRequired[dict[str, str]]
    """SHA-256 of each file except the manifest, 64 hexadecimal digits; absent in earlier versions."""

    manifest_sha256: NotRequired[str]
    """SHA-256 of the rest of the manifest: its JSON with sorted keys and no spaces."""


class Manifest(TypedDict):
    """Provenance of a run's numbers: `manifest.json`."""

    scenario: dict[str, Any]
    """Scenario with its overrides, as written by `Scenario.to_json`."""

    scenario_hash: str
    """SHA-256 of the scenario, 64 hexadecimal digits."""

    seed: int
    """Seed of the run."""

    versions: Versions
    """Versions of the software that made the results."""

    engine: Engine
    """Cost of the run."""

    kernel: NotRequired[KernelRun]
    """Quality and cost of a run on the kernel; absent for simulations."""

    drawn: NotRequired[dict[str, Any]]
    """Values drawn by the seed, by their places in the scenario; absent if none were drawn."""

    controllers: NotRequired[dict[str, ControllerSource]]
    """Controllers written in Python, by `module:Class`; absent if there are none."""

    parts: NotRequired[dict[str, ControllerSource]]
    """Files of the scenario's `use` entries; absent if there are none."""

    recording: NotRequired[Recording]
    """Provenance of a recording, which has neither scenario, seed nor engine; absent for runs."""

    captures: NotRequired[dict[str, str]]
    """pcapng file of each captured link; only in a folder."""

    written: NotRequired[Written]
    """Files of the folder and the command that wrote it; only in a folder."""


class RecordedManifest(TypedDict):
    """The manifest of a recording."""

    recording: Recording
    """Provenance of the recording."""

    versions: Versions
    """Versions of the software that made the folder."""

    captures: NotRequired[dict[str, str]]
    """Always empty."""

    written: NotRequired[Written]
    """Files of the folder and the command that wrote it."""

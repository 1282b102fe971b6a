"""Types of `summary.json`, key by key: `Results.summary` and its entries.

Units are in the names: `_s`, `_ms`, `_bytes`, `_bps`. None stands for null: the value does not exist.
"""

from typing import NotRequired, TypedDict


class Distribution(TypedDict):
    """Summary of a distribution, in the unit of its key; values are exact below 128 and within 1 % above."""

    min: float
    """Minimum."""

    mean: float
    """Mean."""

    p50: float
    """Median."""

    p95: float
    """95th percentile."""

    p99: float
    """99th percentile."""


class QueueSummary(TypedDict):
    """Summary of a time-weighted level, in the unit of its key."""

    mean: float
    """Mean."""

    p95: float
    """95th percentile."""

    max: float
    """Maximum."""


class ExchangeSummary(TypedDict):
    """Requests that a flow made within the measurement window."""

    completed: int
    """Requests answered before the run ended."""

    mean_bytes: float | None
    """Mean payload of answered requests in bytes, request and response together; None without any."""

    time_ms: Distribution | None
    """Time from the request to the last byte of the response, milliseconds; None without any."""

    slowdown: Distribution | None
    """Slowdown: response time divided by that on an idle path; None without any."""


class VideoSummary(TypedDict):
    """Video playback as the viewer saw it, over the whole run."""

    segments: int
    """Segments downloaded."""

    mean_bitrate_bps: float | None
    """Mean bitrate of downloaded segments, bits per second; None without any."""

    switches: int
    """Bitrate switches between consecutive segments."""

    startup_s: float | None
    """Startup delay: time from the first request to the beginning of playback, seconds; None if it never began."""

    rebufferings: int
    """Stalls: number of times that playback stopped because the buffer was empty."""

    rebuffering_s: float
    """Total time of stalls, startup excluded, seconds."""

    rebuffering_ratio: float | None
    """Share of stalls in the time from the beginning of playback to the end of the video; None if it never began."""


class LimitShares(TypedDict):
    """Shares of a connection's time, 0 to 1, by the reason that kept its sender from sending more.

    The shares add up to 1, except for `busy`, which overlaps the others. Time counts from the end of the handshake
    until the FIN is acknowledged or the connection fails. Linux sockets report only `rwnd`, `send_buffer` and `busy`.
    """

    cwnd: float | None
    """The congestion window was full; None for a Linux socket."""

    rwnd: float
    """The receiver's window was full (Linux's `rwnd_limited`)."""

    send_buffer: float
    """The send buffer was full of data already sent (Linux's `sndbuf_limited`)."""

    application: float | None
    """The application had nothing more to send; None for a Linux socket."""

    pacing: float | None
    """Pacing delayed the next segment; None for a Linux socket."""

    host: float | None
    """Enough data was queued in the host itself; None for a Linux socket."""

    busy: float
    """Data was outstanding or waiting to be sent (Linux's `busy_time`)."""


class WindowCounts(TypedDict):
    """Counters of a flow's sender within the scenario's measurement window."""

    sent_segments: int
    """Data segments sent, retransmissions included."""

    retransmitted_segments: int
    """Data segments retransmitted."""

    lost_segments: int
    """Segments that the sender declared lost."""

    timeouts: int
    """Retransmission timeouts, including those of the sender's SYN or SYN-ACK."""

    fast_recoveries: int
    """Entries into fast recovery (Tahoe: fast retransmits)."""

    limited_by: NotRequired[LimitShares | None]
    """Limits of the sender; None for QUIC, and if the connection was not open in the window. Absent in 0.2.0."""


class FlowSummary(TypedDict):
    """One flow: rates and times over the measurement window, counts over the whole run."""

    name: str
    """Name, as in the scenario."""

    controller: str
    """Congestion control, as in the scenario."""

    profile: str
    """Stack profile of the sender."""

    start_s: float
    """Time when the connection was opened, seconds."""

    completion_s: float | None
    """Time when the receiving application had all data, seconds; None if it did not, or if the flow has no end."""

    goodput_bps: float
    """Payload that the receiver read in order, divided by the time from start to completion, bits per second."""

    throughput_bps: float
    """Payload sent, retransmissions included, divided by the same time, bits per second."""

    delivered_bytes: int
    """Payload delivered in order to the receiving application, bytes."""

    sent_segments: int
    """Data segments sent, retransmissions included."""

    retransmitted_segments: int
    """Data segments retransmitted."""

    lost_segments: int
    """Segments that the sender declared lost."""

    timeouts: int
    """Retransmission timeouts, including those of the sender's SYN or SYN-ACK."""

    fast_recoveries: int
    """Entries into fast recovery (Tahoe: fast retransmits)."""

    aborted: bool
    """True if the connection was reset, or gave up after too many timeouts."""

    window: NotRequired[WindowCounts]
    """Counters within the measurement window; only in simulated scenarios that have one."""

    limited_by: NotRequired[LimitShares | None]
    """Limits of the sender over the connection's life; None for QUIC, and if it was never open. Absent in 0.2.0."""

    rtt_ms: Distribution | None
    """RTT samples, milliseconds; None without any."""

    exchanges: NotRequired[ExchangeSummary]
    """Requests of the applications that make them: `request_response` and `video`."""

    video: NotRequired[VideoSummary]
    """Playback of the application `video`; absent for others."""


class LinkSummary(TypedDict):
    """One link over the measurement window."""

    name: str
    """Name, as in the scenario, or `A->B`."""

    utilization: float
    """Fraction of the window in which the link was sending, 0 to 1; with a varying rate, of the capacity in it."""

    delivered_packets: int
    """Packets delivered at the far end."""

    drops: int
    """Packets dropped by the queue, or by a discarder before it."""

    marks: int
    """Packets marked with CE."""

    losses: int
    """Packets lost on the link after transmission."""

    duplicates: int
    """Packets that the link delivered twice."""

    reordered: int
    """Packets reordered: delivered after one that was sent later (RFC 4737)."""

    queue_packets: QueueSummary
    """Queue length in packets, time-weighted."""

    queueing_delay_ms: QueueSummary
    """Queueing delay of each packet, milliseconds."""


class SizeBucket(TypedDict):
    """Completed short flows of one size class."""

    above_bytes: int
    """Lower end of the size class, exclusive, bytes."""

    up_to_bytes: int | None
    """Upper end of the size class, inclusive, bytes; None for the last class."""

    completed: int
    """Number of flows."""

    fct_ms: Distribution | None
    """Flow completion time, milliseconds; None without any."""

    slowdown: Distribution | None
    """Slowdown: completion time divided by that on an idle path; None without any."""


class GroupSummary(TypedDict):
    """Group of short flows: those that began within the measurement window."""

    name: str
    """Name, as in the scenario."""

    controller: str
    """Congestion control, as in the scenario."""

    profile: str
    """Stack profile of the senders."""

    started: int
    """Flows started."""

    completed: int
    """Started flows whose last byte was read before the run ended."""

    aborted: int
    """Flows reset or given up, over the whole run."""

    max_concurrent: int
    """Maximum number of concurrent flows, over the whole run."""

    retransmitted_segments: int
    """Data segments retransmitted, over the whole run."""

    timeouts: int
    """Retransmission timeouts, over the whole run."""

    mean_bytes: float | None
    """Mean payload of completed flows in bytes, both directions together; None without any."""

    fct_ms: Distribution | None
    """Flow completion time, from the SYN to the last byte read, milliseconds; None without any."""

    slowdown: Distribution | None
    """Slowdown: completion time divided by that on an idle path; None without any."""

    buckets: list[SizeBucket]
    """Completions by size class; empty unless the scenario asks for it."""


class MediaSummary(TypedDict):
    """Interactive media; frame counts cover those produced within the measurement window."""

    controller: str
    """Name of the controller that sets the rate."""

    target_bps: float
    """Mean rate that the controller requested, bits per second."""

    frames: int
    """Frames produced by the encoder."""

    frames_received: int
    """Produced frames that arrived whole before the run ended."""

    frames_discarded: int
    """Frames of which the sender discarded packets, over the whole run."""

    frame_delay_ms: Distribution | None
    """Delay from the encoder to the arrival of a frame's last packet, milliseconds; None if no frame arrived."""

    queue_ms: Distribution | None
    """Queueing delay of packets at the sender, milliseconds; None if no packet left."""

    reports: int
    """Reports that the receiver sent, over the whole run."""

    reports_bps: float
    """Payload rate of reports sent before the flow's `until`, bits per second."""


class DatagramSummary(TypedDict):
    """Flow of datagrams: those sent within the measurement window."""

    name: str
    """Name, as in the scenario."""

    sent: int
    """Datagrams sent."""

    received: int
    """Datagrams that arrived before the run ended, each counted once."""

    lost: int
    """Datagrams that did not arrive although a later one did."""

    out_of_order: int
    """Datagrams that arrived after a later one; of duplicates, the first arrival counts."""

    duplicates: int
    """Duplicate arrivals."""

    marked: int
    """Datagrams that arrived marked with CE."""

    sent_bps: float
    """Payload sent, bits per second."""

    goodput_bps: float
    """Payload received, bits per second."""

    one_way_delay_ms: Distribution | None
    """One-way delay, milliseconds; None if no datagram arrived."""

    jitter_ms: float | None
    """Interarrival jitter at the end of the run, milliseconds (RFC 3550 section 6.4.1); None below two arrivals."""

    media: NotRequired[MediaSummary]
    """Statistics of interactive media; absent for other datagrams."""


class ShortFlowCounts(TypedDict):
    """The short flows of a group at an appliance, over the whole run."""

    started: int
    """Flows started."""

    reset: int
    """Started flows with a failed connection."""


class BlockingSummary(TypedDict):
    """Head-of-line blocking at a receiver: time spent waiting for lost data, over the measurement window."""

    episodes: int
    """Gaps that were filled."""

    total_s: float
    """Total time with a gap, seconds; only the part within the window counts."""

    duration_ms: Distribution | None
    """Duration of each filled gap, milliseconds; None without any."""


class DirectionSummary(TypedDict):
    """One direction of a flow at an appliance, or of all short flows of a group together."""

    arrived_bytes: int
    """Payload that arrived in order, over the whole run, bytes."""

    acknowledged_bytes: int
    """Payload that the other side acknowledged, over the whole run, bytes."""

    added_latency_ms: Distribution | None
    """Delay from a byte's arrival to its first transmission, byte-weighted, milliseconds; None if nothing was sent."""

    backlog_bytes: QueueSummary
    """Payload that arrived and was not yet forwarded, time-weighted, bytes."""

    in_socket_bytes: QueueSummary
    """Payload that arrived and was not yet acknowledged by the other side, time-weighted, bytes."""

    ece_raised: int
    """Congestion signals (ECE) to the sender."""

    sent_segments: int
    """Segments forwarded, retransmissions included."""

    retransmitted_segments: int
    """Segments retransmitted."""

    timeouts: int
    """Retransmission timeouts of the forwarding end."""

    fast_recoveries: int
    """Entries into fast recovery of the forwarding end."""

    blocking: BlockingSummary | None
    """Head-of-line blocking at the next receiver; None if that is another appliance, or for a group."""


class SplitSummary(TypedDict):
    """One flow at an appliance, or all short flows of a group."""

    flow: str
    """Name of the flow or the group."""

    short_flows: NotRequired[ShortFlowCounts]
    """Counts of short flows; absent for single flows."""

    near_controller: str
    """Congestion control towards the end that opened the flow."""

    far_controller: str
    """Congestion control towards the end that accepted it."""

    reset: bool
    """True if one end failed and the other was reset; for a group, if this happened to any of its flows."""

    forward: DirectionSummary
    """Direction from the opener to the acceptor."""

    backward: DirectionSummary | None
    """Reverse direction; None if it carried nothing."""


class ApplianceSummary(TypedDict):
    """One appliance."""

    name: str
    """Name, as in the scenario."""

    added_latency_ms: Distribution | None
    """Delay that the appliance adds in the forward direction, over all flows together, byte-weighted, milliseconds.

    Short flows are excluded. None if nothing was forwarded.
    """

    flows: list[SplitSummary]
    """Flows through the appliance, in the scenario's order, followed by groups of short flows, one entry each."""


class RunSummary(TypedDict):
    """Summary of a run: `summary.json`. Lists are in the scenario's order; optional ones are absent if empty."""

    scenario: str
    """Name of the scenario."""

    seed: int
    """Seed of the run."""

    duration_s: float
    """Simulated time, seconds."""

    measure_s: NotRequired[list[float]]
    """Beginning and end of the measurement window, seconds; absent if the scenario has none."""

    jain_index: float | None
    """Jain's index of the goodputs of flows active in the window, each over its own time there.

    Both directions of a connection count together; None if all are zero.
    """

    flows: list[FlowSummary]
    """Long flows."""

    links: list[LinkSummary]
    """Links."""

    appliances: NotRequired[list[ApplianceSummary]]
    """Appliances."""

    groups: NotRequired[list[GroupSummary]]
    """Groups of short flows."""

    datagrams: NotRequired[list[DatagramSummary]]
    """Flows of datagrams."""


class RecordedFlow(TypedDict):
    """One sender of a recorded connection, in place of `FlowSummary`; None stands for values not recorded."""

    name: str
    """Addresses and ports, from the sender to the receiver."""

    controller: str | None
    """Congestion control of the sender."""

    start_s: float
    """Time when the connection began or was first seen, seconds since the recording began."""

    completion_s: float | None
    """Time when the connection ended, seconds."""

    goodput_bps: float | None
    """Payload acknowledged, or received if the receiver was recorded, divided by its time, bits per second."""

    throughput_bps: float | None
    """Payload sent, retransmissions included, bits per second."""

    delivered_bytes: int | None
    """Payload acknowledged or received, as in `goodput_bps`, bytes."""

    sent_segments: int | None
    """Data segments sent, retransmissions included."""

    retransmitted_segments: int | None
    """Data segments retransmitted."""

    lost_segments: int | None
    """Segments that the sender declared lost."""

    timeouts: int | None
    """Retransmission timeouts."""

    fast_recoveries: int | None
    """Entries into fast recovery."""

    aborted: bool
    """Always false."""

    limited_by: NotRequired[LimitShares | None]
    """Limits of the sender between the first and the last sample of its socket. Absent in 0.2.0."""

    rtt_ms: Distribution | None
    """RTT samples, milliseconds."""


class RecordedRun(TypedDict):
    """Summary of a recording: `summary.json`, in place of `RunSummary`."""

    scenario: str
    """Name of the recording."""

    seed: int | None
    """Always None: a recording has no seed."""

    duration_s: float
    """Duration of the recording, seconds."""

    jain_index: float | None
    """Jain's index of the flows' goodputs; None if one of them is unknown."""

    flows: list[RecordedFlow]
    """Recorded flows."""

    links: list[LinkSummary]
    """Always empty: a recording of connections shows no link."""

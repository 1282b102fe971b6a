"""What `summary.json` holds, key by key: the types of `Results.summary` and of its entries.

Units are in the names, as everywhere: `_s`, `_ms`, `_bytes`, `_bps`. None stands for null: there is no such value.
"""

from typing import NotRequired, TypedDict


class Distribution(TypedDict):
    """A distribution in short, in the unit of the key that it is the value of; exact below 128, within 1 % above."""

    min: float
    """Least value."""

    mean: float
    """Mean."""

    p50: float
    """Median."""

    p95: float
    """95th percentile."""

    p99: float
    """99th percentile."""


class QueueSummary(TypedDict):
    """A level in short, in the unit of the key that it is the value of."""

    mean: float
    """Mean."""

    p95: float
    """95th percentile."""

    max: float
    """Largest value."""


class ExchangeSummary(TypedDict):
    """The requests that a flow made within the measurement window."""

    completed: int
    """How many were answered before the run ended."""

    mean_bytes: float | None
    """Mean payload of these in bytes, request and response; None without any."""

    time_ms: Distribution | None
    """From the request to the last byte of the response, milliseconds; None without any."""

    slowdown: Distribution | None
    """That time over what it is on an empty path; None without any."""


class VideoSummary(TypedDict):
    """What the viewer of a video saw, over the whole run."""

    segments: int
    """Segments downloaded."""

    mean_bitrate_bps: float | None
    """Mean bitrate of these, bits per second; None without any."""

    switches: int
    """Times that a segment had another bitrate than the one before."""

    startup_s: float | None
    """From the first request to the beginning of playback, seconds; None if it never began."""

    rebufferings: int
    """Times that playback stopped because the buffer was empty."""

    rebuffering_s: float
    """How long it stood still in all, the startup left out, seconds."""

    rebuffering_ratio: float | None
    """That over the time from the beginning of playback to the end of the video, 0 to 1; None if it never began."""


class LimitShares(TypedDict):
    """Shares of a connection's time, 0 to 1, by what kept its sender from sending more.

    They add up to 1, but for `busy`, which is one of its own. Time counts from the end of the handshake until the FIN
    is acknowledged or the connection fails. Linux's sockets tell `rwnd`, `send_buffer` and `busy` alone.
    """

    cwnd: float | None
    """The congestion window was full; None of a socket of Linux."""

    rwnd: float
    """The receiver's window was full (Linux's `rwnd_limited`)."""

    send_buffer: float
    """The send buffer was full of data that had left (Linux's `sndbuf_limited`)."""

    application: float | None
    """The application had nothing more to send; None of a socket of Linux."""

    pacing: float | None
    """The pacer's time had not come; None of a socket of Linux."""

    host: float | None
    """Enough waited at the host itself; None of a socket of Linux."""

    busy: float
    """Something was outstanding or waited to be sent (Linux's `busy_time`)."""


class WindowCounts(TypedDict):
    """What a flow's sender counted within the scenario's measurement window."""

    sent_segments: int
    """Data segments sent, retransmissions included."""

    retransmitted_segments: int
    """Data segments sent again."""

    lost_segments: int
    """Segments that the sender took for lost."""

    timeouts: int
    """Expiries of the retransmission timer, those of the sender's SYN or SYN-ACK included."""

    fast_recoveries: int
    """Times that fast recovery (Tahoe: fast retransmit) began."""

    limited_by: NotRequired[LimitShares | None]
    """The sender's limits; None of QUIC, and of a connection that was not open in the window. Not in 0.2.0."""


class FlowSummary(TypedDict):
    """One flow: rates and times over the measurement window, counts over the whole run."""

    name: str
    """As in the scenario."""

    controller: str
    """Congestion control, as in the scenario."""

    profile: str
    """Stack profile of the sending end."""

    start_s: float
    """When the connection was opened, seconds."""

    completion_s: float | None
    """When the receiving application had everything, seconds; None if it has not, or if there is no end."""

    goodput_bps: float
    """Payload that the receiving application read in order, from its start to its completion, bits per second."""

    throughput_bps: float
    """Payload sent, retransmissions included, over the same time, bits per second."""

    delivered_bytes: int
    """Payload that the receiving application got in order, bytes."""

    sent_segments: int
    """Data segments sent, retransmissions included."""

    retransmitted_segments: int
    """Data segments sent again."""

    lost_segments: int
    """Segments that the sender took for lost."""

    timeouts: int
    """Expiries of the retransmission timer, those of the sender's SYN or SYN-ACK included."""

    fast_recoveries: int
    """Times that fast recovery (Tahoe: fast retransmit) began."""

    aborted: bool
    """True if the connection was given up after too many timeouts, or was reset."""

    window: NotRequired[WindowCounts]
    """Counts within the measurement window; only of a simulated scenario that has one."""

    limited_by: NotRequired[LimitShares | None]
    """The sender's limits over its life; None of QUIC, and if it never was open. Not in 0.2.0."""

    rtt_ms: Distribution | None
    """RTT samples, milliseconds; None without any."""

    exchanges: NotRequired[ExchangeSummary]
    """Only of applications that make requests: `request_response` and `video`."""

    video: NotRequired[VideoSummary]
    """Only of `video`."""


class LinkSummary(TypedDict):
    """One link over the measurement window."""

    name: str
    """As in the scenario, or `A->B`."""

    utilization: float
    """Fraction of the window in which the link was sending, 0 to 1; where its rate changes, of what it could send."""

    delivered_packets: int
    """Packets that came out at the far end."""

    drops: int
    """Packets dropped by the queue or a discarder before it."""

    marks: int
    """Packets marked with CE."""

    losses: int
    """Packets that the link lost after it had sent them."""

    duplicates: int
    """Packets that the link delivered twice."""

    reordered: int
    """Packets that came out after one that was sent later (RFC 4737)."""

    queue_packets: QueueSummary
    """Packets waiting, weighted by time."""

    queueing_delay_ms: QueueSummary
    """Wait of each packet before its service, milliseconds."""


class SizeBucket(TypedDict):
    """The completed short flows of one class of sizes."""

    above_bytes: int
    """Larger than this, bytes."""

    up_to_bytes: int | None
    """And no larger than this, bytes; None for the last class."""

    completed: int
    """How many there are."""

    fct_ms: Distribution | None
    """Flow completion time, milliseconds; None without any."""

    slowdown: Distribution | None
    """That time over what it is on an empty path; None without any."""


class GroupSummary(TypedDict):
    """A group of short flows: those that began within the measurement window."""

    name: str
    """As in the scenario."""

    controller: str
    """Congestion control, as in the scenario."""

    profile: str
    """Stack profile of the sending ends."""

    started: int
    """Flows that began."""

    completed: int
    """Of these, those whose last byte was read before the run ended."""

    aborted: int
    """Given up or reset, over the whole run."""

    max_concurrent: int
    """Most that there were at once, over the whole run."""

    retransmitted_segments: int
    """Data segments sent again, over the whole run."""

    timeouts: int
    """Expiries of the retransmission timer, over the whole run."""

    mean_bytes: float | None
    """Mean payload of those completed in bytes, both ways; None without any."""

    fct_ms: Distribution | None
    """Flow completion time, from the SYN to the last byte read, milliseconds; None without any."""

    slowdown: Distribution | None
    """That time over what it is on an empty path; None without any."""

    buckets: list[SizeBucket]
    """The same by size; empty unless the scenario asks for it."""


class MediaSummary(TypedDict):
    """Interactive media; of frames, those that were made within the measurement window."""

    controller: str
    """What sets the rate."""

    target_bps: float
    """The mean rate that the controller asked for, bits per second."""

    frames: int
    """Frames that the encoder made."""

    frames_received: int
    """Of these, those that arrived whole before the run ended."""

    frames_discarded: int
    """Frames of which packets were thrown away at the sender, over the whole run."""

    frame_delay_ms: Distribution | None
    """From the encoder to the arrival of the last packet, milliseconds; None if no frame arrived."""

    queue_ms: Distribution | None
    """How long packets waited at the sender, milliseconds; None if none left."""

    reports: int
    """Reports that the receiver sent, over the whole run."""

    reports_bps: float
    """Payload of those that left before the flow's `until`, over its time, bits per second."""


class DatagramSummary(TypedDict):
    """A flow of datagrams: those that left within the measurement window."""

    name: str
    """As in the scenario."""

    sent: int
    """Datagrams that left."""

    received: int
    """Datagrams that arrived before the run ended, each counted once."""

    lost: int
    """Datagrams that did not arrive though a later one did."""

    out_of_order: int
    """Datagrams that arrived after a later one; of copies, the first counts."""

    duplicates: int
    """Further arrivals of datagrams that had arrived."""

    marked: int
    """Datagrams that arrived with CE."""

    sent_bps: float
    """Payload sent, bits per second."""

    goodput_bps: float
    """Payload that arrived, bits per second."""

    one_way_delay_ms: Distribution | None
    """From the sender to the receiver, milliseconds; None if none arrived."""

    jitter_ms: float | None
    """Interarrival jitter at the end, milliseconds (RFC 3550 section 6.4.1); None with fewer than two arrivals."""

    media: NotRequired[MediaSummary]
    """Of interactive media only."""


class ShortFlowCounts(TypedDict):
    """The short flows of a group at an appliance, over the whole run."""

    started: int
    """Flows that began."""

    reset: int
    """Of these, those of which a connection failed."""


class BlockingSummary(TypedDict):
    """How long a receiver waited for what had been lost (head-of-line blocking), over the measurement window."""

    episodes: int
    """Holes that were filled."""

    total_s: float
    """How long there was a hole in all, seconds; of holes that reach beyond the window, what lies within."""

    duration_ms: Distribution | None
    """How long each of the holes that were filled had lasted, milliseconds; None without any."""


class DirectionSummary(TypedDict):
    """One direction of a flow at an appliance, or of all short flows of a group together."""

    arrived_bytes: int
    """Payload that arrived in order over the whole run, bytes."""

    acknowledged_bytes: int
    """Payload that the other side has acknowledged over the whole run, bytes."""

    added_latency_ms: Distribution | None
    """From a byte's arrival to when it was first sent on, weighted by bytes, milliseconds; None if nothing was."""

    backlog_bytes: QueueSummary
    """Arrived and not sent on, weighted by time, bytes."""

    in_socket_bytes: QueueSummary
    """Arrived and not acknowledged by the other side, weighted by time, bytes."""

    ece_raised: int
    """Times that the sender was told of congestion."""

    sent_segments: int
    """Segments sent on, retransmissions included."""

    retransmitted_segments: int
    """Segments sent on again."""

    timeouts: int
    """Expiries of the retransmission timer of the end that sends on."""

    fast_recoveries: int
    """Times that fast recovery began there."""

    blocking: BlockingSummary | None
    """What the receiver beyond held out of order; None where another appliance receives, and of a group."""


class SplitSummary(TypedDict):
    """One flow at an appliance, or all short flows of a group."""

    flow: str
    """Name of the flow or the group."""

    short_flows: NotRequired[ShortFlowCounts]
    """Only of a group."""

    near_controller: str
    """Congestion control towards the flow's opener."""

    far_controller: str
    """Congestion control towards its acceptor."""

    reset: bool
    """True if one end failed and the other was reset; of a group, if any flow's did."""

    forward: DirectionSummary
    """From the opener to the acceptor."""

    backward: DirectionSummary | None
    """Back; None if nothing came."""


class ApplianceSummary(TypedDict):
    """One appliance."""

    name: str
    """As in the scenario."""

    added_latency_ms: Distribution | None
    """Of all flows of the scenario's own list together, on the way forward, weighted by bytes, milliseconds; None if
    nothing was sent on."""

    flows: list[SplitSummary]
    """The flows that it took, in the scenario's order; then the groups of short flows, each as one."""


class RunSummary(TypedDict):
    """A run: `summary.json`. Lists are in the scenario's order; the optional ones are there if there is anything."""

    scenario: str
    """Name of the scenario."""

    seed: int
    """Seed of the run."""

    duration_s: float
    """Simulated time, seconds."""

    measure_s: NotRequired[list[float]]
    """Where the scenario's measurement window begins and ends, seconds; only where it has one."""

    jain_index: float | None
    """Jain's index of the goodputs of the flows under way in the window, each over its own time there.

    Both ways of a connection count together; None when all are zero.
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
    """What one end of a recorded connection sent, in place of `FlowSummary`: None stands for what was not recorded."""

    name: str
    """Addresses and ports, from the sender to the receiver."""

    controller: str | None
    """Congestion control of the sender."""

    start_s: float
    """When it began, or was first seen, seconds since the recording began."""

    completion_s: float | None
    """When it was over, seconds."""

    goodput_bps: float | None
    """Payload that was acknowledged, or received where the receiver was recorded, over its time, bits per second."""

    throughput_bps: float | None
    """Payload sent, retransmissions included, bits per second."""

    delivered_bytes: int | None
    """That payload, bytes."""

    sent_segments: int | None
    """Data segments sent, retransmissions included."""

    retransmitted_segments: int | None
    """Data segments sent again."""

    lost_segments: int | None
    """Segments that the sender took for lost."""

    timeouts: int | None
    """Expiries of the retransmission timer."""

    fast_recoveries: int | None
    """Times that fast recovery began."""

    aborted: bool
    """False."""

    limited_by: NotRequired[LimitShares | None]
    """The sender's limits between the first and the last sample of its socket. Not in 0.2.0."""

    rtt_ms: Distribution | None
    """RTT samples, milliseconds."""


class RecordedRun(TypedDict):
    """What `summary.json` of a recording holds, in place of `RunSummary`."""

    scenario: str
    """Name of the recording."""

    seed: int | None
    """None: there is none."""

    duration_s: float
    """How long was recorded, seconds."""

    jain_index: float | None
    """Jain's fairness index of the flows' goodputs; None where one of these is not known."""

    flows: list[RecordedFlow]
    """What was sent."""

    links: list[LinkSummary]
    """None: a recording of connections shows no link."""

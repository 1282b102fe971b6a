"""The compiled core: scenarios are checked and simulated here."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Literal, Self, final

import numpy as np
from numpy.typing import NDArray
from typing_extensions import disjoint_base

from ackclock.scenario.diagnostics import Diagnostic

__all__ = [
    "AckEvent",
    "CongestionEvent",
    "ControllerState",
    "DeliveryReport",
    "Endpoint",
    "Environment",
    "Fate",
    "KernelControllers",
    "LinkStart",
    "LiveFlow",
    "Outcome",
    "OwnPart",
    "Packet",
    "QueueState",
    "RateSample",
    "RestartEvent",
    "Scenario",
    "ScenarioError",
    "SegmentReport",
    "SendEvent",
    "Simulation",
    "SourceStart",
    "Start",
    "Supply",
    "Table",
    "Values",
    "VectorEnvironment",
    "WindowAndRate",
    "agents",
    "buffer_policies",
    "build_info",
    "check_often",
    "code_of",
    "controllers",
    "exercise_agent",
    "line_rates",
    "links",
    "mean_window",
    "meant",
    "policy_file",
    "policy_module",
    "profiles",
    "quantised_policy",
    "queues",
    "read_file",
    "schema",
    "take_fault",
    "topologies",
    "traffic",
    "window_of_memory",
]

class ScenarioError(ValueError):
    """A scenario is wrong; the message lists every mistake with file, line, value and remedy."""

    diagnostics: list[Diagnostic]
    """Its mistakes, in the order of the text; never empty."""

    has_more: bool
    """True if there are more mistakes than these."""

@final
class Start:
    """The initial values of a controller: the first argument of its constructor.

    Args:
        mss_bytes: Payload of a full segment, bytes.
        initial_window_bytes: Initial window, bytes.
        initial_ssthresh_bytes: Initial slow-start threshold, bytes; None is arbitrarily high.
        seed: Seed of the controller's random numbers, 0 to 2^64 - 1.

    Raises:
        ValueError: If a number is negative, or 2^64 or more.
    """
    def __new__(
        cls, *, mss_bytes: int, initial_window_bytes: int, initial_ssthresh_bytes: int | None = None, seed: int = 0
    ) -> Start: ...
    @property
    def mss_bytes(self) -> int:
        """Payload of a full segment, in bytes, as negotiated."""
    @property
    def initial_window_bytes(self) -> int:
        """The initial window, in bytes (RFC 6928)."""
    @property
    def initial_ssthresh_bytes(self) -> int | None:
        """The initial slow-start threshold, in bytes; None is arbitrarily high (RFC 5681 section 3.1)."""
    @property
    def seed(self) -> int:
        """Seed of the controller's random numbers: each flow's own, from the scenario's."""

@final
class AckEvent:
    """An ACK that delivered data or revealed a loss: the argument of `CongestionController.on_ack`.

    Times are integers in nanoseconds of simulated time, data is in bytes of payload.
    """
    @property
    def now_ns(self) -> int:
        """Time at which the ACK arrived: nanoseconds of simulated time since the start of the run."""
    @property
    def newly_acked_bytes(self) -> int:
        """Data that this ACK delivered, cumulatively or by SACK, in bytes."""
    @property
    def is_cumulative(self) -> bool:
        """True if the ACK advances the cumulative acknowledgement."""
    @property
    def newly_lost_bytes(self) -> int:
        """Data marked lost since the last ACK, by this one or by a timer before it, in bytes."""
    @property
    def newly_ce_marked_bytes(self) -> int:
        """Data delivered with a CE mark, in bytes, as far as the receiver reports it.

        One segment for an ECE of RFC 3168; the counters' value with accurate feedback (RFC 9768).
        """
    @property
    def prior_flight_size_bytes(self) -> int:
        """FlightSize before this ACK, in bytes: data sent and not cumulatively acknowledged (RFC 5681)."""
    @property
    def rtt_sample_ns(self) -> int | None:
        """The round-trip time that this ACK measured, in nanoseconds; None under Karn's rule (RFC 6298 section 3)."""
    @property
    def latest_rtt_ns(self) -> int | None:
        """The latest RTT sample, this one included, in nanoseconds; None before the first."""
    @property
    def srtt_ns(self) -> int | None:
        """Smoothed RTT, this sample included, in nanoseconds (RFC 6298); None before the first."""
    @property
    def rttvar_ns(self) -> int:
        """RTT variation, this sample included, in nanoseconds (RFC 6298)."""
    @property
    def min_rtt_ns(self) -> int | None:
        """The least RTT sample of the connection, in nanoseconds; None before the first."""
    @property
    def tsval(self) -> int | None:
        """The receiver's clock when it sent the ACK, in its ticks; None without timestamps (RFC 7323)."""
    @property
    def tsecr(self) -> int | None:
        """The sender's clock that the ACK echoes, in ticks of `ts_tick_ns`; None without timestamps (RFC 7323)."""
    @property
    def ts_arrival(self) -> int | None:
        """The sender's clock when the ACK arrived, in ticks of `ts_tick_ns`; None without timestamps."""
    @property
    def ts_tick_ns(self) -> int | None:
        """A tick of the sender's clock of timestamps, in nanoseconds; None without timestamps."""
    @property
    def is_cwnd_limited(self) -> bool:
        """True if cwnd, and nothing else, held data back when the sender last stopped."""
    @property
    def in_recovery(self) -> bool:
        """True in fast recovery or CWR, including the ACK that ends it; false after a timeout."""
    @property
    def round(self) -> int:
        """Packet-timed round trips since the connection began."""
    @property
    def is_paced(self) -> bool:
        """True if the sender spreads its segments over the round trip."""
    @property
    def may_grow(self) -> bool:
        """True if a window that counts acknowledged data may grow, by the stack's switches.

        RFC 5681 section 3.1 asks for a cumulative ACK, a cwnd in use, and no recovery.
        """
    @property
    def delivery(self) -> DeliveryReport | None:
        """The state of delivery after this ACK; None unless the class has `wants_samples`."""

@final
class DeliveryReport:
    """The state of delivery after an ACK, for classes with `wants_samples`.

    Names are those of draft-cheng-iccrg-delivery-rate-estimation, as in `C.delivered`.
    """
    @property
    def delivered_bytes(self) -> int:
        """Data delivered since the connection began, in bytes (`C.delivered`)."""
    @property
    def lost_bytes(self) -> int:
        """Data marked lost since the connection began, in bytes (`C.lost`)."""
    @property
    def inflight_bytes(self) -> int:
        """Data estimated to be in the network, in bytes (`C.inflight`; the pipe of RFC 6675)."""
    @property
    def repair(self) -> Literal["fast", "timeout"] | None:
        """The kind of repair: "fast" in fast recovery, "timeout" after a retransmission timeout, None otherwise."""
    @property
    def has_sack(self) -> bool:
        """True if the receiver reports data that arrived out of order (RFC 2018)."""
    @property
    def sample(self) -> RateSample | None:
        """The rate sample of this ACK; None if it delivered no segment whose sending is known."""

@final
class RateSample:
    """A sample of the delivery rate, from the last sent of the segments that an ACK delivers.

    Names are those of draft-cheng-iccrg-delivery-rate-estimation.
    """
    @property
    def rate_bps(self) -> int | None:
        """The delivery rate, in bits per second, rounded down; None if the interval is too short."""
    @property
    def delivered_bytes(self) -> int:
        """Data delivered over the interval, in bytes (`RS.delivered`)."""
    @property
    def interval_ns(self) -> int:
        """The longer of the times for sending and for acknowledging it, in nanoseconds (`RS.interval`).

        0 if that is shorter than the least round trip, and then the sample has no rate.
        """
    @property
    def prior_delivered_bytes(self) -> int:
        """Data delivered when the segment left, in bytes (`RS.prior_delivered`)."""
    @property
    def is_app_limited(self) -> bool:
        """True if the segment left while the application did not fill the window (`RS.is_app_limited`)."""
    @property
    def tx_in_flight_bytes(self) -> int:
        """Data in flight when the segment left, itself included, in bytes (`RS.tx_in_flight`)."""
    @property
    def lost_bytes(self) -> int:
        """Data marked lost since the segment left, in bytes (`RS.lost`)."""

@final
class SegmentReport:
    """The fate of a segment: the argument of `CongestionController.on_delivered` and `on_lost`."""
    @property
    def now_ns(self) -> int:
        """Time at which the sender learned of it: nanoseconds of simulated time since the start of the run."""
    @property
    def sent_at_ns(self) -> int:
        """Time at which the segment, or its latest retransmission, left: nanoseconds of simulated time."""
    @property
    def offset_bytes(self) -> int:
        """Offset of the segment in the stream, in bytes from the first byte of data."""
    @property
    def size_bytes(self) -> int:
        """Payload of the segment, in bytes."""
    @property
    def delivered_bytes(self) -> int:
        """Data delivered since the connection began, in bytes; the segment included if it is delivered."""
    @property
    def prior_delivered_bytes(self) -> int:
        """Data delivered when the segment left, in bytes (`P.delivered`)."""
    @property
    def tx_in_flight_bytes(self) -> int:
        """Data in flight when the segment left, itself included, in bytes (`P.tx_in_flight`)."""
    @property
    def lost_bytes(self) -> int:
        """Data marked lost since the segment left, in bytes; itself included if it is lost."""
    @property
    def is_app_limited(self) -> bool:
        """True if the segment left while the application did not fill the window."""
    @property
    def is_retransmission(self) -> bool:
        """True if the segment was a retransmission."""

@final
class CongestionEvent:
    """The start of a congestion episode: the argument of `CongestionController.on_congestion`."""
    @property
    def now_ns(self) -> int:
        """Time at which the sender noticed: nanoseconds of simulated time since the start of the run."""
    @property
    def cause(self) -> Literal["loss", "ecn", "timeout"]:
        """The cause: "loss" (duplicate ACKs or SACK), "ecn" (the network marked a packet) or "timeout"."""
    @property
    def is_repeated(self) -> bool:
        """True from the second timeout of the same data on: ssthresh stays (RFC 5681 section 3.1)."""
    @property
    def decrease_from_bytes(self) -> int:
        """The data to reduce from, in bytes: FlightSize (RFC 5681), or cwnd with `decrease_from = "cwnd"`."""
    @property
    def flight_size_bytes(self) -> int:
        """An older name of `decrease_from_bytes`."""
    @property
    def newly_lost_bytes(self) -> int:
        """Data marked lost so far, in bytes."""
    @property
    def inflight_bytes(self) -> int:
        """Data estimated to be in the network, in bytes, without lost segments (the pipe of RFC 6675)."""

@final
class RestartEvent:
    """A restart of the window without a congestion episode: the argument of `CongestionController.on_restart`."""
    @property
    def now_ns(self) -> int:
        """Time of the restart: nanoseconds of simulated time since the start of the run."""
    @property
    def cause(self) -> Literal["syn_lost", "timeout", "idle", "unused", "outer"]:
        """The reason why the window starts over.

        "syn_lost" (RFC 5681 section 3.1), "timeout" (the loss window), "idle" (the restart window, RFC 5681
        section 4.1), "unused" (RFC 7661, RFC 2861), or "outer" (an agent around this controller moved it).
        """
    @property
    def window_bytes(self) -> int:
        """The window that the standard or the stack sets, in bytes."""
    @property
    def ssthresh_bytes(self) -> int | None:
        """The threshold for that window, in bytes; None keeps the present one."""

@final
class SendEvent:
    """The sending of a data segment: the argument of `CongestionController.on_send`."""
    @property
    def now_ns(self) -> int:
        """Time at which the segment left: nanoseconds of simulated time since the start of the run."""
    @property
    def size_bytes(self) -> int:
        """Payload of the segment, in bytes."""
    @property
    def flight_size_bytes(self) -> int:
        """FlightSize with the segment, in bytes."""
    @property
    def idle_for_ns(self) -> int:
        """Idle time before it with no data outstanding, in nanoseconds; 0 if data was outstanding."""

@disjoint_base
class ControllerState:
    """The state that a controller and the sender share; `ackclock.CongestionController` derives from it.

    Assigned values are checked at once, and count from then on.

    Args:
        start: The initial values. Further arguments are those of the derived class.
    """
    def __new__(cls, start: Start, *_arguments: object, **_parameters: object) -> Self: ...
    @property
    def mss_bytes(self) -> int:
        """Payload of a full segment, in bytes."""
    @property
    def cwnd_bytes(self) -> int:
        """The congestion window, in bytes, 1 to 2^40; the initial window to begin with.

        Raises:
            TypeError: On assigning anything but a whole number.
            ValueError: On assigning a number out of range.
        """
    @cwnd_bytes.setter
    def cwnd_bytes(self, value: int) -> None: ...
    @property
    def ssthresh_bytes(self) -> int | None:
        """The slow-start threshold, in bytes, 1 to 2^40; None while it is arbitrarily high.

        Raises:
            TypeError: On assigning anything but None or a whole number.
            ValueError: On assigning a number out of range.
        """
    @ssthresh_bytes.setter
    def ssthresh_bytes(self, value: int | None) -> None: ...
    @property
    def pacing_rate_bps(self) -> int | None:
        """Pacing rate of payload, in bits per second, 1 to 10^15; None leaves pacing to the stack.

        It applies from the second ACK on.

        Raises:
            TypeError: On assigning anything but None or a whole number.
            ValueError: On assigning a number out of range.
        """
    @pacing_rate_bps.setter
    def pacing_rate_bps(self, value: int | None) -> None: ...
    @property
    def deadline_ns(self) -> int | None:
        """Time at which `on_timer` is to be called, in nanoseconds of simulated time, below 2^63; None for never.

        It is None again when `on_timer` is called.

        Raises:
            TypeError: On assigning anything but None or a whole number.
            ValueError: On assigning a number out of range.
        """
    @deadline_ns.setter
    def deadline_ns(self, value: int | None) -> None: ...
    @property
    def limits_itself(self) -> bool:
        """True while it deliberately sends below the path's capacity; its samples are then application-limited.

        Raises:
            TypeError: On assigning anything but a bool.
        """
    @limits_itself.setter
    def limits_itself(self, value: bool) -> None: ...
    @property
    def state_name(self) -> str | None:
        """The name of the controller's state, recorded as an event when it changes; None has ssthresh decide the name.

        Raises:
            TypeError: On assigning anything but None or a string.
            ValueError: On assigning an empty text, or one of more than 64 octets.
        """
    @state_name.setter
    def state_name(self, value: str | None) -> None: ...

@final
class Endpoint:
    """One end of a TCP connection without a network, whose application reads when called.

    The caller gives the time, in nanoseconds, which must not go back. Packets are the bytes of their IPv4 and
    TCP headers (RFC 791, RFC 9293); their payload is a length only.

    Args:
        options: JSON with `tcp`, `controller` and `seed` as in a scenario; each may be left out.
        local: This end's `address:port`, as in `192.0.2.1:8080`.
        remote: The other end's.
        overrides: `path=value` strings, applied in order, as in `tcp.profile=linux-6.x`.

    Raises:
        ScenarioError: If the options are wrong.
        ValueError: If `local` or `remote` is not an IPv4 address with a port.
    """
    def __new__(cls, options: str, local: str, remote: str, overrides: Sequence[str] = ...) -> Endpoint: ...
    def listen(self) -> None:
        """Wait for a connection: from CLOSED to LISTEN."""
    def connect(self, now_ns: int) -> None:
        """Open the connection: send a SYN.

        Args:
            now_ns: The time, nanoseconds.
        """
    def write(self, now_ns: int, octets: int, *, more: bool = False, ends_record: bool = False) -> None:
        """Write data to the send buffer, and send as much as is allowed.

        Args:
            now_ns: The time, nanoseconds.
            octets: Amount of data, bytes.
            more: More data follows, so that a small segment waits for it (`MSG_MORE`).
            ends_record: No segment has octets from both sides of the end of this data (`MSG_EOR`).
        """
    def wait_for_room(self, now_ns: int) -> None:
        """Note that the application waits for room in the send buffer, which it does until `is_writable`.

        Args:
            now_ns: The time, nanoseconds.
        """
    def read(self, now_ns: int, octets: int) -> int:
        """Take data that has arrived in order from the receive buffer.

        Args:
            now_ns: The time, nanoseconds.
            octets: The most to take, bytes.

        Returns:
            The amount taken, bytes.
        """
    def shutdown_write(self, now_ns: int) -> None:
        """Close the sending half: a FIN follows the written data. Data may still arrive.

        Args:
            now_ns: The time, nanoseconds.
        """
    def close(self, now_ns: int) -> None:
        """Close both halves: a FIN follows the written data, and data that still arrives is answered with a reset.

        Args:
            now_ns: The time, nanoseconds.
        """
    def abort(self, now_ns: int) -> None:
        """Abort the connection with a reset.

        Args:
            now_ns: The time, nanoseconds.
        """
    def set_option(self, now_ns: int, name: str, value: int) -> None:
        """Set a socket option.

        Args:
            now_ns: The time, nanoseconds.
            name: `nodelay`, `cork`, `quickack`, `notsent_lowat`, `user_timeout_ms`, `send_buffer`, `receive_buffer`,
                `max_segment` or `pacing`.
            value: 0 or 1 for switches, bytes for sizes, milliseconds for the time, bytes per second for `pacing`, which
                limits the rate. 0 resets `notsent_lowat` and `user_timeout_ms`.

        Raises:
            ValueError: If the option is unknown.
        """
    def set_congestion(self, now_ns: int, options: str) -> None:
        """Continue from the present window with another controller (`TCP_CONGESTION`).

        Args:
            now_ns: The time, nanoseconds.
            options: JSON with `controller`, as in the constructor.

        Raises:
            ScenarioError: If the options are wrong.
        """
    def on_packet(self, now_ns: int, packet: bytes) -> None:
        """Process a packet that has arrived.

        Args:
            now_ns: The time, nanoseconds.
            packet: Its IPv4 and TCP headers; the payload is the rest of the IPv4 length.

        Raises:
            ValueError: If the bytes are not such headers.
        """
    def is_reopened_by(self, packet: bytes) -> bool:
        """True if a SYN in TIME-WAIT opens a new connection: its sequence number is beyond all of the old one's.

        Args:
            packet: The packet, as in `on_packet`.

        Raises:
            ValueError: If the bytes are not such headers.
        """
    def on_timer(self, now_ns: int) -> None:
        """Run the timer at `deadline_ns`.

        Args:
            now_ns: The time, nanoseconds.
        """
    def take_packets(self) -> list[bytes]:
        """Take the headers of the packets that were sent since the last call, in order.

        The payload of each is its IPv4 length without its headers.

        Raises:
            ValueError: If a segment is too long for IPv4.
        """
    @property
    def deadline_ns(self) -> int | None:
        """Time at which `on_timer` is to be called, in nanoseconds; None if not at all."""
    @property
    def state(self) -> str:
        """State of the connection, by its name in RFC 9293 section 3.3.2, as in "SYN-SENT"."""
    @property
    def error(self) -> str | None:
        """The reason of an early end of the connection: "refused", "reset" or "timed out"; None otherwise."""
    @property
    def writable_octets(self) -> int:
        """The number of bytes that one write takes by the send buffer and `TCP_NOTSENT_LOWAT`; more may fit later."""
    @property
    def is_writable(self) -> bool:
        """True if a poll shows the socket as writable, and a waiting write continues.

        It holds if a third of the send buffer is free and unsent data is below half of `TCP_NOTSENT_LOWAT`.
        """
    @property
    def unread_octets(self) -> int:
        """Data that arrived in order and was not read, in bytes."""
    @property
    def unsent_octets(self) -> int:
        """Data that was written and never sent, in bytes."""
    @property
    def is_peer_finished(self) -> bool:
        """True once all data of the peer and its FIN have arrived."""
    @property
    def mss(self) -> int:
        """Payload of a full segment as negotiated, in bytes."""
    def tcp_info(self, now_ns: int) -> dict[str, int]:
        """Return the values of Linux's `getsockopt(TCP_INFO)`.

        Args:
            now_ns: The time, nanoseconds.

        Returns:
            Linux's names without `tcpi_`, with Linux's units: microseconds for times; segments for the window and its
            neighbours; bytes per second for `delivery_rate` and `pacing_rate`, the latter 2^64 - 1 without one.
            `snd_ssthresh` is 2^31 - 1 while it is arbitrarily high.
        """

@final
class LinkStart:
    """The initial values of a queue or an effect of a link: the first argument of its constructor.

    Args:
        rate_bps: Rate of the link, bits per second; where it changes, the rate for which buffers are sized.
        seed: Seed of the part's random numbers, 0 to 2^64 - 1: each link's own, from the scenario's.

    Raises:
        ValueError: If a number is negative, or 2^64 or more.
    """
    def __new__(cls, *, rate_bps: int, seed: int = 0) -> Self: ...
    @property
    def rate_bps(self) -> int:
        """Rate of the link, in bits per second; where it changes, the rate for which buffers are sized."""
    @property
    def seed(self) -> int:
        """Seed of the part's random numbers: each link's own, from the scenario's."""
    def __deepcopy__(self, _memo: object) -> LinkStart:
        """Return this object itself, as it cannot be changed.

        Args:
            _memo: Not used.
        """

@final
class SourceStart:
    """The initial values of a source of traffic: the first argument of its constructor.

    Args:
        seed: Seed of the source's random numbers, 0 to 2^64 - 1: each flow's own, from the scenario's.

    Raises:
        ValueError: If it is negative, or 2^64 or more.
    """
    def __new__(cls, *, seed: int = 0) -> Self: ...
    @property
    def seed(self) -> int:
        """Seed of the source's random numbers: each flow's own, from the scenario's."""
    def __deepcopy__(self, _memo: object) -> SourceStart:
        """Return this object itself, as it cannot be changed.

        Args:
            _memo: Not used.
        """

@final
class Packet:
    """A packet as a queue or an effect of a link sees it. It cannot be changed; `Queue.mark` sets its `ecn`.

    Args:
        flow: Number of the connection.
        direction: "forward" or "backward".
        sequence: Sequence number of the first byte of payload.
        acknowledgment: The acknowledgment number.
        payload_bytes: Payload, bytes.
        octets: Size on the link, bytes; by default that of the IP packet.
        since_ns: Time at which it came to the link, nanoseconds of simulated time.
        ecn: The ECN field: "not_ect", "ect0", "ect1" or "ce".

    Raises:
        ValueError: If the direction or the ECN field is unknown.
    """
    def __new__(
        cls,
        *,
        flow: int = 0,
        direction: str = "forward",
        sequence: int = 0,
        acknowledgment: int = 0,
        payload_bytes: int = 1448,
        octets: int | None = None,
        since_ns: int = 0,
        ecn: str = "ect0",
    ) -> Self: ...
    @property
    def flow(self) -> int:
        """Number of its connection; a flow's is its place in the scenario."""
    @property
    def direction(self) -> str:
        """Its direction: "forward" to the end that accepted the connection, "backward" to the other."""
    @property
    def sequence(self) -> int:
        """Sequence number of the first byte of payload, modulo 2^32; for a datagram, its number."""
    @property
    def acknowledgment(self) -> int:
        """The acknowledgment number, modulo 2^32; 0 for a datagram."""
    @property
    def payload_bytes(self) -> int:
        """Payload, in bytes; 0 for an ACK."""
    @property
    def size_bytes(self) -> int:
        """Size of the IP packet, in bytes."""
    @property
    def octets(self) -> int:
        """Size on the link, framing included, in bytes."""
    @property
    def since_ns(self) -> int:
        """Time of arrival at the queue, in nanoseconds of simulated time; for an effect, of the last bit leaving."""
    @property
    def ecn(self) -> str:
        """The ECN field: "not_ect", "ect0", "ect1", or "ce" once it is marked."""
    @property
    def is_datagram(self) -> bool:
        """True for a UDP datagram; false for a TCP segment."""
    def __deepcopy__(self, _memo: object) -> Packet:
        """Return a copy that has its place in the copy of its queue.

        Args:
            _memo: Not used.
        """

@disjoint_base
class QueueState:
    """The state that a queue in Python and the link share; `ackclock.parts.Queue` derives from it.

    Args:
        start: The initial values. Further arguments are those of the derived class.
    """
    def __new__(cls, start: LinkStart, *_arguments: object, **_parameters: object) -> Self: ...
    @property
    def rate_bps(self) -> int:
        """Present rate of the link, in bits per second: the last one above zero, or the mean of a trace."""
    def drop(self, packet: Packet) -> None:
        """Drop a packet that has just arrived or waits; it counts as a drop of the link.

        Args:
            packet: The packet, which the queue must no longer hold.

        Raises:
            ValueError: If it has been dropped or has left already.
        """
    def mark(self, packet: Packet) -> bool:
        """Set the ECN field of a packet to CE, if it is ECN-capable (RFC 3168 section 5).

        Args:
            packet: A packet that has just arrived or waits.

        Returns:
            True if it was marked. If not, drop it to signal congestion.
        """

@final
class Fate:
    """The fate of a packet that a link has sent: the result of `LinkEffect.on_packet`.

    Args:
        delay_ns: Delay on top of propagation, nanoseconds; the order of packets is kept.
        held_ns: Time for which it is held back, nanoseconds, while others pass it.
        is_copied: True if a copy arrives right behind it.
        is_lost: True if it never arrives; the other arguments are ignored.

    Raises:
        TypeError: If a time is not a whole number.
        ValueError: If a time is negative, or more than an hour.
    """
    def __new__(
        cls, *, delay_ns: int | None = None, held_ns: int | None = None, is_copied: bool = False, is_lost: bool = False
    ) -> Self: ...
    @property
    def is_lost(self) -> bool:
        """True if it never arrives."""
    def __deepcopy__(self, _memo: object) -> Fate:
        """Return this object itself, as it cannot be changed.

        Args:
            _memo: Not used.
        """

@final
class Supply:
    """The next action of a source of traffic: the result of `TrafficSource.next`.

    It continues at a time, or when the receiving application has read all data, or never.

    Args:
        write_bytes: Amount to write to the connection now, bytes.
        at_ns: Time at which the source goes on, nanoseconds of simulated time; None for when all has been read.
        closes: The connection closes after this, and `next` is called no more.

    Raises:
        ValueError: If a number is negative, or 2^64 or more; if it closes and continues, or writes nothing and
            waits until that is read.
    """
    def __new__(cls, write_bytes: int = 0, *, at_ns: int | None = None, closes: bool = False) -> Self: ...
    def __deepcopy__(self, _memo: object) -> Supply:
        """Return this object itself, as it cannot be changed.

        Args:
            _memo: Not used.
        """

@final
class OwnPart:
    """A class that scenarios can name; `ackclock.parts` makes one for each, and keeps it.

    Args:
        constructor: The class.
        description: JSON of `kind`, `name`, `summary`, `source`, `departures`, `fields`, `overridden` and `title`; for
            an observation also `low`, `high` and `logarithmic_from`, each a number or null.

    Raises:
        ValueError: If the declaration of a parameter or a range is wrong.
    """
    def __new__(cls, constructor: type, description: str) -> Self: ...

@final
class Values(Mapping[str, float]):
    """The catalogue's observations at a decision, by name: the argument of own rewards and observations.

    Each value is in the unit of its name, and none can be changed.
    """
    def __getitem__(self, name: str, /) -> float:
        """Return the value of an observation.

        Args:
            name: The observation's name, as `ackclock list agents` shows it.

        Raises:
            KeyError: If the name is unknown.
        """

    def __len__(self) -> int:
        """Return how many observations there are."""

    def __iter__(self) -> Iterator[str]:
        """Iterate over their names."""

    def get(self, key: str, /, default: object = None) -> Any:  # noqa: ANN401 (the base class's)
        """Return the value of an observation, or a default for an unknown name.

        Args:
            key: The observation's name, as `ackclock list agents` shows it.
            default: The value for an unknown name.
        """

@final
class Scenario:
    """A checked scenario; it cannot be changed. `load`, `parse` and `from_json` make one."""
    @staticmethod
    def load(path: str | PathLike[str], overrides: Sequence[str] = ..., *, imports: bool = True) -> Scenario:
        """Read a scenario from a TOML file, or from a file of the same as JSON.

        Args:
            path: The file.
            overrides: `path=value` strings, applied in order, as in `seed=3` or `flow[0].controller="reno"`.
            imports: Import the modules of controllers that the scenario names. If false, none of their code runs: the
                scenario can be inspected and not simulated.

        Raises:
            ScenarioError: If the scenario is wrong; it lists every mistake.
            OSError: If the file cannot be read.
        """
    @staticmethod
    def parse(text: str, file: str = "<text>", overrides: Sequence[str] = ...) -> Scenario:
        """Read a scenario from TOML text.

        Args:
            text: The content of a file.
            file: Its name in messages. The stem is the scenario's name unless the text has one, and classes of
                controllers are looked for in its folder.
            overrides: Overrides as for `load`.

        Raises:
            ScenarioError: If the scenario is wrong; it lists every mistake.
        """
    @staticmethod
    def from_json(text: str, overrides: Sequence[str] = ..., folder: str | Path = ...) -> Scenario:
        """Read a scenario from JSON, as `to_json` writes it.

        Args:
            text: The scenario's tables as JSON.
            overrides: Overrides as for `load`.
            folder: The folder in which classes of controllers are looked for first.

        Raises:
            ScenarioError: If the scenario is wrong; it lists every mistake.
        """
    @property
    def name(self) -> str:
        """Name of the scenario: its `name`, or the stem of its file."""
    @property
    def seed(self) -> int:
        """Seed of the drawn values and of all randomness in the run."""
    @property
    def duration_s(self) -> float:
        """Simulated time at the end of a run, in seconds."""
    @property
    def flow_names(self) -> list[str]:
        """Names of the flows, in the scenario's order; groups of short flows are not among them."""
    @property
    def controller_names(self) -> list[str]:
        """Names of the controllers of `flow_names`, as in results; a flow that names none has its profile's."""
    @property
    def link_names(self) -> list[str]:
        """Names of the links, in the scenario's order: as written there, or `A->B`."""
    @property
    def hash(self) -> str:
        """SHA-256 of `to_json()`, 64 hexadecimal digits."""
    @property
    def folder(self) -> Path:
        """The folder of the scenario's file, absolute: its classes of controllers are looked for there first."""
    @property
    def python_classes(self) -> list[str]:
        """The classes of Python that control flows, as `module:Class`, each once."""
    def check_imported(self) -> None:
        """Refuse to run code of a scenario that was read with `imports=False`.

        Raises:
            RuntimeError: If the scenario names code that was not imported.
        """
    @property
    def uses(self) -> list[str]:
        """The entries of its `use`: modules of Python and plug-ins that bring parts."""
    @property
    def varies(self) -> dict[str, str]:
        """Every place whose value is drawn, with its distribution as text."""
    @property
    def drawn(self) -> dict[str, Any]:
        """The values that the seed drew, by their places; empty if the scenario draws none."""
    def _repr_html_(self) -> str:
        """Return the form for notebooks: a picture of the network, and a table of the flows."""
    def to_json(self) -> str:
        """Return the scenario as JSON in a fixed order, with its overrides, name and seed."""
    def draw(self, seed: int) -> Scenario:
        """Return the scenario under a seed: its drawn values, and all randomness in the run.

        Args:
            seed: 0 to 2^64 - 1.

        Raises:
            ScenarioError: If the drawn values do not fit together.
            ValueError: If the seed is not such a number.
        """
    @property
    def memory_bytes(self) -> int:
        """Estimate of the memory that its run takes at least, in bytes: flows, fixed windows, series at intervals."""
    @property
    def link_in_step(self) -> str | None:
        """A link at which flows may stay in step with the queue for a whole run, or None.

        There the host of one sends at just the rate of the link, and nothing is random between the two.
        """
    @property
    def scaling_without_effect(self) -> str | None:
        """A flow for which the scenario turns window scaling on without effect, or None.

        One of its ends does not offer it, or the receive buffers of both fit into 16 bits.
        """
    @property
    def keeps_over_time(self) -> bool:
        """True if the memory of its run grows with simulated time, by series or events."""
    @property
    def is_watched(self) -> bool:
        """True if its run keeps events."""
    def with_events(self, kinds: Sequence[str]) -> Scenario:
        """Return the scenario with events observed.

        Args:
            kinds: Names of the events, such as `timed_out`; `all` stands for all of them.

        Raises:
            ValueError: If an event is unknown, or none is named.
        """
    def with_seed(self, seed: int) -> Scenario:
        """Return the scenario under another seed of the run; drawn values stay, unlike with `draw`.

        Args:
            seed: 0 to 2^64 - 1.

        Raises:
            ScenarioError: If starts that the seed draws exceed a limit.
            ValueError: If the seed is not such a number.
        """

@final
class Simulation:
    """A simulation under way, from time 0 on. It releases the GIL while it runs, unless a part is in Python.

    Args:
        scenario: The scenario to simulate.
        threads: The most parts into which the network is cut, to run at the same time; results do not depend on it.

    Raises:
        ValueError: If `threads` is 0, negative, or 2^64 or more.
    """
    def __new__(cls, scenario: Scenario, threads: int = 1) -> Simulation: ...
    def __copy__(self) -> Simulation:
        """Return a copy that continues alike.

        Raises:
            RuntimeError: If the simulation is over.
        """
    def run_until(self, time_s: float) -> None:
        """Handle every event up to and including a time, but none after the scenario's end.

        Args:
            time_s: Simulated time, seconds.

        Raises:
            ValueError: If the time is negative or NaN.
            RuntimeError: If the simulation is over. Exceptions of a controller in Python pass unchanged.
        """
    def policy(self, flow: str) -> bytes:
        """Return the present policy of a flow's controller, as an ONNX file.

        Args:
            flow: The flow's name.

        Raises:
            KeyError: If the flow is unknown.
            ValueError: If its controller does not learn.
            RuntimeError: If the simulation is over.
        """
    def run_to_events(self) -> bool:
        """Run until enough events wait to be taken, or to the end.

        Returns:
            True if it stopped for events, and more may come.

        Raises:
            RuntimeError: If the simulation is over. Exceptions of a controller in Python pass unchanged.
        """
    def take_events(self) -> list[tuple[str, float, int, tuple[Any, ...]]]:
        """Take the events since the last call, which leave the results.

        Returns:
            For each event its kind, its time in seconds, the number of its source, and its other fields, in the order
            of its class in `ackclock.events`.

        Raises:
            RuntimeError: If the simulation is over.
        """
    def return_events(self, count: int) -> None:
        """Give back the last of the events taken last, which return to the results.

        Args:
            count: Number of events to give back.

        Raises:
            RuntimeError: If the simulation is over.
            ValueError: If the count is negative, or 2^64 or more.
        """
    def event_sources(self) -> list[tuple[str, str, str]]:
        """Return the sources of events, in the order of their numbers: kind, name and controller of each.

        Raises:
            RuntimeError: If the simulation is over.
        """
    def partition_json(self) -> str:
        """Return the partition of the network, as JSON: `parts`, `lookahead_s`, `largest_share`, `ties`.

        Raises:
            RuntimeError: If the simulation is over.
        """
    @property
    def now_s(self) -> float:
        """Simulated time so far, in seconds."""
    @property
    def is_finished(self) -> bool:
        """True once the scenario's end is reached."""
    @property
    def events(self) -> int:
        """Events handled so far, after the last `run_until`."""
    @property
    def packets_delivered(self) -> int:
        """Data packets that have reached a receiving endpoint, after the last `run_until`."""
    def finish(self) -> Outcome:
        """Run to the end and hand over the results; the simulation is over then.

        Raises:
            RuntimeError: If it is over already. Exceptions of a controller in Python pass unchanged.
        """

@final
class WindowAndRate:
    """A decision that sets window and rate, whatever the agent's kind of actions.

    Args:
        cwnd_segments: The congestion window, in segments.
        pacing_rate_bps: The pacing rate, in bits per second; None for that of the stack.

    Raises:
        ValueError: If a number is NaN.
    """
    def __new__(cls, cwnd_segments: float, pacing_rate_bps: float | None = None) -> WindowAndRate: ...

@final
class Environment:
    """A scenario with agents on some of its flows; `ackclock.gym` adapts it to Gymnasium.

    Below, `agent` is an index into the list given here. An observation is a float32 array, of shape (n,) for n
    observations, or (history, n) with a history above 1, the latest decision last. After Ctrl-C, or once a part of
    one's own has failed, every call raises RuntimeError until the next episode begins. An unknown agent is an
    IndexError.

    Args:
        scenario: The scenario.
        agents: For each agent the name of its flow, and its settings as JSON of `AgentSettings.to_json`.

    Raises:
        ValueError: If a setting is wrong, a flow is unknown, or a flow has two agents.
    """
    def __new__(cls, scenario: Scenario, agents: Sequence[tuple[str, str]]) -> Environment: ...
    @property
    def drawn(self) -> dict[str, Any]:
        """The values that were drawn for the episode, by their places; empty if the scenario draws none."""
    def __copy__(self) -> Environment:
        """Return a copy that continues alike."""
    def spaces(self, agent: int) -> str:
        """Return the spaces of an agent, as JSON.

        Args:
            agent: The agent's index.

        Returns:
            `observation` with `shape`, `low` and `high`, null where it is unbounded; `action` with `choices`, or with
            `low` and `high`.
        """
    def reset(self, seed: int) -> NDArray[np.float32]:
        """Begin an episode, run to its first decision, and return the first agent's observation.

        Args:
            seed: Seed of the values that the scenario draws, and of all randomness in the run; 0 to 2^64 - 1.

        Raises:
            ValueError: If the seed is not such a number.
        """
    def step(self, action: float | WindowAndRate) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Take the first agent's action, and run to its next decision.

        Args:
            action: The index of a choice, a number within the range of the space, or a window and a rate.

        Returns:
            Observation, reward, terminated, truncated, and an empty dictionary.

        Raises:
            ValueError: If the action is not in the action space, or NaN.
        """
    def reset_all(self, seed: int) -> list[NDArray[np.float32]]:
        """Begin an episode, run to its first decision, and return an observation for each agent.

        Args:
            seed: Seed as for `reset`.

        Raises:
            ValueError: If `reset` would raise it.
        """
    def step_all(
        self, actions: Sequence[float | WindowAndRate]
    ) -> tuple[list[NDArray[np.float32]], list[float | None], list[bool], bool]:
        """Take an action for each agent, and run until every agent in charge of its window waits.

        Args:
            actions: One action for each agent, as for `step`; an agent that does not wait ignores its action.

        Returns:
            For each agent its observation, its reward (None where none is due), and whether its flow is over;
            and whether the scenario's time is over.

        Raises:
            ValueError: If the number of actions is wrong, or one is not in its space.
        """
    def is_waiting(self, agent: int) -> bool:
        """Return True if a decision of the agent is due.

        Args:
            agent: The agent's index.
        """
    def read(self, agent: int, name: str) -> float:
        """Return the value of an observation now, in the unit of its name, whether or not the agent observes it.

        Args:
            agent: The agent's index.
            name: The observation's name, as `ackclock list agents` shows it.

        Raises:
            KeyError: If the observation is unknown.
        """
    @property
    def now_s(self) -> float:
        """Simulated time since the episode began, in seconds."""
    @property
    def events(self) -> int:
        """Events handled since the episode began."""
    def snapshot(self) -> tuple[list[tuple[int, float, int]], list[int]]:
        """Return the state of flows and links, for pictures.

        Returns:
            For each flow: cwnd (bytes), srtt (milliseconds), and data read at its far end (bytes). For each link:
            the number of waiting packets.
        """
    def outcome(self) -> Outcome:
        """Return the results of the episode so far."""

@final
class KernelControllers:
    """The controllers of a scenario on the connections of a kernel in virtual time.

    Args:
        scenario: The scenario.
    """
    def __new__(cls, scenario: Scenario) -> KernelControllers: ...
    def answer(self, report: bytes) -> bytes:
        """Return the decision on a report: octets of `struct decision` for those of `struct report`.

        Args:
            report: The report, as the kernel's controller `ackclock_agent` writes it.

        Raises:
            ValueError: If the report has another size, or is of no flow of the scenario.
        """

@final
class LiveFlow:
    """An agent on a real connection: ACKs reported by the kernel go in, a window comes out.

    `ackclock.gym` adapts it to Gymnasium.

    Args:
        scenario: The scenario, which gives the flow's own controller.
        flow: The flow's name.
        agent: Settings as JSON of `AgentSettings.to_json`.

    Raises:
        ValueError: If a setting is wrong, or the flow is unknown.
    """
    def __new__(cls, scenario: Scenario, flow: str, agent: str) -> LiveFlow: ...
    def on_ack(
        self,
        time_ns: int,
        cwnd: int,
        srtt_us: int,
        min_rtt_us: int,
        rtt_us: int,
        inflight: int,
        acked: int,
        lost: int,
        state: int,
        mss: int,
    ) -> bool:
        """Process an ACK, and return whether a decision is due.

        Args:
            time_ns: Time of the ACK, nanoseconds of the machine's monotonic clock.
            cwnd: Congestion window, segments.
            srtt_us: Smoothed round trip, microseconds.
            min_rtt_us: Least round trip, microseconds.
            rtt_us: Round trip that the ACK measured, microseconds; 0 if none.
            inflight: Segments in flight after it.
            acked: Segments newly delivered.
            lost: Segments newly marked lost.
            state: The kernel's congestion state.
            mss: Size of a segment, octets.
        """
    def reward(self) -> float:
        """Return the reward of the last interval. Call it before `observe`."""
    def observe(self) -> NDArray[np.float32]:
        """Return the observation, a float32 array of the shape of the space."""
    def act(self, action: float | WindowAndRate) -> None:
        """Take an action.

        Args:
            action: Action, as `Environment.step` takes it.

        Raises:
            ValueError: If the action is not in the action space, or NaN.
        """
    def steering(self) -> tuple[int, int]:
        """Return the connection's new window, in segments, and its rate in bit/s; 0 if none is set."""
    def read(self, name: str) -> float:
        """Return the value of an observation now, in its unit.

        Args:
            name: The observation's name in the catalogue.

        Raises:
            KeyError: If the observation is unknown.
        """
    @property
    def now_s(self) -> float:
        """Time since the first ACK, in seconds."""

@final
class VectorEnvironment:
    """Copies of an environment with one agent, stepped on threads.

    They hold the GIL only while a part in Python is called. After Ctrl-C, or once a part has failed, every call raises
    RuntimeError until an episode begins in each.

    Arrays are C-contiguous and filled in place; below, n is `count`, and k is the length of an observation.

    Args:
        environment: The environment to copy.
        count: Number of copies, at least 1.
        threads: Number of threads that step them, the caller's among them; results do not depend on it.
        same_step: Begin the next episode within the step that ended the last, instead of with the one after it.

    Raises:
        ValueError: If there are several agents, or `count` is 0.
    """
    def __new__(cls, environment: Environment, count: int, threads: int, same_step: bool) -> VectorEnvironment: ...
    def reset(self, seeds: Sequence[int | None], observations: NDArray[np.float32]) -> None:
        """Begin an episode in each environment.

        Args:
            seeds: n seeds, from which those of later episodes follow; an environment whose seed is None continues.
            observations: Float32 array of n k numbers, to fill.

        Raises:
            ValueError: If the number of seeds is wrong, or the array does not fit.
            TypeError: If the array has another type of number.
        """
    def step(
        self,
        actions: NDArray[np.float64],
        observations: NDArray[np.float32],
        rewards: NDArray[np.float64],
        terminated: NDArray[np.bool_],
        truncated: NDArray[np.bool_],
        finals: NDArray[np.float32],
    ) -> None:
        """Act in each environment, run each to its next decision, and fill the arrays.

        Args:
            actions: Float64 array of n numbers, as for `Environment.step`; only read.
            observations: Float32 array of n k numbers.
            rewards: Float64 array of n numbers.
            terminated: Bool array of n: the flow has all its data delivered, or was given up.
            truncated: Bool array of n: the scenario's time is over.
            finals: Float32 array of n k numbers: with `same_step` the last observation of each episode that ended;
                other rows stay as they are.

        Raises:
            ValueError: If an action is not in its space, or an array does not fit.
            TypeError: If an array has another type of number.
        """
    def __copy__(self) -> VectorEnvironment:
        """Return a copy that continues alike, on threads of its own.

        Raises:
            ValueError: If the threads cannot be started.
        """
    def episode(self, index: int) -> tuple[int, float, dict[str, Any]]:
        """Return the facts that identify an environment's episode.

        Args:
            index: Number of the environment.

        Returns:
            Its seed, the time since it began in seconds, and its drawn values, by place.
        """
    def outcome(self, index: int) -> Outcome:
        """Return the results of the episode that a step ended, or else those of the present one.

        Args:
            index: Number of the environment.
        """

@final
class Table:
    """Columns of equal length for Polars, PyArrow and others to take without copying; units are in their names."""
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the table as an Arrow stream in a capsule (the Arrow PyCapsule interface).

        Args:
            requested_schema: Not used, as the interface allows.
        """
    def __len__(self) -> int:
        """Return the number of rows."""

@final
class Outcome:
    """The results of a run. The columns' memory moves into Arrow once and is shared from then on."""
    def summary_json(self) -> str:
        """Return `summary.json` as text: averages and counts of each flow and link."""
    def write_summary(self, path: str) -> None:
        """Write `summary.json`.

        Args:
            path: The file; replaced if there is one.

        Raises:
            OSError: If it cannot be written.
        """
    def table(
        self, name: Literal["flows", "links", "episodes", "completions", "appliances", "media", "events"]
    ) -> Table:
        """Return a table of series or of events; docs/reference/results.md describes the columns.

        Args:
            name: The table's name.

        Raises:
            KeyError: If the table is unknown.
        """
    @property
    def captures(self) -> list[str]:
        """Names of captures: links, and flows as `flow NAME`."""
    def write_pcapng(self, name: str, path: str) -> None:
        """Write a capture, on a link or at the host of a flow's sender, as a pcapng file.

        Args:
            name: One of `captures`.
            path: The file; replaced if there is one.

        Raises:
            KeyError: If there is no capture of that name.
            OSError: If the file cannot be written.
        """
    @property
    def event_sources(self) -> list[str]:
        """Names of the sources of events: links, `flow NAME`, `relay NAME`; empty if no events were kept."""
    def write_qlog(self, paths: dict[str, str]) -> list[str]:
        """Write the events as qlog, a file for each source that has any; docs/reference/qlog.md has the vocabulary.

        Args:
            paths: The file for each of `event_sources`; replaced if there is one.

        Returns:
            The names in `event_sources` that have a file now.

        Raises:
            OSError: If a file cannot be written.
            ValueError: If one of `event_sources` is not among `paths`.
        """
    def write_perfetto(self, path: str) -> None:
        """Write the events as a Perfetto trace, which ui.perfetto.dev opens.

        Args:
            path: The file; replaced if there is one.

        Raises:
            OSError: If the file cannot be written.
        """

def window_of_memory(octets: int) -> int:
    """Return the window for full segments that a receive buffer of this memory gives, as Linux counts it.

    Args:
        octets: Memory in bytes, as in `tcp_rmem`.
    """

def code_of(text: str, overrides: list[str] = ...) -> list[str] | None:
    """Return the code that a scenario or a study names, in any draw of it: entries of `use`, and classes.

    Args:
        text: TOML or JSON; nothing that it names is run.
        overrides: Overrides as for `Scenario.load`.

    Returns:
        The names; None if the text cannot be parsed.
    """

def read_file(path: str | PathLike[str], most: int) -> bytes:
    """Return the octets of a file.

    Args:
        path: A regular file, or a device that ends.
        most: Size in octets above which a file is refused.

    Raises:
        OSError: If it cannot be read, is longer, or is a folder, a pipe, a socket or a terminal.
    """

def meant(given: str, known: list[tuple[str, str]]) -> list[str]:
    """Return the known names that an unknown one may stand for, or an empty list.

    Args:
        given: The name.
        known: Each known name with its description, which may mention other names for it.
    """

def line_rates() -> dict[str, str]:
    """Return digital lines by name, such as DS3, each with its rate in a scenario's notation."""

def schema() -> str:
    """Return the scenario format as JSON Schema, as text."""

def agents() -> str:
    """Return observations, actions, decisions and rewards of agents, as a JSON table."""

def controllers() -> str:
    """Return the congestion controllers with their parameters, as a JSON list."""

def profiles() -> str:
    """Return the profiles of TCP stacks with the switches that each sets, as a JSON list."""

def queues() -> str:
    """Return the queue disciplines with their parameters, as a JSON list."""

def buffer_policies() -> str:
    """Return the buffer disciplines of appliances with their parameters, as a JSON list."""

def links() -> str:
    """Return the effects of links on packets with their parameters, as a JSON list."""

def topologies() -> str:
    """Return the topologies with their parameters, as a JSON list."""

def traffic() -> str:
    """Return applications, arrivals and distributions of sizes with their parameters, as a JSON list."""

def check_often(check: Callable[[], object] | None) -> None:
    """Let long work of this thread call a function about twenty times a second, beside acting on signals.

    Args:
        check: The function, whose exception ends the work; None removes it.
    """

def take_fault() -> str | None:
    """Return the first panic inside the core since the last call, with its place; None without one."""

def mean_window(scenario: Scenario, rtt_s: float, segments_per_loss: int, cycles: int) -> float:
    """Return the mean window, in segments, of the first flow's controller alone, driven by generated ACKs.

    Args:
        scenario: The scenario, whose first flow gives the controller and the segment size.
        rtt_s: The constant round trip, seconds.
        segments_per_loss: Number of segments for one loss.
        cycles: Losses over which the mean is taken; three times as many before are warm-up.

    Raises:
        ValueError: If the scenario has no flow, or a number is not above 0.
    """

def exercise_agent(scenario: Scenario, decisions: int) -> int:
    """Exercise the agent of the first flow's controller alone, on random states, to measure its cost.

    Args:
        scenario: The scenario, whose first flow gives the controller.
        decisions: Decisions after the warm-up, each with a step of learning.

    Returns:
        The number of learning steps.

    Raises:
        ValueError: If the scenario has no flow, or its controller has no agent.
    """

def quantised_policy(
    content: bytes, agent: str | None = None, decisions: int = 20_000
) -> tuple[bytes, int, int, float, float]:
    """Return a policy in whole numbers, for machines without floating point, and its loss of precision.

    Args:
        content: An ONNX file.
        agent: The agent's configuration as JSON, for a file that has none.
        decisions: Number of decisions on which both forms are compared, about random flows.

    Returns:
        The file; the number of flows, fewer than decisions where the policy remembers; the number of different
        decisions; the mean difference and the greatest, where actions are numbers.

    Raises:
        ValueError: If the file is not a policy, or one that whole numbers cannot represent.
    """

def policy_module(whole: bytes, name: str) -> str:
    """Return a policy in whole numbers as a C file, for `ackclock linux build --module`.

    Args:
        whole: A file that `quantised_policy` returned.
        name: Name of the controller in the kernel: letters, digits and `_`, 15 at most.

    Raises:
        ValueError: If the file is no such policy, or the name is none of a controller.
    """

def policy_file(
    agent: str,
    activation: str,
    layers: Sequence[tuple[NDArray[np.float32], NDArray[np.float32]]],
    scenario: Scenario | None = None,
) -> bytes:
    """Return a policy as an ONNX file that the engine runs.

    Args:
        agent: JSON of the agent's settings, kept in the file.
        activation: "relu" or "tanh", between two layers.
        layers: For each layer its weights, a float32 array of shape (outputs, inputs), and its biases, one of
            shape (outputs,).
        scenario: The scenario, whose `use` brings observations that the settings name and the catalogue lacks.

    Raises:
        ValueError: If a setting is wrong, the activation is unknown, there are no layers, or the layers do not
            fit together.
    """

def build_info() -> dict[str, str]:
    """Return `version`, `profile` ("release" or "debug"), `target` and `engine` of this build.

    `engine` is a hash of the sources that decide results, 64 hexadecimal digits: two builds of one engine measure
    the same, whatever their version.
    """

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
    """A scenario is wrong; its text tells of every mistake, with file, line, value and remedy."""

    diagnostics: list[Diagnostic]
    """Its mistakes, in the order of the text; never empty."""

    has_more: bool
    """True if there are more mistakes than these."""

@final
class Start:
    """The initial values of a controller: the first argument of its constructor.

    Args:
        mss_bytes: Payload of a full segment, bytes.
        initial_window_bytes: The initial window, bytes.
        initial_ssthresh_bytes: The slow-start threshold to begin with, bytes; None is arbitrarily high.
        seed: Seed of the controller's random numbers, 0 to 2^64 - 1.

    Raises:
        ValueError: If a number is negative, or 2^64 or more.
    """
    def __new__(
        cls, *, mss_bytes: int, initial_window_bytes: int, initial_ssthresh_bytes: int | None = None, seed: int = 0
    ) -> Start: ...
    @property
    def mss_bytes(self) -> int:
        """Payload of a full segment, in bytes, as the handshake settled it."""
    @property
    def initial_window_bytes(self) -> int:
        """The initial window, in bytes (RFC 6928)."""
    @property
    def initial_ssthresh_bytes(self) -> int | None:
        """The slow-start threshold to begin with, in bytes; None is arbitrarily high (RFC 5681 section 3.1)."""
    @property
    def seed(self) -> int:
        """Seed of the controller's random numbers, if it wants any: each flow's own, from the scenario's."""

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
        """True if it advances the cumulative acknowledgement."""
    @property
    def newly_lost_bytes(self) -> int:
        """Data marked lost since the last ACK, on this one or by a timer before it, in bytes."""
    @property
    def newly_ce_marked_bytes(self) -> int:
        """Data delivered that the network had marked, in bytes, as far as the receiver tells.

        One segment for an ECE of RFC 3168; what the counters say with accurate feedback (RFC 9768).
        """
    @property
    def prior_flight_size_bytes(self) -> int:
        """FlightSize before this ACK, in bytes: sent and not cumulatively acknowledged (RFC 5681)."""
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
        """True if cwnd held data back, and nothing else, when the sender stopped last."""
    @property
    def in_recovery(self) -> bool:
        """True in fast recovery or the answer to a mark, the ACK that ends it included; not after a timeout."""
    @property
    def round(self) -> int:
        """Packet-timed round trips since the connection began."""
    @property
    def is_paced(self) -> bool:
        """True if the sender spreads its segments over the round trip."""
    @property
    def may_grow(self) -> bool:
        """True if a window that counts acknowledged data may grow, as the stack's switches judge it.

        By RFC 5681 section 3.1 the ACK is cumulative, cwnd is in use, and nothing is to be recovered.
        """
    @property
    def delivery(self) -> DeliveryReport | None:
        """The state of delivery after this ACK; None unless the class says `wants_samples`."""

@final
class DeliveryReport:
    """The state of delivery after an ACK, for classes with `wants_samples`.

    Names are those of draft-cheng-iccrg-delivery-rate-estimation, as in `C.delivered`.
    """
    @property
    def delivered_bytes(self) -> int:
        """Delivered since the connection began, in bytes (`C.delivered`)."""
    @property
    def lost_bytes(self) -> int:
        """Marked lost since the connection began, in bytes (`C.lost`)."""
    @property
    def inflight_bytes(self) -> int:
        """Thought to be in the network, in bytes (`C.inflight`; the pipe of RFC 6675)."""
    @property
    def repair(self) -> Literal["fast", "timeout"] | None:
        """The kind of repair: "fast" in fast recovery, "timeout" after a retransmission timeout, None otherwise."""
    @property
    def has_sack(self) -> bool:
        """True if the receiver reports what it has out of order (RFC 2018)."""
    @property
    def sample(self) -> RateSample | None:
        """The rate sample of this ACK; None if it delivered nothing whose sending is known."""

@final
class RateSample:
    """A sample of the delivery rate, from the segment sent last among those that an ACK delivers.

    Names are those of draft-cheng-iccrg-delivery-rate-estimation.
    """
    @property
    def rate_bps(self) -> int | None:
        """The delivery rate, in bits per second, rounded down; None if the interval is too short to tell."""
    @property
    def delivered_bytes(self) -> int:
        """Delivered over the interval, in bytes (`RS.delivered`)."""
    @property
    def interval_ns(self) -> int:
        """The longer of the times that sending and acknowledging it took, in nanoseconds (`RS.interval`).

        0 if that is shorter than the least round trip, when it tells no rate.
        """
    @property
    def prior_delivered_bytes(self) -> int:
        """Delivered so far when the segment left, in bytes (`RS.prior_delivered`)."""
    @property
    def is_app_limited(self) -> bool:
        """True if the segment left while the application did not fill the window (`RS.is_app_limited`)."""
    @property
    def tx_in_flight_bytes(self) -> int:
        """In flight when the segment left, itself included, in bytes (`RS.tx_in_flight`)."""
    @property
    def lost_bytes(self) -> int:
        """Marked lost since the segment left, in bytes (`RS.lost`)."""

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
        """Where it begins in the stream, in bytes from the first byte of data."""
    @property
    def size_bytes(self) -> int:
        """Its payload, in bytes."""
    @property
    def delivered_bytes(self) -> int:
        """Delivered since the connection began, in bytes; the segment included if it is delivered."""
    @property
    def prior_delivered_bytes(self) -> int:
        """Delivered so far when the segment left, in bytes (`P.delivered`)."""
    @property
    def tx_in_flight_bytes(self) -> int:
        """In flight when the segment left, itself included, in bytes (`P.tx_in_flight`)."""
    @property
    def lost_bytes(self) -> int:
        """Marked lost since the segment left, in bytes; itself included if it is lost."""
    @property
    def is_app_limited(self) -> bool:
        """True if the segment left while the application did not fill the window."""
    @property
    def is_retransmission(self) -> bool:
        """True if it had been sent before."""

@final
class CongestionEvent:
    """A congestion episode begins: the argument of `CongestionController.on_congestion`."""
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
        """The amount of data from which to reduce, in bytes: FlightSize (RFC 5681), or cwnd with `decrease_from = "cwnd"`."""
    @property
    def flight_size_bytes(self) -> int:
        """An older name of `decrease_from_bytes`."""
    @property
    def newly_lost_bytes(self) -> int:
        """Data marked lost so far, in bytes."""
    @property
    def inflight_bytes(self) -> int:
        """Thought to be in the network, in bytes, lost segments excluded (the pipe of RFC 6675)."""

@final
class RestartEvent:
    """The window starts over without an episode of its own: the argument of `CongestionController.on_restart`."""
    @property
    def now_ns(self) -> int:
        """When: nanoseconds of simulated time since the start of the run."""
    @property
    def cause(self) -> Literal["syn_lost", "timeout", "idle", "unused", "outer"]:
        """The reason why the window starts over.

        "syn_lost" (RFC 5681 section 3.1), "timeout" (the loss window), "idle" (the restart window, RFC 5681
        section 4.1), "unused" (RFC 7661, RFC 2861), or "outer" (an agent around this controller moved it).
        """
    @property
    def window_bytes(self) -> int:
        """The window that the standards, or the stack, provide for, in bytes."""
    @property
    def ssthresh_bytes(self) -> int | None:
        """The threshold that goes with it, in bytes; None leaves the present one."""

@final
class SendEvent:
    """A data segment left: the argument of `CongestionController.on_send`."""
    @property
    def now_ns(self) -> int:
        """When: nanoseconds of simulated time since the start of the run."""
    @property
    def size_bytes(self) -> int:
        """Its payload, in bytes."""
    @property
    def flight_size_bytes(self) -> int:
        """FlightSize after it, in bytes."""
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
            TypeError: On assigning what is neither None nor a whole number.
            ValueError: On assigning a number out of range.
        """
    @ssthresh_bytes.setter
    def ssthresh_bytes(self, value: int | None) -> None: ...
    @property
    def pacing_rate_bps(self) -> int | None:
        """Payload to pace at, in bits per second, 1 to 10^15; None leaves pacing to the stack.

        It counts from the second ACK on.

        Raises:
            TypeError: On assigning what is neither None nor a whole number.
            ValueError: On assigning a number out of range.
        """
    @pacing_rate_bps.setter
    def pacing_rate_bps(self, value: int | None) -> None: ...
    @property
    def deadline_ns(self) -> int | None:
        """Time at which `on_timer` is to be called, in nanoseconds of simulated time, below 2^63; None for never.

        It is None again when `on_timer` is called.

        Raises:
            TypeError: On assigning what is neither None nor a whole number.
            ValueError: On assigning a number out of range.
        """
    @deadline_ns.setter
    def deadline_ns(self, value: int | None) -> None: ...
    @property
    def limits_itself(self) -> bool:
        """True while it deliberately sends below the path's capacity: samples are then marked application-limited.

        Raises:
            TypeError: On assigning what is no bool.
        """
    @limits_itself.setter
    def limits_itself(self, value: bool) -> None: ...
    @property
    def state_name(self) -> str | None:
        """The name of the controller's state, recorded as an event when it changes; None has ssthresh decide the name.

        Raises:
            TypeError: On assigning what is neither None nor a text.
            ValueError: On assigning no text, or one of more than 64 octets.
        """
    @state_name.setter
    def state_name(self, value: str | None) -> None: ...

@final
class Endpoint:
    """One end of a TCP connection without a network, whose application reads on call.

    Time is what the caller says, in nanoseconds, and must not go back. Packets are the bytes of their IPv4 and
    TCP headers (RFC 791, RFC 9293); their payload is a length only.

    Args:
        options: JSON with `tcp` and `controller` as in a scenario; both may be left out.
        local: This end's `address:port`, as in `192.0.2.1:8080`.
        remote: The other end's.
        overrides: `path=value` texts, applied in order, as in `tcp.profile=linux-6.x`.

    Raises:
        ScenarioError: If the options are wrong.
        ValueError: If `local` or `remote` is no IPv4 address with a port.
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
        """Write data to the send buffer, and send what may be sent.

        Args:
            now_ns: The time, nanoseconds.
            octets: How much, bytes.
            more: More follows, so that a small segment waits for it (`MSG_MORE`).
            ends_record: No segment has octets of both sides of its end (`MSG_EOR`).
        """
    def wait_for_room(self, now_ns: int) -> None:
        """Tell that the application waits for room in the send buffer, which it does until `is_writable`.

        Args:
            now_ns: The time, nanoseconds.
        """
    def read(self, now_ns: int, octets: int) -> int:
        """Take data that has arrived in order from the receive buffer.

        Args:
            now_ns: The time, nanoseconds.
            octets: At most so much, bytes.

        Returns:
            How much was taken, bytes.
        """
    def shutdown_write(self, now_ns: int) -> None:
        """Close the sending half: a FIN follows what is written. Data may still arrive.

        Args:
            now_ns: The time, nanoseconds.
        """
    def close(self, now_ns: int) -> None:
        """Close both halves: a FIN follows what is written, and data that still arrives draws a reset.

        Args:
            now_ns: The time, nanoseconds.
        """
    def abort(self, now_ns: int) -> None:
        """Give up the connection with a reset.

        Args:
            now_ns: The time, nanoseconds.
        """
    def set_option(self, now_ns: int, name: str, value: int) -> None:
        """Set a socket option.

        Args:
            now_ns: The time, nanoseconds.
            name: `nodelay`, `cork`, `quickack`, `notsent_lowat`, `user_timeout_ms`, `send_buffer`, `receive_buffer`,
                `max_segment` or `pacing`.
            value: 0 or 1 for switches, bytes for sizes, milliseconds for the time, bytes a second for `pacing`, which
                has no greater rate then. 0 takes `notsent_lowat` and `user_timeout_ms` away.

        Raises:
            ValueError: If there is no such option.
        """
    def set_congestion(self, now_ns: int, options: str) -> None:
        """Go on from the present window with another controller (`TCP_CONGESTION`).

        Args:
            now_ns: The time, nanoseconds.
            options: JSON with `controller`, as in the constructor.

        Raises:
            ScenarioError: If the options are wrong.
        """
    def on_packet(self, now_ns: int, packet: bytes) -> None:
        """Take a packet that has arrived.

        Args:
            now_ns: The time, nanoseconds.
            packet: Its IPv4 and TCP headers; the payload is what the IPv4 length has beyond them.

        Raises:
            ValueError: If the bytes are no such headers.
        """
    def is_reopened_by(self, packet: bytes) -> bool:
        """True if a SYN that arrives in TIME-WAIT opens a connection anew: it begins beyond all that the old one had.

        Args:
            packet: As in `on_packet`.

        Raises:
            ValueError: If the bytes are no such headers.
        """
    def on_timer(self, now_ns: int) -> None:
        """Tell that `deadline_ns` has come.

        Args:
            now_ns: The time, nanoseconds.
        """
    def take_packets(self) -> list[bytes]:
        """Take the headers of what was sent since the last call, in order.

        The payload of each is its IPv4 length without its headers.

        Raises:
            ValueError: If a segment is too long for IPv4.
        """
    @property
    def deadline_ns(self) -> int | None:
        """Time at which `on_timer` is to be called, in nanoseconds; None if not at all."""
    @property
    def state(self) -> str:
        """State of the connection by its name in RFC 9293 section 3.3.2, as in "SYN-SENT"."""
    @property
    def error(self) -> str | None:
        """Why the connection ended before its time: "refused", "reset" or "timed out"; None if it did not."""
    @property
    def writable_octets(self) -> int:
        """The most that one write takes within the send buffer and `TCP_NOTSENT_LOWAT`, in bytes; more may fit after it."""
    @property
    def is_writable(self) -> bool:
        """A poll shows the socket as writable, and a write that waits goes on.

        A third of the send buffer is free, and what is unsent is below half of `TCP_NOTSENT_LOWAT`.
        """
    @property
    def unread_octets(self) -> int:
        """Data that has arrived in order and was not read, in bytes."""
    @property
    def unsent_octets(self) -> int:
        """Data that was written and not yet sent for the first time, in bytes."""
    @property
    def is_peer_finished(self) -> bool:
        """True once all that the peer will ever send has arrived."""
    @property
    def mss(self) -> int:
        """Payload of a full segment as negotiated, in bytes."""
    def tcp_info(self, now_ns: int) -> dict[str, int]:
        """Return what Linux's `getsockopt(TCP_INFO)` would say.

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
        """Rate of the link, in bits per second; of one whose rate changes, that for which buffers are sized."""
    @property
    def seed(self) -> int:
        """Seed of the part's random numbers, if it wants any: each link's own, from the scenario's."""
    def __deepcopy__(self, _memo: object) -> LinkStart:
        """Return this one, as it cannot be changed.

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
        """Seed of the source's random numbers, if it wants any: each flow's own, from the scenario's."""
    def __deepcopy__(self, _memo: object) -> SourceStart:
        """Return this one, as it cannot be changed.

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
        octets: What it takes of the link, bytes; by default the IP packet alone.
        since_ns: When it came to the link, nanoseconds of simulated time.
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
        """Number of the connection that it belongs to; a flow's is its place in the scenario."""
    @property
    def direction(self) -> str:
        """Where it goes: "forward" to the end that accepted the connection, "backward" to the other."""
    @property
    def sequence(self) -> int:
        """Sequence number of the first byte of payload, modulo 2^32; of a datagram its number."""
    @property
    def acknowledgment(self) -> int:
        """The acknowledgment number, modulo 2^32; 0 of a datagram."""
    @property
    def payload_bytes(self) -> int:
        """Payload, in bytes; 0 of an ACK."""
    @property
    def size_bytes(self) -> int:
        """The IP packet, in bytes."""
    @property
    def octets(self) -> int:
        """Octets that it takes of the link, framing included."""
    @property
    def since_ns(self) -> int:
        """Time at which it came to the queue, in nanoseconds of simulated time; for an effect, at which its last bit left."""
    @property
    def ecn(self) -> str:
        """The ECN field: "not_ect", "ect0", "ect1", or "ce" once it is marked."""
    @property
    def is_datagram(self) -> bool:
        """True if it is a datagram of UDP, and no segment of TCP."""
    def __deepcopy__(self, _memo: object) -> Packet:
        """Return a copy that the copy of its queue has in its place.

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
        """Rate of the link at present, in bits per second: the last above zero, or of a trace the mean."""
    def drop(self, packet: Packet) -> None:
        """Drop a packet, which has just come or waits; it counts as a drop of the link.

        Args:
            packet: The queue must no longer hold it.

        Raises:
            ValueError: If it was dropped or has left already.
        """
    def mark(self, packet: Packet) -> bool:
        """Set the ECN field of a packet to CE, if it is ECN-capable (RFC 3168 section 5).

        Args:
            packet: One that has just come, or waits.

        Returns:
            Whether it was marked. Drop it if not, where congestion has to be told.
        """

@final
class Fate:
    """The fate of a packet that a link has sent: the result of `LinkEffect.on_packet`.

    Args:
        delay_ns: Delay besides propagation, nanoseconds; the order of packets is kept.
        held_ns: Time for which it is held back, nanoseconds, while others pass it.
        is_copied: A copy arrives right behind it.
        is_lost: It never arrives, and nothing else counts.

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
        """Return this one, as it cannot be changed.

        Args:
            _memo: Not used.
        """

@final
class Supply:
    """The next action of a source of traffic: the result of `TrafficSource.next`.

    It goes on at a time, or when the receiving application has read all that was written, or never.

    Args:
        write_bytes: Written to the connection now, bytes.
        at_ns: Time at which the source goes on, nanoseconds of simulated time; None for when all has been read.
        closes: The connection closes after this, and the source is asked no more.

    Raises:
        ValueError: If a number is negative, or 2^64 or more; if it closes and goes on, or writes nothing and waits
            until that is read.
    """
    def __new__(cls, write_bytes: int = 0, *, at_ns: int | None = None, closes: bool = False) -> Self: ...
    def __deepcopy__(self, _memo: object) -> Supply:
        """Return this one, as it cannot be changed.

        Args:
            _memo: Not used.
        """

@final
class OwnPart:
    """A class that scenarios can name; `ackclock.parts` makes one for each, and keeps it.

    Args:
        constructor: The class.
        description: JSON of `kind`, `name`, `summary`, `source`, `departures`, `fields`, `overridden` and `title`; of
            an observation also of `low`, `high` and `logarithmic_from`, each a number or null.

    Raises:
        ValueError: If a parameter is declared wrongly, or a range.
    """
    def __new__(cls, constructor: type, description: str) -> Self: ...

@final
class Values(Mapping[str, float]):
    """The catalogue's observations at a decision, by name: the argument of own rewards and observations.

    Each value is in the unit of its name. None of them changes.
    """
    def __getitem__(self, name: str, /) -> float:
        """Return the value of an observation.

        Args:
            name: The observation's name, as `ackclock list agents` shows it.

        Raises:
            KeyError: If there is none of this name.
        """

    def __len__(self) -> int:
        """Return how many observations there are."""

    def __iter__(self) -> Iterator[str]:
        """Iterate over their names."""

    def get(self, key: str, /, default: object = None) -> Any:  # noqa: ANN401 (the base class's)
        """Return the value of an observation, or something else if there is none of this name.

        Args:
            key: The observation's name, as `ackclock list agents` shows it.
            default: The other.
        """

@final
class Scenario:
    """A checked scenario; it cannot be changed. `load`, `parse` and `from_json` make one."""
    @staticmethod
    def load(path: str | PathLike[str], overrides: Sequence[str] = ..., *, imports: bool = True) -> Scenario:
        """Read a scenario from a TOML file, or one of the same as JSON.

        Args:
            path: The file.
            overrides: `path=value` texts, applied in order, as in `seed=3` or `flow[0].controller="reno"`.
            imports: Import the modules of controllers that the scenario names. Without, nothing of them is run: the
                scenario can be looked at, not simulated.

        Raises:
            ScenarioError: If the scenario is wrong; it tells of every mistake at once.
            OSError: If the file cannot be read.
        """
    @staticmethod
    def parse(text: str, file: str = "<text>", overrides: Sequence[str] = ...) -> Scenario:
        """Read a scenario from TOML text.

        Args:
            text: What a file would hold.
            file: What messages call it. Its stem is the scenario's name unless the text has one, and classes of
                controllers are looked for in its folder.
            overrides: As of `load`.

        Raises:
            ScenarioError: If the scenario is wrong; it tells of every mistake at once.
        """
    @staticmethod
    def from_json(text: str, overrides: Sequence[str] = ..., folder: str | Path = ...) -> Scenario:
        """Read a scenario from JSON, as `to_json` writes it.

        Args:
            text: The scenario's tables as JSON.
            overrides: As of `load`.
            folder: Where classes of controllers are looked for first.

        Raises:
            ScenarioError: If the scenario is wrong; it tells of every mistake at once.
        """
    @property
    def name(self) -> str:
        """Name of the scenario: its `name`, or else its file's without the suffix."""
    @property
    def seed(self) -> int:
        """Seed of all that is random in the run, and of the values that were drawn."""
    @property
    def duration_s(self) -> float:
        """Simulated time at the end of a run, in seconds."""
    @property
    def flow_names(self) -> list[str]:
        """Names of the flows, in the scenario's order; groups of short flows are not among them."""
    @property
    def controller_names(self) -> list[str]:
        """Names of the controllers of `flow_names`, as results have them: of a flow that names none its profile's."""
    @property
    def link_names(self) -> list[str]:
        """Names of the links, in the scenario's order: as written there, or `A->B`."""
    @property
    def hash(self) -> str:
        """SHA-256 of `to_json()`, 64 hexadecimal digits."""
    @property
    def folder(self) -> Path:
        """The folder of the scenario's file, absolute: where its classes of controllers are looked for first."""
    @property
    def python_classes(self) -> list[str]:
        """The classes of Python that control flows, as `module:Class`, each once."""
    def check_imported(self) -> None:
        """Refuse to run code of a scenario that was read with `imports=False`.

        Raises:
            RuntimeError: If it names code that was not imported.
        """
    @property
    def uses(self) -> list[str]:
        """The entries of its `use`: modules of Python and plug-ins that bring parts."""
    @property
    def varies(self) -> dict[str, str]:
        """Every place whose value is drawn, with its distribution as text."""
    @property
    def drawn(self) -> dict[str, Any]:
        """The values that the seed drew, by their places; empty if nothing varies."""
    def _repr_html_(self) -> str:
        """Return what a notebook shows: a picture of the network, and a table of the flows."""
    def to_json(self) -> str:
        """Return the scenario as JSON in a fixed order, with its overrides, name and seed."""
    def draw(self, seed: int) -> Scenario:
        """Return the scenario that a seed draws: the values left to chance, and all that is random in the run.

        Args:
            seed: 0 to 2^64 - 1.

        Raises:
            ScenarioError: If values that were drawn are no scenario together.
            ValueError: If the seed is not such a number.
        """
    @property
    def memory_bytes(self) -> int:
        """Memory that its run takes at least, in bytes, roughly: flows, fixed windows, series at intervals."""
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
        """Whether what its run keeps in memory grows with simulated time: series, events."""
    @property
    def is_watched(self) -> bool:
        """Whether events of its run are kept."""
    def with_events(self, kinds: Sequence[str]) -> Scenario:
        """Return the scenario watched for events.

        Args:
            kinds: Names of the events, such as `timed_out`; `all` stands for every one.

        Raises:
            ValueError: If there is no such event, or none is named.
        """
    def with_seed(self, seed: int) -> Scenario:
        """Return the scenario under another seed of the run; values that were drawn stay, unlike with `draw`.

        Args:
            seed: 0 to 2^64 - 1.

        Raises:
            ScenarioError: If starts that the seed draws ask for more than a limit allows.
            ValueError: If it is not such a number.
        """

@final
class Simulation:
    """A simulation under way, from time 0 on. It lets go of the GIL while it runs, unless a part is in Python.

    Args:
        scenario: What to simulate.
        threads: Cut the network into so many parts at most, and run them at the same time; the results are the same.

    Raises:
        ValueError: If `threads` is 0, negative, or 2^64 or more.
    """
    def __new__(cls, scenario: Scenario, threads: int = 1) -> Simulation: ...
    def __copy__(self) -> Simulation:
        """Return a copy that goes on alike.

        Raises:
            RuntimeError: If the simulation is over.
        """
    def run_until(self, time_s: float) -> None:
        """Handle every event up to a time, itself included, but none after the scenario's end.

        Args:
            time_s: Simulated time, seconds.

        Raises:
            ValueError: If the time is negative or NaN.
            RuntimeError: If the simulation is over. What a controller in Python raises comes as it is.
        """
    def policy(self, flow: str) -> bytes:
        """Return what the controller of a flow has learnt so far, as an ONNX file.

        Args:
            flow: The flow's name.

        Raises:
            KeyError: If there is no such flow.
            ValueError: If its controller learns nothing.
            RuntimeError: If the simulation is over.
        """
    def run_to_events(self) -> bool:
        """Run until there are events enough to be taken, or to the end.

        Returns:
            Whether it stopped for events, so that more may come.

        Raises:
            RuntimeError: If the simulation is over. What a controller in Python raises comes as it is.
        """
    def take_events(self) -> list[tuple[str, float, int, tuple[Any, ...]]]:
        """Take the events since the last call, which are no part of the results then.

        Returns:
            Of each its kind, its time in seconds, the number of its source, and what else it says, in the order of the
            fields of its class in `ackclock.events`.

        Raises:
            RuntimeError: If the simulation is over.
        """
    def return_events(self, count: int) -> None:
        """Give back the last of the events that were taken last: they are part of the results.

        Args:
            count: How many of them.

        Raises:
            RuntimeError: If the simulation is over.
            ValueError: If the count is negative, or 2^64 or more.
        """
    def event_sources(self) -> list[tuple[str, str, str]]:
        """Return what events come from, in the order of its numbers: of each what it is, its name, and its controller.

        Raises:
            RuntimeError: If the simulation is over.
        """
    def partition_json(self) -> str:
        """Return how the network is cut into parts, as JSON: `parts`, `lookahead_s`, `largest_share`, `ties`.

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
            RuntimeError: If it is over already. What a controller in Python raises comes as it is.
        """

@final
class Environment:
    """A scenario with agents on some of its flows; what `ackclock.gym` translates for Gymnasium.

    Below, `agent` is a place in the list given here. An observation is a float32 array, of shape (n,) for n
    observations, or (history, n) with a history above 1, the latest decision last. After Ctrl-C, or once a part of
    one's own has failed, every call raises RuntimeError until an episode begins. An agent that there is not is an
    IndexError.

    Args:
        scenario: The scenario.
        agents: For each agent the name of its flow and its settings, as JSON of `AgentSettings.to_json`.

    Raises:
        ValueError: If a setting is wrong, there is no such flow, or one has two agents.
    """
    def __new__(cls, scenario: Scenario, agents: Sequence[tuple[str, str]]) -> Environment: ...
    @property
    def drawn(self) -> dict[str, Any]:
        """The values that were drawn for the episode, by their places; empty if the scenario leaves none to chance."""
    def __copy__(self) -> Environment:
        """Return a copy that goes on alike."""
    def spaces(self, agent: int) -> str:
        """Return the spaces of an agent, as JSON.

        Args:
            agent: Its place.

        Returns:
            `observation` with `shape`, `low` and `high`, null where there is no end; `action` with `choices`, or with
            `low` and `high`.
        """
    def reset(self, seed: int) -> NDArray[np.float32]:
        """Begin an episode, run to its first decision, and return the first agent's observation.

        Args:
            seed: Draws what the scenario leaves to chance, and decides all that is random; 0 to 2^64 - 1.

        Raises:
            ValueError: If the seed is not such a number.
        """
    def step(self, action: float) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Take the first agent's action, and run to its next decision.

        Args:
            action: The number of a choice, or a number within the range of the space.

        Returns:
            Observation, reward, terminated, truncated, and an empty dictionary.

        Raises:
            ValueError: If the action is not in the action space, or NaN.
        """
    def reset_all(self, seed: int) -> list[NDArray[np.float32]]:
        """Begin an episode, run to its first decision, and return an observation for each agent.

        Args:
            seed: As of `reset`.

        Raises:
            ValueError: As of `reset`.
        """
    def step_all(
        self, actions: Sequence[float]
    ) -> tuple[list[NDArray[np.float32]], list[float | None], list[bool], bool]:
        """Take an action of each agent, and run until every agent in charge of its window waits.

        Args:
            actions: One for each agent, as of `step`; that of an agent that does not wait changes nothing.

        Returns:
            Of each agent its observation, its reward (None where nothing is due), and whether its flow is over;
            and whether the scenario's time is.

        Raises:
            ValueError: If there are too few actions or too many, or one is no member of its space.
        """
    def is_waiting(self, agent: int) -> bool:
        """Return True if a decision of the agent is due.

        Args:
            agent: Its place.
        """
    def read(self, agent: int, name: str) -> float:
        """Return the value of an observation now, in the unit of its name, whether the agent is shown it or not.

        Args:
            agent: Its place.
            name: The observation's name, as `ackclock list agents` shows it.

        Raises:
            KeyError: If there is no such observation.
        """
    @property
    def now_s(self) -> float:
        """Simulated time since the episode began, in seconds."""
    @property
    def events(self) -> int:
        """Events handled since the episode began."""
    def snapshot(self) -> tuple[list[tuple[int, float, int]], list[int]]:
        """Return how flows and links stand, for pictures.

        Returns:
            For each flow: cwnd (bytes), srtt (milliseconds), and what was read at its far end (bytes). For each link:
            the number of packets that wait.
        """
    def outcome(self) -> Outcome:
        """Return the results of the episode up to now."""

@final
class LiveFlow:
    """An agent on a real connection: what the kernel tells of ACKs goes in, a window comes out.

    It is what `ackclock.gym` translates for Gymnasium.

    Args:
        scenario: The scenario, which says what the flow's own controller is.
        flow: Its name.
        agent: Settings as JSON of `AgentSettings.to_json`.

    Raises:
        ValueError: If a setting is wrong, or there is no such flow.
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
        """Take in an ACK, and return whether a decision is due.

        Args:
            time_ns: When, nanoseconds of the machine's monotonic clock.
            cwnd: Segments, as are `inflight`, `acked` and `lost`.
            srtt_us: Smoothed round trip.
            min_rtt_us: The least one.
            rtt_us: What the ACK shows; 0 if nothing.
            inflight: In flight after it.
            acked: Newly delivered.
            lost: Newly taken for lost.
            state: The kernel's congestion state.
            mss: Octets of a segment.
        """
    def reward(self) -> float:
        """Return what the last interval pays. Ask before `observe`."""
    def observe(self) -> NDArray[np.float32]:
        """Return the observation, a float32 array of the shape of the space."""
    def act(self, action: float) -> None:
        """Take an action.

        Args:
            action: The number of a choice, or a number within the range of the space.

        Raises:
            ValueError: If the action is not in the action space, or NaN.
        """
    def steering(self) -> tuple[int, int]:
        """Return the window that the connection is to have, segments, and its rate in bit/s; 0 if none is set."""
    def read(self, name: str) -> float:
        """Return the value of an observation now, in its unit.

        Args:
            name: Of the catalogue.

        Raises:
            KeyError: If there is none of that name.
        """
    @property
    def now_s(self) -> float:
        """Time since the first ACK, in seconds."""

@final
class VectorEnvironment:
    """Copies of an environment with one agent, stepped on threads.

    They hold the GIL only while a part in Python is asked. After Ctrl-C, or once a part has failed, every call raises
    RuntimeError until an episode begins in each.

    Arrays are C-contiguous and filled in place; below, n is `count`, and k how many numbers an observation has.

    Args:
        environment: What to copy.
        count: How many copies, at least 1.
        threads: How many threads step them, the caller's among them; results do not depend on it.
        same_step: Begin the next episode within the step that ended the last, instead of with the one after it.

    Raises:
        ValueError: If there are several agents, or `count` is 0.
    """
    def __new__(cls, environment: Environment, count: int, threads: int, same_step: bool) -> VectorEnvironment: ...
    def reset(self, seeds: Sequence[int | None], observations: NDArray[np.float32]) -> None:
        """Begin an episode in each.

        Args:
            seeds: n seeds, from which those of later episodes follow; an environment whose seed is None goes on.
            observations: Float32 array of n k numbers, to fill.

        Raises:
            ValueError: If there are too few seeds or too many, or the array does not fit.
            TypeError: If it has another type of number.
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
        """Act in each, run each to its next decision, and fill the arrays.

        Args:
            actions: Float64 array of n numbers, as of `Environment.step`; only read.
            observations: Float32 array of n k numbers.
            rewards: Float64 array of n numbers.
            terminated: Bool array of n: the flow has all it will ever send delivered, or was given up.
            truncated: Bool array of n: the scenario's time is over.
            finals: Float32 array of n k numbers: with `same_step` the last observation of each episode that ended;
                other rows stay as they are.

        Raises:
            ValueError: If an action is no member of its space, or an array does not fit.
            TypeError: If an array has another type of number.
        """
    def __copy__(self) -> VectorEnvironment:
        """Return a copy that goes on alike, on threads of its own.

        Raises:
            ValueError: If there are no threads for it.
        """
    def episode(self, index: int) -> tuple[int, float, dict[str, Any]]:
        """Return what tells an environment's episode from others.

        Args:
            index: Number of the environment.

        Returns:
            Its seed, the time since it began in seconds, and what was drawn for it, by place.
        """
    def outcome(self, index: int) -> Outcome:
        """Return the results of the episode that a step ended, or else of that under way.

        Args:
            index: Number of the environment.
        """

@final
class Table:
    """Columns of equal length that Polars, PyArrow and others take without copying; units are in their names."""
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
            name: Which table.

        Raises:
            KeyError: If there is no such table.
        """
    @property
    def captures(self) -> list[str]:
        """Names of what was captured: links, and flows as `flow NAME`."""
    def write_pcapng(self, name: str, path: str) -> None:
        """Write what was captured on a link, or at the host of a flow's sender, as a pcapng file.

        Args:
            name: One of `captures`.
            path: The file; replaced if there is one.

        Raises:
            KeyError: If that was not captured.
            OSError: If the file cannot be written.
        """
    @property
    def event_sources(self) -> list[str]:
        """Names of what events come from: links, `flow NAME`, `relay NAME`; empty if none were wanted."""
    def write_qlog(self, paths: dict[str, str]) -> list[str]:
        """Write the events as qlog, a file for each source that has any; docs/reference/qlog.md has the vocabulary.

        Args:
            paths: The file of each of `event_sources`; replaced if there is one.

        Returns:
            Those of `event_sources` that have a file now.

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
    """Return what of so many octets of a receive buffer, as Linux counts memory, is window for full segments.

    Args:
        octets: Memory in bytes, as in `tcp_rmem`.
    """

def code_of(text: str, overrides: list[str] = ...) -> list[str] | None:
    """Return what a scenario or a study names of code, whatever is drawn of it: entries of `use`, and classes.

    Args:
        text: TOML or JSON; nothing that it names is run.
        overrides: As of `Scenario.load`.

    Returns:
        Names; None of a text that cannot be parsed.
    """

def read_file(path: str | PathLike[str], most: int) -> bytes:
    """Return the octets of a file.

    Args:
        path: A regular file, or a device that ends.
        most: A longer one is refused.

    Raises:
        OSError: If it cannot be read, is longer, or is a folder, a pipe, a socket or a terminal.
    """

def meant(given: str, known: list[tuple[str, str]]) -> list[str]:
    """Return the names that one which is not known may stand for, or an empty list.

    Args:
        given: The name.
        known: Each known name with what is said of it, where other names for it may stand.
    """

def line_rates() -> dict[str, str]:
    """Return digital lines by name, such as DS3, each with its rate as a scenario writes it."""

def schema() -> str:
    """Return the scenario format as JSON Schema, as text."""

def agents() -> str:
    """Return what agents may be shown, do, be asked and be paid, as a JSON table."""

def controllers() -> str:
    """Return the congestion controllers with their parameters, as a JSON list."""

def profiles() -> str:
    """Return the profiles of TCP stacks with the switches that each sets, as a JSON list."""

def queues() -> str:
    """Return the queue disciplines with their parameters, as a JSON list."""

def buffer_policies() -> str:
    """Return the buffer disciplines of appliances with their parameters, as a JSON list."""

def links() -> str:
    """Return what links may do with packets, with parameters, as a JSON list."""

def topologies() -> str:
    """Return the topologies with their parameters, as a JSON list."""

def traffic() -> str:
    """Return applications, arrivals and distributions of sizes with their parameters, as a JSON list."""

def check_often(check: Callable[[], object] | None) -> None:
    """From now on let long work of this thread call a function about twenty times a second, beside acting on signals.

    Args:
        check: What it raises ends the work; None calls nothing any more.
    """

def take_fault() -> str | None:
    """Return what went wrong first inside the core since the last call, and where; None if nothing did."""

def mean_window(scenario: Scenario, rtt_s: float, segments_per_loss: int, cycles: int) -> float:
    """Return the mean window, in segments, of the first flow's controller alone, driven by generated ACKs.

    Args:
        scenario: Whose first flow's controller and segment size are taken.
        rtt_s: The constant round trip, seconds.
        segments_per_loss: One segment in so many is lost.
        cycles: Losses over which the mean is taken; three times as many before are warm-up.

    Raises:
        ValueError: If the scenario has no flow, or a number is not above 0.
    """

def exercise_agent(scenario: Scenario, decisions: int) -> int:
    """Exercise the agent of the first flow's controller alone, on states drawn at random, to measure what it costs.

    Args:
        scenario: Whose first flow's controller is taken.
        decisions: Decisions after the warm-up, each with a step of learning.

    Returns:
        The steps of learning.

    Raises:
        ValueError: If the scenario has no flow, or its controller has no agent.
    """

def quantised_policy(
    content: bytes, agent: str | None = None, decisions: int = 20_000
) -> tuple[bytes, int, int, float, float]:
    """Return a policy in whole numbers, for machines without floating point, and what that loses.

    Args:
        content: An ONNX file.
        agent: The agent's configuration as JSON, for a file that has none.
        decisions: For so many both forms are asked, about flows drawn at random.

    Returns:
        The file; how many flows these were, fewer than decisions where the policy remembers; how many decisions were
        others; the mean difference and the greatest, where actions are numbers.

    Raises:
        ValueError: If the file is no policy, or one that whole numbers cannot be made of.
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
        scenario: Whose `use` brings observations that the settings name and that are not of the catalogue.

    Raises:
        ValueError: If a setting is wrong, the activation is unknown, there is no layer, or the layers do not fit
            together.
    """

def build_info() -> dict[str, str]:
    """Return `version`, `profile` ("release" or "debug"), `target` and `engine` of this build.

    `engine` is a hash of the sources that decide results, 64 hexadecimal digits: two builds of one engine measure
    the same, whatever their version.
    """

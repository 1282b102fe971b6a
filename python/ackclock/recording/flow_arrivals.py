"""TCP flows of a packet capture, as a list of arrivals that a scenario can replay.

A flow begins with its first SYN, or, if the capture began later, with its first packet. A SYN with another number
between the same ports begins another flow (RFC 9293 section 3.10.7.4). Its size each way follows from the highest
sequence number that carried data, or was acknowledged within the window, so retransmissions count once. Departures:
data sent before the capture began is not counted.
"""

from dataclasses import dataclass
from pathlib import Path

from ackclock.recording.capture_streams import ways_of
from ackclock.recording.captured_segments import CaptureError

__all__ = ["CaptureError", "ListedFlow", "csv_text", "flows_of_capture"]


@dataclass(frozen=True, slots=True)
class ListedFlow:
    """TCP flow.

    Attributes:
        start_s: Start time since the first flow of the capture.
        size_bytes: Payload from the end that opened the flow.
        reply_bytes: Payload from the other end.
    """

    start_s: float
    size_bytes: int
    reply_bytes: int


def flows_of_capture(path: Path) -> list[ListedFlow]:
    """Return the TCP flows of a capture.

    Args:
        path: A pcap or pcapng file of Ethernet, Linux cooked, loopback or raw IP packets.

    Returns:
        The flows that carried data, in order of their start.

    Raises:
        CaptureError: If the file is not such a capture.
        InputFileError: If it cannot be read.
    """
    ways, *_ = ways_of(path)
    pairs = [sorted(pair, key=lambda way: not way.is_opener) for pair in zip(ways[::2], ways[1::2], strict=True)]
    kept = sorted((pair for pair in pairs if any(way.octets for way in pair)), key=lambda pair: pair[0].first_s)
    return [ListedFlow(one.first_s - kept[0][0].first_s, one.sent_to, other.sent_to) for one, other in kept]


def csv_text(flows: list[ListedFlow]) -> str:
    r"""Return the flows as a CSV file for a scenario's `arrivals`.

    Examples:
        >>> csv_text([ListedFlow(0.5, 100, 0)])
        'start_s,size_bytes,reply_bytes\n0.500000000,100,0\n'
    """
    lines = [f"{flow.start_s:.9f},{flow.size_bytes},{flow.reply_bytes}" for flow in flows]
    return "\n".join(["start_s,size_bytes,reply_bytes", *lines]) + "\n"

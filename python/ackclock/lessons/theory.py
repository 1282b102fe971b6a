"""Laws of congestion control that answers and runs of the lessons are compared with, each with its source.

Departures: none models the simulator; conditions of validity are stated with each law.
"""

import math
from collections.abc import Sequence

WIRE_BYTES = 1500
"""Size of a full IP packet, bytes."""


def bdp_packets(rate_bps: float, rtt_s: float, packet_bytes: float = WIRE_BYTES) -> float:
    """Return the bandwidth-delay product of a path, packets.

    Args:
        rate_bps: Rate of the bottleneck, bit/s.
        rtt_s: Round-trip time without queueing, seconds.
        packet_bytes: Packet size on the wire, bytes.

    Examples:
        >>> bdp_packets(20e6, 0.060)  # 1.2 Mbit are 150 kB
        100.0
    """
    return rate_bps * rtt_s / 8 / packet_bytes


def reno_period_s(low: float, high: float, rate_bps: float, packet_bytes: float = WIRE_BYTES) -> float:
    """Return the time between two losses of Reno while the link is busy, seconds.

    The window grows by one packet per round trip, and a round trip with w packets in flight takes w packet times: the
    sum from `low` to `high` (RFC 5681 section 3.1 and the definition of a bottleneck).

    Args:
        low: Window after a loss, packets; at least the path's bandwidth-delay product.
        high: Window at the next loss, packets.
        rate_bps: Rate of the bottleneck, bit/s.
        packet_bytes: Packet size on the wire, bytes.

    Examples:
        >>> round(reno_period_s(100, 200, 20e6), 6)  # 0.6 ms a packet, 100 round trips of 60 to 120 ms
        9.0
    """
    return (high**2 - low**2) / 2 * 8 * packet_bytes / rate_bps


def drop_tail_utilization(buffer_bdp: float) -> float:
    """Return the utilization of a link by one Reno flow behind a DropTail queue.

    From the areas of the sawtooth (at one bandwidth-delay product: Villamizar and Song, CCR 24(5), 1994). With w = 1 +
    buffer, the window goes from w/2 to w. Below 1 the round-trip time is the path's, above it grows with the queue.

    Args:
        buffer_bdp: The queue's limit in bandwidth-delay products, 0 to 1; from 1 on the link is always busy.

    Examples:
        >>> drop_tail_utilization(0.0), drop_tail_utilization(1.0)
        (0.75, 1.0)
    """
    w = 1 + min(buffer_bdp, 1.0)
    return 0.75 * w**2 / (1 + w**2 - w)


def reno_window(p: float) -> float:
    """Return Reno's mean window in segments at a loss fraction p: sqrt(3 / (2 p)).

    Mathis, Semke, Mahdavi and Ott, CCR 27(3), 1997. It assumes one loss in every 1/p segments, and a window that grows
    by one segment per round trip. It has neither timeouts nor a limit by the receiver.

    Args:
        p: Fraction of segments lost.

    Examples:
        >>> round(reno_window(1.5e-4), 6)
        100.0
    """
    return math.sqrt(1.5 / p)


def reno_loss(window: float) -> float:
    """Return the loss fraction at which Reno has this mean window: 3 / (2 w^2).

    Args:
        window: Mean window, segments.

    Examples:
        >>> round(reno_loss(83_333) * 1e10, 2)  # RFC 3649 section 1: 10 Gbit/s, 100 ms, one loss in 5e9 packets
        2.16
    """
    return 1.5 / window**2


def cubic_window(p: float, rtt_s: float, c: float = 0.4, beta: float = 0.7) -> float:
    """Return CUBIC's mean window in segments: (C (3 + beta) / (4 (1 - beta)))^(1/4) (RTT / p)^(3/4).

    RFC 9438 section 5, from memory and derived again by hand. Outside the region where CUBIC follows Reno, one epoch
    from beta W to W lasts K, and a loss ends it.

    Args:
        p: Fraction of segments lost.
        rtt_s: Round-trip time, seconds.
        c: C of RFC 9438 section 5, segments/s^3.
        beta: Fraction of the window kept at a loss.

    Examples:
        >>> round(cubic_window(1e-4, 0.1), 1)  # (0.4 x 3.7 / 1.2)^(1/4) = 1.0538, 1000^(3/4) = 177.83
        187.4
    """
    return float((c * (3 + beta) / (4 * (1 - beta))) ** 0.25 * (rtt_s / p) ** 0.75)


def cubic_k_s(window: float, c: float = 0.4, beta: float = 0.7) -> float:
    """Return the time CUBIC takes to regain the window of the last loss, seconds: cbrt(W (1 - beta) / C).

    RFC 9438 section 4.2.

    Args:
        window: Window at the loss, segments.
        c: C of RFC 9438 section 5, segments/s^3.
        beta: Fraction of the window kept at a loss.

    Examples:
        >>> round(cubic_k_s(360), 3)  # cbrt(270)
        6.463
    """
    return math.cbrt(window * (1 - beta) / c)


def jain_index(rates: Sequence[float]) -> float:
    """Return Jain's index of fairness: (sum x)^2 / (n sum x^2) (Jain, Chiu and Hawe, DEC TR-301, 1984).

    Args:
        rates: Rate of each flow; not all zero.

    Examples:
        >>> jain_index([1, 1, 1, 1]), jain_index([1, 0, 0, 0])
        (1.0, 0.25)
    """
    return sum(rates) ** 2 / (len(rates) * sum(rate**2 for rate in rates))


def codel_drop_s(count: int, interval_s: float = 0.1) -> float:
    """Return the time from CoDel's count-th drop to the next, seconds: interval / sqrt(count), RFC 8289 section 3.3.

    The number of the section is from memory.

    Args:
        count: Number of drops in this dropping state.
        interval_s: CoDel's parameter, seconds.

    Examples:
        >>> codel_drop_s(1), codel_drop_s(4)
        (0.1, 0.05)
    """
    return interval_s / math.sqrt(count)


def vegas_window(queued: float, rtt_s: float, base_rtt_s: float) -> float:
    """Return the window at which Vegas estimates this number of queued segments: q RTT / (RTT - BaseRTT).

    Brakmo and Peterson, JSAC 13(8), 1995: Diff = (W / BaseRTT - W / RTT) BaseRTT is kept between alpha and beta.

    Args:
        queued: Estimated number of queued segments, between alpha and beta.
        rtt_s: Measured round-trip time, seconds.
        base_rtt_s: Minimum round-trip time, seconds.

    Examples:
        >>> round(vegas_window(3, 0.060, 0.040), 6)
        9.0
    """
    return queued * rtt_s / (rtt_s - base_rtt_s)


def friendly_increase(decrease: float) -> float:
    """Return the increase with which AIMD matches Reno's rate at the same losses: 3 b / (2 - b).

    Floyd, Handley and Padhye, "A comparison of equation-based and AIMD congestion control", 2000.

    Args:
        decrease: b: the fraction of the window removed at a loss, 0 to 1.

    Examples:
        >>> friendly_increase(0.5), friendly_increase(0.125)
        (1.0, 0.2)
    """
    return 3 * decrease / (2 - decrease)

"""Reno's window rules in Python, equivalent to the built-in `reno`, to measure the cost of calls.

Source: RFC 5681 section 3.1, with the byte counting of RFC 3465 section 2. Departures: none; congestion avoidance adds
a fraction of a segment on every ACK, in integers.
"""

from ackclock.controllers import AckEvent, CongestionController, CongestionEvent, Start


class Reno(CongestionController):
    """Reno: additive increase, multiplicative decrease by half."""

    def __init__(self, start: Start) -> None:
        """Begin in slow start.

        Args:
            start: Segment size and initial window.
        """
        self.mss: int = start.mss_bytes
        self.limit: int = 2 * self.mss
        self.remainder: int = 0
        self.before: tuple[int, int | None] | None = None

    def on_ack(self, ack: AckEvent) -> None:
        """Grow the window.

        Args:
            ack: ACK of new data.
        """
        if not ack.may_grow:
            return
        cwnd, ssthresh, acked = self.cwnd_bytes, self.ssthresh_bytes, ack.newly_acked_bytes
        if ssthresh is None or cwnd < ssthresh:
            # cwnd += min (N, SMSS), equation (2), with L = 2 segments in place of one (RFC 3465 section 2.2).
            grown = cwnd + min(acked, self.limit)
            if ssthresh is None or grown <= ssthresh:
                self.cwnd_bytes = grown
                return
            cwnd, acked = ssthresh, grown - ssthresh
        # cwnd += SMSS*SMSS/cwnd for an ACK of one segment, equation (3); what division leaves is kept.
        growth, self.remainder = divmod(self.mss * acked + self.remainder, cwnd)
        self.cwnd_bytes = cwnd + growth

    def on_congestion(self, event: CongestionEvent) -> None:
        """Halve the window.

        Args:
            event: Cause and flight size.
        """
        self.remainder = 0
        is_timeout = event.cause == "timeout"
        self.limit = self.mss if is_timeout else 2 * self.mss  # RFC 3465 section 2.3
        if not event.is_repeated:
            self.before = (self.cwnd_bytes, self.ssthresh_bytes)
            # ssthresh = max (FlightSize / 2, 2*SMSS), equation (4).
            self.ssthresh_bytes = max(event.decrease_from_bytes // 2, 2 * self.mss)
        self.cwnd_bytes = self.mss if is_timeout else (self.ssthresh_bytes or self.cwnd_bytes)

    def on_spurious(self, now_ns: int) -> None:
        """Undo the last reduction.

        Args:
            now_ns: Simulated time.
        """
        if self.before is not None:
            cwnd, self.ssthresh_bytes = self.before
            self.cwnd_bytes = max(self.cwnd_bytes, cwnd)
            self.before = None

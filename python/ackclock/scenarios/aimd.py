"""Additive increase, multiplicative decrease with other numbers than Reno's."""

from ackclock import CongestionController
from ackclock.controllers import AckEvent, CongestionEvent, Start


class Aimd(CongestionController):
    """AIMD(a, b): a segments more each round trip, a fraction b less on congestion. Reno is AIMD(1, 1/2)."""

    def __init__(self, start: Start, *, increase: float = 1.0, decrease: float = 0.5) -> None:
        self.increase, self.decrease = increase, decrease

    def on_ack(self, ack: AckEvent) -> None:
        if not ack.may_grow:
            return
        if self.ssthresh_bytes is None or self.cwnd_bytes < self.ssthresh_bytes:
            self.cwnd_bytes += ack.newly_acked_bytes
            return
        self.grow(self.increase * self.mss_bytes * ack.newly_acked_bytes / self.cwnd_bytes)

    def on_congestion(self, event: CongestionEvent) -> None:
        if not event.is_repeated:
            kept = int((1 - self.decrease) * event.decrease_from_bytes)
            self.ssthresh_bytes = max(kept, 2 * self.mss_bytes)
        self.cwnd_bytes = self.mss_bytes if event.cause == "timeout" else self.ssthresh_bytes or self.cwnd_bytes

"""Custom parts: a controller, a queue, an effect of a link, a source of traffic, an observation and a reward."""

from collections import deque
from collections.abc import Mapping
from random import Random
from typing import Annotated

from ackclock.controllers import AckEvent, CongestionEvent, Start
from ackclock.parts import (
    ByteCount,
    CongestionController,
    Fate,
    LinkEffect,
    LinkStart,
    Observation,
    Packet,
    Parameter,
    Queue,
    Reward,
    Seconds,
    SourceStart,
    Supply,
    TrafficSource,
)


class Gentle(CongestionController, name="gentle"):
    """Reno that keeps more of its window on congestion."""

    def __init__(
        self,
        start: Start,
        *,
        kept: Annotated[float, Parameter("What remains of the window on congestion", above=0.0, below=1.0)] = 0.8,
    ) -> None:
        super().__init__(start)
        self.kept = kept

    def on_ack(self, ack: AckEvent) -> None:
        if not ack.may_grow:
            return
        if self.ssthresh_bytes is None or self.cwnd_bytes < self.ssthresh_bytes:
            self.cwnd_bytes += ack.newly_acked_bytes
            return
        self.grow(self.mss_bytes * ack.newly_acked_bytes / self.cwnd_bytes)

    def on_congestion(self, event: CongestionEvent) -> None:
        if not event.is_repeated:
            self.ssthresh_bytes = max(int(self.kept * event.decrease_from_bytes), 2 * self.mss_bytes)
        self.cwnd_bytes = self.mss_bytes if event.cause == "timeout" else self.ssthresh_bytes or self.cwnd_bytes


class HeadDrop(Queue, name="head_drop"):
    """First in, first out; what has waited longest makes room."""

    def __init__(
        self,
        start: LinkStart,
        *,
        packets: Annotated[int, Parameter("Room", at_least=1, unit="packets")] = 20,
        drops: Annotated[bool, Parameter("The oldest is dropped, and not the newcomer")] = True,
    ) -> None:
        super().__init__(start)
        self.packets, self.drops_oldest = packets, drops
        self.waiting: deque[Packet] = deque()

    def enqueue(self, now_ns: int, packet: Packet) -> None:
        if len(self.waiting) == self.packets:
            if not self.drops_oldest:
                self.drop(packet)
                return
            self.drop(self.waiting.popleft())
        self.waiting.append(packet)

    def dequeue(self, now_ns: int) -> Packet | None:
        return self.waiting.popleft() if self.waiting else None


class Late(LinkEffect, name="late"):
    """Data takes longer, and some of it is lost; ACKs pass as they are."""

    def __init__(
        self,
        start: LinkStart,
        *,
        by: Annotated[Seconds, Parameter("How much longer", at_least="0 s")] = 0.01,
        lost: Annotated[float, Parameter("How many packets are lost", at_least=0.0, below=1.0)] = 0.0,
    ) -> None:
        super().__init__(start)
        self.late = Fate(delay_ns=round(by * 1e9))
        self.lost = lost
        self.random = Random(start.seed)

    def on_packet(self, now_ns: int, packet: Packet) -> Fate | None:
        if not packet.payload_bytes:
            return None
        if self.random.random() < self.lost:
            return Fate(is_lost=True)
        return self.late


class Pages(TrafficSource, name="pages"):
    """A few pages, with a pause for each to be read."""

    def __init__(
        self,
        start: SourceStart,
        *,
        pages: Annotated[int, Parameter("How many", at_least=1)] = 3,
        size: Annotated[ByteCount, Parameter("Of each", at_least="1 B")] = 100_000,
        pause: Annotated[Seconds, Parameter("Between two", above="0 s")] = 0.5,
    ) -> None:
        super().__init__(start)
        self.left, self.size, self.pause_ns = pages, size, round(pause * 1e9)

    def next(self, now_ns: int, unsent_bytes: int) -> Supply:
        self.left -= 1
        if self.left == 0:
            return Supply(self.size, closes=True)
        return Supply(self.size, at_ns=now_ns + self.pause_ns)


class Waiting(Observation, name="waiting_ms"):
    """Smoothed queueing delay: round-trip time above its minimum."""

    low, high = 0.0, 1000.0

    def __init__(
        self, *, kept: Annotated[float, Parameter("What remains of earlier ones", at_least=0.0, below=1.0)] = 0.0
    ) -> None:
        self.kept, self.smoothed = kept, 0.0

    def value(self, values: Mapping[str, float]) -> float:
        waiting = values["rtt_ms"] - values["min_rtt_ms"]
        self.smoothed = self.kept * self.smoothed + (1 - self.kept) * waiting
        return self.smoothed


class Steady(Reward, name="steady"):
    """Throughput in Mbit/s, less a price on waiting, and on changes of the window since the last decision."""

    def __init__(
        self,
        *,
        waiting: Annotated[float, Parameter("Price of a millisecond", at_least=0.0)] = 0.1,
        change: Annotated[float, Parameter("Price of a segment more or less", at_least=0.0)] = 0.01,
    ) -> None:
        self.waiting, self.change = waiting, change
        self.window: float | None = None

    def reward(self, values: Mapping[str, float]) -> float:
        window = values["cwnd_segments"]
        changed = 0.0 if self.window is None else abs(window - self.window)
        self.window = window
        waiting = values["mean_rtt_ms"] - values["min_rtt_ms"]
        return values["delivery_rate_bps"] / 1e6 - self.waiting * waiting - self.change * changed

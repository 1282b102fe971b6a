"""Translation between the numbers of a script and those on the wire.

Source: packetdrill's rules. Sequence numbers of a packet with SYN are absolute, those of other packets are relative to
the initial sequence number of their sender. A sent TSval stands for whatever the script calls it.
"""

from dataclasses import dataclass, field, replace

from ackclock.script import syntax
from ackclock.script.packets import ACK, SYN, Packet
from ackclock.script.syntax import EcnCheck, Option, TcpPacket

_32 = 1 << 32


class TranslationError(ValueError):
    """Error: a packet has no meaning on the wire: "what; remedy"."""


@dataclass(slots=True)
class Numbers:
    """Numbers of one connection, learnt from its packets.

    Attributes:
        script_isn: Local initial sequence number in the script.
        wire_isn: Local initial sequence number on the wire.
        remote_isn: The peer's, which the script chooses.
        first: TSval of the first packet sent with one: the script's and the wire's.
        sent: Sent TSvals, from the script's to the wire's.
    """

    script_isn: int = 0
    wire_isn: int = 0
    remote_isn: int = 0
    first: tuple[int, int] | None = None
    sent: dict[int, int] = field(default_factory=dict)

    def _local_offset(self, flags: int) -> int:
        return self.wire_isn - (self.script_isn if flags & SYN else 0)

    def _remote_offset(self, flags: int) -> int:
        return 0 if flags & SYN else self.remote_isn

    def learn_sent(self, expected: TcpPacket, actual: Packet) -> None:
        """Learn the local initial sequence number from a sent SYN."""
        if actual.flags & SYN:
            self.script_isn, self.wire_isn = expected.seq, actual.seq

    def to_script(self, actual: Packet) -> Packet:
        """Return a sent packet with the script's sequence numbers."""
        remote = self._remote_offset(actual.flags)
        return replace(
            actual,
            seq=(actual.seq - self._local_offset(actual.flags)) % _32,
            ack=(actual.ack - remote) % _32 if actual.flags & ACK else 0,
            options=tuple(_moved(option, -remote) for option in actual.options),
        )

    def timestamps_to_script(self, expected: TcpPacket, actual: Packet) -> Packet:
        """Return a sent packet with the script's TSval, and remember the mapping."""
        wanted, got = _timestamps(expected.options or ()), actual.option(syntax.TIMESTAMPS)
        if wanted is None or got is None:
            return actual
        self.sent[wanted.numbers[0]] = got.numbers[0]
        if self.first is None:
            self.first = wanted.numbers[0], got.numbers[0]
        value = (got.numbers[0] - self.first[1] + self.first[0]) % _32
        moved = replace(got, numbers=(value, got.numbers[1]))
        return replace(actual, options=tuple(moved if option is got else option for option in actual.options))

    def to_wire(self, packet: TcpPacket, *, ecr_scaled: bool = False) -> Packet:
        """Return a packet of the script with the numbers of the wire.

        Args:
            packet: Arriving packet.
            ecr_scaled: Derive a TSecr that was never sent from the first TSval.

        Raises:
            TranslationError: If it echoes a timestamp that was never sent.
        """
        local = self._local_offset(packet.flags)
        options = tuple(_moved(option, local) for option in packet.options or ())
        if packet.flags & ACK:
            options = tuple(self._echoed(option, ecr_scaled) for option in options)
        return Packet(
            flags=packet.flags,
            seq=(packet.seq + self._remote_offset(packet.flags)) % _32,
            ack=(packet.ack + local) % _32 if packet.flags & ACK else 0,
            window=packet.window or 0,
            payload=packet.payload,
            options=options,
            urgent=packet.urgent,
            tos=_tos(packet),
            ttl=packet.ip.ttl or 64,
        )

    def _echoed(self, option: Option, ecr_scaled: bool) -> Option:
        if option.kind != syntax.TIMESTAMPS:
            return option
        value, echo = option.numbers
        if echo in self.sent:
            return replace(option, numbers=(value, self.sent[echo]))
        if ecr_scaled and self.first is not None:
            return replace(option, numbers=(value, (echo - self.first[0] + self.first[1]) % _32))
        raise TranslationError(f"the timestamp {echo} was never sent; echo the TSval of a packet before")


def _moved(option: Option, offset: int) -> Option:
    if option.kind != syntax.SACK:
        return option
    return replace(option, numbers=tuple((number + offset) % _32 for number in option.numbers))


def _timestamps(options: tuple[Option, ...]) -> Option | None:
    return next((option for option in options if option.kind == syntax.TIMESTAMPS), None)


def _tos(packet: TcpPacket) -> int:
    if packet.ip.tos is not None:
        return packet.ip.tos
    return packet.ip.ecn.value if packet.ip.ecn not in (None, EcnCheck.ANY_ECT) else 0

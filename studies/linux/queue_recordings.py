"""Recordings of Linux's queue disciplines: packets by the nanosecond, and the time and the mark with which each left.

`python -m studies.linux.queue_recordings FOLDER` starts a kernel in virtual time, sends random packets through each
discipline, and writes a file for each. The tests of `crates/net` give the same packets to the simulator's disciplines.
"""

import argparse
import json
import random
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from ackclock.running import linux_kernels, user_mode

from . import queue_recorder
from .queue_recorder import DEVICE

RATE_BPS: Final = 10_000_000
"""Rate of the link behind a discipline that has no rate itself."""

_COUNT: Final = 250
"""Packets of a recording."""

Packet = tuple[int, int, int, int]
"""Time of sending in ns, flow, octets with Ethernet's header, ECN field."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A discipline and the packets for it.

    Attributes:
        tc: Discipline as `tc` names it.
        queue: The same as a scenario has it.
        packets: Packets to send.
        classes: Classes of the discipline, in `tc`'s words.
        by_flow: Whether each flow is given its class or queue, instead of a hash's.
        priority: Priority of the packets otherwise.
        shapes: Whether the discipline has a rate of its own; else it gets a link of 10 Mbit/s.
        rate_bps: Rate at which packets leave.
    """

    tc: str
    queue: dict[str, Any]
    packets: list[Packet]
    classes: tuple[str, ...] = ()
    by_flow: bool = False
    priority: int = 0
    shapes: bool = False
    rate_bps: int = RATE_BPS

    def order(self) -> dict[str, Any]:
        """Return what the recorder is to do."""
        # The credit-based shaper without credits is a link: a packet leaves when the one before has left.
        link = f"add dev {DEVICE} root handle 1: cbs idleslope 10000 sendslope 0 hicredit 0 locredit 0"
        place = f"add dev {DEVICE} root" if self.shapes else f"add dev {DEVICE} parent 1:1"
        classes = [
            f"class add dev {DEVICE} parent 2: classid 2:{index + 1} {text}" for index, text in enumerate(self.classes)
        ]
        octets = sum(packet[2] for packet in self.packets)
        return {
            "tc": [*([] if self.shapes else [link]), f"{place} handle 2: {self.tc}", *classes],
            "handle": 2 if self.by_flow else 0,
            "priority": self.priority,
            "packets": self.packets,
            "until_ns": self.packets[-1][0] + octets * 8 * 10**9 // self.rate_bps + 10**9,
        }


def _packets(
    draw: random.Random,
    flows: int,
    load: float,
    ecn: bool = False,
    rate_bps: int = RATE_BPS,
    sizes: list[int] | None = None,
) -> list[Packet]:
    """Return packets of several flows in bursts, which together offer a multiple of the rate."""
    found: list[Packet] = []
    fields = [draw.choice((0, 1, 2)) if ecn else 0 for _ in range(flows)]
    for flow, field in enumerate(fields):
        mix = sizes or draw.choice(([1514], [1514, 1514, 66], [300, 700, 1514], [98], [1514, 1000]))
        share = load * draw.uniform(0.4, 1.6) / flows
        at = draw.uniform(0, 5e6)
        while len(found) < _COUNT * (flow + 1) // flows:
            for _ in range(draw.choice((1, 1, 2, 5, 20))):
                octets = draw.choice(mix)
                found.append((int(at), flow, octets, field))
                at += octets * 8e9 / rate_bps / share * draw.expovariate(1.0) * draw.choice((0.1, 1.0, 1.9))
            at += draw.choice((0.0, 0.0, draw.expovariate(1 / 5e6)))
    # The first packet is a full one: CoDel here keeps the size of the largest so far, where Linux takes the MTU.
    return [
        (0, 0, 1514, fields[0]),
        *((at + 2_000_000, flow, octets, field) for at, flow, octets, field in sorted(found)[: _COUNT - 1]),
    ]


def _drop_tail(draw: random.Random) -> Pattern:
    limit = draw.randint(5, 60)
    return Pattern(f"pfifo limit {limit}", {"kind": "drop_tail", "limit": f"{limit} packets"}, _packets(draw, 3, 1.5))


def _drop_tail_octets(draw: random.Random) -> Pattern:
    limit = draw.randint(5_000, 60_000)
    return Pattern(f"bfifo limit {limit}", {"kind": "drop_tail", "limit": f"{limit} B"}, _packets(draw, 3, 1.5))


def _control(draw: random.Random) -> tuple[str, dict[str, Any]]:
    """Return parameters of CoDel's control law for both sides."""
    interval_ms, target_ms = draw.choice((10, 20, 40)), draw.choice((1, 2, 5))
    ecn = draw.random() < 0.5
    text = f"target {target_ms}ms interval {interval_ms}ms {'ecn' if ecn else 'noecn'}"
    fields = {"target": f"{target_ms} ms", "interval": f"{interval_ms} ms", "ecn": ecn, "inverse_sqrt": "newton"}
    if draw.random() < 0.25:
        text, fields = f"{text} ce_threshold 3ms", {**fields, "ce_threshold": "3 ms"}
    return text, fields


def _codel(draw: random.Random) -> Pattern:
    text, fields = _control(draw)
    limit = draw.choice((1_000, 40))
    queue = {"kind": "codel", "limit": f"{limit} packets", **fields}
    return Pattern(f"codel limit {limit} {text}", queue, _packets(draw, 3, draw.uniform(1.0, 1.7), ecn=True))


def _fq_codel(draw: random.Random) -> Pattern:
    text, fields = _control(draw)
    quantum, limit = draw.choice((1514, 300, 3000)), draw.choice((10_240, 10_240, 30))
    queue = {"kind": "fq_codel", "limit": f"{limit} packets", "quantum": f"{quantum} B", "variant": "linux", **fields}
    packets = _packets(draw, draw.randint(1, 5), draw.uniform(0.9, 1.8), ecn=True)
    return Pattern(f"fq_codel limit {limit} quantum {quantum} {text}", queue, packets, by_flow=True)


def _drr(draw: random.Random) -> Pattern:
    quantum, flows = draw.choice((1514, 1600, 5000)), draw.randint(2, 5)
    queue = {"kind": "drr", "quantum": f"{quantum} B", "limit": "unlimited"}
    classes = (f"drr quantum {quantum}",) * flows
    return Pattern("drr", queue, _packets(draw, flows, draw.uniform(0.9, 1.8)), classes=classes, by_flow=True)


def _sfq(draw: random.Random) -> Pattern:
    quantum, limit = draw.choice((1514, 3000)), draw.choice((127, 30))
    queue = {"kind": "sfq", "quantum": f"{quantum} B", "limit": f"{limit} packets"}
    packets = _packets(draw, draw.randint(2, 5), draw.uniform(0.9, 1.8))
    return Pattern(f"sfq quantum {quantum} limit {limit} perturb 0", queue, packets, by_flow=True)


def _tbf(draw: random.Random) -> Pattern:
    rate, burst, limit = (
        draw.choice((1_000_000, 5_000_000, 8_000_000)),
        draw.randint(1_600, 20_000),
        draw.randint(5_000, 60_000),
    )
    queue = {"kind": "tbf", "rate": f"{rate} bit/s", "burst": f"{burst} B", "limit": f"{limit} B"}
    packets = _packets(draw, 3, draw.uniform(0.8, 1.5), rate_bps=rate)
    return Pattern(f"tbf rate {rate}bit burst {burst} limit {limit}", queue, packets, shapes=True, rate_bps=rate)


def _prio(draw: random.Random) -> Pattern:
    urgent, others = (
        _packets(draw, 1, draw.uniform(0.1, 0.4), sizes=[66]),
        _packets(draw, 1, draw.uniform(0.8, 1.5), sizes=[300, 1514]),
    )
    packets: list[Packet] = [(at, 0, octets, ecn) for at, _, octets, ecn in urgent[1:100]]
    packets += [(at, 1, octets, ecn) for at, _, octets, ecn in others[:150]]
    packets.sort()
    queue = {"kind": "priority", "bands": [{"max_size": "100 B"}, {}]}
    return Pattern(f"prio bands 2 priomap{' 1' * 16}", queue, packets, by_flow=True)


def _ets(draw: random.Random) -> Pattern:
    quantum, flows = draw.choice((1514, 1600, 5000)), draw.randint(2, 5)
    queue = {"kind": "drr", "quantum": f"{quantum} B", "limit": "unlimited"}
    packets = _packets(draw, flows, draw.uniform(0.9, 1.8))
    return Pattern(f"ets quanta{f' {quantum}' * flows}", queue, packets, by_flow=True)


def _cake(draw: random.Random) -> Pattern:
    rate, rtt_ms = draw.choice((2_000_000, 8_000_000, 20_000_000)), draw.choice((20, 40))
    queue = {"kind": "cake", "bandwidth": f"{rate} bit/s", "overhead": 14, "isolation": "flows", "rtt": f"{rtt_ms} ms"}
    packets = _packets(draw, draw.randint(1, 5), draw.uniform(0.9, 1.8), ecn=True, rate_bps=rate)
    text = f"cake bandwidth {rate}bit besteffort flows overhead 14 rtt {rtt_ms}ms"
    return Pattern(text, queue, packets, shapes=True, rate_bps=rate)


def _red(draw: random.Random) -> Pattern:
    """Return RED with both thresholds at one place, so that chance decides nothing, on a link that is never idle."""
    threshold, limit, bits = draw.randint(5_000, 20_000), draw.randint(10_000, 40_000), draw.randint(2, 4)
    # From the burst that may pass, tc finds the weight: the largest power of two with which it does.
    burst = next(count for count in range(threshold // 1000 + 1, 10_000) if _red_bits(threshold, count) == bits)
    queue = {
        "kind": "red",
        "min_threshold": f"{threshold} B",
        "max_threshold": f"{threshold + 1} B",
        "weight": 0.5**bits,
        "gentle": False,
        "mean_packet": "1000 B",
        "limit": f"{limit} B",
    }
    text = f"red limit {limit} min {threshold} max {threshold + 1} avpkt 1000 burst {burst} bandwidth {RATE_BPS}bit"
    packets = _packets(draw, 2, draw.uniform(0.5, 1.5))[: _COUNT // 2]
    packets += [(2_000_000 + turn * 1_150_000, 2, 1514, 0) for turn in range(packets[-1][0] // 1_150_000)]
    return Pattern(text, queue, sorted(packets))


def _red_bits(threshold: int, burst: int) -> int:
    """Return the weight that tc takes, as a power of 1/2 (Floyd and Jacobson 1993, section 6)."""
    sought = burst + 1 - threshold / 1000
    return next(bits for bits in range(1, 32) if sought <= (1 - (1 - 0.5**bits) ** burst) * 2**bits)


def _fq(draw: random.Random) -> Pattern:
    limit = draw.choice((10_000, 30))
    queue = {"kind": "fq", "variant": "linux", "limit": f"{limit} packets"}
    packets = _packets(draw, draw.randint(1, 5), draw.uniform(0.9, 2.5))
    # In the most urgent band, since flows begin in its list, whatever their own band.
    return Pattern(f"fq limit {limit}", queue, packets, priority=6)


def _fq_pacing(draw: random.Random) -> Pattern:
    """Return fq that paces each flow, packet by packet: what it lets pass at once is the least that it allows."""
    rate, flows = draw.choice((1_000_000, 5_000_000, 80_000_000)), draw.randint(1, 4)
    slack_ns = draw.choice((0, 10_000))
    packets = _packets(draw, flows, draw.uniform(0.5, 1.5), rate_bps=rate * flows, sizes=[300, 700, 1514])
    text = f"fq maxrate {rate}bit quantum 256 initial_quantum 256 flow_limit {_COUNT} timer_slack {slack_ns}"
    return Pattern(text, {"rate": f"{rate} bit/s", "slack": f"{slack_ns} ns"}, packets, shapes=True, rate_bps=rate)


def _netem(draw: random.Random) -> Pattern:
    """Return netem as a link. Its limit counts packets that are sent or delayed, too."""
    rate = draw.choice((1_000_000, 5_000_000, 80_000_000))
    delay_us, limit = draw.choice(((0, draw.randint(3, 15)), (draw.randint(100, 50_000), _COUNT)))
    queue = {"kind": "link", "rate": f"{rate} bit/s", "delay": f"{delay_us} us", "packets": limit - 1}
    text = f"netem limit {limit} delay {delay_us}us rate {rate}bit"
    packets = _packets(draw, 3, draw.uniform(0.5, 2.0), rate_bps=rate)
    return Pattern(text, queue, packets, shapes=True, rate_bps=rate)


DISCIPLINES: Final[dict[str, Callable[[random.Random], Pattern]]] = {
    "pfifo": _drop_tail,
    "bfifo": _drop_tail_octets,
    "codel": _codel,
    "fq_codel": _fq_codel,
    "drr": _drr,
    "sfq": _sfq,
    "tbf": _tbf,
    "prio": _prio,
    "ets": _ets,
    "cake": _cake,
    "red": _red,
    "fq": _fq,
    "fq_pacing": _fq_pacing,
    "netem": _netem,
}


def record(kernel: linux_kernels.Kernel, patterns: list[Pattern]) -> list[dict[str, Any]]:
    """Send packets through disciplines of a kernel.

    Raises:
        RuntimeError: If the kernel stopped or a discipline was refused.
    """
    orders = json.dumps([pattern.order() for pattern in patterns])
    called = user_mode.call(kernel, ["-I", queue_recorder.__file__], orders, program=sys.executable)
    if called.code != 0:
        raise RuntimeError(called.err)
    return list(json.loads(called.out))


def _text(pattern: Pattern, recorded: dict[str, Any], kernel: linux_kernels.Kernel) -> str:
    """Return the file of a recording."""
    left = {number: f"{at},{ecn}" for at, number, ecn in recorded["left"]}
    order = [f"# Linux {kernel.version}: tc qdisc add {pattern.tc}", f"# {json.dumps(pattern.queue)}"]
    order.append(f"# {'no link' if pattern.shapes else f'a link of {RATE_BPS} bit/s'}")
    order.append("came_ns,flow,octets,ecn,left_ns,left_ecn")
    rows = zip(recorded["entered"], pattern.packets, strict=True)
    lines = (
        f"{at},{packet[1]},{packet[2]},{packet[3]},{left.get(number, ',')}" for number, (at, packet) in enumerate(rows)
    )
    return "\n".join([*order, *lines, ""])


def _names(folder: Path, wanted: list[str], seeds: int) -> list[str]:
    """Return the recordings to make: by their names, of whole disciplines, or those that the folder has.

    Raises:
        ValueError: If a name is not that of a discipline or of one of its recordings.
    """
    if not wanted:
        wanted = sorted(path.stem for path in folder.glob("*.csv")) or list(DISCIPLINES)
    found = []
    for name in wanted:
        discipline, _, seed = name.partition("-")
        if discipline not in DISCIPLINES or (seed and not seed.isdecimal()):
            known = ", ".join(DISCIPLINES)
            raise ValueError(
                f"{name}: unknown recording; use a discipline, with or without a seed as in codel-1: {known}"
            )
        found.extend([name] if seed else [f"{name}-{number}" for number in range(1, seeds + 1)])
    return found


def main() -> None:
    """Record disciplines into a folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="folder for the recordings")
    parser.add_argument(
        "names", nargs="*", help="codel, or codel-1 for one seed; by default what the folder has, or all"
    )
    parser.add_argument(
        "--seeds", type=int, default=2, help="recordings of each discipline without a seed (default: 2)"
    )
    arguments = parser.parse_args()
    try:
        names = _names(arguments.folder, arguments.names, arguments.seeds)
    except ValueError as error:
        parser.error(str(error))
    kernel = linux_kernels.find()
    patterns = [DISCIPLINES[name.partition("-")[0]](random.Random(name.replace("-", " "))) for name in names]
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for name, pattern, recorded in zip(names, patterns, record(kernel, patterns), strict=True):
        (arguments.folder / f"{name}.csv").write_text(_text(pattern, recorded, kernel))


if __name__ == "__main__":
    main()

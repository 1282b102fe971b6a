"""Every controller over a few paths, under the profile of the standards and under Linux's.

One that leaves a fifth of an empty link unused, or loses a tenth of its segments, has its reason here.
"""

import json
from typing import Final

import pytest

import ackclock
from ackclock import _core

pytestmark = pytest.mark.long

PATHS: Final = {"deep": (10, 50, "2 bdp", 40), "plain": (100, 20, "1 bdp", 16), "shallow": (50, 40, "0.2 bdp", 24)}
"""Rate in Mbit/s, round trip in ms, queue, seconds."""

PROFILES: Final = ("rfc", "linux-6.x")

PAYLOAD: Final = 1448 / 1500
"""Payload of a packet of 1500 octets with headers of 52, as a share; the flow must use `USED` of it."""

USED: Final = 0.8
LOST: Final = 0.1

NOT_ONES_OWN: Final = {"fixed", "external", "python", "policy"}
"""Controllers that are given a policy, a program or a window, and so have no behaviour of their own."""

BY_TELEMETRY: Final = {"hpcc", "powertcp"}
"""Controllers that work on what links write into packets."""

SLOW_START = "every loss costs a slow start, and a fifth of a path full of buffer is spent at once"
BLIND = "without RACK a lost retransmission is found by a timeout only, and the buffer overflows in whole round trips"
DEAR_START = (
    "delay counts for nothing: it fills two path fulls of buffer, is over it for the length of an interval, "
    "and takes up to 5 % of loss"
)
NO_ROOM = "the buffer holds 8 ms of its target of 60: each overflow halves the window, and slowdowns come on top"
TICK = "one-way delays in ticks of a millisecond: two segments queued are 0.24 ms at 100 Mbit/s (timestamp_granularity)"
WHOLE_TICKS = (
    "Linux's module: one-way delays in whole milliseconds, a threshold of 15 % of their range, which a tick exceeds, "
    "and a peer's clock that seems to have more than 1000 ticks a second gives none"
)
FLAT = (
    "a buffer below a round trip: delays never reach twice the least, and a curve that is flat from there on "
    "gives them windows far above the path"
)
MODELLED = "rates of its model end at 1000 packets/s, some 12 Mbit/s, and 79 packets in flight"
TICKS_AT_ONCE = "what a tick of 20 ms may send leaves at once, and is more than the buffer holds"
DEEP_FALLS = (
    "a queue that builds up once takes it down by the gradient, event after event, and it comes back by "
    "additive increase"
)

KNOWN: Final = {
    ("tahoe", "shallow", "linux-6.x", "idle"): SLOW_START,
    ("timely", "deep", "rfc", "idle"): DEEP_FALLS,
    ("timely", "plain", "rfc", "idle"): DEEP_FALLS,
    ("timely", "shallow", "rfc", "idle"): DEEP_FALLS,
    ("timely", "deep", "linux-6.x", "idle"): DEEP_FALLS,
    ("timely", "shallow", "linux-6.x", "idle"): DEEP_FALLS,
    ("pcc_allegro", "deep", "rfc", "lossy"): BLIND,
    ("pcc_allegro", "deep", "linux-6.x", "lossy"): DEAR_START,
    ("ledbat_plus_plus", "shallow", "rfc", "idle"): NO_ROOM,
    ("ledbat_plus_plus", "shallow", "linux-6.x", "idle"): NO_ROOM,
    ("verus", "plain", "rfc", "lossy"): FLAT,
    ("verus", "shallow", "rfc", "lossy"): FLAT,
    ("verus", "shallow", "linux-6.x", "lossy"): FLAT,
    ("sprout", "shallow", "linux-6.x", "idle"): MODELLED,
    ("sprout", "plain", "rfc", "idle"): MODELLED,
    ("sprout", "plain", "linux-6.x", "idle"): MODELLED,
    ("sprout", "shallow", "rfc", "lossy"): TICKS_AT_ONCE,
    ("lp", "plain", "rfc", "idle"): WHOLE_TICKS,
    ("lp", "shallow", "rfc", "idle"): WHOLE_TICKS,
    ("lp", "deep", "rfc", "idle"): WHOLE_TICKS,
    ("lp", "shallow", "linux-6.x", "idle"): WHOLE_TICKS,
    ("lp", "deep", "linux-6.x", "idle"): WHOLE_TICKS,
    ("vegas_modified", "plain", "rfc", "idle"): TICK,
    ("vegas_modified", "plain", "linux-6.x", "idle"): TICK,
    ("vegas_skew_tolerant", "plain", "linux-6.x", "idle"): TICK,
    ("vegas_modified", "shallow", "rfc", "idle"): TICK,
    ("vegas_modified", "shallow", "linux-6.x", "idle"): TICK,
}
"""Controller, path, profile, what is amiss, and why."""


def _controller(name: str, mbit_s: int, rtt_ms: int) -> str:
    """A controller as it is written; some have delays of the fabric that they are tuned for."""
    match name:
        case "swift":
            return f'{{ kind = "swift", base_target = "{rtt_ms + 5} ms" }}'
        case "powertcp_theta":
            return f'{{ kind = "powertcp_theta", line_rate = "{mbit_s} Mbit/s" }}'
        case "timely":
            return (
                f'{{ kind = "timely", t_low = "{rtt_ms + 1} ms", t_high = "{rtt_ms + 5} ms", segment = "16 kB", '
                f'additive_increase = "{10 * mbit_s} kbit/s" }}'
            )
    return f'"{name}"'


def _fault(name: str, path: str, profile: str) -> tuple[str, float] | None:
    """Return the fault of a run, "idle" or "lossy", with the number; None if it has no fault."""
    mbit_s, rtt_ms, queue, seconds = PATHS[path]
    text = f"""
        duration = "{seconds} s"
        measure = {{ from = "{seconds // 2} s" }}
        trace = {{ flows = "none", links = "none" }}
        topology.kind = "dumbbell"
        topology.access = {{ rate = "1 Gbit/s", delay = "0 ns" }}
        topology.bottleneck.rate = "{mbit_s} Mbit/s"
        topology.bottleneck.delay = "{rtt_ms // 2} ms"
        topology.bottleneck.queue = {{ kind = "drop_tail", limit = "{queue}" }}
        topology.bottleneck.telemetry = {str(name in BY_TELEMETRY).lower()}
        tcp.profile = "{profile}"
        [[flow]]
        controller = {_controller(name, mbit_s, rtt_ms)}
    """
    flow = ackclock.run(ackclock.Scenario.parse(text)).summary["flows"][0]
    used = flow["goodput_bps"] / (mbit_s * 1e6 * PAYLOAD)
    lost = flow["lost_segments"] / max(1, flow["sent_segments"])
    if lost > LOST:
        return "lossy", lost
    return ("idle", used) if used < USED else None


def _names() -> list[str]:
    """Every controller that has a behaviour of its own."""
    names = [controller["name"] for controller in json.loads(_core.controllers())]
    return [name for name in names if name not in NOT_ONES_OWN]


@pytest.mark.parametrize("profile", PROFILES)
def test_who_leaves_a_link_empty_or_loses_much_has_the_reason_on_record(profile: str) -> None:
    found = {}
    for name in _names():
        for path in PATHS:
            if fault := _fault(name, path, profile):
                found[name, path, profile, fault[0]] = fault[1]
    expected = {case for case in KNOWN if case[2] == profile}
    assert found.keys() - expected == set(), "no reason on record"
    assert expected - found.keys() == set(), "on record and no longer so"

"""Lesson 1: the sawtooth. Reno alone on 20 Mbit/s and 60 ms, which hold 100 packets."""

from ackclock.lessons import theory
from ackclock.lessons.exercise import Exercise, function, near

RATE_BPS, RTT_S = 20e6, 0.060
_PATH = theory.bdp_packets(RATE_BPS, RTT_S)

EXERCISES = (
    Exercise(
        near(_PATH, 0.01, "packets"),
        "rate times round-trip time are bits; a packet has 1500 octets of 8 bits.",
        f"20 Mbit/s x 60 ms / (8 x 1500) = {_PATH:g} packets.",
    ),
    Exercise(
        near(2 * _PATH, 0.05, "segments"),
        "a packet is lost when path and queue are both full; the queue has room for one bandwidth-delay product.",
        "Path and queue hold 100 packets each: 200 together, and half of that once Reno has answered.",
    ),
    Exercise(
        near(theory.reno_period_s(_PATH, 2 * _PATH, RATE_BPS), 0.1, "s"),
        "one segment more in each round trip; and a round trip with w packets under way takes w times 0.6 ms.",
        "The sum of 0.6 ms x w from 100 to 200 is 9 s; a run is a little longer, as recovery takes round trips too.",
    ),
    Exercise(
        function(theory.drop_tail_utilization, [(0.0,), (0.1,), (0.25,), (0.5,), (1.0,)], 0.01),
        "with w = 1 + buffer the window goes from w/2 to w. What a period carries is the sum of the windows; it takes "
        "a round trip for each step, which is longer than the path's own while the window is above 1.",
        "3/4 w^2 / (1 + w^2 - w) with w = 1 + buffer (after Villamizar and Song, 1994).",
    ),
    Exercise(
        near(theory.reno_loss(theory.bdp_packets(10e9, 0.1)), 0.25, ""),
        "how large is the window that fills 10 Gbit/s and 100 ms? Then solve W = sqrt(3 / (2 p)) for p.",
        "83,333 segments need p = 2.2e-10, one loss in five thousand million packets: RFC 3649, section 1.",
    ),
)
"""Exercises of the lesson."""

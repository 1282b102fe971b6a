"""Lesson 5: Vegas on 10 Mbit/s and 40 ms, and a congested reverse path."""

from ackclock.lessons.exercise import Exercise, between, function, word

ALPHA, BETA = 2, 4
"""Segments that Vegas keeps queued, minimum and maximum (Brakmo and Peterson 1995; defaults of `vegas`)."""


WAY_BACK_S, SEGMENT_BITS = 0.030, 1448 * 8
"""Delay of ACKs on the reverse path in exercise 4, seconds, and payload of a segment, bits."""

EXERCISES = (
    Exercise(
        function(lambda w, base, rtt: w * (1 - base / rtt), [(20, 0.04, 0.05), (60, 0.04, 0.06), (10, 0.1, 0.1)]),
        "Diff = (W / BaseRTT - W / RTT) x BaseRTT: what is expected to arrive in BaseRTT less what does.",
        "W (1 - BaseRTT / RTT): of the window, the part that waits.",
    ),
    Exercise(
        between(ALPHA, BETA, "segments"),
        "the window grows while Diff is below alpha and shrinks while it is above beta.",
        "Between alpha = 2 and beta = 4 segments; the run shows about that.",
    ),
    Exercise(
        word("reno", ["vegas", "reno"]),
        "one of them stops when a few segments wait; what does the other take for a sign?",
        "Reno goes on until the queue overflows, and Vegas takes Reno's queue for congestion and gives way.",
    ),
    Exercise(
        between(
            0.98 * ALPHA * SEGMENT_BITS / WAY_BACK_S / 1e6, 1.02 * BETA * SEGMENT_BITS / WAY_BACK_S / 1e6, "Mbit/s"
        ),
        "W (1 - BaseRTT / RTT) is between 2 and 4, RTT = BaseRTT + 30 ms; a rate is W / RTT, a segment 1448 octets.",
        "W / RTT = queued / (RTT - BaseRTT): 2 to 4 segments in 30 ms, 0.77 to 1.54 Mbit/s on any link.",
    ),
    Exercise(
        word("forward", ["forward", "backward", "both"]),
        "which direction's queue is the sender's own doing?",
        "The delay of the forward path, from timestamps (Kim and Kim 1999): others fill the queue of the reverse path.",
    ),
)
"""Exercises of the lesson."""

"""Lesson 2: shares of flows whose round-trip times differ, here by a factor of four."""

from ackclock.lessons import theory
from ackclock.lessons.exercise import Exercise, function, near

EXERCISES = (
    Exercise(
        near(4.0, 0.02),
        "the law gives a window, the same for both; a rate is a window in a round trip.",
        "Windows are alike, sqrt(3 / (2 p)), so rates are as 1/RTT: four to one.",
    ),
    Exercise(
        near(16.0, 0.05),
        "both lose at the same moments, T apart. How far does each window grow in T? And what rate is that?",
        "A window grows by T/RTT between losses: its mean is as 1/RTT, and its rate as 1/RTT^2, sixteen to one.",
    ),
    Exercise(
        function(lambda a, b, c: theory.jain_index([a, b, c]), [(1, 1, 1), (4, 1, 1), (16, 1, 2)]),
        "the square of the sum, over the number of flows times the sum of the squares.",
        "(sum x)^2 / (n sum x^2): Jain, Chiu and Hawe, 1984.",
    ),
    Exercise(
        near((theory.cubic_window(1e-5, 0.1) / 0.1) / (theory.cubic_window(1e-5, 0.4) / 0.4), 0.02),
        "in the law the window is as RTT^(3/4); a rate is a window in a round trip.",
        "Windows are as RTT^(3/4), rates as RTT^(-1/4): the fourth root of four, 1.41.",
    ),
)
"""Exercises of the lesson."""

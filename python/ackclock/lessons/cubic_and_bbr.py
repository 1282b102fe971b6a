"""Lesson 4: CUBIC beside BBR on 20 Mbit/s and 40 ms, over the size of the buffer."""

from typing import Any

from ackclock.lessons import theory
from ackclock.lessons.exercise import Exercise, near, word

FLIGHT_BDP = 2.0
"""BBR's limit on data in flight outside of its startup, in BDP (draft-cardwell-iccrg-bbr-congestion-control-00)."""


def _ends(answer: Any) -> str | None:
    try:
        shallow, deep = (str(one).strip().lower() for one in answer)
    except (TypeError, ValueError):
        return f'Two words are asked for, such as ("cubic", "bbr"), not {answer!r}.'
    if {shallow, deep} - {"cubic", "bbr"}:
        return "Each is cubic or bbr."
    wrong = [name for name, said, right in (("shallow", shallow, "bbr"), ("deep", deep, "cubic")) if said != right]
    return f"Look again at the {' and the '.join(wrong)} one." if wrong else None


EXERCISES = (
    Exercise(
        near(theory.cubic_k_s(300), 0.02, "s"),
        "K = cbrt(W_max (1 - beta) / C), with beta = 0.7 and C = 0.4 (RFC 9438, section 4.2).",
        "cbrt(300 x 0.3 / 0.4) = cbrt(225) = 6.08 s, whatever the round-trip time is.",
    ),
    Exercise(
        near(FLIGHT_BDP - 1, 0.02, "bandwidth-delay products"),
        "BBR's window is two bandwidth-delay products; the path itself holds one.",
        "Two in flight less one on the path: one bandwidth-delay product waits, as long as BBR knows the path's delay.",
    ),
    Exercise(
        _ends,
        "what makes CUBIC give way, and what does BBR do about losses? How much does each have in a deep buffer?",
        "In a shallow buffer losses make CUBIC small and leave BBR alone; in a deep one BBR stops at two "
        "bandwidth-delay products, and CUBIC fills what is left (Ware, Mukerjee, Seshan and Sherry, IMC 2019).",
    ),
    Exercise(
        near(0.02, 0.1),
        "it sends next to nothing for 200 ms of every 10 s.",
        "0.2 s / 10 s = 2 %: the price of measuring the path's own delay (draft-cardwell, section on ProbeRTT).",
    ),
    Exercise(
        word("losses", ["losses", "delay", "marks"]),
        "what of the network's signs did the first BBR not look at, which made CUBIC starve in shallow buffers?",
        "Losses bound what BBRv3 has in flight (draft-ietf-ccwg-bbr).",
    ),
)
"""Exercises of the lesson."""

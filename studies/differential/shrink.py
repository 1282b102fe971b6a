"""Reduction of a differing case to a smaller one that still differs."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

from .cases import Case
from .compare import Comparison, Kind


def shrink(found: Comparison, compare: Callable[[Sequence[Case]], Iterable[Comparison]], tries: int = 24) -> Comparison:
    """Return the smallest differing case found.

    Args:
        found: A differing case.
        compare: Function that compares cases on both sides, in order; later ones are not asked for after a difference.
        tries: Largest number of cases to play.
    """
    while tries > 0:
        for tried in compare(list(islice(_smaller(found), tries))):
            tries -= 1
            if tried.kind is Kind.DIFFERENT:
                found = tried
                break
        else:
            return found
    return found


def _smaller(found: Comparison) -> Iterator[Case]:
    """Yield smaller cases, the smallest first."""
    case = found.case
    if case.has_timestamps:
        yield replace(case, has_timestamps=False)
    yield from _shorter(found)
    yield from (replace(case, marks=case.marks - {one}) for one in sorted(case.marks) if len(case.marks) > 1)
    yield from (replace(case, copies=case.copies - {one}) for one in sorted(case.copies))
    events = [*sorted(case.drops), *sorted(case.delays_us)]
    for size in (len(events) // 2, 1):
        for first in range(0, len(events), size) if size else ():
            without = frozenset(events[first : first + size])
            if size == len(events):
                continue
            delays = {key: delay for key, delay in case.delays_us.items() if key not in without}
            yield replace(case, drops=case.drops - without, delays_us=delays)
    for first in sorted(case.pauses_us):
        yield replace(case, pauses_us={key: pause for key, pause in case.pauses_us.items() if key != first})


def _shorter(found: Comparison) -> Iterator[Case]:
    """Yield cases without the data sent after the divergence."""
    case, parting = found.case, found.parting
    if parting is None or parting.moment >= len(found.theirs.moments):
        return
    at_us = found.theirs.moments[parting.moment].at_us
    needed = max((sent.end for sent in found.theirs.departures if sent.at_us <= at_us), default=0) // 1000 + 1
    if needed < case.segments:
        yield replace(case, segments=needed)

"""Findings in words: what page and terminal say in the same way."""

from collections.abc import Sequence

from ackclock.claims import reference
from ackclock.claims.folder import Claim
from ackclock.claims.ledger import Finding, decisive, recorded_with_more
from ackclock.claims.measured import Measured, number
from ackclock.claims.origin import Made
from ackclock.stats.estimates import CONFIDENCE

ORIGINS = (
    ("source", "statements of the source"),
    ("reading", "of these once more, read or set otherwise"),
    ("ours", "statements of ours"),
)
"""Whose statements are counted apart, and how they are called."""

VERDICTS = (("agrees", "agree"), ("differs", "differ"), ("undecided", "undecided"), ("open", "open"))
"""Verdicts, and how many are said to be so."""


def spread(measured: Measured) -> str:
    """Write how far a mean may be off, 95 %; nothing for a single run of what has no chance in it.

    Examples:
        >>> from ackclock.claims.intervals import of_spread
        >>> spread(Measured(9.15, interval=of_spread(9.15, 1.7136, 10)))  # 2.262 x 1.7136 / sqrt(10)
        '± 1.226'
    """
    interval = measured.interval
    if interval is None or measured.value is None:
        return ""
    if not interval.freedom:
        return "one seed"
    decimals = len(number(measured.value).partition(".")[2])
    half = f"{interval.half:,.{decimals}f}"
    return f"± {half}" if float(half.replace(",", "")) or not interval.half else f"± <{10.0**-decimals:.{decimals}f}"


def origin(finding: Finding) -> str:
    """Say of how many seeds a number is, and whether it was simulated now or stands on record."""
    seeds = "" if finding.measured.interval is None else f"{finding.seeds} seed{'s'[: finding.seeds != 1]}"
    where = "" if finding.simulated else "on record" if finding.is_on_record else "not simulated"
    return ", ".join(part for part in (seeds, where) if part)


def record(finding: Finding) -> str:
    """Say what made a measurement on record, and whether this engine may measure otherwise; nothing of one made now."""
    if finding.is_edited:
        return _edited(finding)
    if finding.simulated:
        return ""
    if finding.claim.on_record is None:
        return "not on record"
    there = [cell for cell in finding.claim.on_record["other_choices"] if finding.claim.study.has(cell["choices"])]
    lost = len(there) - len(finding.others)
    others = f"; other choices that are of another scenario, and left out: {lost}" if lost else ""
    return f"on record: {finding.made}{_since(finding.made)}{others}"


def _edited(finding: Finding) -> str:
    """Say that what is on record was measured on another scenario."""
    what = "the verdict on record" if finding.claim.on_record is None else "the record"
    if finding.claim.subject:
        said = f"{what} is of another scenario, and decides nothing"
    else:
        said = f"{what} does not say which scenario it is of, and decides nothing"
    return said if finding.simulated else f"{said}; not simulated: --full simulates it"


_LISTED = 12
"""So many reference runs are named."""


def _since(made: Made) -> str:
    if made.is_of_this_engine:
        return ""
    if made.has_these_results:
        return f"; its sources have changed since, the results of {len(reference.measured())} reference runs have not"
    changed = reference.changed_since(made.results)
    if changed is None:
        return "; the engine's results have changed since, or may have"
    rest = [f"{len(changed) - _LISTED} more"] if len(changed) > _LISTED else []
    listed = "; ".join([*changed[:_LISTED], *rest])
    of_all = f"{len(changed)} of {len(reference.measured())}"
    return f"; the results of {of_all} reference runs have changed since ({listed})"


def more(finding: Finding) -> str:
    """Say what a record that rests on more says of a claim that was simulated now; nothing if there is none."""
    other = recorded_with_more(finding)
    if other is None:
        return ""
    over = f" over {other.tried} choices" if finding.claim.share is not None else ""
    value = f"{number(other.measured.value)} {spread(other.measured)} {finding.claim.unit}".strip()
    return f"{other.seeds} seed{'s'[: other.seeds != 1]} on record{over} say {value}: {other.verdict}"


def reason(finding: Finding) -> str:
    """Say why a claim does not agree: its reason, or that repetitions do not decide; nothing where it is unknown."""
    claim, rests_on = finding.claim, decisive(finding)
    interval = rests_on.measured.interval
    if finding.reason or rests_on.verdict != "undecided" or claim.share is not None or interval is None:
        return finding.reason
    if not interval.freedom:
        return "one seed says nothing of others"
    where = f"{number(interval.low)} to {number(interval.high)} {claim.unit}".strip()
    return f"{rests_on.seeds} seeds do not decide: {where}, where {limits(claim)} is asked for"


def verdict(finding: Finding) -> str:
    """Say the verdict, and beside that of a record that rests on more what these seeds or choices alone would give."""
    rests_on = decisive(finding)
    return rests_on.verdict if rests_on.verdict == finding.verdict else f"{rests_on.verdict} (these: {finding.verdict})"


def counts(findings: Sequence[Finding]) -> list[str]:
    """Say how many agree, differ, are undecided, open: of what was simulated now and of what is on record, by origin.

    What is on record is in no count of what was simulated now, nor the other way round. Where a record rests on more
    than the run, its verdict is counted, and a line of its own says of which.
    """
    now = [finding for finding in findings if finding.simulated]
    old = [finding for finding in findings if finding.is_on_record]
    none = [finding for finding in findings if not finding.simulated and not finding.is_on_record]
    better = [finding.claim.id for finding in now if recorded_with_more(finding) is not None]
    lines = [f"simulated now: {line}" for line in _by_origin(now)]
    if better:
        which = f"for {len(better)} of these the verdict of a record is counted, which rests on more"
        lines.append(f"{which}: {', '.join(better)}")
    lines += [f"on record: {line}" for line in _by_origin(old)]
    return lines + [f"neither simulated nor on record: {line}" for line in _by_origin(none)]


def _by_origin(findings: Sequence[Finding]) -> list[str]:
    lines = []
    for key, name in ORIGINS:
        mine = [finding for finding in findings if finding.claim.origin == key]
        if mine:
            named = name if len(mine) > 1 else name.replace("statements", "statement")
            lines.append(f"{len(mine)} {named}: {_tally(mine)}")
    return lines


def _tally(findings: Sequence[Finding]) -> str:
    """Return such as "3 agree, 1 differs"."""
    verdicts = [decisive(finding).verdict for finding in findings]
    counted = [(verdicts.count(verdict), verdict, words) for verdict, words in VERDICTS if verdict in verdicts]
    return ", ".join(f"{count} {verdict if count == 1 else words}" for count, verdict, words in counted)


def chance(findings: Sequence[Finding]) -> str:
    """Say what it means that many verdicts rest on intervals at once; nothing if fewer than two do."""
    judged = [
        f
        for f in findings
        if f.claim.share is None and f.region is None and f.measured.interval is not None and f.seeds > 1
    ]
    if len(judged) < 2:
        return ""
    missed = len(judged) * (1 - CONFIDENCE)
    stricter = 1 - (1 - CONFIDENCE) / len(judged)
    stay = [f for f in judged if f.verdict in ("agrees", "differs")]
    intervals = [f.measured.interval and f.measured.interval.of(stricter) for f in stay]
    kept = [f for f, each in zip(stay, intervals, strict=True) if f.claim.verdict(f.measured.value, each) == f.verdict]
    return (
        f"{len(judged)} verdicts rest on intervals of 95 % at once, of which some {missed:.2g} miss their mean by "
        f"chance. Of the {len(stay)} that agree or differ, {len(kept)} stay so with intervals that hold all means "
        "together with 95 % (Bonferroni)."
    )


def limits(claim: Claim) -> str:
    """Say from where to where a value agrees."""
    if claim.low is not None and claim.high is not None:
        words = f"{claim.low:g} to {claim.high:g}"
    else:
        words = f"at least {claim.low:g}" if claim.low is not None else f"at most {claim.high:g}"
    side = {0: "", 1: ", and above 0 as the source's", -1: ", and below 0 as the source's"}[claim.sign]
    return f"{words} {claim.unit}".strip() + side

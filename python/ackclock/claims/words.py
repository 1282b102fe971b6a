"""Findings in words, shared by page and terminal."""

from collections.abc import Sequence

from ackclock.base.printable import amount
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
"""Origins of statements that are counted separately, with their headings."""

VERDICTS = (("agrees", "agree"), ("differs", "differ"), ("undecided", "undecided"), ("open", "open"))
"""Verdicts, with their verb for counts."""


def spread(measured: Measured) -> str:
    """Format the 95 % uncertainty of a mean; empty for a single deterministic run.

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
    """Describe the number of seeds of a value, and whether it was simulated now or recorded."""
    seeds = "" if finding.measured.interval is None else amount(finding.seeds, "seed")
    where = "" if finding.simulated else "on record" if finding.is_on_record else "not simulated"
    return ", ".join(part for part in (seeds, where) if part)


def record(finding: Finding) -> str:
    """Describe the origin of a record, and whether this engine may give other results; empty for a new measurement."""
    if finding.is_edited:
        return _edited(finding)
    if finding.simulated:
        return ""
    if finding.claim.on_record is None:
        return "not on record"
    there = [cell for cell in finding.claim.on_record["other_choices"] if finding.claim.study.has(cell["choices"])]
    lost = len(there) - len(finding.others)
    others = f"; other choices were measured on another scenario, and are left out: {lost}" if lost else ""
    return f"on record: {finding.made}{_since(finding.made)}{others}"


def _edited(finding: Finding) -> str:
    """Return a note that the record was measured on another scenario."""
    what = "the verdict on record" if finding.claim.on_record is None else "the record"
    if finding.claim.subject:
        said = f"{what} was measured on another scenario, and does not count"
    else:
        said = f"{what} does not name its scenario, and does not count"
    return said if finding.simulated else f"{said}; not simulated: --full simulates it"


_LISTED = 3
"""Number of reference runs that are listed."""


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
    """Describe a record that rests on more data than a new simulation of the claim; empty if there is none."""
    other = recorded_with_more(finding)
    if other is None:
        return ""
    over = f" over {amount(other.tried, 'choice')}" if finding.claim.share is not None else ""
    value = f"{number(other.measured.value)} {spread(other.measured)} {finding.claim.unit}".strip()
    return f"{amount(other.seeds, 'seed')} on record{over} say {value}: {other.verdict}"


def reason(finding: Finding) -> str:
    """Return why a claim does not agree: its reason, or that repetitions do not decide; empty if unknown."""
    claim, rests_on = finding.claim, decisive(finding)
    interval = rests_on.measured.interval
    if finding.reason or rests_on.verdict != "undecided" or claim.share is not None or interval is None:
        return finding.reason
    if not interval.freedom:
        return "one seed says nothing about others"
    where = f"{number(interval.low)} to {number(interval.high)} {claim.unit}".strip()
    return f"{rests_on.seeds} seeds do not decide: {where}, where {limits(claim)} is asked for"


def verdict(finding: Finding) -> str:
    """Return the verdict; if a record with more data decides, also the verdict of the new data alone."""
    rests_on = decisive(finding)
    return rests_on.verdict if rests_on.verdict == finding.verdict else f"{rests_on.verdict} (these: {finding.verdict})"


def counts(findings: Sequence[Finding]) -> list[str]:
    """Count the verdicts, separately for new and recorded findings, by origin.

    If a record rests on more data than the run, its verdict counts, and a separate line says so.
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
    """Return a tally such as "3 agree, 1 differs"."""
    verdicts = [decisive(finding).verdict for finding in findings]
    counted = [(verdicts.count(verdict), verdict, words) for verdict, words in VERDICTS if verdict in verdicts]
    return ", ".join(f"{count} {verdict if count == 1 else words}" for count, verdict, words in counted)


def chance(findings: Sequence[Finding]) -> str:
    """Describe the effect of judging many intervals at once; empty for fewer than two verdicts."""
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
        f"About {missed:.2g} of {len(judged)} intervals of 95 % miss their mean by chance. With simultaneous intervals "
        f"(Bonferroni), {len(kept)} of the {len(stay)} decided verdicts stand."
    )


def limits(claim: Claim) -> str:
    """Return the limits of agreement, as text."""
    if claim.low is not None and claim.high is not None:
        words = f"{claim.low:g} to {claim.high:g}"
    else:
        words = f"at least {claim.low:g}" if claim.low is not None else f"at most {claim.high:g}"
    side = {0: "", 1: ", and above 0 as the source's", -1: ", and below 0 as the source's"}[claim.sign]
    return f"{words} {claim.unit}".strip() + side

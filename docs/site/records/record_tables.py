"""Tables of pages in Markdown, written from what is on record, so that no page says other numbers than its record.

Between two lines of a page, `<!-- record: dqn-2023 D1a1 D1b1 -->` and `<!-- end of record -->`, stands a row for each
claim and a column for each combination of the choices that its source leaves open. `<!-- record by option:
highspeed-2005 H1f | H1g -->` has a column for each claim and a row for each combination; `H4a1:bounded mean ms` is one
of what was measured beside it. `<!-- record statements: highspeed-2005 H1a H2a -->` has a row for each claim: what is
said, its range, the measurement that its verdict rests on, and how many combinations agree. `<!-- record verdicts:
highspeed-2005 H1 H2 -->` counts the verdicts on the claims whose ids begin so, or on all.
`<!-- record tally: dqn-2023 D1 D2 -->` counts the verdicts on the source's statements whose ids begin so, in a row for
each option of their first choice under which all of them were measured. Its last two columns count the means that lie
in their ranges, of every other repetition: what is chosen as the best by one half is judged by the other.
What is outside a claim's range is in *italics*, what is undecided has a question mark.
"""

import re
from collections import Counter
from collections.abc import Sequence

from ackclock.claims.folder import Claim, Folder
from ackclock.claims.ledger import Finding, Laboratory, judge
from ackclock.claims.measured import Measured, number
from ackclock.claims.words import ORIGINS, VERDICTS, limits
from ackclock.stats.estimates import mean_of

_MARKED = re.compile(
    r"<!-- record(?P<by> by option| statements| verdicts| tally)?: (?P<folder>\S+)(?P<what>[^>]*?) -->\n"
    r".*?<!-- end of record -->",
    re.DOTALL,
)


def renewed(text: str, folders: Sequence[Folder]) -> str:
    """Return a page with its marked tables written anew.

    Raises:
        LookupError: If a table names a folder or a claim that is not there, or a claim that is not on record.
    """

    def table(found: re.Match[str]) -> str:
        mark = found[0].split("\n", 1)[0]
        folder = next((each for each in folders if each.path.name == found["folder"]), None)
        if folder is None:
            raise LookupError(f"{mark} names no folder of claims")
        if found["by"] == " by option":
            rows = _by_option(folder, found["what"])
        else:
            writers = {None: _by_claim, " statements": _statements, " verdicts": _verdicts, " tally": _tally}
            rows = writers[found["by"]](folder, found["what"].split())
        return f"{mark}\n{rows}<!-- end of record -->"

    return _MARKED.sub(table, text)


class _Recorded(Laboratory):
    """Simulates nothing: everything is taken from the record."""

    def simulates(self, study: object) -> bool:
        return False


def on_record(folder: Folder, claim_id: str) -> Finding:
    """Return what stands on record of a claim, whether or not a run would simulate it.

    Raises:
        LookupError: If it is not on record, or of another scenario.
    """
    claims = [claim for claim in folder.claims if claim.id == claim_id and claim.on_record is not None]
    if not claims:
        raise LookupError(f"{claim_id} is not on record in {folder.path}")
    (finding,) = judge(claims, _Recorded(), {})
    if finding.is_edited:
        raise LookupError(f"{claim_id} is on record in {folder.path} of another scenario than the folder has")
    return finding


def _by_claim(folder: Folder, ids: Sequence[str]) -> str:
    findings = [on_record(folder, claim_id) for claim_id in ids]
    names = list(dict.fromkeys(name for finding in findings for name in _columns(finding)))
    rows = [
        [f.claim.id, f.claim.quantity, f"{f.claim.published} {f.claim.unit}".strip(), *_row(f, names), _seeds(f)]
        for f in findings
    ]
    return _table(["", "", "source", *names, "seeds"], rows)


def statements(findings: Sequence[Finding]) -> str:
    """Return a row for each finding: what is said, what its verdict rests on, and how many combinations agree.

    Args:
        findings: Simulated now, or on record.
    """
    said = [(f.claim, f) for f in findings]
    rows = [[c.id, c.statement, c.quantity, limits(c), _measured(f), *_agreeing(f)] for c, f in said]
    return _table(["", "statement", "quantity", "agrees if", "measured", "choices that agree", "verdict"], rows)


def _measured(finding: Finding) -> str:
    spread = finding.measured.interval
    half = f" ± {number(spread.half)}" if spread is not None and spread.freedom else ""
    return f"{number(finding.measured.value)}{half} {finding.claim.unit}".strip()


def _agreeing(finding: Finding) -> tuple[str, str]:
    """Return both counts and the verdict; a record may leave out what its other combinations measured."""
    entry = finding.claim.on_record
    if finding.simulated or entry is None:
        return f"{finding.agreeing} of {finding.tried}", finding.verdict
    return f"{entry['choices_agreeing']} of {entry['choices_tried']}", entry["verdict"]


def _statements(folder: Folder, ids: Sequence[str]) -> str:
    return statements([on_record(folder, claim_id) for claim_id in ids])


def _verdicts(folder: Folder, beginnings: Sequence[str]) -> str:
    chosen = [each for each in folder.claims if each.id.startswith(tuple(beginnings) or "")]
    counts = Counter(
        (str(each.origin), str(each.on_record["verdict"])) for each in chosen if each.on_record is not None
    )
    rows = [
        [title, *(str(counts[whose, verdict]) for verdict, _ in VERDICTS)]
        for whose, title in ORIGINS
        if any(origin == whose for origin, _ in counts)
    ]
    return _table(["", *(verb for _, verb in VERDICTS)], rows)


def _tally(folder: Folder, beginnings: Sequence[str]) -> str:
    said = [claim for claim in folder.claims if claim.id.startswith(tuple(beginnings)) and claim.origin == "source"]
    claims = [claim for claim in said if claim.study.choices[0] is said[0].study.choices[0]]
    measured = [(claim, _columns(on_record(folder, claim.id))) for claim in claims]
    rows = []
    for name in (option.name for option in said[0].study.choices[0].options):
        known = [(claim, columns[name]) for claim, columns in measured if name in columns]
        if len(known) < len(claims):
            continue
        verdicts = [claim.verdict(found.value, found.interval) for claim, found in known]
        halves = [sum(_holds(claim, found, half) for claim, found in known) for half in (0, 1)]
        seeds = {len(found.values) or 1 for _, found in known}
        counts = [verdicts.count(verdict) for verdict in ("agrees", "differs", "undecided")]
        rows.append([name, *map(str, counts), f"{min(seeds)} to {max(seeds)}", *map(str, halves)])
    heads = ["", "agree", "differ", "undecided", "seeds", "in range, odd seeds", "in range, even seeds"]
    return _table(heads, rows)


def _holds(claim: Claim, found: Measured, half: int) -> bool:
    """Return whether the mean of every other repetition, from the first or the second on, lies in the claim's range."""
    values = found.values[half::2]
    low, high = claim.limits
    return bool(values) and low <= mean_of(values) <= high


def _row(finding: Finding, names: Sequence[str]) -> list[str]:
    columns = _columns(finding)
    return [cell(finding.claim, columns[name]) if name in columns else "" for name in names]


def _seeds(finding: Finding) -> str:
    """Return how many repetitions there are of the combinations, each number once."""
    intervals = [measured.interval for measured in _columns(finding).values()]
    return ", ".join(dict.fromkeys("1" if each is None else str(each.freedom + 1) for each in intervals))


def _by_option(folder: Folder, text: str) -> str:
    findings = _parts(folder, text)
    first = next(iter(findings.values()))
    heads = [part.split(":")[1] if ":" in part else f"{part}: {f.claim.quantity}" for part, f in findings.items()]
    rows = [[name, *(_of(finding, part, name) for part, finding in findings.items())] for name in _columns(first)]
    titles = [choice.title for choice in first.claim.study.open_choices]
    return _table([", ".join(titles), *heads], rows)


def _parts(folder: Folder, text: str) -> dict[str, Finding]:
    """Return what is asked for, `H1f` or `H4a1:bounded mean ms`, and the finding of its claim."""
    parts = [part.strip() for part in text.split("|")]
    return {part: on_record(folder, part.split(":")[0]) for part in parts}


def _of(finding: Finding, part: str, name: str) -> str:
    measured = _columns(finding)[name]
    if ":" in part:
        return number(measured.also[part.split(":")[1]])
    return cell(finding.claim, measured)


def _columns(finding: Finding) -> dict[str, Measured]:
    """Return what was measured under each combination, by the names of its options."""
    first = tuple(choice.options[0] for choice in finding.claim.study.open_choices)
    tried = [(first, finding.measured), *((chosen, found) for chosen, found, _ in finding.others)]
    return {", ".join(option.name for option in chosen) or "ours": found for chosen, found in tried}


def cell(claim: Claim, measured: Measured) -> str:
    """Write a measurement: italics where it differs, a question mark where it is undecided.

    Args:
        claim: Claim with the limits that count.
        measured: Under one combination of choices.
    """
    verdict = claim.verdict(measured.value, measured.interval)
    text = number(measured.value)
    if measured.interval is not None and measured.value is not None and measured.interval.freedom:
        text = f"{text} ± {number(measured.interval.half)}"
    return f"*{text}*" if verdict == "differs" else f"{text} ?" if verdict == "undecided" else text


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)

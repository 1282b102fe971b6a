"""The page of claims: one HTML file that needs nothing else, with its figures and numbers beside it."""

import base64
import json
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from ackclock import storage
from ackclock.claims import figures, forest
from ackclock.claims.folder import Folder
from ackclock.claims.ledger import Choices, Finding, Laboratory
from ackclock.claims.measured import Measured
from ackclock.claims.origin import now
from ackclock.claims.words import chance, counts, limits, more, number, origin, record, spread

STYLE = (Path(__file__).parent / "page.css").read_text(encoding="utf-8")
"""Of every page with verdicts."""


def as_json(findings: Sequence[Finding], *, full: bool) -> dict[str, Any]:
    """Return what `claims.json` holds.

    Args:
        findings: All of them.
        full: Whether every combination of choices was tried.
    """
    entries = [finding.as_dict() for finding in findings]
    return {"ackclock": now().version, "made": now().as_dict(), "full": full, "claims": entries}


def regions_as_json(findings: Sequence[Finding]) -> dict[str, Any]:
    """Return what `regions.json` holds: of claims that are judged together, which hold under each combination.

    Args:
        findings: All of them.
    """
    found = {finding.region.name: finding for finding in findings if finding.region is not None}
    tables = [
        finding.region.as_dict([choice.title for choice in finding.claim.study.open_choices])
        for finding in found.values()
        if finding.region is not None
    ]
    return {"made": now().as_dict(), "regions": tables}


def write(
    target: Path, folders: Sequence[Folder], findings: Sequence[Finding], laboratory: Laboratory, *, full: bool
) -> None:
    """Write page, figures and `claims.json`; an earlier folder of claims is replaced when all is there.

    Args:
        target: The folder to be.
        folders: Where the claims come from.
        findings: What came out.
        laboratory: The simulations.
        full: Whether every combination of choices was tried.
    """
    with storage.new_folder(target, kind=storage.CLAIMS, renews=True) as partial:
        (partial / "figures").mkdir()
        parts = [_folder(folder, findings, laboratory, partial / "figures") for folder in folders]
        (partial / "index.html").write_text(_page("".join(parts), findings, laboratory), encoding="utf-8")
        regions = regions_as_json(findings)
        if regions["regions"]:
            (partial / "regions.json").write_text(json.dumps(regions, ensure_ascii=False) + "\n", encoding="utf-8")
        content = json.dumps(as_json(findings, full=full), indent=2, ensure_ascii=False) + "\n"
        (partial / "claims.json").write_text(content, encoding="utf-8")
        (partial / storage.MANIFEST).write_text(json.dumps({"simulations": len(laboratory)}) + "\n", encoding="utf-8")


def _page(body: str, findings: Sequence[Finding], laboratory: Laboratory) -> str:
    said = "".join(f"<li>{escape(line)}</li>" for line in counts(findings))
    old = sum(not finding.simulated for finding in findings)
    records = f"{old} of the numbers are on record and were not simulated now; each says what made it. " if old else ""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>ackclock: claims</title>'
        f'<meta name="viewport" content="width=device-width"><style>{STYLE}</style></head><body><main>'
        f"<h1>Claims: paper beside measured</h1><ul>{said}</ul><p>{len(laboratory)} simulations, ackclock "
        f"{escape(f'{now().version}, {now()}')}. {records}A verdict rests on the first option of each choice, or where "
        "a claim says so on the share of all choices that agree; the tables under each claim show the others. After ± "
        "stands half of an interval that holds the mean with 95 % (Student's t; differences and ratios are paired by "
        "seed). A claim agrees or differs if all of its interval does; it is undecided if a limit of agreement lies "
        f"within, or one seed was used where others would differ. {escape(chance(findings))}</p>"
        f"{body}</main></body></html>\n"
    )


def _folder(folder: Folder, findings: Sequence[Finding], laboratory: Laboratory, figures_path: Path) -> str:
    ids = {claim.id for claim in folder.claims}
    mine = [finding for finding in findings if finding.claim.id in ids]
    if not mine:
        return ""
    parts = [f"<h2>{escape(folder.title)}</h2><p>{escape(folder.about)}</p>", _overview(mine), _choices(mine)]
    parts += [_drawn(plot.name, plot.title, forest.draw(plot), figures_path) for plot in forest.plots(mine)]
    drawn: set[str] = set()
    for index, finding in enumerate(mine):
        parts.append(_finding(finding))
        following = mine[index + 1].claim.id if index + 1 < len(mine) else ""
        for picture in () if folder.pictures is None else folder.pictures.PICTURES:
            last = finding.claim.id.startswith(picture.claims) and not following.startswith(picture.claims)
            if last and picture.name not in drawn and laboratory.simulates(finding.claim.study):
                drawn.add(picture.name)
                parts.append(_picture(picture, finding, laboratory, figures_path))
    return f'{"".join(parts)}<p class="source">Source: {escape(folder.source)}.</p>'


def _overview(findings: Sequence[Finding]) -> str:
    rows = "".join(
        f'<tr><td><a href="#{escape(f.claim.id)}">{escape(f.claim.id)}</a></td><td>{escape(f.claim.quantity)}</td>'
        f'<td>{escape(f.claim.published)}</td><td class="n">{number(f.measured.value)}</td>'
        f'<td class="pm">{spread(f.measured)}</td><td>{escape(f.claim.unit)}</td><td>{_badge(f.verdict)}</td>'
        f"<td>{f.agreeing} of {f.tried}</td><td>{_WHOSE[f.claim.origin]}</td><td>{origin(f)}</td></tr>"
        for f in findings
    )
    return (
        "<table><thead><tr><th>claim</th><th>quantity</th><th>paper</th><th>measured</th><th>95 %</th><th>unit</th>"
        "<th>verdict</th><th>choices that agree</th><th>whose</th><th>from</th></tr></thead>"
        f"<tbody>{rows}</tbody></table>"
    )


_WHOSE = {"source": "source", "reading": "source, read otherwise", "ours": "ours"}
"""Whose statement it is, in a cell."""


def _badge(verdict: str) -> str:
    return f'<span class="badge {verdict}">{verdict}</span>'


def _choices(findings: Sequence[Finding]) -> str:
    choices = {choice.name: choice for finding in findings for choice in finding.claim.study.choices}.values()
    rows = "".join(
        f"<tr><td>{escape(choice.title)}</td><td><b>{escape(choice.options[0].name)}</b>"
        f"{''.join(', ' + escape(option.name) for option in choice.options[1:])}</td><td>{escape(choice.why)}</td></tr>"
        for choice in choices
    )
    return (
        "<h3>What the source leaves open</h3><table><thead><tr><th>choice</th><th>options; verdicts rest on the first"
        f"</th><th>why</th></tr></thead><tbody>{rows}</tbody></table>"
    )


def _finding(finding: Finding) -> str:
    claim = finding.claim
    rows = [
        ("we say" if claim.origin == "ours" else "source says", f"{claim.statement} ({claim.section})"),
        ("quantity", f"{claim.quantity}; {claim.study.title}"),
        ("paper", claim.published),
        ("measured", _measured(finding)),
        ("made by", record(finding)),
        ("more seeds", more(finding)),
        ("also", _also(finding.measured)),
        ("agreement", f"{limits(claim)}{_share(finding)}. {claim.why}"),
        ("settings", claim.settings),
        ("what decides" if finding.verdict == "agrees" else "reason", claim.reason),
    ]
    body = "".join(f"<tr><th>{name}</th><td>{escape(text)}</td></tr>" for name, text in rows if text)
    head = f'<h3 id="{escape(claim.id)}">{escape(claim.id)} {_badge(finding.verdict)}</h3>'
    return f'<section>{head}<table class="facts"><tbody>{body}</tbody></table>{_others(finding)}</section>'


def _measured(finding: Finding) -> str:
    said = f"{number(finding.measured.value)} {spread(finding.measured)} {finding.claim.unit}"
    where = origin(finding)
    if finding.simulated:
        return f"{' '.join(said.split())}{where and f' ({where})'}"
    needs = "".join(f", where {name} is set" for name in finding.claim.study.needs)
    return f"{' '.join(said.split())} ({where}; simulated with --full{needs})"


def _share(finding: Finding) -> str:
    if finding.region is not None:
        return f", judged with others: {finding.region}; this one holds under {finding.agreeing} of {finding.tried}"
    if finding.claim.share is None:
        return ""
    return f", under {finding.claim.share:.0%} of the choices; it is so under {finding.agreeing} of {finding.tried}"


def _also(measured: Measured) -> str:
    return ", ".join(f"{name}: {number(value)}" for name, value in measured.also.items())


def _others(finding: Finding) -> str:
    if not finding.others:
        return ""
    titles = "".join(f"<th>{escape(choice.title)}</th>" for choice in finding.claim.study.open_choices)
    rows = "".join(_other(*other) for other in finding.others)
    opened = " open" if len(finding.others) <= 4 else ""
    agreeing = sum(verdict == "agrees" for _, _, verdict in finding.others)
    judged = sum(verdict != "open" for _, _, verdict in finding.others)
    return (
        f"<details{opened}><summary>under the other choices: {agreeing} of {judged} agree</summary>"
        f"<table><thead><tr>{titles}<th>measured</th><th>95 %</th><th></th></tr></thead><tbody>{rows}</tbody></table>"
        "</details>"
    )


def _other(choices: Choices, measured: Measured, verdict: str) -> str:
    cells = "".join(f"<td>{escape(option.name)}</td>" for option in choices)
    numbers = f'<td class="n">{number(measured.value)}</td><td class="pm">{spread(measured)}</td>'
    return f"<tr>{cells}{numbers}<td>{_badge(verdict)}</td></tr>"


def _picture(picture: figures.Picture, finding: Finding, laboratory: Laboratory, folder: Path) -> str:
    """Draw a picture into the folder and return it for the page."""
    return _drawn(picture.name, picture.title, picture.draw(laboratory, finding.claim.study), folder)


def _drawn(name: str, caption: str, drawn: Figure, folder: Path) -> str:
    (folder / f"{name}.svg").write_bytes(figures.encode(drawn, "svg"))
    pixels = figures.encode(drawn, "png")
    (folder / f"{name}.png").write_bytes(pixels)
    data = base64.b64encode(pixels).decode("ascii")
    title = escape(caption)
    return f'<figure><figcaption>{title}</figcaption><img alt="{title}" src="data:image/png;base64,{data}"></figure>'

"""The page of claims: one HTML file that needs nothing else, with its figures and numbers beside it."""

import base64
import json
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from ackclock import storage
from ackclock._core import build_info
from ackclock.claims import figures
from ackclock.claims.folder import Claim, Folder
from ackclock.claims.ledger import Choices, Finding, Laboratory
from ackclock.claims.measured import Measured

STYLE = (Path(__file__).parent / "page.css").read_text(encoding="utf-8")
"""Of every page with verdicts."""


def as_json(findings: Sequence[Finding], *, full: bool) -> dict[str, Any]:
    """Return what `claims.json` holds.

    Args:
        findings: All of them.
        full: Whether every combination of choices was tried.
    """
    return {"ackclock": build_info()["version"], "full": full, "claims": [finding.as_dict() for finding in findings]}


def number(value: float | None) -> str:
    """Write a measured value with the digits that can be compared; a dash if there is none.

    Args:
        value: In the claim's unit.

    Examples:
        >>> number(10.3941), number(0.97442), number(381.625), number(1.0)
        ('10.39', '0.974', '381.6', '1.000')
    """
    if value is None:
        return "-"
    return f"{value:.3f}" if abs(value) < 10 else f"{value:.2f}" if abs(value) < 100 else f"{value:,.1f}"


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
        content = json.dumps(as_json(findings, full=full), indent=2, ensure_ascii=False) + "\n"
        (partial / "claims.json").write_text(content, encoding="utf-8")
        (partial / storage.MANIFEST).write_text(json.dumps({"simulations": len(laboratory)}) + "\n", encoding="utf-8")


def _page(body: str, findings: Sequence[Finding], laboratory: Laboratory) -> str:
    words = (("agrees", "agree"), ("differs", "differ"), ("open", "open"))
    counts = [(sum(finding.verdict == verdict for finding in findings), word) for verdict, word in words]
    summary = ", ".join(f"{count} {word}" for count, word in counts if count)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>ackclock: claims</title>'
        f'<meta name="viewport" content="width=device-width"><style>{STYLE}</style></head><body><main>'
        f"<h1>Claims: paper beside measured</h1><p>{len(findings)} claims: {summary}. {len(laboratory)} simulations, "
        f"ackclock {escape(build_info()['version'])}. A verdict rests on the first option of each choice, or where a "
        "claim says so on the share of all choices that agree; the tables under each claim show the others.</p>"
        f"{body}</main></body></html>\n"
    )


def _folder(folder: Folder, findings: Sequence[Finding], laboratory: Laboratory, figures_path: Path) -> str:
    ids = {claim.id for claim in folder.claims}
    mine = [finding for finding in findings if finding.claim.id in ids]
    if not mine:
        return ""
    parts = [f"<h2>{escape(folder.title)}</h2><p>{escape(folder.about)}</p>", _overview(mine), _choices(mine)]
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
        f"<td>{escape(f.claim.unit)}</td><td>{_badge(f.verdict)}</td><td>{f.agreeing} of {f.tried}</td></tr>"
        for f in findings
    )
    return (
        "<table><thead><tr><th>claim</th><th>quantity</th><th>paper</th><th>measured</th><th>unit</th><th>verdict</th>"
        f"<th>choices that agree</th></tr></thead><tbody>{rows}</tbody></table>"
    )


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
        ("source says", f"{claim.statement} ({claim.section})"),
        ("quantity", f"{claim.quantity}; {claim.study.title}"),
        ("paper", claim.published),
        ("measured", f"{number(finding.measured.value)} {claim.unit}{_from_record(finding)}".strip()),
        ("also", _also(finding.measured)),
        ("agreement", f"{_limits(claim)}{_share(finding)}. {claim.why}"),
        ("settings", claim.settings),
        ("what decides" if finding.verdict == "agrees" else "reason", claim.reason),
    ]
    body = "".join(f"<tr><th>{name}</th><td>{escape(text)}</td></tr>" for name, text in rows if text)
    head = f'<h3 id="{escape(claim.id)}">{escape(claim.id)} {_badge(finding.verdict)}</h3>'
    return f'<section>{head}<table class="facts"><tbody>{body}</tbody></table>{_others(finding)}</section>'


def _from_record(finding: Finding) -> str:
    if finding.simulated:
        return ""
    needs = "".join(f", where {name} is set" for name in finding.claim.study.needs)
    return f" (on record; simulated with --full{needs})"


def _share(finding: Finding) -> str:
    if finding.claim.share is None:
        return ""
    return f", under {finding.claim.share:.0%} of the choices; it is so under {finding.agreeing} of {finding.tried}"


def _limits(claim: Claim) -> str:
    if claim.low is not None and claim.high is not None:
        words = f"{claim.low:g} to {claim.high:g}"
    else:
        words = f"at least {claim.low:g}" if claim.low is not None else f"at most {claim.high:g}"
    return f"{words} {claim.unit}".strip()


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
        f"<table><thead><tr>{titles}<th>measured</th><th></th></tr></thead><tbody>{rows}</tbody></table></details>"
    )


def _other(choices: Choices, measured: Measured, verdict: str) -> str:
    cells = "".join(f"<td>{escape(option.name)}</td>" for option in choices)
    return f'<tr>{cells}<td class="n">{number(measured.value)}</td><td>{_badge(verdict)}</td></tr>'


def _picture(picture: figures.Picture, finding: Finding, laboratory: Laboratory, folder: Path) -> str:
    """Draw a picture into the folder and return it for the page."""
    drawn = picture.draw(laboratory, finding.claim.study)
    (folder / f"{picture.name}.svg").write_bytes(figures.encode(drawn, "svg"))
    pixels = figures.encode(drawn, "png")
    (folder / f"{picture.name}.png").write_bytes(pixels)
    data = base64.b64encode(pixels).decode("ascii")
    title = escape(picture.title)
    return f'<figure><figcaption>{title}</figcaption><img alt="{title}" src="data:image/png;base64,{data}"></figure>'

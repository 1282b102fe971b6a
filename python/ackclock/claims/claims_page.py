"""Page of claims: one self-contained HTML file, with its figures and numbers beside it."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from ackclock.base import storage
from ackclock.base.user_code import UserCodeError, blamed
from ackclock.claims import forest
from ackclock.claims.figures import Picture
from ackclock.claims.folder import Folder, select
from ackclock.claims.ledger import Choices, Finding, Laboratory, decisive
from ackclock.claims.measured import Measured, number
from ackclock.claims.origin import now
from ackclock.claims.subjects import has_edited, region_subject
from ackclock.claims.words import chance, counts, limits, more, origin, reason, record, spread, verdict
from ackclock.plotting.pages import render, written_picture
from ackclock.plotting.tables import Column, Table, Tag, html


def as_json(findings: Sequence[Finding], *, full: bool) -> dict[str, Any]:
    """Return the content of `claims.json`."""
    entries = [finding.as_dict() for finding in findings]
    return {"ackclock": now().version, "made": now().as_dict(), "full": full, "claims": entries}


def regions_as_json(findings: Sequence[Finding]) -> dict[str, Any]:
    """Return the content of `regions.json`: for claims judged together, which ones hold under each combination."""
    found = {finding.region.ids: finding for finding in findings if finding.region is not None}
    tables = [
        finding.region.as_dict([choice.title for choice in finding.claim.study.open_choices])
        | {"subject": region_subject(finding.claim.beside)}
        for finding in found.values()
        if finding.region is not None
    ]
    return {"made": now().as_dict(), "regions": tables}


def write(
    target: Path, folders: Sequence[Folder], findings: Sequence[Finding], laboratory: Laboratory, *, full: bool
) -> None:
    """Write page, figures and `claims.json`; an earlier folder is replaced once all is complete."""
    with storage.new_folder(target, kind=storage.CLAIMS, renews=True) as partial:
        (partial / "figures").mkdir()
        parts = [_folder(folder, findings, laboratory, partial / "figures") for folder in folders]
        shown = [part for part in parts if part is not None]
        (partial / "index.html").write_text(_page(shown, findings, laboratory), encoding="utf-8")
        regions = regions_as_json(findings)
        if regions["regions"]:
            (partial / REGIONS).write_text(json.dumps(regions, ensure_ascii=False) + "\n", encoding="utf-8")
        content = json.dumps(as_json(findings, full=full), indent=2, ensure_ascii=False) + "\n"
        (partial / "claims.json").write_text(content, encoding="utf-8")
        (partial / storage.MANIFEST).write_text(json.dumps({"simulations": len(laboratory)}) + "\n", encoding="utf-8")


def _page(folders: Sequence[dict[str, Any]], findings: Sequence[Finding], laboratory: Laboratory) -> str:
    return render(
        "claims.html",
        title="ackclock: claims",
        counts=counts(findings),
        simulations=len(laboratory),
        made=f"{now().version}, {now()}{_kernels(findings)}",
        old=sum(finding.is_on_record for finding in findings),
        chance=chance(findings),
        folders=folders,
    )


def _kernels(findings: Sequence[Finding]) -> str:
    """Return the kernels in virtual time that findings were measured on, as the end of a sentence."""
    found = dict.fromkeys(f"Linux {finding.on['version']}" for finding in findings if finding.on is not None)
    return "".join(f"; runs on the kernel: {one} in virtual time" for one in found)


def _folder(
    folder: Folder, findings: Sequence[Finding], laboratory: Laboratory, figures_path: Path
) -> dict[str, Any] | None:
    """Return a folder's content for the page; None if none of its claims is requested."""
    ids = {claim.id for claim in folder.claims}
    mine = [finding for finding in findings if finding.claim.id in ids]
    if not mine:
        return None
    choices = _choices(mine)
    drawn: set[str] = set()
    return {
        "title": folder.title,
        "about": folder.about,
        "source": folder.source,
        "overview": html(overview(mine)),
        "choices": html(choices) if choices.rows else "",
        "forests": [written_picture(one.name, one.title, forest.draw(one), figures_path) for one in forest.plots(mine)],
        "findings": [
            _finding(finding) | {"pictures": list(_pictures(folder, mine, index, laboratory, figures_path, drawn))}
            for index, finding in enumerate(mine)
        ],
    }


def _pictures(
    folder: Folder, mine: Sequence[Finding], index: int, laboratory: Laboratory, figures_path: Path, drawn: set[str]
) -> Iterator[dict[str, str]]:
    """Yield the pictures that stand below a finding, the last of those that they belong to."""
    here, following = mine[index].claim.id, mine[index + 1].claim.id if index + 1 < len(mine) else ""
    studies = {finding.claim.study.name: finding.claim.study for finding in mine}
    file = folder.path / "pictures.py"
    for picture in () if folder.pictures is None else folder.pictures.PICTURES:
        is_last = here.startswith(picture.claims) and not following.startswith(picture.claims)
        study = studies.get(picture.study)
        is_there = study is not None and laboratory.simulates(study) and not _is_of_another(picture, folder)
        if is_last and study is not None and picture.name not in drawn and is_there:
            drawn.add(picture.name)
            with blamed(file):
                made = picture.draw(laboratory, study)
                if not hasattr(made, "savefig"):
                    raise UserCodeError(f"{file}: the picture {picture.name} must be a Figure, and is {made!r:.60}")
            yield written_picture(picture.name, picture.title, made, figures_path)


def _is_of_another(picture: Picture, folder: Folder) -> bool:
    """Return whether a picture shows records of another scenario."""
    shown = select([folder], picture.shows) if picture.shows else []
    if any(map(has_edited, shown)):
        return True
    file = folder.path / REGIONS
    regions = json.loads(file.read_text(encoding="utf-8"))["regions"] if shown and file.exists() else []
    of_now = {each["name"]: region_subject([c for c in folder.claims if c.region == each["name"]]) for each in regions}
    return any(each.get("subject") != of_now[each["name"]] for each in regions)


REGIONS: Final = "regions.json"
"""File in which a run writes the regions where claims hold together, and a folder keeps them."""

_WHOSE = {"source": "source", "reading": "source, read otherwise", "ours": "ours"}
"""Words for the origin of a statement, in a cell."""

_OVERVIEW = (
    Column("claim", "claim", is_text=True),
    Column("quantity", "quantity", is_text=True),
    Column("paper", "paper", is_text=True),
    Column("measured", "measured"),
    Column("spread", "95 %"),
    Column("unit", "unit", is_text=True),
    Column("verdict", "verdict", is_text=True),
    Column("choices", "choices that agree"),
    Column("whose", "whose", is_text=True),
    Column("from", "from", is_text=True),
)


def overview(findings: Sequence[Finding]) -> Table:
    """Return a row for each claim: what the source has, and what was measured."""
    rows = [
        {
            "claim": Tag(f.claim.id, target=f"#{f.claim.id}"),
            "quantity": f.claim.quantity,
            "paper": f.claim.published,
            "measured": number(f.measured.value),
            "spread": spread(f.measured),
            "unit": f.claim.unit,
            "verdict": Tag(verdict(f), decisive(f).verdict),
            "choices": f"{f.agreeing} of {f.tried}",
            "whose": _WHOSE[f.claim.origin],
            "from": origin(f),
        }
        for f in findings
    ]
    return Table("", "", _filled(_OVERVIEW, rows), rows)


def _filled(columns: Sequence[Column], rows: Sequence[Mapping[str, Any]]) -> list[Column]:
    """Return the columns that are not empty."""
    return [column for column in columns if any(str(row[column.key]) for row in rows)]


def _choices(findings: Sequence[Finding]) -> Table:
    choices = {choice.name: choice for finding in findings for choice in finding.claim.study.choices}.values()
    columns = (
        Column("choice", "choice", is_text=True),
        Column("first", "what verdicts rest on", is_text=True),
        Column("others", "others", is_text=True),
        Column("why", "why", is_text=True),
    )
    rows = [
        {
            "choice": choice.title,
            "first": choice.options[0].name,
            "others": ", ".join(option.name for option in choice.options[1:]),
            "why": choice.why,
        }
        for choice in choices
    ]
    return Table("", "", columns, rows)


def _finding(finding: Finding) -> dict[str, Any]:
    claim = finding.claim
    facts = [
        ("we say" if claim.origin == "ours" else "source says", f"{claim.statement} ({claim.section})"),
        ("quantity", f"{claim.quantity}; {claim.study.title}"),
        ("paper", claim.published),
        ("measured", _measured(finding)),
        ("made by", record(finding)),
        ("on record", more(finding)),
        ("also", ", ".join(f"{name}: {number(value)}" for name, value in finding.measured.also.items())),
        ("agreement", f"{limits(claim)}{_share(finding)}. {claim.why}"),
        ("settings", claim.settings),
        ("what decides" if decisive(finding).verdict == "agrees" else "reason", reason(finding)),
    ]
    agreeing = sum(judged == "agrees" for _, _, judged in finding.others)
    asked = sum(judged != "open" for _, _, judged in finding.others)
    return {
        "id": claim.id,
        "verdict": decisive(finding).verdict,
        "facts": [(name, text) for name, text in facts if text],
        "others": html(_others(finding)) if finding.others else "",
        "is_short": len(finding.others) <= _SHORT,
        "summary": f"under the other choices: {agreeing} of {asked} agree",
    }


_SHORT = 4
"""Number of rows up to which a table is expanded at first."""


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


def _others(finding: Finding) -> Table:
    titles = [choice.title for choice in finding.claim.study.open_choices]
    columns = [
        *(Column(f"choice{place}", title, is_text=True) for place, title in enumerate(titles)),
        Column("measured", "measured"),
        Column("spread", "95 %"),
        Column("verdict", "verdict", is_text=True),
    ]
    rows = [_other(*other) for other in finding.others]
    return Table("", "", _filled(columns, rows), rows)


def _other(choices: Choices, measured: Measured, said: str) -> dict[str, str | Tag]:
    row: dict[str, str | Tag] = {f"choice{place}": option.name for place, option in enumerate(choices)}
    return row | {"measured": number(measured.value), "spread": spread(measured), "verdict": Tag(said, said)}

"""Requirements of the standards as data: checks the tables beside the code, and writes their reference page.

Each crate that implements standards has a `requirements.toml`: what a document asks in our own words, and whether the
code does it. The id stands in a line `//= id` beside the code that does it, and in one beside the test that holds it
(`#= id` in Python). Run it to check; with `--write`, to write docs/reference/requirements.md anew; with ids, to see
where each stands.
"""

import re
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TABLES = ("crates/tcp/requirements.toml", "crates/cc/requirements.toml")
PAGE = "docs/reference/requirements.md"
COMMAND = "python tests/requirements.py --write"

LEVELS = ("MUST", "MUST NOT", "SHOULD", "SHOULD NOT", "MAY", "describes")
STATUSES = ("met", "departs", "not-applicable")

_ID = re.compile(r"rfc(?P<rfc>\d+)-(?P<section>(?:\d+|[A-Z])(?:\.\d+)*)-(?P<name>[a-z0-9-]+)")
_MARKERS = {
    suffix: re.compile(rf"^\s*{sign}= *(\S+)\s*$") for suffix, sign in ((".rs", "//"), (".pkt", "//"), (".py", "#"))
}
_CITED = re.compile(r"RFC (\d+)((?: sections? [\w.]+)?)")
_SECTION = re.compile(r"\b([0-9]+(?:\.[0-9]+)*|[A-Z](?:\.[0-9]+)*)\b")
_NO_DEPARTURES = re.compile(r"Departures: none\b")


@dataclass(frozen=True)
class Requirement:
    """One entry of a table."""

    id: str
    rfc: int
    section: str
    level: str
    asks: str
    status: str
    because: str
    table: str


@dataclass
class Marks:
    """Where ids stand: in code and in tests, each as `file:line`."""

    code: dict[str, list[str]] = field(default_factory=dict)
    tests: dict[str, list[str]] = field(default_factory=dict)


def read_table(root: Path, name: str, found: list[str]) -> list[Requirement]:
    """Read one table; what is wrong with it goes to `found`."""
    try:
        entries = tomllib.loads((root / name).read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:  # an id that stands twice among others
        found.append(f"{name}: {error}")
        return []
    read = (_requirement(name, key, entry, found) for key, entry in entries.items())
    return [requirement for requirement in read if requirement]


def _requirement(table: str, key: str, entry: object, found: list[str]) -> Requirement | None:
    match = _ID.fullmatch(key)
    if match is None or not isinstance(entry, dict):
        found.append(f'{table}: {key}: must be a table with an id such as ["rfc5681-3.1-loss-window"]')
        return None
    unknown = entry.keys() - {"level", "asks", "status", "because"}
    texts = {name: entry.get(name, "") for name in ("level", "asks", "status", "because")}
    mistakes = [f"unknown field {name}" for name in sorted(unknown)]
    mistakes += [f"{name} must be a string" for name, text in texts.items() if not isinstance(text, str)]
    if texts["level"] not in LEVELS:
        mistakes.append(f"level must be one of {', '.join(LEVELS)}")
    if texts["status"] not in STATUSES:
        mistakes.append(f"status must be one of {', '.join(STATUSES)}")
    if not texts["asks"]:
        mistakes.append("asks must say what the document asks, in our own words")
    if (texts["status"] == "met") == bool(texts["because"]):
        mistakes.append("because must say what is done instead and why, of what is not met, and of nothing else")
    found.extend(f"{table}: {key}: {mistake}" for mistake in mistakes)
    if mistakes:
        return None
    return Requirement(key, int(match["rfc"]), match["section"], **texts, table=table)


def _sources(root: Path) -> Iterator[Path]:
    patterns = ("crates/*/src/**/*.rs", "crates/*/tests/**/*.rs", "tests/scripts/**/*.pkt", "tests/python/*.py")
    for pattern in patterns:
        yield from sorted(root.glob(pattern))


def find_marks(root: Path) -> Marks:
    """Every line `//= id` of the sources; what lies below `mod tests` of a source file is a test."""
    marks = Marks()
    for path in _sources(root):
        name = path.relative_to(root).as_posix()
        is_test = "/src/" not in name or path.name in ("tests.rs", "testing.rs") or "/tests/" in name
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            is_test = is_test or line.startswith("mod tests {")
            if match := _MARKERS[path.suffix].match(line):
                places = marks.tests if is_test else marks.code
                places.setdefault(match[1], []).append(f"{name}:{number}")
    return marks


def check_marks(requirements: list[Requirement], marks: Marks) -> Iterator[str]:
    """Yield the mistakes between the tables and the sources."""
    known = {requirement.id for requirement in requirements}
    for places in (marks.code, marks.tests):
        for name in places.keys() - known:
            yield f"{places[name][0]}: {name} is in no requirements.toml; correct the id, or add it there"
    for requirement in requirements:
        place = f"{requirement.table}: {requirement.id}"
        in_code, in_tests = requirement.id in marks.code, requirement.id in marks.tests
        if requirement.status == "not-applicable":
            if in_code or in_tests:
                yield f"{place}: is not applicable and stands in {(marks.code | marks.tests)[requirement.id][0]}"
            continue
        if not in_code:
            yield f"{place}: stands beside no code; add a line //= {requirement.id} where the code does it, or departs"
        if requirement.status == "met" and not in_tests:
            yield f"{place}: stands in no test; add a line //= {requirement.id} to the test that holds it"


def check_headers(root: Path, requirements: list[Requirement], marks: Marks) -> Iterator[str]:
    """Files whose header says that there are no departures, and of whose sources the tables have one."""
    departures = [requirement for requirement in requirements if requirement.status == "departs"]
    folders = {(root / one.table).parent for one in requirements} | {root / "crates/wire"}
    for path in sorted(path for folder in folders for path in folder.glob("src/**/*.rs")):
        header = _header(path.read_text(encoding="utf-8"))
        if not _NO_DEPARTURES.search(header):
            continue
        name = path.relative_to(root).as_posix()
        cited = list(_cited(header))
        for departure in departures:
            stands_here = any(place.startswith(f"{name}:") for place in marks.code.get(departure.id, []))
            if stands_here or any(_covers(citation, departure) for citation in cited):
                yield f'{name}: says "Departures: none", and {departure.id} is one; name it there'


def _header(text: str) -> str:
    lines = (line[3:].strip() for line in text.splitlines() if line.startswith("//!"))
    return " ".join(lines)


def _cited(header: str) -> Iterator[tuple[int, tuple[str, ...]]]:
    """RFCs that a header cites as its sources, with the sections if it names some."""
    for match in _CITED.finditer(header):
        rest = header[match.end(1) :]
        sections: tuple[str, ...] = ()
        if match[2]:
            listed = re.match(r" sections? ((?:[\w.]+(?:, | and |, and )?)+)", rest)
            sections = tuple(found.rstrip(".") for found in _SECTION.findall(listed[1])) if listed else ()
        yield int(match[1]), sections


def _covers(citation: tuple[int, tuple[str, ...]], departure: Requirement) -> bool:
    rfc, sections = citation
    is_within = (departure.section == section or departure.section.startswith(f"{section}.") for section in sections)
    return rfc == departure.rfc and (not sections or any(is_within))


def page_of(requirements: list[Requirement]) -> str:
    """The reference page."""
    counts = {status: sum(requirement.status == status for requirement in requirements) for status in STATUSES}
    rfcs = sorted({requirement.rfc for requirement in requirements})
    lines = [
        "# Where TCP departs from the RFCs",
        "",
        f"<!-- Written by {COMMAND} out of {' and '.join(TABLES)}: change those. -->",
        "",
        f"Of {len(requirements)} requirements of {len(rfcs)} RFCs {counts['met']} are met, "
        f"{counts['departs']} are departed from, {counts['not-applicable']} do not apply to a simulated endpoint. "
        "The tables are about the profile `rfc`, unless they name another switch; what a switch changes is in "
        "[the scenario](tcp.md). The level `describes` marks a text without key words.",
        "",
        "## Departures",
        "",
        *_table(requirements, "departs", "what it does instead, and why"),
        "",
        "## Not applicable",
        "",
        *_table(requirements, "not-applicable", "why"),
        "",
        "## Requirements by RFC",
        "",
        f"The requirements stand in {' and '.join(f'`{table}`' for table in TABLES)}; "
        "`python tests/requirements.py ID` names the code and the test of one.",
        "",
        "| RFC | met | departed from | not applicable |",
        "|---|---|---|---|",
    ]
    for rfc in rfcs:
        own = [requirement.status for requirement in requirements if requirement.rfc == rfc]
        lines.append(f"| {rfc} | {' | '.join(str(own.count(status)) for status in STATUSES)} |")
    return "\n".join(lines) + "\n"


def _table(requirements: list[Requirement], status: str, heading: str) -> list[str]:
    rows = sorted((one for one in requirements if one.status == status), key=_order)
    lines = [f"| RFC | level | requirement | {heading} |", "|---|---|---|---|"]
    return lines + [
        f"| {one.rfc} section {one.section} | {one.level} | {_cell(one.asks)} | {_cell(one.because)} |" for one in rows
    ]


def _order(requirement: Requirement) -> tuple[int, list[tuple[int, str]], str]:
    parts = [(int(part) if part.isdecimal() else 1_000, part) for part in requirement.section.split(".")]
    return requirement.rfc, parts, requirement.id


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def check(root: Path) -> tuple[list[Requirement], Marks, list[str]]:
    """Read everything under `root`, and say what is wrong."""
    found: list[str] = []
    requirements = [one for table in TABLES for one in read_table(root, table, found)]
    seen: dict[str, str] = {}
    for one in requirements:
        if one.id in seen:
            found.append(f"{one.table}: {one.id} stands in {seen[one.id]} too; keep it in one of the two")
        seen[one.id] = one.table
    marks = find_marks(root)
    found += check_marks(requirements, marks)
    found += check_headers(root, requirements, marks)
    return requirements, marks, found


def main(arguments: list[str], root: Path = ROOT) -> int:
    """Returns what a process does: 0 if all is well."""
    requirements, marks, found = check(root)
    page = root / PAGE
    if arguments == ["--write"]:
        page.write_text(page_of(requirements), encoding="utf-8")
    elif arguments:
        for name in arguments:
            places = marks.code.get(name, []) + marks.tests.get(name, [])
            print("\n".join(places) or f"{name}: stands nowhere")
        return 0
    elif not page.exists() or page.read_text(encoding="utf-8") != page_of(requirements):
        found.append(f"{PAGE}: is not what the tables say; run {COMMAND}")
    for mistake in found:
        print(mistake, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

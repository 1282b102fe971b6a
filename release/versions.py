"""Say whether every place that names the version names the same one.

    python release/versions.py          # prints it
    python release/versions.py v0.2.0   # and holds a tag to it
    python release/versions.py --notes  # prints the changelog of the version

Cargo.toml is where it is written; the package and the crates have it from there.
"""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
_HEADING = re.compile(r"^## \[(?P<version>[^]]+)\]", re.MULTILINE)


def found() -> dict[str, str]:
    """Return the version by where it stands."""
    workspace = tomllib.loads(_text("Cargo.toml"))["workspace"]
    places = {"Cargo.toml, [workspace.package]": workspace["package"]["version"]}
    for name, dependency in workspace["dependencies"].items():
        if "path" in dependency:
            places[f"Cargo.toml, {name}"] = dependency["version"]
    studies = tomllib.loads(_text("studies/pyproject.toml"))["project"]
    places["studies/pyproject.toml"] = studies["version"]
    places["studies/pyproject.toml, ackclock"] = studies["dependencies"][0].partition("==")[2]
    cited = re.search(r"^version: (.+)$", _text("CITATION.cff"), re.MULTILINE)
    places["CITATION.cff"] = cited[1] if cited else "none"
    places["CHANGELOG.md, the first after Unreleased"] = next(iter(_releases()), "none")
    return places


def notes(version: str) -> str:
    """Return what the changelog says of a version.

    Args:
        version: Without `v`.

    Raises:
        KeyError: If it has no such section.
    """
    text = _text("CHANGELOG.md")
    sections = [*_HEADING.finditer(text)]
    for section, after in zip(sections, [*sections[1:], None], strict=True):
        if section["version"] == version:
            body = text[section.end() : after.start() if after else len(text)]
            return body.partition("\n")[2].strip() + "\n"
    raise KeyError(version)


def main(arguments: list[str]) -> int:
    """Print the version, or where it differs.

    Args:
        arguments: `--notes`, a tag, or none.
    """
    places = found()
    version = next(iter(places.values()))
    if arguments == ["--notes"]:
        print(notes(version), end="")
        return 0
    if arguments:
        places["the tag"] = arguments[0].removeprefix("v")
    other = {place: said for place, said in places.items() if said != version}
    for place, said in other.items():
        print(f"{place} says {said}, and Cargo.toml says {version}; write the same in both", file=sys.stderr)
    if not other:
        print(version)
    return 1 if other else 0


def _releases() -> list[str]:
    return [found["version"] for found in _HEADING.finditer(_text("CHANGELOG.md")) if found["version"] != "Unreleased"]


def _text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

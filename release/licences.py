"""Look at the licence of each crate and package of ackclock; one that .cargo/deny.toml does not allow fails.

    python release/licences.py

Crates are those of Cargo.lock, with the SPDX expressions that their authors declared; packages those of
requirements/base.lock that are installed beside this Python, whose declarations come in many forms. Nothing is fetched.
What cargo-deny does beside this (advisories, yanked versions) needs a network.
"""

import json
import re
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

ROOT = Path(__file__).parent.parent

_SAID = {
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD-3-Clause",
    "BSD": "BSD-3-Clause",
    "BSD 3-Clause License": "BSD-3-Clause",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Python Software Foundation License": "PSF-2.0",
}
"""Licences that packages name without SPDX. BSD's licences with two and three clauses are both allowed."""


def allowed(expression: str, licences: frozenset[str]) -> bool:
    """Say whether an SPDX expression can be met.

    Args:
        expression: Expression with AND, OR, WITH and brackets; a slash is an older OR.
        licences: Allowed ones, those WITH an exception by their whole name.

    Examples:
        >>> allowed("(MIT/Apache-2.0) AND Unicode-3.0", frozenset(["MIT", "Unicode-3.0"]))
        True
        >>> allowed("LGPL-2.1-only AND MIT", frozenset(["MIT"]))
        False
    """
    text = re.sub(r"\s+WITH\s+", "+WITH+", expression.replace("/", " OR "))
    words = re.findall(r"[()]|[^\s()]+", text)
    operators = {"AND": "and", "OR": "or", "(": "(", ")": ")"}
    truth = [operators.get(word) or str(word.replace("+WITH+", " WITH ") in licences) for word in words]
    return bool(eval(" ".join(truth)))  # of True, False, and, or and brackets alone


def crates() -> dict[str, str]:
    """Return the declared licence of each crate of the workspace and of all that it is built of."""
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--offline"]
    found = json.loads(subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout)
    return {f"{crate['name']} {crate['version']}": crate["license"] or "none" for crate in found["packages"]}


def packages() -> tuple[dict[str, str], list[str]]:
    """Return the licence of each locked package that is installed, and the names of the others."""
    text = (ROOT / "requirements" / "base.lock").read_text(encoding="utf-8")
    found, missing = {}, []
    for name in sorted(set(re.findall(r"^([\w.-]+)==", text, re.MULTILINE))):
        try:
            found[name] = _said(name)
        except PackageNotFoundError:
            missing.append(name)
    return found, missing


def _said(name: str) -> str:
    about = metadata(name)
    if expression := about.get("License-Expression"):
        return str(expression)
    classes = [
        line.rpartition(" :: ")[2] for line in about.get_all("Classifier") or () if line.startswith("License ::")
    ]
    said = next((word for word in classes if word in _SAID), None) or (about.get("License") or "none").splitlines()[0]
    return _SAID.get(said, said)


def main() -> int:
    """Print a line for each kind, and one for each that is not allowed."""
    rules = tomllib.loads((ROOT / ".cargo" / "deny.toml").read_text(encoding="utf-8"))
    licences = frozenset(rules["licenses"]["allow"])
    installed, missing = packages()
    wrong = 0
    for kind, found in (("crates", crates()), ("packages", installed)):
        refused = {name: said for name, said in found.items() if not allowed(said, licences)}
        for name, said in refused.items():
            print(f"{name}: {said} is not allowed; do without it, or allow it in .cargo/deny.toml", file=sys.stderr)
        wrong += len(refused)
        print(f"{len(found) - len(refused)} of {len(found)} {kind} have licences that deny.toml allows")
    if missing:
        print(f"not installed here, and not looked at: {', '.join(missing)}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

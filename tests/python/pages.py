"""Pages of which a part is written from a run or a record."""

import os
from pathlib import Path


def assert_written(page: Path, renewed: str) -> str:
    """A page is what it would be if it were written anew; ACKCLOCK_UPDATE_DOCS=1 writes it. Returns its text."""
    if os.environ.get("ACKCLOCK_UPDATE_DOCS"):
        page.write_text(renewed, encoding="utf-8")
    text = page.read_text(encoding="utf-8")
    assert text == renewed, "ACKCLOCK_UPDATE_DOCS=1 writes the tables"
    return text

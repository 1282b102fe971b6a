"""Tests that the file of each study has: its claims in their short form, beside what is on record."""

import pytest

from ackclock.claims import Finding, Folder
from ackclock.claims.ledger import decisive


@pytest.mark.long
class Verdicts:
    """A file takes these tests by a class of its own; its fixture `folder` says which study they are of."""

    def test_verdicts_are_those_on_record(self, folder: Folder, findings: list[Finding]) -> None:
        assert {finding.claim.id: decisive(finding).verdict for finding in findings} == folder.recorded

    def test_what_is_on_record_comes_out_again(self, folder: Folder, findings: list[Finding]) -> None:
        """The seeds simulated here are the first of a record: where they measure otherwise, it is to be made anew."""
        found = [f for f in findings if f.simulated and f.claim.on_record is not None]
        pairs = {f.claim.id: (f.measured.values, f.claim.on_record["values"]) for f in found}  # type: ignore[index]
        here = [c for c in folder.claims if not (c.study.costly or c.study.needs or c.study.is_on_kernel)]
        assert {claim.id for claim in here if claim.on_record is not None} <= set(pairs)
        stale = [id for id, (now, known) in pairs.items() if pytest.approx(now, rel=1e-6) != tuple(known[: len(now)])]
        assert stale == []

    def test_whatever_differs_has_a_reason(self, findings: list[Finding]) -> None:
        assert [f.claim.id for f in findings if decisive(f).verdict == "differs" and not f.claim.reason] == []

"""From claims to findings: which simulations they need, running those once, and the verdicts."""

import itertools
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from ackclock._core import Scenario
from ackclock.claims.folder import Case, Choice, Claim, Option, Study, Verdict
from ackclock.claims.kept import run_or_load
from ackclock.claims.measured import Measured, mean
from ackclock.results import Results
from ackclock.running import Stop

Choices = tuple[Option, ...]
"""One option of each of a study's choices, in their order; in findings, of its open choices."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What came out for one claim.

    Attributes:
        claim: The claim.
        measured: Under the first option of every choice; the verdict rests on it.
        verdict: On `measured`, or for a claim over a grid on the share of choices that agree.
        first_verdict: On `measured`.
        recorded: The verdict on record, `None` for a new claim.
        others: The same quantity under other choices, with the verdict that it would give.
        simulated: Whether this was simulated now; if not, it is the measurement on record.
    """

    claim: Claim
    measured: Measured
    verdict: Verdict
    first_verdict: Verdict
    recorded: Verdict | None
    others: tuple[tuple[Choices, Measured, Verdict], ...]
    simulated: bool = True

    @property
    def tried(self) -> int:
        """Number of combinations of choices under which the question arises."""
        return sum(verdict != "open" for verdict in self._verdicts)

    @property
    def agreeing(self) -> int:
        """Number of those under which the claim agrees: fewer than `tried` means that our choices decide."""
        return self._verdicts.count("agrees")

    @property
    def _verdicts(self) -> list[Verdict]:
        return [self.first_verdict, *(verdict for _, _, verdict in self.others)]

    def as_dict(self) -> dict[str, Any]:
        """Return the claim's entry of `claims.json`."""
        claim = self.claim
        return {
            "id": claim.id,
            "section": claim.section,
            "statement": claim.statement,
            "quantity": claim.quantity,
            "unit": claim.unit,
            "published": claim.published,
            "low": claim.low,
            "high": claim.high,
            "why_this_range": claim.why,
            "settings": claim.settings,
            "measured": self.measured.value,
            "also": dict(self.measured.also),
            "simulated": self.simulated,
            "verdict": self.verdict,
            "recorded_verdict": self.recorded,
            "reason": claim.reason,
            "choices_agreeing": self.agreeing,
            "choices_tried": self.tried,
            "share_wanted": claim.share,
            "other_choices": [_other(claim.study, *other) for other in self.others],
        }


def _other(study: Study, choices: Choices, measured: Measured, verdict: Verdict) -> dict[str, Any]:
    names = {choice.name: option.name for choice, option in zip(study.open_choices, choices, strict=True)}
    return {"choices": names, "measured": measured.value, "also": dict(measured.also), "verdict": verdict}


class Laboratory:
    """Simulates what studies need, each distinct scenario once, on all cores."""

    def __init__(
        self,
        *,
        full: bool = False,
        seeds: int | None = None,
        kept: Path | None = None,
        on_done: Callable[[int, int], None] | None = None,
    ) -> None:
        """Prepare; nothing is simulated yet.

        Args:
            full: Try every combination of every choice instead of the quick ones, and simulate what is costly.
            seeds: The most repetitions; all that are listed by default.
            kept: Folder that results are kept in, and taken from if they are there.
            on_done: Called after each simulation with how many are done, and how many there are.
        """
        self._full = full
        self._seeds = seeds
        self._kept = kept
        self._on_done = on_done
        self._results: dict[str, Results] = {}
        self._hashes: dict[tuple[str, Choices, str], str] = {}

    def simulate(self, studies: Iterable[Study]) -> None:
        """Run whatever these studies need and is not there yet.

        Args:
            studies: Any; one may occur twice.
        """
        wanted: dict[str, Scenario] = {}
        for study in filter(self.simulates, studies):
            for choices, case in itertools.product(self.grid(study), study.cases):
                scenario = _scenario(case, choices)
                self._hashes[study.name, choices, case.name] = scenario.hash
                if scenario.hash not in self._results:
                    wanted[scenario.hash] = scenario
        stop = Stop()
        with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
            try:
                runs = pool.map(stop.heeded(partial(run_or_load, kept=self._kept)), wanted.values())
                for done, (key, results) in enumerate(zip(wanted, runs, strict=True), 1):
                    self._results[key] = results
                    if self._on_done:
                        self._on_done(done, len(wanted))
            finally:
                stop.set()

    def grid(self, study: Study) -> list[Choices]:
        """Return the combinations of choices that are tried, the one that verdicts rest on first.

        Args:
            study: Any.
        """
        return list(itertools.product(*[self._tried(choice) for choice in study.choices]))

    def _tried(self, choice: Choice) -> tuple[Option, ...]:
        tried = choice.options if self._full else choice.options[: choice.quick]
        return tried[: self._seeds] if choice.repeats else tried

    def settings(self, study: Study) -> dict[Choices, list[Choices]]:
        """Return the combinations of the open choices, each with its repetitions, the one that verdicts rest on first.

        Args:
            study: Any.
        """
        settings: dict[Choices, list[Choices]] = {}
        for choices in self.grid(study):
            chosen = zip(study.choices, choices, strict=True)
            settings.setdefault(tuple(option for choice, option in chosen if not choice.repeats), []).append(choices)
        return settings

    def simulates(self, study: Study) -> bool:
        """Whether a study is simulated: one that is costly with `--full` only, one that needs files where named.

        Args:
            study: Any.
        """
        return (self._full or not study.costly) and all(os.environ.get(name) for name in study.needs)

    def runs(self, study: Study, choices: Choices | None = None) -> dict[str, Results]:
        """Return the results of a study's cases.

        Args:
            study: One that was simulated.
            choices: One of its grid; the first by default.
        """
        chosen = choices or self.grid(study)[0]
        return {case.name: self._results[self._hashes[study.name, chosen, case.name]] for case in study.cases}

    def __len__(self) -> int:
        """Return how many simulations were run."""
        return len(self._results)


def _scenario(case: Case, choices: Choices) -> Scenario:
    chosen = [override for option in choices for override in option.overrides]
    return Scenario.load(str(case.scenario), [os.path.expandvars(text) for text in (*chosen, *case.overrides)])


def judge(claims: Sequence[Claim], laboratory: Laboratory, recorded: dict[str, Verdict]) -> list[Finding]:
    """Simulate what the claims need, and judge each.

    Args:
        claims: Any.
        laboratory: Where the simulations are made.
        recorded: The verdicts on record.
    """
    laboratory.simulate({claim.study.name: claim.study for claim in claims}.values())
    return [_finding(claim, laboratory, recorded.get(claim.id)) for claim in claims]


def _finding(claim: Claim, laboratory: Laboratory, recorded: Verdict | None) -> Finding:
    simulated = laboratory.simulates(claim.study)
    measurements = _simulated(claim, laboratory) if simulated else _on_record(claim)
    judged = [(choices, measured, claim.verdict(measured.value)) for choices, measured in measurements]
    (_, measured, first_verdict), *others = judged
    verdicts = [verdict for _, _, verdict in judged]
    verdict = first_verdict if claim.share is None else over_grid(verdicts, claim.share)
    return Finding(claim, measured, verdict, first_verdict, recorded, tuple(others), simulated)


def _simulated(claim: Claim, laboratory: Laboratory) -> list[tuple[Choices, Measured]]:
    study = claim.study
    return [
        (setting, mean([claim.measure(laboratory.runs(study, choices)) for choices in repetitions]))
        for setting, repetitions in laboratory.settings(study).items()
    ]


def _on_record(claim: Claim) -> list[tuple[Choices, Measured]]:
    """Return what a `--full` run measured; a claim that none has measured is open."""
    choices = claim.study.open_choices
    first = tuple(choice.options[0] for choice in choices)
    entry = claim.on_record
    if entry is None:
        return [(first, Measured(None))]
    others = [
        (tuple(_option(choice, other["choices"][choice.name]) for choice in choices), _entry(other))
        for other in entry["other_choices"]
    ]
    return [(first, _entry(entry)), *others]


def _entry(entry: Mapping[str, Any]) -> Measured:
    return Measured(entry["measured"], entry["also"])


def _option(choice: Choice, name: str) -> Option:
    return next(option for option in choice.options if option.name == name)


def over_grid(verdicts: Sequence[Verdict], share: float) -> Verdict:
    """Judge a claim whose settings are lost by how many choices agree.

    Args:
        verdicts: Under each combination of choices; where it is open, the question does not arise.
        share: The fraction that must agree.

    Examples:
        >>> over_grid(["agrees", "agrees", "differs"], 0.6), over_grid(["agrees", "differs"], 0.6)
        ('agrees', 'differs')
        >>> over_grid(["open", "open"], 0.6), over_grid(["agrees", "open"], 0.6)
        ('open', 'agrees')
    """
    judged = [verdict for verdict in verdicts if verdict != "open"]
    if not judged:
        return "open"
    return "agrees" if judged.count("agrees") >= share * len(judged) else "differs"

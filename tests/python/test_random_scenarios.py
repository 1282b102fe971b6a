"""Invariants of any results, on random scenarios; `make -f tests/Makefile soak` tries more."""

import json

import pytest

import ackclock
from random_scenarios import kinds, listed, scenario, tried


@pytest.mark.parametrize("first", range(0, 60, 10))
def test_nothing_is_violated_by_random_scenarios(first: int) -> None:
    found = {seed: tried(seed) for seed in range(first, first + 10)}
    assert {seed: what for seed, what in found.items() if what} == {}
    assert sum(what is None for what in found.values()) <= 5


def test_random_scenarios_have_all_that_the_catalogues_list() -> None:
    found: set[str] = set()
    for made in map(scenario, range(1_000)):
        if listed() <= found:
            break
        try:
            ackclock.Scenario.from_json(json.dumps(made))
        except ackclock.ScenarioError:
            continue
        found |= kinds(made)
    assert listed() - found == set()

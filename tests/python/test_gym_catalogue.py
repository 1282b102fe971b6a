"""The catalogue of observations, actions and rewards: the command that lists it, and the page that says the same."""

import json
import re
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

from ackclock import _core
from ackclock.gym import IDS, FlowEnv
from conftest import Cli
from gym_scenarios import LOSSY, rollout, scenario

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "environments.md").read_text(encoding="utf-8")
CATALOGUE: dict[str, list[dict[str, Any]]] = json.loads(_core.agents())
KERNEL = {True: "yes", False: "no"}
NEEDED: dict[str, dict[str, Any]] = {
    "pacing_rate": {"low_bps": 1_000_000, "high_bps": 20_000_000},
    "cwnd": {"low_segments": 2, "high_segments": 100},
    "alpha_fairness": {"alpha": 2.0},
}
"""Parameters without a default."""


def rows(first: str) -> list[list[str]]:
    """The rows of the page's table whose first heading is this."""
    (table,) = re.findall(rf"^\| {first} \|.*\n\|[-|]+\|\n((?:\|.*\n)+)", PAGE, re.MULTILINE)
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table.splitlines()]


def test_the_page_has_the_observations_of_the_core() -> None:
    wanted = [
        [f"`{row['name']}`", row["what"], f"{row['low']:g} to {row['high']:g}", row["scale"], KERNEL[row["kernel"]]]
        for row in CATALOGUE["observations"]
    ]
    assert rows("observation") == wanted


@pytest.mark.parametrize("kind", ["decision", "action", "reward"])
def test_the_page_has_the_other_tables_of_the_core(kind: str) -> None:
    kernel = [[KERNEL[row["kernel"]]] if "kernel" in row else [] for row in CATALOGUE[f"{kind}s"]]
    wanted = [[f"`{row['name']}`", row["what"], row["source"]] for row in CATALOGUE[f"{kind}s"]]
    assert rows(kind) == [cells + known for cells, known in zip(wanted, kernel, strict=True)]


@pytest.mark.parametrize("kind", ["action", "reward"])
def test_defaults_on_the_page_are_those_in_force(kind: str) -> None:
    for names, default, _ in rows(f"parameter of an? {kind}"):
        name, parameter = re.findall(r"`(\w+)\.(\w+)`", names)[0]
        needed = NEEDED.get(name, {})
        if default == "required":
            assert parameter in needed
            with pytest.raises(ValueError, match="is missing; give it"):
                FlowEnv(scenario(LOSSY), **{kind: name})
            continue
        table = {"kind": name, **needed}
        plain, given, other = (
            rollout(FlowEnv(scenario(LOSSY), decide="20 ms", **{kind: table | own}), 1, 40)
            for own in ({}, {parameter: json.loads(default.strip("`"))}, {parameter: _another(default)})
        )
        assert given == plain
        assert other != plain


def _another(default: str) -> object:
    value = json.loads(default.strip("`"))
    return [2 * one for one in value] if isinstance(value, list) else 10 * value


@pytest.mark.parametrize("kind", ["actions", "rewards", "decisions"])
def test_every_name_of_the_core_makes_an_environment(kind: str) -> None:
    setting = {"actions": "action", "rewards": "reward", "decisions": "decide"}[kind]
    for row in CATALOGUE[kind]:
        name = row["name"]
        value = {"kind": name, **NEEDED[name]} if name in NEEDED else name
        extra = {"decide": "20 ms"} if setting == "action" and name != "cubic_pace" else {}
        env = FlowEnv(scenario(LOSSY), **{setting: value, **extra})
        assert all(np.isfinite(step[1]) for step in rollout(env, 1, 30)[1:])


def test_the_page_says_how_registered_environments_are_set() -> None:
    shown = {cells[0].strip("`"): cells for cells in rows("ID")}
    assert tuple(shown) == IDS
    for name, (_, network, _, asked, does, paid) in shown.items():
        env: Any = gymnasium.make(name).unwrapped
        reward = env.settings.reward
        assert asked == f"`{env.settings.decide}`"
        assert does == f"`{env.settings.action}`"
        assert paid.startswith(f"`{reward if isinstance(reward, str) else reward['kind']}`")
        assert f"{env.scenario.duration_s:g} s" in network or network.startswith("the same")
        assert env.settings.target == ("kernel" if "Deployable" in name else "engine")
        assert env.settings.on_loss == ("agent" if does == "`aurora`" else "stack")


def test_agents_are_listed_and_explained(cli: Cli) -> None:
    listed = cli("list", "agents")
    assert listed.returncode == 0
    for table in CATALOGUE.values():
        for row in table:
            assert re.search(rf"^{re.escape(row['name'])}  +{re.escape(row['what'])}", listed.stdout, re.MULTILINE)
    entries = json.loads(cli("list", "agents", "--json").stdout)
    assert len(entries) == sum(map(len, CATALOGUE.values()))
    assert [entry["kind"] for entry in json.loads(cli("list", "agents", "orca", "--json").stdout)] == [
        "action",
        "reward",
    ]
    shown = cli("list", "agents", "rtt_ms").stdout
    assert "latest RTT sample" in shown
    assert "0 to 600000" in shown
    assert "kernel: yes" in shown

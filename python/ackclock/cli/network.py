"""`ackclock plot FILE.toml`: the network of a scenario as SVG."""

import json
from pathlib import Path

from ackclock.base import storage
from ackclock.cli.answers import answer
from ackclock.cli.failures import InputError


def draw(files: list[Path], place: Path, *, force: bool) -> None:
    """Draw the network of a scenario's file, without running its code.

    Raises:
        InputError: If there are several files, the destination is not an .svg file, or the network is too large.
        ScenarioError: If the scenario is wrong.
    """
    from ackclock.cli.check import load
    from ackclock.plotting.network_picture import as_file, of_network

    if len(files) > 1:
        raise InputError(f"{files[1]}: a picture has one network; give one scenario")
    if place.suffix.lower() != ".svg":
        raise InputError(f"{place}: a network is drawn as .svg")
    storage.check_file(place, force=force)
    scenario = load(files[0], [], imports=False)
    picture = of_network(json.loads(scenario.to_json()), scenario.flow_names)
    if not picture:
        raise InputError(f"{files[0]}: a network of more than 30 nodes is not drawn")
    storage.write_file(place, as_file(picture).encode())
    answer(file=str(place))
    print(place)

"""Words for a paper: the BibTeX entry of the program, and a paragraph on how a study or a run was made."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from ackclock import _core
from ackclock.base.printable import amount
from ackclock.base.version import __version__
from ackclock.experiments.store import said_place
from ackclock.experiments.studies.study_folder import Study
from ackclock.results import Results
from ackclock.results.run_labels import facts
from ackclock.scenario.display_names import displayed

YEAR: Final = 2026
"""Year of the release."""


def bibtex(version: str = __version__) -> str:
    """Return the BibTeX entry of a version."""
    return "\n".join((
        "@software{ackclock,",
        "  title   = {ackclock: a laboratory for TCP congestion control},",
        "  author  = {{The ackclock developers}},",
        f"  version = {{{version}}},",
        f"  year    = {{{YEAR}}}",
        "}",
    ))  # fmt: skip


def of_study(study: Study) -> str:
    """Return the paragraph of a study."""
    names = [displayed(entry.label) for entry in study.plan.controllers]
    flows = (entry.flow.get("controller") for entry in study.plan.controllers if study.on is None)
    queues = (cell.get("queue", "drop_tail") for cell in study.plan.cells)
    statistics = (
        "Means over seeds have 95 % confidence intervals by Student's t. Differences are paired by seed, and their "
        "p values are adjusted by Holm's method. "
    )
    done = (
        f"We simulated {_listed(names)} packet by packet in ackclock {study.version} [ackclock]. "
        if study.on is None
        else f"We ran {_listed(names)} {said_place(study.on)} in virtual time, over the network of ackclock "
        f"{study.version} [ackclock]. "
    )
    return (
        f"{done}"
        f"Line-ups: {', '.join(line_up.name for line_up in study.plan.line_ups)}. "
        f"Conditions: {study.conditions}. "
        f"{statistics if len(study.plan.seeds) > 1 else ''}{_sources(flows, queues)}"
    )


def of_run(results: Results) -> str:
    """Return the paragraph of a run."""
    known = facts(results, cut=False)
    path = "; ".join(f"{key} {value}" for key, value in known.items() if key not in ("scenario", "by", "flows"))
    is_simulated = not (results.is_recorded or results.is_of_kernel)
    flows = (flow["controller"] for flow in results.summary["flows"] if is_simulated)
    topology = results.scenario.get("topology", {})
    queue = topology.get("bottleneck", {}).get("queue", "drop_tail")
    return f"{_done(results, known.get('flows', 'flows'))} Conditions: {path}. {_sources(flows, [queue])}".rstrip()


def _done(results: Results, flows: str) -> str:
    """Return the sentence of what was simulated, ran on a kernel, or was recorded."""
    program = f"ackclock {results.manifest['versions']['ackclock']} [ackclock]"
    if results.is_recorded:
        return f"We recorded {amount(len(results.summary['flows']), 'flow')} ({results.origin}), as read by {program}."
    kernel = results.kernel
    if kernel is None:
        return f"We ran {flows} packet by packet in the simulator of {program}."
    time = "virtual" if "virtual_time" in kernel else "real"
    trust = "" if kernel["valid"] else f" The run is not valid: {'; '.join(kernel['reasons'])}."
    return f"We ran {flows} on Linux {kernel['release']} in {time} time, over the network of {program}.{trust}"


def _listed(names: list[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)


def _sources(controllers: Iterable[Any], queues: Iterable[Any]) -> str:
    """Return the sources of built-in parts, as the catalogue has them."""
    known = [*_named(controllers, _core.controllers()), *_named(queues, _core.queues())]
    return f"Algorithms follow: {'; '.join(dict.fromkeys(known))}." if known else ""


def _named(parts: Iterable[Any], catalogue: str) -> Iterator[str]:
    sources = {part["name"]: part["source"] for part in json.loads(catalogue)}
    for part in parts:
        name = part.get("kind") if isinstance(part, Mapping) else part
        if name in sources and name != "drop_tail":
            yield f"{displayed(str(name))} ({sources[name]})"

"""`ackclock/Bench-v1`: frozen networks to train on and to test on, which lie among the studies.

A seed draws a network of a family, by the choices and distributions of its file. Networks of the test are of cells of
rate, round trip and queue, of patterns and of traces that those of the training never have.
"""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal, get_args

from ackclock._core import Scenario
from ackclock.base import extras, study_files
from ackclock.base.printable import unknown
from ackclock.scenario import recorded_traces

Family = Literal["alone", "lossy", "cubic", "changing", "cellular"]
"""Families: alone on a link, with random loss, beside CUBIC, on a link whose rate changes, over a recorded cell."""

Split = Literal["train", "test"]
"""Networks to train on, or to test on."""

LEARNER: Final = "learner"
"""Name of the agent's flow in every file."""

HASHES: Final[Mapping[Split, Mapping[Family, str]]] = {
    "train": {
        "alone": "970abbec94eaf232d67aace3682d41c5078409511815f4737f0d716803e29627",
        "lossy": "305b378a490194e8268cf36409cf06bf12aff0e38d3a833c1eb9b71f13d3eaea",
        "cubic": "d720f656070c029b5e2fe524699a3a54178be5e80128b2dad6999588b38a1c2b",
        "changing": "b735e949317184db3c515b3fbbd8373cd63a2030855dfe6b641875e56cd4ebfd",
        "cellular": "a39aa6b596016b87dab4b94acad136e13492d5ec81ec5ec7c11919f848375828",
    },
    "test": {
        "alone": "c9a2a9b557f69ca0a23a8bd1a22235051cadc16a271fdd2aaec43eed30b724b2",
        "lossy": "245f1cf9a9dade276b4947ebf7e3d2fd9d83a489d785b38b2fe9c737e6b02eec",
        "cubic": "31b8a3f4d51b1bad0b86c64edbf301cd95eb20f9eddc31a6b744b998f110cd62",
        "changing": "4a8160947ecd1fe47cf9425d2e90fd63c1fd3acd1a0d3828571e2c5f95ef105c",
        "cellular": "7a8b12d9ea135b14092d66ca28d0a19b4ca80f7de5f40a3fc96761490a0d2146",
    },
}
"""SHA-256 of the files of version 1."""


def file(family: Family, split: Split) -> Path:
    """Return the scenario file of a family.

    Raises:
        ValueError: If the family or the split is unknown, or the file is not that of the benchmark.
        MissingPackageError: If the studies are not installed.
    """
    for name, given, known in (("family", family, get_args(Family)), ("split", split, get_args(Split))):
        if given not in known:
            raise ValueError(unknown(name, str(given), known))
    studies = study_files.folder()
    if studies is None:
        raise extras.missing("studies")
    found = studies / "learned" / split / f"{family}.toml"
    if hashlib.sha256(found.read_bytes()).hexdigest() != HASHES[split][family]:
        raise ValueError(f"{found} is not the file of ackclock/Bench-v1; restore it, or make a FlowEnv of it")
    return found


def network(family: Family, split: Split) -> Scenario:
    """Return the scenario of a family, which draws a network for each seed.

    Raises:
        ValueError: If `file` raises it.
        LookupError: If the traces of `cellular` are missing.
        MissingPackageError: If the studies are not installed.
    """
    found = file(family, split)
    return Scenario.load(found, recorded_traces.overrides(found))

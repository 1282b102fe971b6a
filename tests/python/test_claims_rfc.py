"""Response functions of RFCs, in their short form beside what is on record."""

import pytest

from ackclock.claims import Folder, load_folders
from verdicts import Verdicts


@pytest.fixture(scope="module")
def folder() -> Folder:
    return next(folder for folder in load_folders() if folder.path.name == "rfc")


class TestVerdicts(Verdicts):
    """Claims of this study."""

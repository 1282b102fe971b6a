"""Shares of the link, latency over buffers, what happens in an appliance over time, and who pays."""

from pathlib import Path

from ackclock.claims.figures import Picture
from ackclock.claims.folder import load_module

_HERE = Path(__file__).parent

PICTURES: list[Picture] = [
    *load_module(_HERE / "pictures_shares.py").PICTURES,
    *load_module(_HERE / "pictures_map.py").PICTURES,
    *load_module(_HERE / "pictures_buffers.py").PICTURES,
    *load_module(_HERE / "pictures_latency.py").PICTURES,
]

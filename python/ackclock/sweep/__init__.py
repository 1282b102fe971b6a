"""A grid of runs: every combination of some values, on all cores, resumable, ending in one tidy table."""

from ackclock.sweep import running, tidy
from ackclock.sweep.grid import Axis, GridError, Point, grid_of, parse_axis, parse_pair
from ackclock.sweep.store import SweepFolder
from ackclock.sweep.tidy import flow_table, group_table, link_table, means

__all__ = [
    "Axis",
    "GridError",
    "Point",
    "SweepFolder",
    "flow_table",
    "grid_of",
    "group_table",
    "link_table",
    "means",
    "parse_axis",
    "parse_pair",
    "running",
    "tidy",
]

"""Sweeps: every combination of some values, run in parallel, resumable, with one tidy table at the end."""

from ackclock.experiments.sweep import missing_points, tidy_tables
from ackclock.experiments.sweep.parameter_grid import (
    Axis,
    GridError,
    Point,
    grid_of,
    parse_axes,
    parse_axis,
    parse_pair,
)
from ackclock.experiments.sweep.sweep_folder import SweepFolder
from ackclock.experiments.sweep.tidy_tables import flow_table, group_table, link_table, means

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
    "missing_points",
    "parse_axes",
    "parse_axis",
    "parse_pair",
    "tidy_tables",
]

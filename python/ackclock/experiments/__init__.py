"""Experiments: a scenario over a grid and seeds, as a sweep or a study."""

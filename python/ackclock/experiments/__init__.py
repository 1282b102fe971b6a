"""Experiments: a scenario over a grid of values and seeds, on all cores, resumable; sweeps and studies."""

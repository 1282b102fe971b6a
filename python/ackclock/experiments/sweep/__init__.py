"""Sweeps: a scenario over a grid of values, with one tidy table at the end."""

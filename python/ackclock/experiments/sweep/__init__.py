"""A scenario over a grid of values, ending in one tidy table."""

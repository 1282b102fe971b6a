"""A scenario over a grid and seeds: sweeps, studies, and what both come to."""

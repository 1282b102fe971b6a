"""Scenarios, the examples, and the modules of one's own that scenarios name."""

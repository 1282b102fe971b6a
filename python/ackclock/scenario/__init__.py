"""Scenarios, examples, and the user-written modules that scenarios name."""

"""Validation against recorded flows: the same settings, quantities and functions for both, and a verdict."""

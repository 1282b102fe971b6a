"""Simulated flows beside recorded ones: the same settings, the same quantities, the same functions, and a verdict."""

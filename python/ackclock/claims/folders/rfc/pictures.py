"""Figures to come."""

PICTURES = []

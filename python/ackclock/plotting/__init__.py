"""Figures, tables and pages: each declared once, and drawn on paper, in a browser, a notebook or a terminal."""

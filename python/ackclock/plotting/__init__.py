"""Figures, tables and pages: each declared once, and rendered for paper, browser, notebook or terminal."""

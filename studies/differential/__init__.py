"""Differential tests: one virtual peer plays random cases against the simulated endpoint and this machine's kernel."""

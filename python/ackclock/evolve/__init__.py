"""Evolving a policy over many paths at once: no gradients, no library, and what comes out is a file that the engine runs."""

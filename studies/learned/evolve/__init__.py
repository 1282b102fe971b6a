"""Evolving a policy over many paths: no gradients, no library, and what comes out is a file that the engine runs."""

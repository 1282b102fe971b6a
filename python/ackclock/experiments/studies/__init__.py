"""Studies: controllers in line-ups, over paths, for seeds, from one file to tables and figures."""

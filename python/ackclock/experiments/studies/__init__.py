"""Studies: mixes of controllers over paths and seeds, from one file to tables and figures."""

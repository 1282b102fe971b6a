"""One virtual peer plays the same random cases against the simulated endpoint and against this machine's kernel."""

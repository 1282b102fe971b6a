"""Statistics of results: intervals, pairs, fairness, groups, limits, the window of a row."""

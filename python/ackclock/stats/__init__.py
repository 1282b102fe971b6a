"""Statistics of results: intervals, paired differences, fairness, groups, limits, measurement windows."""

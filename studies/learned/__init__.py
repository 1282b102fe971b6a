"""A learned controller beside those of today: its claims, its policy and the search that found it."""

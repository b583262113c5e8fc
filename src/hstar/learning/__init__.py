"""Learning a heuristic from start to end: sample, train, choose by search, judge."""

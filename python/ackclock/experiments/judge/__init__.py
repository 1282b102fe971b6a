"""RFC 9743 as a suite: criteria for a congestion controller, run, judged and recorded."""

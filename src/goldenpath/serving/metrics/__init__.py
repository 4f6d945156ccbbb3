"""Sources of the counters that canaries are judged by."""

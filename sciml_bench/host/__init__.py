"""This machine: what it is, what disturbs it, and the counters that it keeps."""

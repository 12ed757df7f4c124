"""Tables of a run, for terminals and as JSON."""

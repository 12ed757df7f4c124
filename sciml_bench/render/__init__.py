"""Runs as people read them: in a terminal, on a page, in a paper, and as JSON."""

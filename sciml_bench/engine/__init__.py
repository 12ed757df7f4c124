"""Starts workers and waits for them: one fresh process per cell, on this host, one benchmark at a time."""

"""Self-tests of the harness: figures, files, and the resolution of a profile."""

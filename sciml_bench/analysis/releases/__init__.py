"""Releases of a library against each other."""

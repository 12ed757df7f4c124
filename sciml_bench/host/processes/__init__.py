"""Processes of the operating system: this one, its parent, and those left behind."""

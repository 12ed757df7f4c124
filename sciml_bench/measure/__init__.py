"""The code inside a worker: phases, sampling, scoring and memory of one cell, reported to the engine as JSON lines.

This package imports nothing here, so that a starting worker only pays for what it uses.
"""

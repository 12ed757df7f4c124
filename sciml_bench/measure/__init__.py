"""What runs inside a worker: phases, sampling, scoring and memory of one cell, told to the engine as JSON lines.

This package imports nothing here, so that a worker that starts pays only for what it uses.
"""

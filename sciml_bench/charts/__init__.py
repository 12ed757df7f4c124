"""The figures of a run: what they show as data and words, and how they are drawn.

Nothing here imports matplotlib before a file is written.
"""

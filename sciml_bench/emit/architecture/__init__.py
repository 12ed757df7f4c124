"""Emitters of models: the declared layers as the source that a user of each framework would write."""

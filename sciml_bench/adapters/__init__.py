"""Adapters: one framework each, the only place that imports it."""

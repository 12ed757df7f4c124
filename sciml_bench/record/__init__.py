"""Measurements as data: tasks, outcomes, points, records, and the run folders that keep them."""

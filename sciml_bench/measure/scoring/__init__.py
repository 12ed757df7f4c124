"""Scores of solutions and gradients in a worker."""

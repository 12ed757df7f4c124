"""Benchmarks of differentiable solvers for differential equations, from one neutral problem file."""

__version__ = "0.1.0"

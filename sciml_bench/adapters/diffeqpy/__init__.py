"""diffeqpy: DifferentialEquations.jl as Python users call it, with a Python function or a Julia one."""

from sciml_bench.adapters.diffeqpy.declaration import ADAPTER

__all__ = ["ADAPTER"]

"""DifferentialEquations.jl through juliacall: explicit and implicit methods, with gradients forward and by adjoints.

Imports nothing here: a worker's program must load Julia before anything else.
"""

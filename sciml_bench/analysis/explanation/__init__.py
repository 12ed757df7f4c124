"""Reasons for a difference of two times: phases, counts of a solver, conditions of a comparison."""

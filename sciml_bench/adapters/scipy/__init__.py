"""SciPy's ``solve_ivp``, with gradients from the forward sensitivity equations."""

from sciml_bench.adapters.scipy.declaration import ADAPTER

__all__ = ["ADAPTER"]

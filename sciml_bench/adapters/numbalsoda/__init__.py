"""numbalsoda: LSODA in C++ and DOP853 in Fortran, which call a right-hand side that Numba compiled."""

from sciml_bench.adapters.numbalsoda.declaration import ADAPTER

__all__ = ["ADAPTER"]

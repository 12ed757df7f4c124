"""Diffrax in JAX: explicit and ESDIRK methods, with gradients through the steps, by the adjoint equation or forward."""

from sciml_bench.adapters.diffrax.declaration import ADAPTER

__all__ = ["ADAPTER"]

"""JAX with Equinox and Optax, for the models of the conventional track."""

from sciml_bench.adapters.jax.declaration import ADAPTER as ADAPTER

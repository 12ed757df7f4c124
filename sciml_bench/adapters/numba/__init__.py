"""What the adapters that compile with Numba share."""

"""The high-precision solver: collocation in ball arithmetic, and exact gradients of its solution."""

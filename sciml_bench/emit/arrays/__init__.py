"""Functions of array libraries: right-hand sides and Jacobians in few operations."""

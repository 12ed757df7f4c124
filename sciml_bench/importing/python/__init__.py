"""Python functions as formulas."""

"""Checks whether a run was measured by the rules: the rules are data, the checks pure functions over its records."""

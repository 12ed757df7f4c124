"""The expression language of problem files: its syntax, functions and operators, as SymPy."""

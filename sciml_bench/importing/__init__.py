"""Models of other forms, written as problem files: Python functions and SBML."""

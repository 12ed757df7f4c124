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
    {"api", "testing"},
    {"execution"},
    {"render"},
    {"charts", "export"},
    {"verification"},
    {"published_claims"},
    {"analysis"},
    {"stats"},
    {"engine"},
    {"planning"},
    {"measure"},
    {"adapters"},
    # The wing of the conventional track: models, their emitters and their truth.
    {"models"},
    {"importing"},
    {"references"},
    {"emit"},
    {"spec"},
    {"host"},
    {"record"},
    {"", "errors"},
)
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}

FRAMEWORKS = {
    "CyRK",
    "casadi",
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
    "pydiffsol",
    "sksundae",
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


def module_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def graph() -> dict[str, set[str]]:
    """Which module imports which, inside functions too, but for types alone."""
    modules = {module_of(path): path for path in MODULES}
    edges: dict[str, set[str]] = {}
    for module, path in modules.items():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
                node.body = []
        names = {
            name
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and node.module is not None
            for alias in node.names
            for name in (f"{node.module}.{alias.name}", node.module)
        }
        edges[module] = {name for name in names if name in modules} - {module}
        # ``from package import module`` names both; the package itself is imported for its own sake elsewhere.
        edges[module] -= {
            name for name in edges[module] if any(other.startswith(f"{name}.") for other in edges[module])
        }
    return edges


def circle(edges: dict[str, set[str]]) -> list[str]:
    """One circle of imports, or nothing."""
    done: set[str] = set()

    def walk(module: str, way: list[str]) -> list[str]:
        if module in way:
            return [*way[way.index(module) :], module]
        if module in done:
            return []
        for other in sorted(edges.get(module, ())):
            if found := walk(other, [*way, module]):
                return found
        done.add(module)
        return []

    return next((found for module in sorted(edges) if (found := walk(module, []))), [])


def test_no_files_import_each_other_in_a_circle():
    assert circle(graph()) == []


def test_a_circle_is_found():
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c", "b"]
    assert circle({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []


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

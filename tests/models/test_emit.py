"""Emitted source of models: readable Python for every framework, with every layer by its name."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from stubs.models import TEXTS, model

from sciml_bench.models.emit import EMITTERS, source_of
from sciml_bench.models.load_declared import load_declared
from sciml_bench.spec import catalog

# Those of Lux and SimpleChains are Julia, see `test_lux` and `test_simplechains`.
PYTHON = [target for target in EMITTERS if target not in ("lux", "simplechains")]
NAMES = [name for name in catalog.names() if catalog.header(name).suite == "conventional"]


@pytest.mark.parametrize("target", PYTHON)
@pytest.mark.parametrize("name", NAMES)
def test_source_of_the_catalog_is_python(name: str, target: str) -> None:
    text = source_of(load_declared(catalog.path(name)), target)
    assert text.startswith(f'"""{name} for ')
    assert text.endswith("\n")
    assert not text.endswith("\n\n")
    assert all(len(line) <= 120 and line == line.rstrip() for line in text.splitlines() if "make_node" not in line)
    ast.parse(text)


@pytest.mark.parametrize("target", [*PYTHON, "lux"])
@pytest.mark.parametrize("name", TEXTS)
def test_every_layer_with_weights_stands_in_the_source(tmp_path: Path, name: str, target: str) -> None:
    found = model(tmp_path, name)
    text = source_of(found, target)
    for slot in found.slots:
        assert slot.layer in text


def test_imports_are_used(tmp_path: Path) -> None:
    for name in TEXTS:
        for target in PYTHON:
            text = source_of(model(tmp_path, name), target)
            for node in ast.walk(ast.parse(text)):
                if isinstance(node, ast.Import | ast.ImportFrom):
                    for alias in node.names:
                        known = alias.asname or alias.name.partition(".")[0]
                        assert len(re.findall(rf"\b{known}\b", text)) >= 2, (name, target, known)

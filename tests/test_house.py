"""Rules of the house: a module has one name, a comment belongs to what it stands above, a reference leads somewhere."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES = [path for folder in ("sciml_bench", "tests", "benchmarks") for path in sorted((ROOT / folder).rglob("*.py"))]


def renamed_modules(text: str) -> Iterator[str]:
    """Imports of the package's modules under another name."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("sciml_bench"):
            for name in node.names:
                place = ROOT / f"{node.module}.{name.name}".replace(".", "/")
                if name.asname not in (None, name.name) and (place.with_suffix(".py").exists() or place.is_dir()):
                    yield f"line {node.lineno}: {name.name} as {name.asname}"


def stray_comments(text: str) -> Iterator[str]:
    """Comments with nothing above them and nothing below."""
    lines = ["", *text.splitlines(), ""]
    for number in range(1, len(lines) - 1):
        if lines[number].startswith("# ") and not lines[number - 1].strip():
            end = next(i for i in range(number, len(lines)) if not lines[i].startswith("#"))
            if not lines[end].strip():
                yield f"line {number}: {lines[number]}"


def lost_references(path: Path) -> Iterator[str]:
    """Modules that a docstring names with ``:mod:`` and that are not there; names with a dot first are relative."""
    for name in re.findall(r":mod:`~?(\.?[\w.]+)`", path.read_text(encoding="utf-8")):
        bases = (path.parent,) if name.startswith(".") else (ROOT, ROOT / "tests")
        places = [base / name.lstrip(".").replace(".", "/") for base in bases]
        if not any(place.with_suffix(".py").exists() or place.is_dir() for place in places):
            yield name


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_names_comments_and_references(path: Path):
    text = path.read_text(encoding="utf-8")
    assert [*renamed_modules(text), *stray_comments(text), *lost_references(path)] == []


def test_the_rules_find_what_they_forbid(tmp_path: Path):
    assert list(renamed_modules("from sciml_bench.record import codec as other\n")) == ["line 1: codec as other"]
    assert list(renamed_modules("from sciml_bench.record import codec\n")) == []
    assert list(stray_comments("x = 1\n\n# About nothing.\n\n\ny = 2\n")) == ["line 3: # About nothing."]
    assert list(stray_comments("x = 1\n\n# About y.\ny = 2\n")) == []
    file = tmp_path / "module.py"
    text = '"""See MODULE`.module`, MODULE`.gone` and MODULE`sciml_bench.record.codec`."""\n'
    file.write_text(text.replace("MODULE", ":mod:"))
    assert list(lost_references(file)) == [".gone"]

"""What the pages in docs/ name exists, and the picture of the layers is the one that imports keep."""

from __future__ import annotations

import importlib
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
import test_layers as layers

import sciml_bench
from sciml_bench.cli.main import cli

ROOT = Path(sciml_bench.__file__).resolve().parents[1]
PAGES = [*sorted((ROOT / "docs").glob("*.md")), ROOT / "CONTRIBUTING.md"]
ARCHITECTURE = ROOT / "docs" / "architecture.md"

pytestmark = pytest.mark.skipif(not ARCHITECTURE.is_file(), reason="not a checkout")

_MERMAID = re.compile(r"```mermaid\n(.*?)```", re.DOTALL)
_QUOTED = re.compile(r"`([^`\n]+)`")
_PATH = re.compile(r"[\w.-]+(?:/[\w.-]+)*/(?:[\w-]+(?:\.\w+)+)?")
_NAME = re.compile(r"sciml_bench(?:\.\w+)+")


def paths(text: str) -> Iterator[str]:
    """Every path that a page names, in backticks and in its pictures, but those with a part to fill in (``NAME``)."""
    for word in _QUOTED.findall(re.sub(r"```.*?```", "", text, flags=re.DOTALL)):
        if _PATH.fullmatch(word) and not re.search(r"\b[A-Z]+\b", word):
            yield word
    for picture in _MERMAID.findall(text):
        yield from (word for word in re.findall(r"[\w./-]+", picture.replace("<br/>", " ")) if _PATH.fullmatch(word))


def names(text: str) -> Iterator[str]:
    """Every dotted name of the package."""
    yield from (word for word in _QUOTED.findall(text) if _NAME.fullmatch(word))


def commands(text: str) -> Iterator[str]:
    """Every command line of the suite."""
    yield from (word for word in _QUOTED.findall(text) if word.startswith("sciml-bench "))


def exists(path: str) -> bool:
    """Whether a path is one from the root, or from the package as the pictures write it."""
    return any((root / path).exists() for root in (ROOT, ROOT / "sciml_bench"))


def resolves(name: str) -> bool:
    """Whether a dotted name is a module, or something in one."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for part in parts[length:]:
            if not hasattr(found, part):
                return False
            found = getattr(found, part)
        return True
    return False


def test_every_path_exists():
    assert [path for path in paths(ARCHITECTURE.read_text(encoding="utf-8")) if not exists(path)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_name_exists(page: Path):
    assert [name for name in names(page.read_text(encoding="utf-8")) if not resolves(name)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_of_a_page_are_commands(page: Path):
    for line in commands(page.read_text(encoding="utf-8")):
        words, command = shlex.split(line)[1:], cli
        while isinstance(command, click.Group):
            found = command.get_command(click.Context(command), words.pop(0))
            assert found is not None, f"{line}: no such command"
            command = found
        known = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
        assert {word for word in words if word.startswith("-")} <= known, line


def test_the_picture_of_the_layers_is_the_one_that_imports_keep():
    picture = _MERMAID.findall(ARCHITECTURE.read_text(encoding="utf-8"))[0]
    drawn = dict(re.findall(r'(\w+)\["([\w ·]+)<br/>', picture))
    order = " --> ".join(line.strip() for line in picture.splitlines() if "-->" in line).split(" --> ")
    shown = [set(drawn[node].split(" · ")) for node in dict.fromkeys(order)]
    assert shown == [names for names in layers.LAYERS if "errors" not in names]


def test_every_folder_of_the_package_is_explained():
    told = set(re.findall(r"^\| `sciml_bench/(\w+)/` \|", ARCHITECTURE.read_text(encoding="utf-8"), re.MULTILINE))
    assert told == {path.parent.name for path in layers.PACKAGE.glob("*/__init__.py")}


def test_each_word_is_explained_where_it_is_declared():
    rows = re.findall(r"^\| (\w+) \| [^|]+ \| `([^`]+)` \|$", ARCHITECTURE.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(rows) > 15
    assert [word for word, place in rows if not exists(place)] == []


def test_what_does_not_exist_is_found():
    text = '`sciml_bench/no_such.py`, `sciml_bench.record.point.NoSuch`\n```mermaid\na["record/gone.py<br/>b"]\n```'
    assert [path for path in paths(text) if not exists(path)] == ["sciml_bench/no_such.py", "record/gone.py"]
    assert [resolves(name) for name in names(text)] == [False]

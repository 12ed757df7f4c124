"""The catalog: the problem files that travel with the suite."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from sciml_bench.errors import StoreError, UsageError
from sciml_bench.record.task import CONVENTIONAL

if TYPE_CHECKING:
    from sciml_bench.spec.model import Problem


_PACKAGE = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Header:
    """A listing's entry of a problem; read without parsing its equations.

    ``heavy`` says why a problem of that tier is in no profile and runs only when it is named.
    """

    name: str
    title: str
    suite: str
    tier: str
    tags: tuple[str, ...]
    path: Path
    heavy: str = ""


def folder() -> Path:
    """The catalog's folder: inside an installed package, or at the top of a checkout.

    Raises:
        StoreError: neither exists, so the installation is broken.
    """
    for candidate in (_PACKAGE / "_data" / "problems", _PACKAGE.parent / "problems"):
        if candidate.is_dir():
            return candidate
    raise StoreError(f"the problem catalog is missing beside {_PACKAGE}; reinstall sciml-bench")


@cache
def paths() -> dict[str, Path]:
    """Every problem's file by name, in order of suite folder and name."""
    return {path.stem: path for path in sorted(folder().glob("*/*.toml"))}


def names() -> tuple[str, ...]:
    """The names of all problems."""
    return tuple(paths())


def equation_names() -> tuple[str, ...]:
    """The names of the problems that are differential equations, which solvers run."""
    return tuple(name for name, path in paths().items() if path.parent.name != CONVENTIONAL)


def suites() -> tuple[str, ...]:
    """The folders of the catalog, each a suite."""
    return tuple(dict.fromkeys(path.parent.name for path in paths().values()))


def path(name: str) -> Path:
    """The file of a problem.

    Raises:
        UsageError: there is no such problem.
    """
    if name not in paths():
        close = get_close_matches(name, paths(), n=3)
        hint = f"did you mean {' or '.join(close)}?" if close else "see `sciml-bench list problems`"
        raise UsageError(f"unknown problem '{name}'; {hint}")
    return paths()[name]


def load(name: str) -> Problem:
    """The differential equation of this name, loaded and checked.

    Raises:
        UsageError: the name is unknown, or it is a model of the conventional track.
    """
    if path(name).parent.name == CONVENTIONAL:
        raise UsageError(f"{name} is a model of the conventional track, and this takes a differential equation")
    from sciml_bench.spec.load import load_problem

    return load_problem(path(name))


def is_file(name: Path | str) -> bool:
    """Return whether this is the path of a problem file, and not the name of a problem."""
    return Path(name).suffix == ".toml" or Path(name).is_file()


def given_path(name: Path | str) -> Path:
    """The problem file of this path, or the file of the problem of this name.

    Raises:
        UsageError: no problem has this name.
    """
    return Path(name) if is_file(name) else path(str(name))


def given(name: Path | str) -> Problem:
    """The differential equation of a problem file, or of a name of the catalog.

    Raises:
        UsageError: the name is unknown, or of a model of the conventional track.
        ProblemError: the file is wrong.
    """
    from sciml_bench.spec.load import load_problem

    return load_problem(Path(name)) if is_file(name) else load(str(name))


def header(name: str) -> Header:
    """Title, suite, tier and tags of a problem, from the keys above its first table."""
    top = re.split(r"(?m)^\s*\[{1,2}[a-z_.]+\]{1,2}\s*(?:#.*)?$", path(name).read_text(encoding="utf-8"), maxsplit=1)[0]
    data = tomllib.loads(top)
    return Header(
        name=name,
        title=data.get("title", ""),
        suite=data.get("suite", ""),
        tier=data.get("tier", "standard"),
        tags=tuple(data.get("tags", ())),
        path=path(name),
        heavy=data.get("heavy", ""),
    )

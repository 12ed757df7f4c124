"""A small problem file to be changed by the tests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from sciml_bench.spec.load import load_problem
from sciml_bench.spec.model import Problem

DECAY = """\
spec = 1
name = "decay"
title = "Two decays"

[time]
t1 = 2

[parameters]
k = 0.1

[states]
a = 1
b = { initial = "1/3", scale = 0.5 }

[equations]
a = "-k*a"
b = "k*a - b**2"
"""


@pytest.fixture
def decay() -> str:
    """The text of a valid problem file."""
    return DECAY


@pytest.fixture
def load(tmp_path: Path) -> Callable[[str], Problem]:
    """Loads a problem from text."""

    def load_text(text: str) -> Problem:
        path = tmp_path / "problem.toml"
        path.write_text(text, encoding="utf-8")
        return load_problem(path)

    return load_text

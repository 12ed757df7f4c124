"""Small problems for the reference engine."""

from __future__ import annotations

from pathlib import Path

import pytest
from stubs.small_problems import ORBIT, ROBERTSON, Load

from sciml_bench.spec import load_problem
from sciml_bench.spec.model import Problem


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Loads a problem from text, in a folder of its own."""

    def load_text(text: str) -> Problem:
        path = tmp_path / "problem.toml"
        path.write_text(text, encoding="utf-8")
        return load_problem(path)

    return load_text


@pytest.fixture
def robertson(load: Load) -> Problem:
    """Robertson's reaction up to t = 1e5."""
    return load(ROBERTSON)


@pytest.fixture
def orbit(load: Load) -> Problem:
    """A harmonic oscillator with an exact solution and an invariant."""
    return load(ORBIT)

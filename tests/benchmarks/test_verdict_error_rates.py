"""The simulation of ``benchmarks/verdict_error_rates.py`` in small: seeded, through the code that judges."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from cases import others_slow

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"

pytestmark = pytest.mark.skipif(not BENCHMARKS.exists(), reason="the benchmarks are in a checkout only")

NULLS = ("Gauss 6 %", "Gauss 20 %", "heavy tails", "bimodal", "AR(1) 0.5", "AR(1) 0.9")
TRIALS = 60


@pytest.fixture
def rates(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    yield importlib.import_module("verdict_error_rates")
    del sys.modules["verdict_error_rates"], sys.modules["null_noise"]


@pytest.mark.parametrize(
    ("null", "blocks"),
    others_slow(
        [(null, blocks) for null in NULLS for blocks in (3, 5, 10)],
        [("Gauss 20 %", 3), ("heavy tails", 5), ("bimodal", 10), ("AR(1) 0.9", 5)],
    ),
)
def test_no_more_false_winners_than_the_level(rates: ModuleType, null: str, blocks: int) -> None:
    """The seed fixes the draws. Six of 60 are above 5 % by two standard errors."""
    noise = rates.NULLS[null]
    for setup in (rates.Setup(3), rates.Setup(2, together=True)):
        row = rates.run_row(null, noise, blocks, setup, TRIALS, np.random.default_rng(7))
        assert {name: counts.winners for name, counts in row.counts.items() if counts.winners > 6} == {}
    row = rates.choice_row(null, noise, blocks, 3, TRIALS, np.random.default_rng(7))
    assert row.counts["cheapest"].winners <= 6


def test_repeated_runs_keep_the_level_where_runs_differ(rates: ModuleType) -> None:
    """Each run shifts each cell by some 3 %, which is no winner over runs."""
    setup = rates.Setup(3, 2, effect=0.03, repeats=3)
    row = rates.run_row("run effect", rates.gauss(0.02), 10, setup, TRIALS, np.random.default_rng(7))
    assert max(counts.winners for counts in row.counts.values()) <= 6
    alone = rates.Setup(3, 2, effect=0.03)
    row = rates.run_row("run effect", rates.gauss(0.02), 10, alone, TRIALS, np.random.default_rng(7))
    assert row.counts["verdict"].winners > 12


@pytest.mark.parametrize(
    ("problems", "apart"),
    others_slow([(problems, apart) for problems in (2, 5) for apart in range(4)], [(2, 0), (2, 3), (5, 1)]),
)
def test_advice_names_none_of_equal_ways(rates: ModuleType, problems: int, apart: int) -> None:
    apart_by = rates.APART[apart]
    row = rates.advice_row("Gauss 6 %", rates.gauss(0.06), 5, problems, apart_by, TRIALS, np.random.default_rng(7))
    assert row.counts["advice"].winners <= 6


def test_a_difference_is_found(rates: ModuleType) -> None:
    """The bound is not kept by naming nobody: one of three cells is faster by a fifth, and ten blocks find it."""

    def faster(random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        found = random.normal(0, 0.04, shape)
        found[..., 0, :] -= 0.2
        return found

    row = rates.run_row("", faster, 10, rates.Setup(3), 20, np.random.default_rng(7))
    assert min(counts.winners for counts in row.counts.values()) >= 17
    row = rates.choice_row("", faster, 10, 3, 20, np.random.default_rng(7))
    assert row.counts["cheapest"].winners >= 17

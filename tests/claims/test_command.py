"""The commands on published claims."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from sciml_bench.cli.main import main

Told = Callable[..., tuple[int, str, str]]


@pytest.fixture
def told(capsys: pytest.CaptureFixture[str]) -> Told:
    def run(*words: str) -> tuple[int, str, str]:
        code = main(["claims", *words])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def test_claims_are_listed_with_what_is_claimed(told: Told):
    code, out, _ = told("list")
    assert code == 0
    assert "C05" in out
    assert "53×" in out
    assert {row["id"] for row in json.loads(told("list", "--json")[1])} >= {"C05"}


def test_one_claim_fits_one_screen(told: Told):
    code, out, _ = told("show", "c05")
    assert code == 0
    assert len(out.splitlines()) < 40
    for words in ("said:", "where:", "of what:", "timed:", "mind:", "as published:", "when fair:", "needs:"):
        assert words in out
    assert json.loads(told("show", "C05", "--json")[1])["figure"]["ratio"] == 53


def test_unknown_claims_are_told_with_the_nearest(told: Told):
    code, _, err = told("show", "C5")
    assert code == 2
    assert "did you mean" in err

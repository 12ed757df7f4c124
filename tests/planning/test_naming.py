"""Words name problems, suites and files."""

from __future__ import annotations

from pathlib import Path

import pytest

from sciml_bench.errors import UsageError
from sciml_bench.execution.planning import planned
from sciml_bench.planning.selection import Selection


def test_each_word_is_what_it_names():
    chosen, files = Selection(adapters=("scipy",)).naming(["robertson", "stiff", "mine.toml", "a/b", Path("hires")])
    assert chosen == Selection(suites=("stiff",), problems=("robertson",), adapters=("scipy",))
    assert files == (Path("mine.toml"), Path("a/b"), Path("hires"))


def test_a_file_needs_no_ending_and_a_name_of_the_catalog_is_no_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("hires", "hires2"):
        Path(name).touch()
    assert Selection().naming(["hires2", "hires"]) == (Selection(problems=("hires",)), (Path("hires2"),))


@pytest.mark.parametrize(("word", "near"), [("stif", "did you mean stiff"), ("robertsn", "robertson")])
def test_an_unknown_word_is_compared_with_problems_and_suites(word, near):
    with pytest.raises(UsageError, match=f"unknown problem or suite '{word}'.*{near}"):
        Selection().naming([word])


@pytest.mark.parametrize(
    ("adapter", "problem", "hint"),
    [
        ("jax", "robertson", "jax: for models only.*for equations: --adapter diffrax$"),
        ("torch", "robertson", "--adapter torchdiffeq,torchode"),
        ("diffrax", "lenet-digits", "diffrax: for equations only"),
    ],
)
def test_an_adapter_of_the_other_track_is_named_with_the_right_one(adapter, problem, hint, tmp_path):
    with pytest.raises(UsageError, match=hint):
        planned(Selection(problems=(problem,), adapters=(adapter,)), profile="smoke", out=tmp_path)

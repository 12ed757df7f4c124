"""Names that do not exist are errors with suggestions."""

from __future__ import annotations

from pathlib import Path

import pytest
from stubs.suite import problem_text

from sciml_bench.errors import ProblemError, UsageError
from sciml_bench.planning.problems import entries
from sciml_bench.planning.selection import Selection


@pytest.mark.parametrize(
    ("axes", "said"),
    [
        ({"adapters": ("alfa",)}, "unknown adapter 'alfa'; did you mean alpha"),
        ({"methods": ("fein",)}, "unknown method 'fein'; did you mean fine"),
        ({"methods": ("zzz",)}, "unknown method 'zzz'; see `sciml-bench list adapters`"),
        ({"sensitivities": ("discreet",)}, "unknown sensitivity 'discreet'; did you mean discrete"),
        ({"modes": ("jit",)}, "unknown mode 'jit'"),
        ({"keyword": "a and"}, "column 6"),
        ({"cells": ("decay/alpha",)}, "is not a cell; write problem/adapter/method"),
        (
            {"cells": ("decay/alpha/fien/discrete/eager/float64/cpu",)},
            "unknown method of alpha 'fien'; did you mean fine",
        ),
        ({"cells": ("decay/alpha/fine/discrete/eager/float16/cpu",)}, "unknown precision of alpha 'float16'"),
    ],
)
def test_unknown_names(suite, axes, said):
    with pytest.raises(UsageError, match=said):
        Selection(**axes).check(suite)


@pytest.mark.parametrize(
    ("axes", "said"),
    [
        ({"problems": ("dekay",)}, "unknown problem 'dekay'; did you mean decay"),
        ({"suites": ("stif",)}, "unknown suite 'stif'; did you mean stiff"),
        ({"cells": ("dekay/alpha/fine/discrete/eager/float64/cpu",)}, "unknown problem 'dekay'"),
    ],
)
def test_unknown_problems_and_suites(suite, axes, said):
    with pytest.raises(UsageError, match=said):
        entries(Selection(**axes))


def own_problem(folder: Path, name: str = "mine") -> Path:
    path = folder / f"{name}.toml"
    path.write_text(problem_text(name), encoding="utf-8")
    return path


def test_a_file_stands_alone(suite, tmp_path):
    assert [entry.name for entry in entries(Selection(), [own_problem(tmp_path)])] == ["mine"]


def test_a_file_stands_beside_what_is_named(suite, tmp_path):
    found = entries(Selection(problems=("fade",)), [own_problem(tmp_path)])
    assert [(entry.name, entry.named) for entry in found] == [("mine", True), ("fade", True)]


def test_a_file_replaces_the_catalog_problem_of_its_name(suite, tmp_path):
    found = entries(Selection(suites=("stiff",)), [own_problem(tmp_path, "decay")])
    assert [entry.name for entry in found] == ["decay", "fade"]
    assert found[0].path.parent == tmp_path


def test_a_file_and_a_problem_of_the_catalog_that_is_named_are_two(suite, tmp_path):
    with pytest.raises(UsageError, match="both hold a problem named 'decay'"):
        entries(Selection(problems=("decay",)), [own_problem(tmp_path, "decay")])


def test_a_file_given_twice_is_one(suite, tmp_path, monkeypatch):
    path = own_problem(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert len(entries(Selection(), [path, path, path.relative_to(tmp_path)])) == 1


def test_a_missing_file(suite, tmp_path):
    with pytest.raises(ProblemError, match="there is no such file"):
        entries(Selection(), [tmp_path / "none.toml"])


def test_two_files_of_one_name(suite, tmp_path):
    (tmp_path / "a").mkdir()
    with pytest.raises(UsageError, match="both hold a problem named 'mine'"):
        entries(Selection(), [own_problem(tmp_path), own_problem(tmp_path / "a")])

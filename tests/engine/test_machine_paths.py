"""Records name no folders of the machine on which they were made."""

from __future__ import annotations

from pathlib import Path

import pytest

import sciml_bench
from sciml_bench.engine.machine_paths import without_machine_paths

ROOT = Path(sciml_bench.__file__).resolve().parents[1]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "/home/ada/.venv/lib/python3.11/site-packages/numpy/linalg/_linalg.py:2768: RuntimeWarning",
            "numpy/linalg/_linalg.py:2768: RuntimeWarning",
        ),
        ('File "/usr/lib/python3/dist-packages/x.py", line 3', 'File "x.py", line 3'),
        (
            "/tmp/worker_4/sciml_bench_source_u9d0m7x7/problem_source.py:459: overflow",
            "problem_source.py:459: overflow",
        ),
        (
            "at /scratch/depot/packages/OrdinaryDiffEqCore/yUa2D/src/solve.jl:12",
            "at OrdinaryDiffEqCore/yUa2D/src/solve.jl:12",
        ),
        (f"{ROOT}/sciml_bench/adapters/x.py:1", "sciml_bench/adapters/x.py:1"),
        ("a ratio of 3/4, and km/h", "a ratio of 3/4, and km/h"),
        ("https://host/a/site-packages/b", "https://host/a/site-packages/b"),
        ("no path", "no path"),
    ],
)
def test_folders_are_left_out(text: str, expected: str):
    assert without_machine_paths(text) == expected


def test_the_home_folder_is_a_tilde(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Path, "home", lambda: Path("/home/ada"))
    assert without_machine_paths("cannot open /home/ada/data/x.csv") == "cannot open ~/data/x.csv"
    assert without_machine_paths("cannot open /home/adam/x.csv") == "cannot open /home/adam/x.csv"


def test_a_long_text_without_packages_is_quick():
    text = "/" + "a/" * 20_000
    assert without_machine_paths(text) == text

"""What the shell completes."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from click.shell_completion import ShellComplete
from stubs import drawn

from sciml_bench.cli.main import cli as command
from sciml_bench.published_claims import collection


def completed(*words: str) -> list[str]:
    """The completions of the last word; ``<file>`` where the shell completes files."""
    items = ShellComplete(command, {}, "sciml-bench", "_SCIML_BENCH_COMPLETE").get_completions(
        list(words[:-1]), words[-1]
    )
    return ["<file>" if item.type == "file" else item.value for item in items]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("adv",), ["advise"]),
        (("run", "dec"), ["decay"]),
        (("describe", "dec"), ["decay"]),
        (("run", "--problem", "calm,dec"), ["calm,decay"]),
        (("run", "--adapter", "alpha,be"), ["alpha,beta"]),
        (("run", "--suite", "sti"), ["stiff"]),
        (("run", "calm,dec"), ["<file>"]),
        (("run", "my_own.t"), ["<file>"]),
        (("claims", "show", "C06-lorenz-j"), ["C06-lorenz-julia"]),
        (("stiff", "--prof"), ["--profile"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_names_are_completed(cli, words, expected):
    assert completed(*words) == expected


def test_runs_are_completed_from_the_folder_of_results(cli, tmp_path):
    run = drawn.run(tmp_path / "elsewhere", problems=["robertson"], blocks=2)
    name = run.folder.name
    assert completed("show", "--out", str(tmp_path / "elsewhere"), name[:4]) == [name]
    assert completed("show", name[:4]) == ["<file>"], "the usual folder has none"


def test_claims_are_completed_by_their_ids():
    assert set(completed("claims", "run", "")) == set(collection.claims())


def test_the_shell_asks_the_program():
    environment = {**os.environ, "_SCIML_BENCH_COMPLETE": "bash_complete"}
    environment |= {"COMP_WORDS": "sciml-bench run roberts", "COMP_CWORD": "2"}
    script = "from sciml_bench.cli.main import main; main([])"
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False)
    assert "plain,robertson\n" in done.stdout
    assert done.stderr == ""

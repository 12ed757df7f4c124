"""``sciml-bench advise`` on stub adapters: real workers, programs whose errors are known."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from stubs.suite import problem_text

from sciml_bench.cli.advise import with_more_time
from sciml_bench.errors import UsageError
from sciml_bench.execution import advising
from sciml_bench.host.doctor import other_work
from sciml_bench.host.doctor.finding import Finding, Status
from sciml_bench.record.task import Task


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs that hang are ended soon, and a race ends after two blocks."""
    monkeypatch.setattr(advising, "SCREENING", dataclasses.replace(advising.SCREENING, timeout_s=1.0))
    monkeypatch.setattr(advising, "RACING", dataclasses.replace(advising.RACING, timeout_s=1.0, processes=2))


def test_the_answer_is_a_sentence_and_a_ranked_table(cli):
    done = cli("advise", "decay", "--in", "alpha", "--within", "10min")
    assert done.code == 0
    answer = done.out[done.out.index("\nTake ") :]
    assert "per gradient at a relative error of 1e-6" in answer.splitlines()[1]
    assert "total of 100\u202f000" in answer
    # Every way that computes a gradient is ranked, and every one that does not is named with its reason.
    assert "alpha fine discrete eager" in answer
    assert "alpha finer discrete eager" in answer
    assert "have no gradient at this accuracy" in answer
    assert "alpha dies" in answer
    assert "alpha hangs" in answer
    assert "timeout" in answer


def test_what_was_measured_is_kept_and_can_be_shown(cli):
    done = cli("advise", "decay", "--in", "beta", "--json")
    found = done.json
    assert found["problem"] == "decay"
    assert found["sentences"][0].startswith("Take beta ")
    assert set(found["ways"][0]["totals_s"]) == {"1", "1000", "100000"}
    assert found["ways"][0]["error"] <= 1e-6
    assert len(found["runs"]) == 2
    for folder in found["runs"]:
        shown = cli("show", folder, "--json").json["problems"][0]["recommendation"]
        assert (shown["count"], shown["accuracy"]) == (found["count"], found["accuracy"])
        assert shown["sentences"][0].startswith("Take beta ")
        verified = cli("verify", folder)
        assert verified.code == 0, verified.out


def test_time_that_is_up_names_what_was_not_looked_at(cli, monkeypatch):
    monkeypatch.setattr(advising, "LOOKING_SHARE", 0.0)
    done = cli("advise", "decay", "--in", "alpha", "--within", "1s")
    assert done.code == 0
    assert "No way" in done.out
    assert "Not tried: " in done.out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("advise", "no-such"), "unknown problem 'no-such'"),
        (("advise", "none.toml"), "there is no such file"),
        (("advise", "decay", "--in", "gamma"), "unknown adapter 'gamma'"),
        (("advise", "decay", "--within", "soon"), "'soon' is not a time"),
        (("advise", "decay", "--within", "0s"), "'0s' is not a time"),
        (("advise", "decay", "--accuracy", "1e-14"), "is not a relative error from 1e-12 to 0.1"),
        (("advise", "decay", "--accuracy", "nan"), "is not a relative error"),
        (("advise", "decay", "--count", "0"), "0 is not in the range"),
        (("advise", "decay", "--for", "fun"), "'fun' is not one of"),
    ],
)
def test_wrong_questions_are_refused(cli, words, told):
    done = cli(*words)
    assert done.code == 2
    assert told in done.err


def test_a_way_without_a_script_says_so(cli):
    done = cli("advise", "decay", "--in", "beta", "--code", "gradient.py")
    assert done.code == 0
    assert "no script: there are no scripts for beta yet" in done.err


@pytest.fixture
def scripts(monkeypatch) -> None:
    """Every way has a script: its label."""
    monkeypatch.setattr(advising, "script_of", lambda _adapter, task, _point: f"# {task.cell.label}\n")


def test_where_the_cheapest_way_has_no_script_the_next_one_is_written(cli, monkeypatch):
    asked: list[str] = []

    def second(_adapter: object, task: Task, _point: object) -> str:
        asked.append(task.cell.label)
        if len(asked) == 1:
            raise UsageError("its fields are too long for a script")
        return f"# {task.cell.label}\n"

    monkeypatch.setattr(advising, "script_of", second)
    done = cli("advise", "decay", "--in", "alpha,beta", "--code", "gradient.py")
    assert done.code == 0
    assert Path("gradient.py").read_text(encoding="utf-8") == f"# {asked[1]}\n"
    name = " ".join(asked[0].split("/")[1:5])
    assert f"no script of {name}: its fields are too long for a script; this is " in done.err
    assert "script: gradient.py" in done.out


@pytest.mark.usefixtures("scripts")
def test_without_a_file_the_command_that_prints_the_script_is_told(cli):
    done = cli("advise", "decay", "--in", "beta")
    assert "as a script: sciml-bench describe decay --code beta/" in done.out


@pytest.mark.usefixtures("scripts")
def test_the_command_names_the_file_of_a_problem_of_ones_own(cli, tmp_path):
    path = tmp_path / "my own.toml"
    path.write_text(problem_text("decay-of-mine"), encoding="utf-8")
    done = cli("advise", str(path), "--in", "beta")
    assert done.code == 0
    assert f"as a script: sciml-bench describe '{path}' --code beta/" in done.out


CHAOTIC = """
spec = 1
name = "chaotic"
title = "Growth beyond what doubles hold"
[time]
t1 = 30
[parameters]
k = 1
[states]
x = 1
y = { initial = 0, scale = 1 }
[equations]
x = "k*x - x"
y = "k*y"
"""


def test_an_accuracy_that_double_precision_cannot_have_is_named_first(cli, tmp_path, monkeypatch):
    monkeypatch.setattr(advising, "LOOKING_SHARE", 0.0)
    path = tmp_path / "chaotic.toml"
    path.write_text(CHAOTIC, encoding="utf-8")
    done = cli("advise", str(path), "--in", "beta", "--within", "1s")
    assert "is more than double precision has of it: perturbations grow" in done.out
    assert "None was looked at: give it more time, --within." in done.out


def test_other_work_on_the_machine_is_told_before_anything_is_measured(cli, monkeypatch):
    busy = Finding("load", "load", Status.DISTURBS, "7.00, 7.00, 7.00 in the last 1, 5 and 15 minutes")
    quiet = dataclasses.replace(busy, id="governor", found="powersave")
    monkeypatch.setattr(other_work, "examine", lambda _readings: [busy, quiet])
    monkeypatch.setattr(advising, "LOOKING_SHARE", 0.0)
    done = cli("advise", "decay", "--in", "beta", "--within", "1s")
    assert "this machine is disturbed: load: 7.00" in done.err
    assert "powersave" not in done.err


@pytest.mark.parametrize(
    ("typed", "again"),
    [
        ("sciml-bench advise my.toml", "sciml-bench advise my.toml --within 20min"),
        (
            "sciml-bench advise 'a b.toml' --within 5min --in jax",
            "sciml-bench advise 'a b.toml' --in jax --within 20min",
        ),
        ("sciml-bench advise m --within=90s --for solve", "sciml-bench advise m --for solve --within 20min"),
    ],
)
def test_the_command_that_decides_asks_the_same_question_for_longer(typed: str, again: str):
    assert with_more_time(typed, 1200.0) == again
    assert with_more_time("sciml-bench advise m", 90.0).endswith("--within 90s")


@pytest.mark.usefixtures("scripts")
def test_the_script_of_a_question_about_solves_is_said_to_have_a_gradient(cli):
    done = cli("advise", "decay", "--in", "beta", "--for", "solve")
    assert "as a script, with its gradient: sciml-bench describe decay --code beta/" in done.out

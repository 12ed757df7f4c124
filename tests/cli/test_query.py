"""``query``: questions in SQL."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import click
import pytest
from needs import skip_without
from stubs import drawn

from sciml_bench.cli.query import query

skip_without("duckdb")


@pytest.fixture
def run(cli) -> Path:
    """A run in ``results`` of the empty folder that ``cli`` works in."""
    return drawn.run(Path("results"), problems=["robertson"], blocks=2).folder


def examples() -> list[str]:
    """The questions of the help."""
    assert query.epilog is not None
    return [re.sub(r"\s+", " ", found) for found in re.findall(r'sciml-bench query "(.*?)"', query.epilog, re.DOTALL)]


def test_the_questions_of_the_help_are_answered(cli, run):
    assert len(examples()) == 4
    for question in examples():
        done = cli("query", question, "--json")
        assert done.code == 0, done.err
        assert done.json


def test_table_csv_and_json_say_the_same(cli, run):
    question = "select adapter, count(*) as n, null as nothing from points group by all order by all limit 2"
    assert cli("query", question).out.splitlines() == ["adapter  n   nothing", "diffrax  12", "scipy    6"]
    assert list(csv.reader(io.StringIO(cli("query", question, "--csv").out))) == [
        ["adapter", "n", "nothing"], ["diffrax", "12", ""], ["scipy", "6", ""],
    ]  # fmt: skip
    assert cli("query", question, "--json").json[0] == {"adapter": "diffrax", "n": 12, "nothing": None}


def test_text_of_strangers_is_harmless(cli, run):
    question = "select '=1+1' as a, chr(27) || '[31mred' || chr(10) || 'x' as b, -1.5 as c"
    assert cli("query", question, "--csv").out == 'a,b,c\n\'=1+1," [31mred\nx",-1.5\n'
    out = cli("query", question).out
    assert "\x1b" not in out
    assert len(out.splitlines()) == 2


def test_several_runs_by_name(cli, run):
    other = drawn.run(Path("results"), "other", problems=["robertson"], blocks=1).folder
    found = cli("query", "select run, count(*) n from records group by all", run.name, other.name, "--json").json
    assert {row["run"]: row["n"] for row in found} == {run.name: 12, other.name: 6}
    assert cli("query", "select 1", run.name, str(run)).code == 2


def test_damaged_lines_are_told(cli, run):
    with (run / "records.jsonl").open("a", encoding="utf-8") as file:
        file.write("x\n")
    assert "hold no record: 1 lines" in cli("query", "select count(*) from records").err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["select nothing from records"], "cannot be answered"),
        (["delete from raw"], "one SELECT"),
        (["select 1", "nowhere"], "no run 'nowhere'"),
        (["select 1", "."], "is not a run"),
        (["select 1", "--csv", "--json"], "exclude each other"),
        ([], "Missing argument 'SQL'"),
    ],
)
def test_wrong_usage_is_one_clear_message(cli, run, words, message):
    done = cli("query", *words)
    assert done.code == 2
    assert message in done.err
    assert "Traceback" not in done.err


def test_the_help_needs_no_duckdb(cli):
    assert isinstance(query, click.Command)
    assert "records    a row for each process" in cli("query", "--help").out

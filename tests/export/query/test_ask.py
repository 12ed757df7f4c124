"""Questions in SQL: answers as the report gives them, and nothing but answers."""

from __future__ import annotations

import dataclasses
import json
import re
import sys
from pathlib import Path

import pytest
from needs import skip_without
from stubs import drawn
from stubs.reported import cell, plan, point, record

from sciml_bench.analysis.process_summary import reduce_record
from sciml_bench.errors import UsageError
from sciml_bench.export.duckdb_values import plain, text
from sciml_bench.export.query import VIEWS, ask
from sciml_bench.host.extras import install_command
from sciml_bench.record.run_folder import Run
from sciml_bench.record.supersession import counting_records

skip_without("duckdb")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return drawn.run(tmp_path_factory.mktemp("runs"), problems=["robertson", "oregonator"])


def one(question, *runs):
    ((value,),) = ask(question, runs).rows
    return value


def test_every_record_is_a_row(run):
    assert one("select count(*) from records", run) == len(list(run.records()))
    found = ask("select record_id, adapter, outcome, first_gradient_s, peak_rss_bytes from records", [run]).rows
    expected = [
        (r.record_id, r.cell.adapter, r.outcome, p.first_gradient_process_s, r.peak_rss_bytes)
        for r in run.records()
        for p in [reduce_record(r)]
    ]
    assert sorted(found, key=str) == sorted(expected, key=str)


def test_points_have_the_times_and_errors_of_the_report(run):
    found = ask("select record_id, point, solve_s, gradient_s, gradient_error from points", [run]).rows
    expected = [
        (r.record_id, place, p.solve.seconds, p.gradient.seconds, p.gradient_error)
        for r in run.records()
        for place, p in enumerate(reduce_record(r).points)
    ]
    assert len(found) == len(expected)
    for got, wanted in zip(sorted(found), sorted(expected), strict=True):
        assert got == pytest.approx(wanted)


def test_trainings_are_all_steps(run):
    found = ask("select record_id, step, seconds, loss from trainings order by record_id, step", [run]).rows
    expected = [
        (r.record_id, step, ns / 1e9, loss)
        for r in sorted(run.records(), key=lambda r: r.record_id)
        if r.training is not None
        for step, (ns, loss) in enumerate(zip(r.training.step_ns, r.training.losses, strict=True), start=1)
    ]
    assert len(found) == len(expected) > 1000
    for got, wanted in zip(found, expected, strict=True):
        assert got[:2] == wanted[:2]
        assert got[2:] == pytest.approx(wanted[2:])
    ends = dict(ask("select adapter, any_value(outcome) from trainings group by all", [run]).rows)
    assert ends == {"scipy": "ok", "diffrax": "ok", "tensorflow": "nonfinite"}


def test_samples_are_all_samples(run):
    counted = ask(
        "select record_id, point, call, count(*), median(seconds) from samples where counted group by all", [run]
    ).rows
    expected = {
        (r.record_id, place, call): (len(ns), reduce_record(r).points[place])
        for r in run.records()
        for place, p in enumerate(r.points)
        for call, ns in (("solve", p.solve.counted_ns), ("gradient", p.gradient.counted_ns))
        if ns
    }
    assert len(counted) == len(expected)
    for record_id, place, call, count, middle in counted:
        n, summary = expected[record_id, place, call]
        assert count == n
        assert middle == pytest.approx(summary.half(call).seconds)
    loops = dict(ask("select loop, count(*) from samples group by all", [run]).rows)
    points = sum(len(r.points) for r in run.records() if not drawn.failing(r.cell))
    assert loops == {"first": 2 * points, "warm_up": 4 * points, "steady": 24 * points}


def test_calls_behind_a_bridge_have_their_times_inside(tmp_path):
    inside = {"ns": (900, 800), "gc_ns": (0, 0), "compile_ns": (0, 0), "allocated_bytes": (1, 1)}
    behind = point(1e-4, solve={"ns": (1000, 1000), "inside": inside})
    which = cell("robertson", "julia")
    made = Run.create(tmp_path, "bridged", plan=plan([which]), environment={})
    made.append(record(which, points=[behind]))
    found = ask("select inside_s from samples where loop = 'steady' and call = 'solve' order by number", [made]).rows
    assert [value for (value,) in found] == pytest.approx([9e-7, 8e-7])
    assert one("select count(inside_s) from samples", made) == 2


def test_an_invariant_has_its_drift(tmp_path):
    which = cell("robertson")
    drifted = point(1e-4, solve={"invariants": {"mass": {"initial": 1.0, "drift": 2e-9}}})
    made = Run.create(tmp_path, "drifting", plan=plan([which]), environment={})
    made.append(record(which, points=[drifted]))
    assert ask("select invariants['mass'].drift from points", [made]).rows == [(2e-9,)]


def test_cells_are_the_tables(run):
    found = ask(
        "select adapter, gradient_verdict from cells where problem = 'robertson' and comparison = 'idiomatic'"
        " order by gradient_s nulls last",
        [run],
    )
    assert found.rows[0] == ("diffrax", "undecided"), "another way of Diffrax takes less than twice as long"
    assert found.rows[-1] == ("torchdiffeq", None)


def test_answers_have_one_row_for_each_problem(run):
    question = "select problem, verdict, adapter, next, next_ratio > 1, cheapest_100000 from answers order by problem"
    found = ask(question, [run]).rows
    assert [row[0] for row in found] == ["oregonator", "robertson"]
    assert {row[1:3] for row in found} == {("undecided", "diffrax")}
    assert {row[3] for row in found} == {"diffrax kvaerno5 forward compiled"}
    assert {row[4] for row in found} == {True}
    assert {row[5] for row in found} == {"diffrax kvaerno5 checkpointed compiled"}


def test_an_unknown_table_is_answered_with_those_there_are(run):
    with pytest.raises(UsageError, match=r"unknown table 'cell'\. Did you mean 'cells'\? There are records, points"):
        ask("select * from cell", [run])


def test_several_runs(run, tmp_path):
    other = drawn.run(tmp_path, "other", problems=["robertson"], blocks=1)
    found = dict(ask("select run, count(*) from points group by all", [run, other]).rows)
    assert found == {run.folder.name: 108, other.folder.name: 18}


def test_which_records_count(tmp_path):
    made = drawn.run(tmp_path, problems=["robertson"], blocks=2)
    for place, again in enumerate(list(made.records())[:3]):
        made.append(dataclasses.replace(again, attempt=1, record_id=f"again {place}"))
        made.append(dataclasses.replace(again, attempt=0, record_id=f"late {place}"))
    found = {name for (name,) in ask("select record_id from records where counts", [made]).rows}
    assert found == {item.record_id for item in counting_records(made.records()).values()}
    assert "again 0" in found


def test_damaged_lines_are_counted(tmp_path):
    made = drawn.run(tmp_path, problems=["robertson"], blocks=1)
    with made.records_path.open("a", encoding="utf-8") as file:
        file.write('[]\n{"schema": 99, "record_id": "x", "cell": {}}\nno json\n{"schema": 2, "half')
    answer = ask("select count(*) from records", [made])
    assert (answer.rows, answer.left_out) == ([(6,)], 4)


def test_an_empty_run_has_no_rows(tmp_path):
    made = drawn.run(tmp_path, blocks=0)
    made.records_path.unlink()
    for view in VIEWS:
        assert ask(f"select * from {view}", [made]).rows == []


def test_names_with_markup_and_quotes(tmp_path):
    strange = "it's <b>; drop table raw; -- $x$"
    made = drawn.run(
        tmp_path,
        "it's",
        problems=["robertson"],
        blocks=1,
        change=lambda r: dataclasses.replace(r, cell=dataclasses.replace(r.cell, problem=strange)),
    )
    assert one("select distinct problem from records", made) == strange
    assert one("select count(*) from points", made) == 18


@pytest.mark.parametrize(
    "question",
    [
        "copy (select 1) to 'stolen.csv'",
        "create table x (a int)",
        "insert into raw values (1)",
        "drop view records",
        "attach 'other.db'",
        "set enable_external_access = true",
        "pragma version",
        "call pragma_version()",
        "explain analyze copy (select 1) to 'stolen.csv'",
        "install httpfs",
        "load httpfs",
        "export database 'stolen'",
        "select 1; select 2",
        "",
        "-- nothing",
    ],
)
def test_only_one_select(run, question, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="one SELECT"):
        ask(question, [run])
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "question",
    [
        "select * from read_text('{secret}')",
        "select * from read_csv('{secret}')",
        "select * from read_blob('{secret}')",
        "select * from read_text('{records}')",
        "select * from '{secret}'",
        "select * from glob('{folder}/*')",
        "select * from sniff_csv('{secret}')",
        "select content from query('select * from read_text(''{secret}'')')",
        "with a as (copy (select 1 as x) to '{folder}/stolen.csv' (use_tmp_file false)) select 1",
        "with a as (copy (select 1 as x) to '{records}' (use_tmp_file false)) select * from records",
        "select getenv('HOME')",
        "select * from read_parquet('https://example.org/x.parquet')",
        "select * from private",
    ],
)
def test_no_other_file_is_read_or_written(question, tmp_path):
    """DuckDB takes COPY … TO inside a SELECT: where the records were an allowed path, they could be written over."""
    made = drawn.run(tmp_path, problems=["robertson"], blocks=1)
    before = made.records_path.read_bytes()
    secret = tmp_path / "secret.csv"
    secret.write_text("password\nhunter2\n", encoding="utf-8")
    private = "hunter2"
    there = {path.name for path in tmp_path.iterdir()}
    with pytest.raises(UsageError, match="cannot be answered") as raised:
        ask(question.format(secret=secret, folder=tmp_path, records=made.records_path), [made])
    assert private not in str(raised.value)
    assert made.records_path.read_bytes() == before
    assert {path.name for path in tmp_path.iterdir()} == there


def test_a_wrong_question_says_what_is_wrong(run):
    with pytest.raises(UsageError, match="adaptr") as raised:
        ask("select adaptr from records", [run])
    assert len(str(raised.value).splitlines()) <= 4


def test_without_duckdb_the_message_says_how_to_get_it(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(UsageError, match=re.escape(install_command("query"))):
        ask("select 1", [run])


def test_values_are_plain():
    answer = ask(
        "select 1::decimal(3,1) a, 1.5::decimal(3,1) b, 'nan'::double c, [1, null] d, {'x': date '2026-01-01'} e, "
        "map {'k': 2.5} f, 12345678901234567890::hugeint g, true h, 'é' i, interval 1 day j, 2 a, '\\x00'::blob k",
        [],
    )
    assert answer.columns == ("a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "a_2", "k")
    values = [plain(value) for value in answer.rows[0]]
    assert values[:9] == [1, 1.5, None, [1, None], {"x": "2026-01-01"}, {"k": 2.5}, 12345678901234567890, True, "é"]
    json.dumps(values, allow_nan=False)
    assert [text(value) for value in (None, True, 0.1 + 0.2, "a", 7)] == ["", "true", "0.3", "a", "7"]


def test_the_example_folder_is_untouched(run):
    names = sorted(path.name for path in Path(run.folder).iterdir())
    assert names == ["environment.json", "plan.json", "records.jsonl"]

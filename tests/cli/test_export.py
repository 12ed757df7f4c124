"""``export``: a run as a table."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from needs import skip_without
from stubs import drawn

from sciml_bench.host.extras import install_command


@pytest.fixture
def run(cli) -> Path:
    """A run in ``results`` of the empty folder that ``cli`` works in."""
    return drawn.run(Path("results"), problems=["robertson"], blocks=2).folder


def test_long_format_to_standard_output(cli, run):
    done = cli("export", "--to", "csv")
    rows = list(csv.DictReader(io.StringIO(done.out)))
    assert done.code == 0
    assert {row["loop"] for row in rows} == {"first", "warm_up", "steady", "steps", ""}
    assert cli("export", str(run), "--to", "json").json[0]["adapter"] == rows[0]["adapter"]


def test_the_summary_has_a_row_for_each_cell_of_each_table(cli, run):
    rows = cli("export", "--to", "json", "--summary", "--price-per-hour", "2.5").json
    assert len(rows) == 7
    assert rows[0]["price_per_hour"] == 2.5
    assert rows[0]["million_gradients_cost"] > 0


@pytest.mark.parametrize(("form", "start"), [("latex", "% In the preamble"), ("markdown", "### robertson")])
def test_papers_are_tables(cli, run, form, start):
    assert cli("export", "--to", form).out.startswith(start)


def test_a_file_is_there_when_it_is_whole(cli, run):
    assert cli("export", "--to", "csv", "-o", "a.csv").code == 0
    assert Path("a.csv").read_text(encoding="utf-8") == cli("export", "--to", "csv").out
    assert sorted(path.name for path in Path().iterdir()) == ["a.csv", "results"]


def test_parquet(cli, run):
    skip_without("pyarrow")
    assert cli("export", "--to", "parquet", "-o", "a.parquet").code == 0
    assert Path("a.parquet").read_bytes()[:4] == b"PAR1"


def test_parquet_without_pyarrow_says_how_to_get_it(cli, run, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    done = cli("export", "--to", "parquet", "-o", "a.parquet")
    assert done.code == 2
    assert install_command("parquet") in done.err
    assert not Path("a.parquet").exists()


@pytest.mark.parametrize("form", ["csv", "json", "latex", "markdown"])
def test_an_empty_run_says_so_and_leaves_no_file(cli, form):
    drawn.run(Path("results"), blocks=0)
    done = cli("export", "--to", form, "-o", "a.txt")
    assert done.code == 4
    assert "has no record" in done.err
    assert not Path("a.txt").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--to", "xlsx"], "'xlsx' is not one of"),
        ([], "Missing option '--to'"),
        (["--to", "parquet"], "name its file with -o FILE"),
        (["--to", "csv", "--price-per-hour", "1"], "add --summary"),
        (["--to", "csv", "--summary", "--price-per-hour", "-1"], "not negative"),
        (["--to", "csv", "-o", "none/a.csv"], "cannot write none/a.csv"),
        (["nowhere", "--to", "csv"], "no run 'nowhere'"),
        ([".", "--to", "csv"], "is not a run"),
    ],
)
def test_wrong_usage_is_one_clear_line(cli, run, words, message):
    done = cli("export", *words)
    assert done.code == 2
    assert message in done.err
    assert "Traceback" not in done.err

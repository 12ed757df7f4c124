"""``report``: usage, where the page goes, and messages of one line."""

from __future__ import annotations

from pathlib import Path

from stubs import compared

from sciml_bench.cli import exit_codes

RESULTS = Path("results")


def test_the_newest_run_is_taken_and_the_page_is_one_file(cli):
    run = compared.run(RESULTS, "run", blocks=2)
    done = cli("report")
    assert done.code == exit_codes.OK, done.err
    assert done.out == "report.html\n"
    assert "open it by double click" in done.err
    text = Path("report.html").read_text(encoding="utf-8")
    assert run.folder.name in text
    assert {path.name for path in Path().iterdir()} == {"results", "report.html"}


def test_runs_by_name_or_folder_go_to_the_file_that_is_asked_for(cli):
    a, b = compared.run(RESULTS, "a", blocks=2), compared.run(RESULTS, "b", blocks=2)
    done = cli("report", a.folder.name, str(b.folder), "-o", "made/here/both.html")
    assert done.code == exit_codes.OK, done.err
    text = Path("made/here/both.html").read_text(encoding="utf-8")
    assert a.folder.name in text
    assert b.folder.name in text


def test_a_run_that_is_named_twice_is_shown_once(cli):
    run = compared.run(RESULTS, "run", blocks=2)
    assert cli("report", run.folder.name, run.folder.name).code == exit_codes.OK
    assert 'id="r2"' not in Path("report.html").read_text(encoding="utf-8")


def test_a_folder_that_is_no_run(cli):
    Path("nothing").mkdir()
    done = cli("report", "nothing")
    assert done.code == exit_codes.USAGE
    assert done.err.startswith("ERROR: nothing is not a run: it has no plan.json.")
    assert not Path("report.html").exists()


def test_no_run_at_all(cli):
    done = cli("report")
    assert done.code == exit_codes.USAGE
    assert "no run in results" in done.err


def test_a_plan_that_is_none(cli):
    run = compared.run(RESULTS, "run", blocks=2)
    (run.folder / "plan.json").write_text("{}", encoding="utf-8")
    done = cli("report")
    assert done.code == exit_codes.USAGE
    assert "is not a plan" in done.err
    assert done.err.count("\n") == 1


def test_a_page_that_cannot_be_written(cli):
    compared.run(RESULTS, "run", blocks=2)
    Path("file").write_text("", encoding="utf-8")
    done = cli("report", "-o", "file/report.html")
    assert done.code == exit_codes.USAGE
    assert done.err.startswith("ERROR: cannot ")
    assert "file" in done.err

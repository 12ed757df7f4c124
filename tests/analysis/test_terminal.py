"""Printed reports: wide, narrow and piped."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.console import Console
from stubs.reported import cell, plan, point, record, summarise

from sciml_bench import api
from sciml_bench.analysis.analysis import Analysis
from sciml_bench.record.outcome import Outcome
from sciml_bench.render.document import run_document
from sciml_bench.render.terminal import console_for, print_run

FOLDER = Path("results/2026-01-01T00-00-00_stiff_quick")

GOOD = [
    point(1e-4, solve_ms=1, gradient_ms=2, mescd=4.0, gradient_error=1e-3),
    point(1e-8, solve_ms=100, gradient_ms=200, mescd=8.0, gradient_error=1e-7),
]


def summary(profile="quick"):
    cells = [cell(), cell("bdf", "scipy"), cell("dopri5", "torchdiffeq")]
    made = plan(cells, skipped=["not in profile quick (tier standard)"] * 5, profile=profile)
    made["cells"][0]["group"] = made["cells"][1]["group"] = "esdirk of order 5, discrete"
    stuck = [point(1e-4, outcome=Outcome.TIMEOUT), point(1e-8, outcome=Outcome.TIMEOUT)]
    records = [record(cells[0], GOOD, block=block) for block in range(2)]
    records += [record(cells[1], [GOOD[0], point(1e-8, outcome=Outcome.MAX_STEPS)]), record(cells[2], stuck)]
    return summarise(made, records)


def printed(width=None, profile="quick", full=True):
    stream = io.StringIO()
    console = (
        console_for(stream)
        if width is None
        else Console(file=stream, width=width, force_terminal=True, color_system=None, highlight=False)
    )
    print_run(Analysis(summary(profile), FOLDER), console, full=full)
    return stream.getvalue()


def test_piped_output_is_one_plain_line_per_cell():
    text = printed()
    assert "\x1b" not in text
    assert not set(text) & set("│─┃━╭")
    line = next(line for line in text.splitlines() if line.startswith("diffrax"))
    assert line.split()[:4] == ["diffrax", "kvaerno5", "discrete", "jit"]
    assert "8.00 s (8.00–8.00)" in line
    assert "300 MiB" in line


@pytest.mark.parametrize("width", [40, 60, 72, 80, 100, 120, 200])
def test_no_width_cuts_a_number(width):
    text = printed(width)
    table = text[text.index("idiomatic") : text.index("failures")]
    for number in ("8.00 s", "5.00 s", "1.00 ms", "2.00 ms", "7.0", "1.0e-07", "ok 4/4", "max_steps 1", "300 MiB"):
        assert number in table
    drawn = [line for line in table.splitlines() if line.startswith(" ") or "diffrax" in line]
    assert all(len(line) <= width for line in drawn)
    assert "…" not in table


@pytest.mark.parametrize("width", [None, 40, 90, 200])
def test_everything_is_told_at_every_width(width):
    text = printed(width)
    for part in (
        "robertson: Title of robertson",
        "idiomatic (each library's best way, and its default if it differs)",
        "matched: esdirk of order 5, discrete (same method family, order and sensitivity)",
        "solve at mescd 4 over all saved times; gradient at relative error 1.0e-03",
        "planned 8 = measured 2 + failed 1 (timeout 1) + skipped 5",
        "skipped 5: not in profile quick (tier standard)",
        f"run folder: {FOLDER}",
        "ok 1/2",
        "max_steps 1",
    ):
        assert part in text


@pytest.mark.parametrize("width", [None, 40, 90, 200])
def test_the_short_report_has_one_table_the_failures_and_the_answer(width):
    text = printed(width, full=False)
    assert "matched:" not in text
    assert "where the time of a process went" not in text
    assert "2 cells measured, 1 failed (timeout 1); 5 others are not part of this run" in " ".join(text.split())
    assert text.index("failures") < text.index("2 cells") < text.index("Take ")
    assert f"sciml-bench show {FOLDER} --all" in " ".join(text.split())


STORED = Path(__file__).parents[2] / "results" / "stiff-quick"


@pytest.mark.parametrize("width", [80, 100, 140])
def test_the_report_of_two_problems_fits_its_terminal(width):
    stream = io.StringIO()
    console = Console(file=stream, width=width, force_terminal=True, color_system=None, highlight=False)
    print_run(api.load(STORED).analysis, console, full=False)
    lines = stream.getvalue().splitlines()
    # Commands stay whole, so that they can be copied.
    assert max(len(line.rstrip()) for line in lines if "sciml-bench " not in line) <= width
    # The answer is a table at every width, not a list.
    assert sum("total of 1\u202f000" in line for line in lines) == 2
    assert width < 100 or len(lines) <= 120


@pytest.mark.parametrize("width", [None, 60])
def test_rerun_commands_are_never_broken(width):
    label = cell("dopri5", "torchdiffeq").label
    assert f"    rerun: sciml-bench run --cell {label} --profile quick\n" in printed(width)


def test_smoke_is_marked_as_not_comparable():
    assert "NOT COMPARABLE: profile smoke runs one process per cell" in printed(profile="smoke")
    assert "NOT COMPARABLE" not in printed()


def test_no_colour_when_asked(monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    stream = Terminal()
    monkeypatch.setenv("TERM", "xterm-256color")
    print_run(Analysis(summary(), FOLDER), console_for(stream))
    assert "\x1b[3" not in stream.getvalue().replace("\x1b[3m", "")


def test_the_document_holds_the_same_numbers_as_plain_json():
    document = json.loads(json.dumps(run_document(Analysis(summary(), FOLDER)), allow_nan=False))
    first, second = document["problems"][0]["cells"]
    assert first["label"] == cell().label
    assert first["first_gradient_from_process_s"]["median"] == 8.0
    assert first["processes"] == 2
    assert second["point_outcomes"] == {"ok": 1, "max_steps": 1}
    assert document["account"]["planned"] == 8
    assert document["failures"][0]["rerun"].startswith("sciml-bench run --cell ")


def test_the_last_lines_say_what_to_take():
    """The same sentence and the same table as advice gives, at the accuracy of the tables."""
    last = printed().splitlines()
    sentence = next(place for place, line in enumerate(last) if line.startswith("Take "))
    assert any(line.startswith("run folder: ") for line in last[:sentence])
    assert any("total of 100\u202f000" in line for line in last[sentence:])
    document = run_document(Analysis(summary(), FOLDER))["problems"][0]["recommendation"]
    assert document["sentences"][0] == last[sentence]
    assert document["count"] == 1000


def test_a_problem_that_has_not_run_yet_is_not_printed():
    made = plan([cell()])
    stream = io.StringIO()
    print_run(Analysis(summarise(made, []), FOLDER), console_for(stream))
    assert "Title of" not in stream.getvalue()
    assert "not run yet 1" in stream.getvalue()

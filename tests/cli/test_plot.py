"""``plot``: the figures of a run as files."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from stubs import drawn

from sciml_bench.charts.catalog import KINDS


@pytest.fixture
def run(cli) -> Path:
    """A run in ``results`` of the empty folder that ``cli`` works in."""
    return drawn.run(Path("results")).folder


def test_help_lists_every_kind(cli):
    out = cli("plot", "--help").out
    assert all(f"  {kind} " in out for kind in KINDS)


def test_a_file_for_each_figure(cli, run):
    done = cli("plot", "work-precision", "--problem", "robertson")
    assert done.code == 0
    written = [line.removeprefix("wrote ") for line in done.out.splitlines()]
    assert written[0] == "work-precision-robertson.png"
    assert sorted(written) == sorted(path.name for path in Path().glob("*.png"))
    assert Path(written[0]).read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("suffix", "start"), [(".png", b"\x89PNG"), (".svg", b"<?xml"), (".pdf", b"%PDF"), (".PNG", b"\x89PNG")]
)
def test_the_suffix_names_the_format_and_the_bytes_are_the_same_twice(cli, run, suffix, start):
    for name in ("a", "b"):
        assert cli("plot", "memory", str(run), "--problem", "robertson", "-o", f"{name}{suffix}").code == 0
    data = Path(f"a{suffix}").read_bytes()
    assert data.startswith(start)
    assert data == Path(f"b{suffix}").read_bytes()


def test_of_several_figures_the_first_has_the_given_name(cli, run):
    cli("plot", "work-precision", "--problem", "robertson", "-o", "deep/figure.svg")
    names = {path.name for path in Path("deep").iterdir()}
    assert names == {
        "figure.svg",
        "figure-work-precision-robertson-matched.svg",
        "figure-work-precision-robertson-other.svg",
    }


def test_a_folder_takes_them_all(cli, run):
    cli("plot", "memory", "-o", "figures/")
    assert sorted(path.name for path in Path("figures").iterdir()) == sorted(
        f"memory-{name}.png" for name in drawn.PROBLEMS
    )


def test_across_problems(cli, run):
    assert cli("plot", "profile", "-o", "p.svg").code == 0
    assert cli("plot", "profile", "--problem", "robertson").code == 2


def test_json_prints_the_data_and_draws_nothing(cli, run):
    done = cli("plot", "stability", "--problem", "robertson", "--json")
    (chart,) = done.json["charts"]
    assert chart["kind"] == "stability"
    assert set(chart["rows"][0]) == set(chart["columns"])
    assert not list(Path().glob("*.*"))
    cli("plot", "stability", "--problem", "robertson", "--json", "-o", "s.png")
    assert Path("s.png").exists()


def test_nothing_to_draw_is_said(cli):
    folder = drawn.run(Path("results"), blocks=0).folder
    done = cli("plot", "latency", str(folder))
    assert (done.code, done.out) == (4, "")
    assert done.err == "nothing to draw: the run has no record yet\n"
    assert json.loads(cli("plot", "latency", str(folder), "--json").out) == {"charts": []}


def test_only_failures(cli):
    drawn.run(Path("results"), change=lambda record: record if drawn.failing(record.cell) else drawn.broken(record))
    done = cli("plot", "work-precision")
    assert done.code == 4
    assert "all cells failed (crash, max_steps)" in done.err
    assert cli("plot", "latency", "-o", "l.png", "--problem", "robertson").code == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["pie"], "'pie' is not one of"),
        (["memory", "nowhere"], "no run 'nowhere'"),
        (["memory", "."], "is not a run: it has no plan.json"),
        (["memory", "--problem", "robertsn"], "the run has no problem 'robertsn'; it has robertson"),
        (["memory", "-o", "a.jpg"], "end the name with one of them"),
        (["memory", "-o", "file/a.png"], "cannot make file"),
    ],
)
def test_wrong_usage_is_one_clear_line(cli, run, words, message):
    Path("file").write_text("not a folder", encoding="utf-8")
    done = cli("plot", *words)
    assert done.code == 2
    assert message in done.err
    assert "Traceback" not in done.err


def test_damaged_lines_are_named_and_left_out(cli, run):
    with (run / "records.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"half a rec')
    done = cli("plot", "memory", "--problem", "robertson")
    assert done.code == 0
    assert "left out:" in done.err


@pytest.mark.parametrize("blocks", [3, 0])
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_drawn_or_says_why_not(cli, kind, blocks):
    drawn.run(Path("results"), blocks=blocks)
    done = cli("plot", kind, "--json")
    if done.json["charts"]:
        assert (done.code, done.err) == (0, "")
        assert {chart["kind"] for chart in done.json["charts"]} == {kind}
        assert blocks
    else:
        assert done.code == 4
        assert re.fullmatch(r"nothing to draw: [^\n]+\n", done.err)

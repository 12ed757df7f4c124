"""The page as text: complete, traceable, honest, and harmless whatever the records hold."""

from __future__ import annotations

import dataclasses
import datetime
import html
import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import pytest
from stubs import compared, paged
from stubs.records import sealed_line

from sciml_bench.analysis.loaded_run import read_run
from sciml_bench.errors import StoreError
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.run_folder import Run
from sciml_bench.record.task import Cell
from sciml_bench.render.html import page_budget
from sciml_bench.render.html.looks import Looks
from sciml_bench.render.html.page import report
from sciml_bench.render.html.table import Places, ranges

NOW = datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC)
VOID = {"meta", "input", "br", "path", "use", "rect", "circle", "line", "image"}
# Elements whose end tags HTML lets be left out.
LOOSE = {"td", "th", "tr", "li", "p", "dt", "dd"}


class Reader(HTMLParser):
    """What a browser would see: elements with their attributes, ids, links, and the text outside scripts and styles."""

    def __init__(self, text: str):
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self._in: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag in ("script", "style"):
            self._in.append(tag)

    def handle_endtag(self, tag):
        if tag in ("script", "style"):
            self._in.pop()

    def handle_data(self, data):
        if not self._in:
            self.text.append(data)

    @property
    def words(self) -> str:
        return " ".join(" ".join(self.text).split())

    def tags(self, name: str) -> list[dict[str, str | None]]:
        return [attributes for tag, attributes in self.elements if tag == name]

    @property
    def ids(self) -> list[str]:
        return [str(attributes["id"]) for _, attributes in self.elements if "id" in attributes]


@pytest.fixture(scope="module")
def page(tmp_path_factory) -> tuple[Run, str, Reader]:
    run = paged.run(tmp_path_factory.mktemp("runs"))
    text = report([run], NOW)
    return run, text, Reader(text)


def test_the_verdicts_come_first(page):
    _, text, reader = page
    assert text.startswith("<!DOCTYPE html>")
    words = reader.words
    order = [
        words.index(part)
        for part in ("On 2 of 2 problems one way is faster than all others", "Why believe it?",
                     "What explains the gaps", "Failures and the sum", "Machine", "What could not be measured")
    ]  # fmt: skip
    assert order == sorted(order)
    assert "diffrax kvaerno5 checkpointed compiled" in words
    assert re.search(r"Fastest gradient at a relative error of 1e-\d: diffrax .*?; next is .*? times as long", words)


def test_the_account_adds_up_and_stands_on_the_page(page):
    assert "planned 10 = measured 8 + failed 2 (max_steps 2) + skipped 0" in page[2].words


def test_everything_that_could_not_be_measured_is_told(page):
    words = page[2].words
    assert "energy of 60 of 60 processes: this machine shows no energy counter of its processor" in words
    assert "disturbed: 10 of 60 processes (other_load 10)" in words
    assert "none here yet; `sciml-bench selftest` measures" in words


def test_every_problem_has_its_equations_its_code_and_its_figures(page):
    _, text, reader = page
    assert text.count('<math display="block">') >= 3 + 2
    assert "def rhs(t, y, p):" in text
    assert "All 12 records that count solved exactly these equations" in reader.words
    assert "NOT what was solved" not in reader.words
    assert "has changed since it was measured" not in reader.words
    for name in ("robertson", "van-der-pol-stiff"):
        assert re.search(rf'<svg[^>]*id="r1-[a-z-]*precision-{name}', text)
    assert text.count("How this was measured") == text.count("Data of this figure") == text.count("<svg")


def test_every_link_leads_somewhere_and_every_id_is_unique(page):
    reader = page[2]
    assert len(set(reader.ids)) == len(reader.ids)
    targets = {str(link["href"])[1:] for link in reader.tags("a") if str(link["href"]).startswith("#")}
    assert targets <= set(reader.ids)
    referred = {word for _, attributes in reader.elements for key in ("aria-labelledby", "aria-describedby")
                for word in str(attributes.get(key) or "").split()}  # fmt: skip
    assert referred <= set(reader.ids)


def test_each_number_leads_to_its_records_and_each_record_to_its_line(page):
    run, text, reader = page
    lines = run.records_path.read_text(encoding="utf-8").splitlines()
    assert len(lines) == 60
    for number, line in enumerate(lines, start=1):
        record_id = html.escape(json.loads(line)["record_id"])
        assert re.search(rf"<td>{re.escape(record_id)}\s*<td>{number}\s*<td>", text), f"record of line {number}"
    links = [str(link["href"]) for link in reader.tags("a")]
    assert all(links.count(f"#r1-c{number}") >= 2 for number in (1, 2, 3, 4))


def test_every_gap_is_explained_before_a_cell_is_called_slower(page):
    _, text, _ = page
    gaps = re.findall(r'<details class="gap">(.*?)</details>', text, re.DOTALL)
    assert len(gaps) == 6
    for number, gap in enumerate(gaps):
        assert gap.count("<li class=") + _shared(text, number // 3) == 21
        summary = gap[: gap.index("</summary>")]
        assert summary.index("takes") < summary.index("slower")
        assert "Differences other than the framework" in gap


def _shared(text: str, problem: int) -> int:
    """How many fairness items stand alike in all comparisons of a problem's table."""
    return re.findall(r'<details class="gap shared">(.*?)</details>', text, re.DOTALL)[problem].count("<li class=")


def test_tables_are_real_and_figures_have_words(page):
    reader = page[2]
    text = page[1]
    assert text.count("<table") == text.count("<caption") == text.count("</table>")
    assert len(reader.tags("svg")) == text.count("<figcaption>")
    assert all(svg.get("role") == "img" and svg.get("aria-labelledby") for svg in reader.tags("svg"))


def test_nothing_is_loaded_and_nothing_but_our_own_can_run(page):
    _, text, reader = page
    policy = next(meta for meta in reader.tags("meta") if meta.get("http-equiv") == "Content-Security-Policy")
    content = str(policy["content"])
    assert content.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in content
    assert len(reader.tags("script")) == len(reader.tags("style")) == 1
    assert not reader.tags("link")
    assert not reader.tags("img")
    for tag, attributes in reader.elements:
        assert "style" not in attributes, f"{tag} has a style that the policy forbids"
        assert "src" not in attributes
        assert not [name for name in attributes if name.startswith("on")]
    assert "url(http" not in text


def test_the_same_run_gives_the_same_page(page):
    run, text, _ = page
    assert report([run], NOW) == text


def test_markup_in_names_titles_labels_and_messages_stays_text(tmp_path):
    hostile = Cell(paged.MARKUP, f"adapter{paged.MARKUP}", paged.MARKUP, "discrete", "eager")
    other = Cell(paged.MARKUP, "scipy", "bdf", "forward", "eager")

    def make(cell, _block):
        if cell == hostile:
            found = compared.failed_points(Outcome.INACCURATE)
            return [dataclasses.replace(point, message=f"{paged.MARKUP}\n\x00</style>") for point in found]
        import random

        return compared.points(random.Random(1), 1.0)

    run = compared.run(
        tmp_path, "hostile", cells=(hostile, other), make=make, blocks=3, profile="quick",
        environment={**compared.MACHINE, "cpu": {"model": paged.MARKUP}, paged.MARKUP: paged.MARKUP},
        record_changes={"noisy": (f"{paged.MARKUP}: x",), "source_hash": paged.MARKUP, "spec_hash": paged.MARKUP,
                        "energy": {"not_measurable": paged.MARKUP}, "started_at": paged.MARKUP},
    )  # fmt: skip
    plan = json.loads((run.folder / "plan.json").read_text(encoding="utf-8"))
    plan["problems"][0]["title"] = paged.MARKUP
    plan["skipped"] = [{"reason": paged.MARKUP, "outcome": None, "cells": [paged.MARKUP]}]
    (run.folder / "plan.json").write_text(json.dumps(plan), encoding="utf-8")
    text = report([Run.open(run.folder)], NOW)
    reader = Reader(text)
    assert paged.MARKUP in reader.words
    assert len(reader.tags("script")) == 1
    assert not [attributes for _, attributes in reader.elements if "onclick" in attributes]
    assert len(set(reader.ids)) == len(reader.ids)


def test_an_empty_run_says_so(tmp_path):
    run = paged.run(tmp_path, blocks=0)
    words = Reader(report([run], NOW)).words
    assert "This run has no record yet" in words
    assert "Nothing was measured of this problem." in words
    assert "planned 10 = measured 0 + failed 0 + skipped 0 + not run yet 10" in words


def test_a_run_whose_records_none_can_read_says_so(tmp_path):
    run = paged.run(tmp_path, blocks=1)
    paged.rewrite(run, lambda record: record | {"schema": 99})
    words = Reader(report([run], NOW)).words
    assert "No record of this run can be read (written by another version of sciml-bench (schema 99" in words
    assert "no record yet" not in words


def test_a_run_of_failures_only_says_so(tmp_path):
    run = paged.run(tmp_path, make=lambda _cell, _block: compared.failed_points())
    words = Reader(report([run], NOW)).words
    assert "No cell of this run has a time: everything that ran failed" in words
    assert words.count("timeout the phase ran past its time limit") >= 10
    assert "The fastest way for each problem" not in words


def test_a_run_that_is_not_comparable_names_no_winner(tmp_path):
    run = paged.run(tmp_path, blocks=1, profile="smoke")
    words = Reader(report([run], NOW)).words
    assert "Not comparable: profile smoke runs one process per cell; use quick or more." in words
    assert words.count("not compared") >= 1
    assert "Fastest for" not in words
    assert "faster than" not in words.partition("How to read this")[2].rpartition("How to read this")[0]


def test_two_cells_that_are_not_told_apart_are_called_so(tmp_path):
    import random

    cells = paged.CELLS[1:3]
    generator = random.Random(2)
    run = paged.run(tmp_path, cells=cells, make=lambda _cell, _block: compared.points(generator, 1.0, spread=0.3))
    words = Reader(report([run], NOW)).words
    assert "On 1 of 1 problems it is undecided which way is fastest" in words
    assert "Undecided which is the fastest gradient" in words
    assert "Clear wins" not in words


@pytest.mark.parametrize(
    "line",
    [
        "not json",
        '{"schema": 99}',
        "[]",
        '{"schema": 1, "cell": 3}',
    ],
)
def test_damaged_lines_are_left_out_and_told(tmp_path, line):
    run = paged.run(tmp_path, cells=paged.CELLS[:2], blocks=3)
    with run.records_path.open("a", encoding="utf-8") as file:
        file.write(line + "\n")
    words = Reader(report([run], NOW)).words
    assert "1 damaged lines of records.jsonl are left out: line 7" in words
    assert "planned 2 = measured 2" in words


@pytest.mark.parametrize(
    "change",
    [
        {"block": "1"}, {"wall_s": "long"}, {"wall_s": float("nan")}, {"phases_ns": {"spawn": "1"}}, {"threads": 3},
        {"points": [{"rtol": "tight"}]}, {"cell_id": None}, {"message": None},
    ],
)  # fmt: skip
def test_fields_of_the_wrong_kind_damage_their_record_only(tmp_path, change):
    run = paged.run(tmp_path, cells=paged.CELLS[:2], blocks=3)
    done: list[int] = []

    def first_only(record):
        done.append(1)
        if len(done) > 1:
            return record
        return record | ({"points": [record["points"][0] | change["points"][0]]} if "points" in change else change)

    paged.rewrite(run, first_only)
    loaded = read_run(run)
    assert [line.number for line in loaded.damaged] == [1]
    assert "planned 2 = measured 2" in Reader(report([run], NOW)).words


def test_a_plan_that_is_none_is_an_error_of_one_line(tmp_path):
    run = paged.run(tmp_path, cells=paged.CELLS[:2], blocks=1)
    (run.folder / "plan.json").write_text('{"cells": []}', encoding="utf-8")
    with pytest.raises(StoreError, match="is not a plan of this version: 'schema' is missing"):
        report([Run.open(run.folder)], NOW)


def test_a_run_without_environment_is_shown(tmp_path):
    run = paged.run(tmp_path, cells=paged.CELLS[:2], blocks=2)
    (run.folder / "environment.json").unlink()
    assert "not known: this run has no environment file" in Reader(report([Run.open(run.folder)], NOW)).words


def test_a_problem_whose_file_is_gone_says_so(tmp_path):
    run = paged.run(tmp_path, cells=paged.CELLS[:2], blocks=2)
    plan = json.loads((run.folder / "plan.json").read_text(encoding="utf-8"))
    plan["problems"][0]["file"] = "nowhere/my.toml"
    (run.folder / "plan.json").write_text(json.dumps(plan), encoding="utf-8")
    words = Reader(report([Run.open(run.folder)], NOW)).words
    assert "The problem's file nowhere/my.toml is not here, so its equations cannot be shown." in words


def test_several_runs_get_a_section_each_and_are_compared_with_the_first(tmp_path):
    base = paged.run(tmp_path, "base", cells=paged.CELLS[:3], profile="standard")
    new = paged.run(tmp_path, "new", cells=paged.CELLS[:3], profile="standard", seed=3)
    reader = Reader(report([base, new], NOW))
    words = reader.words
    assert len(set(reader.ids)) == len(reader.ids)
    assert {"r1", "r2", "between-2"} <= set(reader.ids)
    assert f"{new.folder.name} against {base.folder.name}" in words
    assert "paired by block" in words


def test_runs_that_cannot_be_compared_say_why(tmp_path):
    base = paged.run(tmp_path, "base", cells=paged.CELLS[:2], blocks=3)
    machine = {**compared.MACHINE, "cpu": {"model": "Another", "governor": "performance"}}
    other = paged.run(tmp_path, "other", cells=paged.CELLS[:2], blocks=3, environment=machine)
    words = Reader(report([base, other, base], NOW)).words
    assert "These runs cannot be compared: cpu.model: Some processor in BASE, Another in NEW" in words
    assert "they hold the same records: one is a copy of the other" in words


def test_a_record_that_was_measured_again_counts_once_and_both_are_listed(tmp_path):
    run = paged.run(tmp_path, cells=paged.CELLS[:2], blocks=2)
    last = json.loads(run.records_path.read_text(encoding="utf-8").splitlines()[-1])
    with run.records_path.open("a", encoding="utf-8") as file:
        file.write(sealed_line(last | {"attempt": 1, "record_id": "again"}) + "\n")
    text = report([run], NOW)
    assert re.search(r"<td>again\s*<td>5\s*<td>1\s*<td>1\s*<td>yes", text)
    assert re.search(rf"<td>{re.escape(html.escape(last['record_id']))}\s*<td>4\s*<td>1\s*<td>0\s*<td>no", text)


def test_links_of_figures_name_cell_and_blocks():
    places = Places("r1-", ["aa", "bb"], {})
    found = places.of_keys("bb/0/0 bb/1/0 bb/2/0 aa/7/1")
    assert [(item.text, item.link) for item in found] == [("c2 b0–2", "r1-c2"), ("c1 b7 attempt 1", "r1-c1")]
    assert [item.text for item in places.of_keys("no key")] == ["no key"]
    assert ranges([3, 1, 2, 7]) == "1–3, 7"


def test_looks_of_drawings_become_classes_of_the_one_style_sheet():
    looks = Looks()
    drawing = (
        '<path d="M0 1.2L2 3z" style="fill:none;stroke-width:0.8"/><text style="font-size:9px">a: b</text>'
        '<path style="fill:none;stroke-width:0.8"/>'
    )
    assert looks.slim(drawing) == ('<path d="M0 1.2L2 3z" class="s0"/><text class="s1">a: b</text><path class="s0"/>')
    assert looks.sheet == ".s0{fill:none;stroke-width:0.8}\n.s1{font-size:9px}"
    with pytest.raises(ValueError, match="not the look of a drawing"):
        looks.slim('<path style="}</style><script>"/>')


def test_where_not_all_fits_the_page_says_what_it_leaves_out(page, monkeypatch):
    run, whole, _ = page
    monkeypatch.setattr(page_budget, "_PAGE_BYTES", 0)
    monkeypatch.setattr(page_budget, "_FEWEST", 2)
    text = report([run], NOW)
    assert text.count("Drawn and explained here are 2 of ") == 2
    assert "Drawn and explained" not in whole
    assert len(text) < len(whole)
    # Tables and records still have every cell.
    cells = re.findall(r'<tbody id="r1-c\d+">', whole)
    assert cells
    assert re.findall(r'<tbody id="r1-c\d+">', text) == cells
    for number in (1, 2):
        table = rf'<table class="sort[^"]*" id="r1-p{number}t1">.*?</table>'
        assert re.findall(table, text, re.DOTALL) == re.findall(table, whole, re.DOTALL) != []


def test_the_page_of_a_folder_elsewhere_is_the_same(page, tmp_path):
    """Nothing on the page tells where the run lies."""
    run, text, _ = page
    moved = tmp_path / run.folder.name
    shutil.copytree(run.folder, moved)
    assert report([Run.open(moved)], NOW) == text
    assert str(Path(run.folder).parent) not in text

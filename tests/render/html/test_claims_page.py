"""The page of published claims."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from pathlib import Path

import pytest
from stubs import stored

from sciml_bench.cli.main import main
from sciml_bench.published_claims.judging import Judged
from sciml_bench.render.html.claims_page import claims_page
from sciml_bench.render.html.forest import forest

IDS = ("C05", "C21-first", "C23")


@pytest.fixture(scope="module")
def found() -> list[Judged]:
    return stored.judged(*IDS, untested=("C02",))


@pytest.fixture(scope="module")
def page(found) -> str:
    return claims_page(found)


def test_it_opens_with_the_number_of_claims_that_hold(found, page):
    assert "3 of 4 published claims were measured here." in page
    fair = Counter(judged.findings["fair"].ruling.value for judged in found)
    line = re.search(r"At equal achieved accuracy: (.*?)\.</p>", page)
    assert line is not None
    assert {words: int(n) for n, words in re.findall(r"(\d+) ([a-z ]+)", line[1])} == fair


def test_every_measured_claim_has_a_line_in_the_figure_a_ruling_and_its_details(page):
    drawing = page[page.index("<svg") : page.index("</svg>")]
    for name in IDS:
        anchor = f"claim-{name.lower()}"
        assert f'href="#{anchor}"' in drawing
        assert page.count(f'id="{anchor}"') == 1
        assert f'<a href="#{anchor}">{name} ' in page
    assert "claim-c02" not in page
    assert "it needs a cluster" in page


def test_the_disk_lies_at_the_ratio_between_its_decades(found):
    one = next(judged for judged in found if judged.claim.id == "C21-first")
    ratio = one.findings["fair"].ratio
    assert ratio is not None
    drawing = str(forest([one]))
    at = float(re.findall(r'<circle class="\w+ fair" cx="([\d.]+)"', drawing)[0])
    decades = {
        float(text.replace("\u202f", "").rstrip("×")): float(x)
        for x, text in re.findall(r'<text class="tick" x="([\d.]+)".*?>(.*?)</text>', drawing)
    }
    below = max(value for value in decades if value <= ratio.estimate)
    assert decades[below] <= at <= decades[below * 10]


def test_a_claim_of_two_runs_is_shown_once(found, page):
    assert claims_page([*found, found[0]]) == page


def test_without_a_measured_claim_there_is_no_figure(found):
    assert forest([]) == ""
    page = claims_page([judged for judged in found if judged.claim.id == "C02"])
    assert "<svg" not in page
    assert "0 of 1 published claims were measured here." in page


def test_words_of_a_claim_file_never_become_markup(found):
    title = "<script>alert(1)</script>"
    hostile = [dataclasses.replace(it, claim=dataclasses.replace(it.claim, title=title)) for it in found]
    page = claims_page(hostile)
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)" in page


def test_the_stored_page_is_the_one_of_the_stored_runs(capsys):
    runs = [str(run) for run in sorted(stored.FOLDER.iterdir()) if (run / "plan.json").is_file()]
    assert main(["claims", "export", *runs, "--all", "--to", "html"]) == 0
    made = capsys.readouterr().out
    assert made == Path(stored.FOLDER / "report.html").read_text(encoding="utf-8"), (
        "make it again: sciml-bench claims export results/claims/2* --all --to html > results/claims/report.html"
    )
    assert len(made.encode()) < 1_000_000

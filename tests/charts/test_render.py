"""Charts as SVG in a page and as files."""

from __future__ import annotations

import dataclasses
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET

import matplotlib
import pytest
from stubs import drawn
from stubs.reported import summarise

from sciml_bench.adapters.declared import declarations
from sciml_bench.charts import markers
from sciml_bench.charts.catalog import of_problem
from sciml_bench.charts.style import INK, Palette, configuration
from sciml_bench.errors import StoreError, UsageError
from sciml_bench.record.task import Cell

SVG = "{http://www.w3.org/2000/svg}"
_NAMES = ("scipy", "diffrax", "torchdiffeq", "tensorflow", "julia", "own", "mine", "yours", "theirs", "ours", "its")
HOSTILE = "<script>alert('$x_1$')</script>\n&amp;\x1b[31m{$}"

LOOKS = {name: item.look for name, item in declarations({}).items() if item.look is not None}


@pytest.fixture(scope="module")
def inline(charts):
    return {chart.name: chart.svg() for chart in charts}


def test_it_is_an_image_with_a_title_and_a_description(charts, inline):
    for chart in charts:
        root = ET.fromstring(inline[chart.name])
        assert root.tag == f"{SVG}svg"
        assert root.get("role") == "img"
        labels = (root.get("aria-labelledby") or "").split()
        found = {child.get("id"): child.text for child in root if child.tag in {f"{SVG}title", f"{SVG}desc"}}
        assert [found[label] for label in labels] == [chart.title, chart.alt]


def test_nothing_but_the_drawing(inline):
    for text in inline.values():
        assert text.startswith("<svg ")
        assert not re.search(r"<\?|<!|<metadata|<style|<script|DejaVu|xlink|[\r\n]\s*<", text)
        assert re.findall(r"https?://\S+?(?=[\"' ])", text) == ["http://www.w3.org/2000/svg"]


def test_ids_are_unique_in_a_page_with_all_figures(inline):
    ids = [found for text in inline.values() for found in re.findall(r'\bid="([^"]+)"', text)]
    assert len(set(ids)) == len(ids)


def test_what_is_referred_to_is_there(inline):
    referred: set[str] = set()
    for text in inline.values():
        there = set(re.findall(r'\bid="([^"]+)"', text))
        here = {name for pair in re.findall(r'href="#([^"]+)"|url\(#([^)]+)\)', text) for name in pair if name}
        assert here <= there
        referred |= here
    assert referred


def test_axes_and_text_take_the_colour_of_the_page(inline):
    for text in inline.values():
        assert INK not in text
        assert "currentColor" in text


def test_text_is_text(inline):
    text = inline["work-precision-robertson"]
    assert ">diffrax kvaerno5 checkpointed</text>" in text
    # Long names take two lines.
    assert ">torchdiffeq dopri5 discrete</text>" in text
    assert ">eager: max_steps 9 of 9</text>" in text
    assert ">failed</text>" in text


def test_figures_are_small(inline):
    assert sum(map(len, inline.values())) / len(inline) < 40_000


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
def test_the_same_bytes_twice(charts, tmp_path, suffix):
    chart = next(chart for chart in charts if chart.kind == "stability")
    first, second = tmp_path / f"a{suffix}", tmp_path / f"b{suffix}"
    chart.save(first)
    chart.save(str(second))
    assert first.read_bytes() == second.read_bytes()
    assert first.stat().st_size > 1000


def test_the_same_bytes_in_another_process(charts, inline):
    code = (
        "import sys; sys.path.insert(0, 'tests'); from stubs import drawn;"
        "from sciml_bench.charts.catalog import of_problem;"
        "sys.stdout.buffer.write(next(of_problem(drawn.summary(), 'robertson', ('work-precision',))).svg().encode())"
    )
    elsewhere = {**os.environ, "PYTHONHASHSEED": "1"}
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, env=elsewhere)
    assert done.stdout.decode() == inline["work-precision-robertson"]


def test_a_style_of_the_users_changes_nothing(charts, tmp_path):
    for suffix in (".png", ".pdf"):
        charts[0].save(tmp_path / f"a{suffix}")
        with matplotlib.rc_context({"text.parse_math": True, "path.sketch": (1, 100, 2), "font.size": 30}):
            charts[0].save(tmp_path / f"b{suffix}")
        assert (tmp_path / f"a{suffix}").read_bytes() == (tmp_path / f"b{suffix}").read_bytes()


def test_a_page_and_an_svg_file_need_no_matplotlib(tmp_path):
    code = (
        "import sys; sys.path.insert(0, 'tests'); from pathlib import Path; from stubs import drawn;"
        "from sciml_bench.charts.catalog import of_problem; chart = next(of_problem(drawn.summary(), 'robertson'));"
        f"chart.svg(); chart.save(Path({str(tmp_path)!r}) / 'a.svg'); assert 'matplotlib' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_marker_of_a_palette_can_be_drawn_on_a_page():
    cells = [Cell("p", adapter, f"m{i}", "s", "eager") for adapter in (*_NAMES, "a", "b") for i in range(4)]
    palette = Palette(cells, LOOKS)
    assert {palette.style(configuration(cell)).marker for cell in cells} <= markers.SHAPES


def test_a_page_and_a_file_show_the_same_drawing(charts, inline):
    for chart in charts:
        page, file = ET.fromstring(inline[chart.name]), ET.fromstring(chart.svg_file())
        (ground,) = [tag for tag in file if tag.tag == f"{SVG}rect"]
        assert [ET.tostring(tag) for tag in page] == [ET.tostring(tag) for tag in file if tag is not ground]
        assert (file.get("color"), ground.get("fill"), file.get("viewBox")) == (INK, "#fff", page.get("viewBox"))


def test_no_date_in_files(charts, tmp_path):
    for suffix in (".svg", ".pdf", ".png"):
        path = tmp_path / f"a{suffix}"
        charts[0].save(path)
        data = path.read_bytes()
        assert not re.search(rb"CreationDate|<dc:date>|Software|20[23]\d-\d\d-\d\d", data)


def test_names_with_markup_dollars_and_newlines(tmp_path):
    """They are drawn as they are: nothing is markup, nothing mathematics, and no line is broken."""
    which = {
        dataclasses.replace(cell, problem=HOSTILE, method="a$b^2$c<i>"): way
        for cell, way in drawn.cells(["robertson"]).items()
    }
    made = summarise(drawn.plan_of(which), drawn.records(which))
    found = list(of_problem(made, HOSTILE))
    assert len(found) >= 7
    for chart in found:
        root = ET.fromstring(chart.svg())
        assert not [tag for tag in root.iter() if tag.tag.removeprefix(SVG) in {"script", "i"}]
        texts = [tag.text or "" for tag in root.iter(f"{SVG}text")]
        assert any("a$b^2$c<i>" in text for text in texts)
        assert any("<script>alert('$x_1$')</script> &amp;" in text for text in texts)
        chart.save(tmp_path / "a.png")


def test_what_no_document_can_hold_becomes_a_blank(charts, tmp_path):
    """Names of suites and sweeps come from a plan file, and may hold anything that JSON can write."""
    strange = "a\x00b\ud800c\ufffe\x1bd"

    def draw(backend):
        backend.set_size(2, 1)
        backend.text(0.1, 0.5, strange, {"color": INK, "fontsize": 8})

    chart = dataclasses.replace(charts[0], title=strange, alt=strange, draw=draw)
    (text,) = ET.fromstring(chart.svg()).iter(f"{SVG}text")
    assert text.text == "a b c  d"
    for suffix in (".svg", ".png", ".pdf"):
        chart.save(tmp_path / f"a{suffix}")


def test_letters_that_no_font_has_are_drawn_without_a_warning(tmp_path):
    which = {Cell("问题🦜", *drawn.WAYS[0][:4]): ("idiomatic", "", 1.0)}
    made = summarise(drawn.plan_of(which), drawn.records(which))
    next(of_problem(made, "问题🦜", ("memory",))).save(tmp_path / "a.png")


def test_a_wrong_suffix_and_a_folder_that_is_not_there(charts, tmp_path):
    with pytest.raises(UsageError, match=r"\.png, \.svg, \.pdf"):
        charts[0].save(tmp_path / "a.jpg")
    with pytest.raises(StoreError, match="cannot write"):
        charts[0].save(tmp_path / "none" / "a.png")


def test_a_configuration_looks_the_same_in_every_figure_and_unlike_any_other():
    cells = [Cell("p", adapter, f"m{i}", "s", "eager") for adapter in ("scipy", "diffrax", "own") for i in range(8)]
    palette = Palette(cells, LOOKS)
    styles = [palette.style(configuration(cell)) for cell in cells]
    assert len(set(styles)) == len(styles)
    assert len({style.colour for style in styles}) == 3
    other = Palette([dataclasses.replace(cell, problem="q") for cell in cells], LOOKS)
    assert [other.style(configuration(cell)) for cell in cells] == styles


def test_lines_are_used_twice_only_when_all_are_used():
    """In grey lines that lie close to each other are told apart by nothing else."""
    ways = [("diffrax", "tsit5"), ("scipy", "radau"), ("diffrax", "kvaerno5"), ("torchdiffeq", "dopri5")]
    cells = [Cell("p", adapter, method, "s", "eager") for adapter, method in (*ways, ("tensorflow", "bdf"))]
    palette = Palette(cells, LOOKS)
    assert len({palette.style(configuration(cell)).dashes for cell in cells}) == len(cells)


def test_strangers_have_a_colour_of_their_own_while_there_are_some():
    names = ["own", "mine", "yours", "theirs", "ours", "its"]
    colours = {Palette([Cell("p", name, "m", "s", "eager") for name in names], LOOKS).colour(name) for name in names}
    assert len(colours) == len(names)
    many = Palette([Cell("p", f"lib{i}", "m", "s", "eager") for i in range(20)], LOOKS)
    assert many.colour("lib19").startswith("#")


def luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("paper", ["#ffffff", "#16181d"])
def test_colours_are_seen_on_light_and_dark_paper(paper):
    """WCAG 2.1, 1.4.11: graphics need a contrast of 3."""
    names = ["scipy", "diffrax", "torchdiffeq", "tensorflow", "julia", "own", "mine", "yours", "theirs", "ours", "its"]
    palette = Palette([Cell("p", name, "m", "s", "eager") for name in names], LOOKS)
    for name in names:
        lighter, darker = sorted((luminance(palette.colour(name)), luminance(paper)), reverse=True)
        assert (lighter + 0.05) / (darker + 0.05) >= 3, name

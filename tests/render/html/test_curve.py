"""The small drawing of a ratio over digits."""

from __future__ import annotations

import math
from xml.etree import ElementTree

import pytest

from sciml_bench.published_claims.claim import AT_LEAST, Figure
from sciml_bench.published_claims.ruling import Finding, Ruling
from sciml_bench.render.html.ratio_drawing import drawn
from sciml_bench.stats.ratio import Ratio

TEN = Figure("ten times", "solve", 10.0)


def curve(*estimates: float, spread: float = 1.1) -> dict[float, Finding]:
    return {
        float(4 + i): Finding(Ruling.CONFIRMED, "", Ratio(value, value / spread, value * spread, 0.01, 5))
        for i, value in enumerate(estimates)
    }


def parts(figure: Figure, found: dict[float, Finding]) -> tuple[ElementTree.Element, list[list[float]]]:
    svg = ElementTree.fromstring(str(drawn(figure, found)))
    line = svg.find("polyline")
    assert line is not None
    return svg, [[float(number) for number in pair.split(",")] for pair in line.attrib["points"].split()]


def test_a_larger_ratio_is_higher_and_more_digits_are_further_right():
    _, points = parts(TEN, curve(5.0, 10.0, 20.0))
    (x1, y1), (x2, y2), (x3, y3) = points
    assert x1 < x2 < x3
    assert y1 > y2 > y3
    assert y1 - y2 == pytest.approx(y2 - y3, abs=0.2), "the scale is logarithmic"


@pytest.mark.parametrize(
    ("figure", "inside"),
    [
        (TEN, [False, True, False]),
        (Figure("more than ten times", "solve", 10.0, kind=AT_LEAST), [False, True, True]),
        (Figure("faster", "solve", 1.0, kind="direction"), [True, True, True]),
        (Figure("alike", "solve", None, within=6.0), [True, False, False]),
        (Figure("two to six times", "solve", 2.0, most=6.0), [True, False, False]),
    ],
)
def test_the_shaded_band_is_what_confirms_the_claim(figure: Figure, inside: list[bool]):
    svg, points = parts(figure, curve(5.0, 10.0, 20.0))
    band = svg.find("rect")
    assert band is not None
    top = float(band.attrib["y"])
    low = top + float(band.attrib["height"])
    assert [top <= y <= low for _, y in points] == inside


def test_all_of_it_stays_inside_and_has_no_style_that_the_page_forbids():
    for found in (curve(5.0, 5.0), curve(1e-3, 1e5), curve(0.9, 1.1, spread=3.0)):
        svg, points = parts(TEN, found)
        width, height = (float(svg.attrib[key]) for key in ("width", "height"))
        assert all(0 <= x <= width and 0 <= y <= height for x, y in points)
        assert all("style" not in element.attrib for element in svg.iter())


def test_one_digit_is_no_curve_and_a_single_process_has_no_band():
    assert drawn(TEN, curve(5.0)) == ""
    assert drawn(TEN, {}) == ""
    alone = {4.0 + i: Finding(Ruling.UNDECIDED, "", Ratio(5.0, 0.0, math.inf, 1.0, 1)) for i in range(2)}
    assert "nan" not in str(drawn(TEN, alone))
    assert "inf" not in str(drawn(TEN, alone))

"""What the back end writes as matplotlib draws it, looked at pixel by pixel."""

from __future__ import annotations

import re
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.image import imread

from sciml_bench.charts.backend import Backend
from sciml_bench.charts.chart import Chart
from sciml_bench.charts.markers import AT_MOST, SHAPES
from sciml_bench.charts.raster import PNG_DPI as DPI
from sciml_bench.charts.raster import figure_of
from sciml_bench.charts.style import INK

RED = "#d5405e"


def chart(draw):
    def sized(backend: Backend) -> None:
        backend.set_size(2.0, 1.0)
        draw(backend)

    return Chart("test", "test", "a title", "some words", "a method", (), (), sized)


def painted(draw):
    """The picture as an array of lines from the top, each pixel three numbers from 0 to 1."""
    with TemporaryDirectory() as folder:
        chart(draw).save(Path(folder) / "a.png")
        return imread(Path(folder) / "a.png")[..., :3]


def where(picture, colour):
    """The pixels of a colour, as inches from the left lower corner."""
    lines, columns = np.nonzero(np.abs(picture - to_rgb(colour)).max(axis=2) < 0.02)
    return np.stack([(columns + 0.5) / DPI, 1.0 - (lines + 0.5) / DPI], axis=1)


def near(pixels, box, slack=0.012):
    """Whether pixels fill a box: left, lower edge, width, height."""
    x, y, width, height = box
    low, high = pixels.min(axis=0), pixels.max(axis=0)
    return np.allclose([*low, *high], [x, y, x + width, y + height], atol=slack)


def test_a_box_stands_where_it_was_put():
    pixels = where(painted(lambda b: b.boxes([(0.5, 0.2, 0.4, 0.3)], {"facecolor": RED})), RED)
    assert near(pixels, (0.5, 0.2, 0.4, 0.3))
    assert len(pixels) == pytest.approx(0.4 * 0.3 * DPI**2, rel=0.05)


def test_ink_is_ink_and_what_is_faint_is_faint():
    box = [(0.5, 0.2, 0.4, 0.3)]
    assert len(where(painted(lambda b: b.boxes(box, {"facecolor": INK})), INK)) > 4000
    faint = painted(lambda b: b.boxes(box, {"facecolor": "#000000", "alpha": 0.25}))
    assert len(where(faint, (0.75,) * 3)) > 4000


@pytest.mark.parametrize("marker", sorted(SHAPES))
def test_every_marker_is_drawn_around_its_place(marker):
    look = {"marker": marker, "markersize": 20.0, "color": RED, "linestyle": ""}
    picture = painted(lambda b: b.line([1.0], [0.5], look))
    lines, columns = np.nonzero((picture < 0.9).any(axis=2))
    x, y = columns / DPI, 1.0 - lines / DPI
    if marker == AT_MOST:
        assert x.min() < 1.0 - 0.7 * 20 / 72
        assert x.max() < 1.02
    else:
        assert (x.min() + x.max()) / 2 == pytest.approx(1.0, abs=0.02)
    assert (y.min() + y.max()) / 2 == pytest.approx(0.5, abs=0.02)
    height = {".": 10, "D": 28.3, "d": 28.3}.get(marker, 20)
    assert np.ptp(y) == pytest.approx((height + 1) / 72, rel=0.15)


def test_a_circle_is_round_and_full():
    look = {"marker": "o", "markersize": 40.0, "color": RED, "linestyle": ""}
    pixels = where(painted(lambda b: b.line([1.0], [0.5], look)), RED)
    radii = np.hypot(*(pixels - (1.0, 0.5)).T)
    assert radii.max() == pytest.approx(20.5 / 72, rel=0.05)
    assert len(pixels) == pytest.approx(np.pi * (20.5 / 72 * DPI) ** 2, rel=0.05)


def test_a_hatch_stays_within_its_boxes():
    boxes = [(0.2, 0.2, 0.4, 0.3), (1.2, 0.4, 0.4, 0.3)]
    look = {"facecolor": RED, "hatch": "///", "edgecolor": "white"}
    picture = painted(lambda b: b.boxes(boxes, look))
    for box in boxes:
        x, _, width, height = box
        pixels = where(picture, RED)
        inside = pixels[(pixels[:, 0] > x - 0.1) & (pixels[:, 0] < x + width + 0.1)]
        assert near(inside, box)
        share = len(inside) / (width * height * DPI**2)
        assert 0.5 < share < 0.9, "white lines take a part of it"
    over = painted(lambda b: (b.boxes([(0, 0, 2, 1)], {"facecolor": INK}), b.boxes(boxes, look)))
    assert len(where(over, "#ffffff")) < 0.5 * sum(w * h for _, _, w, h in boxes) * DPI**2
    assert len(where(over, INK)) == pytest.approx((2 - 0.24) * DPI**2, rel=0.02), "no line of the hatch leaves its box"


def test_dashes_are_multiples_of_the_width_of_their_line():
    """Ten points drawn and ten left out, for a line of two points."""
    look = {"color": RED, "linewidth": 2.0, "linestyle": (0, (5, 5))}
    picture = painted(lambda b: b.segments([(0.0, 0.5, 2.0, 0.5)], look))
    row = np.abs(picture[DPI // 2] - to_rgb(RED)).max(axis=1) < 0.5
    starts = np.flatnonzero(np.diff(row.astype(int)) == 1)
    assert np.diff(starts).mean() == pytest.approx(20 / 72 * DPI, rel=0.03)
    assert row.mean() == pytest.approx(0.5, abs=0.06)


def test_what_is_drawn_later_lies_above_unless_its_layer_is_lower():
    box, lower = [(0.5, 0.2, 0.4, 0.3)], {"facecolor": "#00ff00", "zorder": 0.5}
    picture = painted(lambda b: (b.boxes(box, {"facecolor": RED}), b.boxes(box, lower)))
    assert len(where(picture, RED)) > 4000
    assert not len(where(picture, "#00ff00"))


@pytest.mark.parametrize(("ha", "middle"), [("left", 1.2), ("center", 1.0), ("right", 0.8)])
def test_text_begins_ends_or_is_centred_at_its_place(ha, middle):
    look = {"color": INK, "fontsize": 9.0, "ha": ha}
    picture = painted(lambda b: b.text(1.0, 0.5, "abcdefg", look))
    lines, columns = np.nonzero((picture < 0.5).any(axis=2))
    assert (columns.min() + columns.max()) / 2 / DPI == pytest.approx(middle, abs=0.06)
    assert 0.3 < lines.min() / DPI < lines.max() / DPI < 0.56, "on its base line, with what hangs below it"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("<path d=", "<circle r="), "no element of our drawings: 'circle'"),
        (("fill:#d5405e", "filter:blur"), "no property of our drawings: filter"),
        (('d="M', 'd="M0 0q1 1 2 2M'), "no command of our drawings: 'q'"),
    ],
)
def test_nothing_is_left_out_in_silence(change, message):
    text = chart(lambda b: b.boxes([(0.5, 0.2, 0.4, 0.3)], {"facecolor": RED})).svg_file()
    assert change[0] in text
    with pytest.raises(ValueError, match=re.escape(message)):
        figure_of(text.replace(*change))


def test_every_chart_is_understood(charts):
    for one in charts:
        assert len(figure_of(one.svg_file()).get_children()) > 10

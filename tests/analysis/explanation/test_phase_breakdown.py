"""Phases as one stacked line."""

from __future__ import annotations

import pytest
from stubs.reported import cell, plan, point, record, summarise

from sciml_bench.analysis.explanation import phase_breakdown

PHASES = {
    "spawn": 100_000_000, "interpreter": 100_000_000, "import": 2_000_000_000, "build": 50_000_000,
    "trace": 500_000_000, "lower": 250_000_000, "compile": 4_000_000_000, "first_gradient": 600_000_000,
    "steady": 2_000_000_000,
}  # fmt: skip


def made(*wall_s, phases=None):
    which = cell()
    records = [
        record(which, [point(1e-4)], block=block, wall_s=seconds, phases_ns=PHASES if phases is None else phases)
        for block, seconds in enumerate(wall_s)
    ]
    (summary,) = summarise(plan([which]), records).cells.values()
    return phase_breakdown.stack(summary)


def test_the_parts_and_the_rest_add_up_to_the_process():
    found = made(10.0, 10.0, 10.0)
    assert found is not None
    assert sum(found.parts_s.values()) == pytest.approx(10.0)
    assert found.parts_s["start"] == pytest.approx(0.2)
    assert found.parts_s["rest"] == pytest.approx(0.4)
    assert "1st solve" not in found.parts_s


def test_the_bar_is_to_scale():
    found = made(10.0)
    assert found is not None
    bar = phase_breakdown.bar(found, 20)
    assert len(bar) == 20
    assert [bar.count(letter) for letter in "icG="] == [4, 8, 1, 4]
    assert "".join(dict.fromkeys(bar)) == "itcG=."


def test_no_phases_no_stack():
    assert made(1.0, phases={}) is None


@pytest.mark.parametrize("width", [40, 60, 80, 100, 120, 200])
def test_no_line_is_wider_than_the_terminal_and_the_longest_parts_are_named(width):
    found = made(10.0)
    assert found is not None
    lines = list(phase_breakdown.lines([found], width))
    assert all(len(line) <= width for line in lines)
    text = "\n".join(lines)
    assert "compile 4.00 s" in text
    assert "10.0 s" in text
    if width >= 120:
        assert len(lines) == 1


def test_piped_lines_name_every_part():
    found = made(10.0)
    assert found is not None
    line = phase_breakdown.plain(found)
    for part in ("start 200 ms", "import 2.00 s", "build 50.0 ms", "lower 250 ms", "compile 4.00 s", "steady 2.00 s"):
        assert part in line

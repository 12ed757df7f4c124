"""Tables of text fit their terminal."""

from __future__ import annotations

import pytest

from sciml_bench.cli.columns import table_lines

HEADINGS = ("name", "tags", "title")
ROWS = [
    ("arenstorf", "celestial-mechanics,periodic", "Arenstorf orbit: one period of the restricted three-body problem"),
    ("x" * 30, "", ""),
]


def test_elsewhere_a_row_is_a_line_with_everything():
    heading, first, second = table_lines(HEADINGS, ROWS, ("tags",), None)
    assert heading.split() == list(HEADINGS)
    assert all(text in first for text in ROWS[0])
    assert second == "x" * 30


@pytest.mark.parametrize("width", [40, 60, 80, 100, 140])
def test_no_line_is_wider_than_the_terminal_and_no_word_is_lost(width):
    lines = list(table_lines(HEADINGS, ROWS, ("tags",), width))
    assert max(map(len, lines)) <= width
    words = " ".join(lines).split()
    assert set(ROWS[0][2].split()) <= set(words)
    assert "".join(words).count("x") == 30


def test_optional_columns_are_left_out_only_if_the_rest_does_not_fit():
    assert "tags" in next(table_lines(HEADINGS, ROWS, ("tags",), 140))
    assert "tags" not in next(table_lines(HEADINGS, ROWS, ("tags",), 110))

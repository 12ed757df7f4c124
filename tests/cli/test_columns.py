"""Tables of text fit their terminal."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from sciml_bench.cli.columns import print_fitted, print_table

HEADINGS = ("name", "tags", "title")
ROWS = [
    ("arenstorf", "celestial-mechanics,periodic", "Arenstorf orbit: one period of the restricted three-body problem"),
    ("x" * 30, "", "[bold]not markup[/bold]"),
]


def fitted(width: int) -> list[str]:
    stream = io.StringIO()
    print_fitted(HEADINGS, ROWS, ("tags",), Console(file=stream, width=width, force_terminal=True, color_system=None))
    return [line.rstrip() for line in stream.getvalue().splitlines()]


def test_elsewhere_a_row_is_a_line_with_everything(capsys):
    print_table(HEADINGS, ROWS, optional=("tags",))
    heading, first, second = capsys.readouterr().out.splitlines()
    assert heading.split() == list(HEADINGS)
    assert all(text in first for text in ROWS[0])
    assert second.split() == ["x" * 30, "[bold]not", "markup[/bold]"]


@pytest.mark.parametrize("width", [40, 60, 80, 100, 140])
def test_no_line_is_wider_than_the_terminal_and_no_word_is_lost(width):
    lines = fitted(width)
    assert max(map(len, lines)) <= width
    text = "".join(" ".join(lines).split())
    assert text.count("x") == 30
    assert width < 60 or set(ROWS[0][2].split()) <= set(" ".join(lines).split())
    assert width < 60 or "[bold]not" in " ".join(lines)


def test_optional_columns_are_left_out_only_if_the_rest_does_not_fit():
    assert "tags" in fitted(140)[0]
    assert "tags" not in fitted(110)[0]

"""Keyword expressions select as ``pytest -k`` does."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sciml_bench.errors import UsageError
from sciml_bench.planning.keyword_expression import compile_keyword

LABEL = "robertson/diffrax/kvaerno5/discrete/jit/float64/cpu"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", True),
        ("  ", True),
        ("robertson", True),
        ("ROBERT", True),
        ("bdf", False),
        ("not bdf", True),
        ("robertson and bdf", False),
        ("robertson or bdf", True),
        ("not (robertson or bdf)", False),
        ("bdf or robertson and diffrax", True),
        ("(bdf or robertson) and torch", False),
        ("not not robertson", True),
        ("robertson/diffrax", True),
        ("cpu and not android", True),
    ],
)
def test_selects(text, expected):
    assert compile_keyword(text)(LABEL) is expected


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("robertson and", "column 14: a word is missing"),
        ("and robertson", "column 1: a word is missing"),
        ("(robertson", "column 11: a bracket is not closed"),
        ("robertson)", r"column 10: unexpected '\)'"),
        ("robertson bdf", "column 11: unexpected 'bdf'"),
        ("a & b", "column 3: unexpected character '&'"),
        ("()", "a word is missing"),
    ],
)
def test_errors_name_the_column(text, said):
    with pytest.raises(UsageError, match=said):
        compile_keyword(text)


@given(st.text(max_size=30))
def test_any_text_gives_a_predicate_or_a_usage_error(text):
    with suppress(UsageError):
        assert compile_keyword(text)(LABEL) in (True, False)

"""What options take: numbers within bounds, quantities with a unit, and lists."""

from __future__ import annotations

import click
import pytest

from sciml_bench.cli.parameter_types import ACCURACY, NAMES, NUMBERS, PERCENT, PRICE, SECONDS, SIZE, TIME_SPAN


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (SECONDS, "2.5", 2.5), (SECONDS, 3, 3.0), (PRICE, "0", 0.0), (ACCURACY, "1e-6", 1e-6),
        (SIZE, "4G", 4 * 2**30), (SIZE, "1.5 MiB", 1_572_864), (SIZE, "800kb", 819_200), (SIZE, 7, 7),
        (TIME_SPAN, "90", 90.0), (TIME_SPAN, "10min", 600.0), (TIME_SPAN, " 1.5 h ", 5400.0), (TIME_SPAN, 60.0, 60.0),
        *((PERCENT, f"{n}%", n / 100) for n in (1, 5, 35, 57, 82, 94, 95, 100)), (PERCENT, 0.05, 0.05),
        (NAMES, "alpha, beta", ("alpha", "beta")), (NUMBERS, "1,0,-0.5", (1.0, 0.0, -0.5)), (NUMBERS, (1.0,), (1.0,)),
    ],
)  # fmt: skip
def test_what_is_typed_is_read(kind, text, value):
    assert kind.convert(text, None, None) == value


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        *((SECONDS, text) for text in ("0", "-1", "nan", "inf", "soon", "")),
        *((PRICE, text) for text in ("-0.1", "nan", "cheap")),
        *((ACCURACY, text) for text in ("1e-13", "0.2", "nan", "small")),
        *((SIZE, text) for text in ("0G", "4", "4X", "-1G", "0.0001K", "1e3G", "lots")),
        *((TIME_SPAN, text) for text in ("0s", "-5", "1d", "soon", "1h30")),
        *((PERCENT, text) for text in ("5", "0%", "101%", "-5%", "%")),
        *((NAMES, text) for text in ("", "a,,b", ",")),
        *((NUMBERS, text) for text in ("", "1,,2", "1;2", "one")),
    ],
)
def test_what_does_not_fit_is_refused_with_what_was_typed(kind, text):
    with pytest.raises(click.BadParameter, match=f"^'{text}' is not "):
        kind.convert(text, None, None)

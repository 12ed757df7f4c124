"""Texts that could control a terminal do not pass the one door through which JSON comes in."""

from __future__ import annotations

import json

import pytest

from sciml_bench.record.codec import parse
from sciml_bench.record.text import printable

CONTROLS = [
    "\x00",
    "\x07",
    "\x08",
    "\x0c",
    "\x1b[2J",
    "\x1b]0;title\x07",
    "\x7f",
    "\x9b31m",
    "\u200f",
    "\u202e",
    "\u2066",
]


@pytest.mark.parametrize("control", CONTROLS, ids=ascii)
@pytest.mark.parametrize("ensure_ascii", [True, False])
def test_no_control_character_comes_out_of_json(control: str, ensure_ascii: bool):
    given = {"message": f"a{control}b", "points": [{"scores": {f"k{control}": [1.0, f"{control}x"]}}]}
    text = json.dumps(given, ensure_ascii=ensure_ascii)
    assert control.strip() in json.loads(text)["message"]
    found = json.dumps(parse(text), ensure_ascii=False).replace("\\n", "")
    assert found.isprintable()
    assert parse(text)["message"].startswith("a")
    assert parse(text)["message"].endswith("b")


@pytest.mark.parametrize(
    "text", ["", "plain", "two\nlines\tand a tab", "µ ± 1 %, Fröhlich, 数", "a \\u001b b", "C:\\new\\bin"]
)
def test_every_other_text_stays(text: str):
    assert printable(text) == text
    assert parse(json.dumps({"a": [text]})) == {"a": [text]}
    assert parse(json.dumps([text], ensure_ascii=False)) == [text]


def test_blanks_stay_blanks():
    assert printable("1\xa0000\u2009s\r\nnext\rover") == "1 000 s\nnext over"

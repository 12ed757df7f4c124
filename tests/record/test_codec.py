"""Dataclasses to JSON and back: what is read is checked, and what does not fit names its place."""

from __future__ import annotations

import copy
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal, TypedDict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stubs.records import stub_record

from sciml_bench.record.codec import decode, decode_json, encode, encode_json, parse
from sciml_bench.record.decode_error import LARGEST_WHOLE, DecodeError, UnknownMember
from sciml_bench.record.record import Record

DATA = Path(__file__).parent / "data"
NEWEST = stub_record().to_dict()
RECORDS = [NEWEST, json.loads((DATA / "rich_record.jsonl").read_text())]


class Colour(StrEnum):
    RED = "red"


class Place(TypedDict, total=False):
    row: int


@dataclass(frozen=True)
class Leaf:
    ns: tuple[int, ...] = ()
    losses: tuple[float | None, ...] = ()
    pair: tuple[int, Colour] | None = None
    kind: Literal["flat", "none"] = "flat"


@dataclass(frozen=True)
class Tree:
    name: str
    size: float
    leaf: Leaf = Leaf()
    children: tuple[Tree, ...] = ()
    by_name: dict[str, tuple[int, ...]] = field(default_factory=dict)
    place: Place | None = None
    value: float | bool | str | list[str] | None = None
    free: dict[str, Any] = field(default_factory=dict)


WHOLE = Tree(
    "oak", 2.5, Leaf((1, 2), (0.5, None), (3, Colour.RED), "none"), (Tree("twig", 1, value=["a"]),), {"a": (1,)},
    {"row": 3}, value=True, free={"deep": [{"er": 1}]},
)  # fmt: skip


def test_everything_survives_its_line():
    assert decode_json(Tree, encode_json(WHOLE)) == WHOLE
    assert decode(Tree, encode(WHOLE)) == WHOLE
    assert encode(WHOLE) == json.loads(encode_json(WHOLE))


def test_missing_fields_take_their_default_and_unknown_keys_are_ignored():
    assert decode(Tree, {"name": "oak", "size": 1, "carbon": 3.0}) == Tree("oak", 1)
    assert decode(Tree, {"name": "oak", "size": 1, "place": {"column": 3}}).place == {}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"name": None}, "name: text expected, found null"),
        ({"size": "long"}, "size: a number expected, found text"),
        ({"size": True}, "size: a number expected, found true"),
        ({"size": float("nan")}, "size: a finite number expected, found nan"),
        ({"size": 10**400}, "size: a number expected, found a larger one"),
        ({"leaf": {"ns": [1, "2"]}}, "leaf.ns[1]: a whole number expected, found text"),
        ({"leaf": {"ns": [1, True]}}, "leaf.ns[1]: a whole number expected, found true"),
        ({"leaf": {"ns": [1, 1.5]}}, "leaf.ns[1]: a whole number expected, found 1.5"),
        ({"leaf": {"ns": [2**63]}}, "leaf.ns[0]: a whole number expected, found a larger one"),
        ({"leaf": {"ns": [10**400, -(10**400)]}}, "leaf.ns[0]: a whole number expected, found a larger one"),
        ({"leaf": {"losses": [None, float("inf")]}}, "leaf.losses[1]: a finite number expected, found inf"),
        ({"leaf": {"losses": [10**400]}}, "leaf.losses[0]: a number expected, found a larger one"),
        ({"leaf": {"pair": [1]}}, "leaf.pair: a list of 2 expected, found a list"),
        ({"leaf": {"pair": [1, "blue"]}}, "leaf.pair[1]: unknown colour 'blue'"),
        ({"leaf": {"kind": "round"}}, "leaf.kind: one of flat, none expected, found 'round'"),
        ({"leaf": {"kind": ["flat"]}}, "leaf.kind: one of flat, none expected"),
        ({"leaf": []}, "leaf: an object expected, found a list"),
        ({"children": {}}, "children: a list expected, found an object"),
        ({"children": [{"name": "twig"}]}, "children[0]: 'size' is missing"),
        ({"by_name": {"a b": [None]}}, "by_name['a b'][0]: a whole number expected, found null"),
        ({"place": {"row": "x"}}, "place.row: a whole number expected, found text"),
        ({"value": {}}, "value: a number or true or false or text or a list or null expected, found an object"),
        ({"value": [3]}, "value[0]: text expected, found 3"),
    ],
)
def test_what_does_not_fit_names_its_place(change: dict[str, Any], said: str):
    with pytest.raises(DecodeError) as raised:
        decode(Tree, {"name": "oak", "size": 1} | change)
    assert str(raised.value) == said


def test_an_unknown_member_is_an_error_of_its_own():
    with pytest.raises(UnknownMember):
        decode(Leaf, {"pair": [1, None]})


def test_the_largest_whole_number_is_read():
    assert decode(Leaf, {"ns": [LARGEST_WHOLE, -LARGEST_WHOLE]}).ns == (LARGEST_WHOLE, -LARGEST_WHOLE)


@pytest.mark.parametrize("text", ["NaN", "[-Infinity]", "[" * 100_000, "", "{", b"\xff", "9" * 5000])
def test_what_is_not_json_is_refused(text: str | bytes):
    with pytest.raises(ValueError):  # noqa: PT011 the reason is the parser's
        decode_json(Tree, text)


def test_what_json_has_no_form_for_is_refused():
    with pytest.raises(TypeError, match="object has no form in JSON"):
        encode({"a": object()})
    with pytest.raises(ValueError, match="not JSON compliant"):
        encode_json(float("nan"))


_SCALARS = st.one_of(
    st.none(), st.booleans(), st.text(max_size=3), st.integers(), st.floats(), st.just(10**400), st.just("ok"),
    st.just(-(10**30)),
)  # fmt: skip
VALUES = st.recursive(
    _SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
)


def places(data: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to every value of a record."""
    inside = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in inside:
        yield (*way, key)
        yield from places(value, (*way, key))


PLACES = [(index, way) for index, data in enumerate(RECORDS) for way in places(data)]


def damaged(place: tuple[int, tuple[Any, ...]], value: Any) -> dict[str, Any]:
    """A record with another value in a place, or without it where the value is ``...``."""
    index, way = place
    data = copy.deepcopy(RECORDS[index])
    holder = data
    for key in way[:-1]:
        holder = holder[key]
    if value is ...:
        del holder[way[-1]]
    else:
        holder[way[-1]] = value
    return data


def read_or_refused(data: dict[str, Any]) -> bool:
    """Return whether a record is read, as it comes from a file; one that is read must survive its line."""
    try:
        record = Record.from_dict(parse(json.dumps(data)))
    except ValueError:
        return False
    for half in (half for point in record.points for half in point.halves.values()):
        assert len(half.counted_ns) <= len(half.ns)
        assert half.bridge_ns is None or half.inside
    assert Record.from_json(record.to_json()) == record
    return True


@given(st.sampled_from(PLACES), VALUES)
@settings(max_examples=300, deadline=None)
def test_a_wrong_value_anywhere_in_a_record_is_read_or_refused(place: tuple[int, tuple[Any, ...]], value: Any):
    read_or_refused(damaged(place, value))


@pytest.mark.parametrize("value", [..., None, True, 3, 1.5, "x", [], {}, [[]], [{}], float("nan"), 10**400])
def test_every_place_of_a_record_with_every_kind_of_value(value: Any):
    read = [read_or_refused(damaged(place, value)) for place in PLACES]
    assert not all(read), "some place takes no such value"


def test_records_that_are_not_damaged_are_read():
    assert all(map(read_or_refused, RECORDS))


@given(st.sampled_from(RECORDS), st.data())
@settings(max_examples=200, deadline=None)
def test_a_truncated_or_overwritten_line_is_read_or_refused(data: dict[str, Any], draw: st.DataObject):
    line = json.dumps(data).encode()
    cut = draw.draw(st.integers(0, len(line)))
    noise = draw.draw(st.binary(max_size=5))
    for text in (line[:cut], line[:cut] + noise + line[cut + len(noise) :]):
        with suppress(ValueError):
            Record.from_json(text)


def test_a_deep_place_is_named():
    data = damaged((0, ("points", 0, "solve", "ns", 2)), "fast")
    with pytest.raises(ValueError, match=re.escape("points[0].solve.ns[2]: a whole number expected, found text")):
        Record.from_dict(data)


def test_inside_times_of_other_calls_are_refused():
    data = damaged((0, ("points", 0, "solve", "inside")), {"ns": [1]})
    with pytest.raises(ValueError, match=re.escape("points[0].solve: 3 calls were timed, inside them 1")):
        Record.from_dict(data)


def test_importing_the_record_loads_no_numpy_and_no_adapter():
    code = (
        "import sys, sciml_bench.record.record, sciml_bench.record.run_folder\n"
        "heavy = {'numpy', 'psutil', 'scipy', 'sympy', 'click', 'rich'}\n"
        "ours = {m for m in sys.modules if m.startswith('sciml_bench.')}\n"
        "above = [m for m in ours if m.split('.')[1] not in ('record', 'errors')]\n"
        "print(sorted(heavy & set(sys.modules)), sorted(above))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[] []\n"

"""Keys declared once: the loader takes exactly what the schema allows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sciml_bench.errors import ProblemError
from sciml_bench.spec import keys, load
from sciml_bench.spec.document import Document
from sciml_bench.spec.keys import Choice, Flag, Key, Table, Whole
from sciml_bench.spec.tables import batch, control, declarations, loss, networks, training

MODULES = (batch, control, load, loss, networks, declarations, training)
READ = {
    f"{module.__name__.rpartition('.')[2]}.{name}": key
    for module in MODULES
    for name, key in vars(module).items()
    if isinstance(key, Whole | Choice | Flag)
}
TABLES = {
    f"{module.__name__.rpartition('.')[2]}.{name}": table
    for module in MODULES
    for name, table in vars(module).items()
    if isinstance(table, Table)
}
values = st.one_of(
    st.integers(-2, 12), st.integers(), st.booleans(), st.none(), st.text(), st.lists(st.integers(), max_size=2),
    st.sampled_from([option for key in READ.values() if isinstance(key, Choice) for option in key.options]),
    st.sampled_from([end + d for key in READ.values() if isinstance(key, Whole) for end in (key.low, key.high)
                     for d in (-1, 0, 1)]),
)  # fmt: skip


def document(data: dict[str, Any]) -> Document:
    return Document(Path("own.toml"), "", data)


def test_there_are_keys_and_tables():
    assert len(READ) > 15
    assert len(TABLES) > 10


@pytest.mark.parametrize("name", READ)
@given(value=values)
def test_what_is_read_is_what_the_schema_allows(name: str, value: Any):
    key = READ[name]
    data = {key.name: value}
    if jsonschema.Draft202012Validator(key.schema).is_valid(value):
        assert key.read(document(data), data, "table") == value
    else:
        with pytest.raises(ProblemError, match=r"must be|is no "):
            key.read(document(data), data, "table")


@pytest.mark.parametrize("name", TABLES)
def test_a_key_of_no_table_is_refused_by_both(name: str):
    table = TABLES[name]
    data = {table.names[0] + "s": 1}
    with pytest.raises(ProblemError, match=f"Did you mean '{table.names[0]}'"):
        table.check(document(data), data, "table")
    assert not jsonschema.Draft202012Validator(table.schema).is_valid(data)


def test_what_is_absent_has_its_default_or_is_refused():
    assert keys.seed_key().read(document({}), {}, "table") == 0
    assert Flag("pointwise").read(document({}), {}, "table") is False
    with pytest.raises(ProblemError, match="'points' must be an integer from 3 to 9"):
        Whole("points", 3, 9).read(document({}), {}, "table")
    with pytest.raises(ProblemError, match="'kind' must be a non-empty string"):
        Choice("kind", ("a", "b"), "kind").read(document({}), {}, "table")


def test_a_default_is_checked_like_a_value():
    with pytest.raises(ProblemError, match="from 3 to 9"):
        Whole("points", 3, 9).read(document({}), {}, "table", default=10)


def test_a_mistake_in_an_inline_table_is_shown_at_its_line():
    text = '[networks.f]\ninputs = 1\nweights = { draw = "normaly" }\n'
    data = {"draw": "normaly"}
    with pytest.raises(ProblemError, match=r"own.toml:3: 'normaly' is no way to draw weights\. One of zeros, normal"):
        networks.DRAW.read(Document(Path("own.toml"), text, {}), data, "networks.f", at="weights")


def test_required_keys_are_those_of_the_schema():
    table = Table(Key("a", keys.TEXT, required=True), Key("b", keys.TEXT))
    assert table.schema["required"] == ["a"]
    assert "required" not in Table(Key("b", keys.TEXT)).schema

"""Keys declared once: the loader takes exactly what the schema allows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sciml_bench.models.data_table
import sciml_bench.models.load
import sciml_bench.published_claims.load
from sciml_bench.errors import ProblemError
from sciml_bench.record.text import printable
from sciml_bench.spec import keys, load
from sciml_bench.spec.document import Document
from sciml_bench.spec.keys import Choice, Flag, Key, Kind, Number, Table, Text, Texts, Whole
from sciml_bench.spec.tables import batch, control, declarations, identity, loss, networks, training

MODULES = (
    batch, control, load, loss, networks, declarations, training, identity,
    sciml_bench.models.load, sciml_bench.models.data_table, sciml_bench.published_claims.load,
)  # fmt: skip
TABLES = {
    f"{module.__name__}.{name}": table
    for module in MODULES
    for name, table in vars(module).items()
    if isinstance(table, Table)
}
READ = {f"{name}.{key.name}": key for name, table in TABLES.items() for key in table.keys if isinstance(key, Kind)} | {
    f"{module.__name__}.{name}": key
    for module in MODULES
    for name, key in vars(module).items()
    if isinstance(key, Kind)
}
values = st.one_of(
    st.integers(-2, 12), st.integers(), st.booleans(), st.none(), st.lists(st.integers(), max_size=2),
    # Python's `$` allows a line's end after it; that of JSON Schema does not.
    st.text().filter(lambda text: not text.endswith("\n")), st.lists(st.text(), max_size=2),
    st.sampled_from([option for key in READ.values() if isinstance(key, Choice) for option in key.options]),
    st.sampled_from([end + d for key in READ.values() if isinstance(key, Whole) for end in (key.low, key.high)
                     for d in (-1, 0, 1)]),
    st.decimals(allow_nan=False, allow_infinity=False, min_value=-1e12, max_value=1e12),
    st.sampled_from(["weights.npz", "https://a.b/c", "release 2", "C05", "a b", " a", ""]),
)  # fmt: skip


def document(data: dict[str, Any]) -> Document:
    return Document(Path("own.toml"), "", data)


def test_there_are_keys_and_tables():
    assert len(READ) > 60
    assert len(TABLES) > 20


def plain(key: Kind, value: Any) -> Any:
    """A value as it is read."""
    if isinstance(key, Text | Choice):
        return printable(value).strip() if isinstance(key, Text) else value
    if isinstance(key, Texts):
        return tuple(printable(" ".join(text.split())) for text in value)
    return float(value) if isinstance(key, Number) else value


@pytest.mark.parametrize("name", READ)
@given(value=values)
def test_what_is_read_is_what_the_schema_allows(name: str, value: Any):
    key = READ[name]
    data = {key.name: value}
    if jsonschema.Draft202012Validator(key.schema).is_valid(value):
        assert key.read(document(data), data, "table") == plain(key, value)
    else:
        with pytest.raises(ProblemError, match=r"must be|is no |cannot be"):
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
    with pytest.raises(ProblemError, match="'kind' is missing"):
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


NAME = Text("key", None, "[a-z]+", "a name", "Use letters.")
GOOD = [
    (Text("key"), '"a\\nb "', "a\nb"),
    (Text("key", "x"), '" "', ""),
    (NAME, '"ab"', "ab"),
    (Texts("key"), '["a  b", "c"]', ("a b", "c")),
    (Number("key", above=0), "1e-300", 1e-300),
    (Number("key", least=1, most=2), "2", 2.0),
    (Number("key"), "-3", -3.0),
    (Whole("key", 1, 3), "3", 3),
    (Choice("key", ("a", "b"), "word"), '"b"', "b"),
    (Flag("key"), "true", True),
]
BAD = [
    (Text("key"), '" "', "non-empty"),
    (Text("key", "x"), "1", "non-empty"),
    (NAME, '"a1"', "'a1' cannot be a name. Use letters."),
    (NAME, '"a\\nb"', "cannot be a name"),
    (Texts("key"), '["a", " "]', "list of texts"),
    (Texts("key"), '"a"', "list of texts"),
    (Text("key", "x", "[a-z]+", "a name"), '""', "cannot be a name"),
    (NAME, '"ab "', "cannot be a name"),
    (Number("key", above=0), "0", "'key' is 0; it must be above 0"),
    (Number("key", least=1, below=2), "2.0", "at least 1 and below 2"),
    (Number("key", above=0), "nan", "above 0"),
    (Number("key"), "inf", "finite"),
    (Number("key"), "nan", "finite"),
    (Number("key"), f"1{'0' * 400}", "finite"),
    (Number("key"), "true", "must be a number"),
    (Whole("key", 1, 3), "true", "from 1 to 3"),
    (Choice("key", ("a", "b"), "word"), '"c"', "One of a, b."),
    (Choice("key", ("a", "b"), "word", ""), '"c"', "One of a, b."),
    (Flag("key"), "1", "true or false"),
]


def file_with(tmp_path: Path, value: str) -> Document:
    path = tmp_path / "file.toml"
    path.write_text(f"[table]\nkey = {value}\n", encoding="utf-8")
    return Document.read(path)


@pytest.mark.parametrize(("kind", "value", "read"), GOOD)
def test_a_good_value_is_read_and_allowed_by_the_schema(tmp_path: Path, kind: Kind, value: str, read: object):
    found = file_with(tmp_path, value)
    assert Table(kind).read(found, found.table("table"), "table") == {"key": read}
    plain: Any = [*read] if isinstance(read, tuple) else read
    assert jsonschema.Draft202012Validator(Table(kind).schema).is_valid({"key": plain})


@pytest.mark.parametrize(("kind", "value", "complaint"), BAD)
def test_a_bad_value_is_refused_in_its_line(tmp_path: Path, kind: Kind, value: str, complaint: str):
    found = file_with(tmp_path, value)
    with pytest.raises(ProblemError, match=complaint) as caught:
        Table(kind).read(found, found.table("table"), "table")
    assert caught.value.line == 2


@pytest.mark.parametrize(("kind", "default"), [(Text("key", "x"), "x"), (Texts("key"), ()), (Number("key"), None)])
def test_an_absent_key_has_its_default(tmp_path: Path, kind: Kind, default: object):
    assert kind.read(file_with(tmp_path, "1"), {}, "table") == default
    assert not kind.required


@pytest.mark.parametrize("kind", [Text("key"), NAME, Number("key", required=True)])
def test_a_required_key_is_missed(tmp_path: Path, kind: Kind):
    with pytest.raises(ProblemError, match=r"'key' (must be a|is missing)"):
        kind.read(file_with(tmp_path, "1"), {}, "table")
    assert Table(kind).schema["required"] == ["key"]


def test_an_unknown_key_is_refused_where_all_keys_are_known_and_left_where_others_share_the_table(tmp_path: Path):
    table, found = Table(Text("name", "x")), file_with(tmp_path, "1")
    with pytest.raises(ProblemError, match="unknown key 'key'"):
        table.read(found, found.table("table"), "table")
    assert table.values(found, found.table("table"), "table") == {"name": "x"}

"""Tables of PEtab with a column, a line or a cell that is missing or wrong: imported, or refused in a sentence."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from importing.petab_files import VERSION_1, VERSION_2, written
from needs import skip_without

from sciml_bench.errors import ProblemError
from sciml_bench.importing.importer import of_petab

VERSIONS = {"version 1": VERSION_1, "version 2": VERSION_2}
WRONG = ("", "abc", "inf", "-1", "a;b", "(")


@pytest.fixture(autouse=True)
def _petab() -> None:
    skip_without("petab")


def text_of(rows: list[list[str]]) -> str:
    return "".join("\t".join(row) + "\n" for row in rows)


def attacks(rows: list[list[str]]) -> Iterator[tuple[str, list[list[str]]]]:
    """Tables with one change each, named."""
    head, first, *rest = rows
    for place, column in enumerate(head):
        yield f"without {column}", [[*row[:place], *row[place + 1 :]] for row in rows]
        for value in WRONG:
            changed = [value if k == place else cell for k, cell in enumerate(first)]
            yield f"{column} = {value!r}", [head, changed, *rest]
    yield "without its lines", [head]
    yield "without its first line", [head, *rest]
    yield "with its first line twice", [head, first, first, *rest]
    yield "empty", []


def attempted(folder: Path, problem: dict[str, str]) -> str:
    """``imported``, or the message of a refusal; other exceptions are defects."""
    try:
        of_petab(written(folder, problem), "made")
    except ProblemError as error:
        return str(error)
    return "imported"


@pytest.mark.parametrize(
    ("version", "table"),
    [(version, table) for version, whole in VERSIONS.items() for table in whole if table != "yaml"],
)
def test_a_table_that_is_wrong_is_no_crash(tmp_path, version, table):
    whole = VERSIONS[version]
    rows = [line.split("\t") for line in whole[table].splitlines()]
    ends = {what: attempted(tmp_path, {**whole, table: text_of(changed)}) for what, changed in attacks(rows)}
    assert "imported" not in (ends["empty"], ends["without its lines"])
    assert len({*ends.values()}) > 5
    assert [end for end in ends.values() if "\n" in end] == []


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("value", ["null", "[]", "[[1]]", "{a: 1}", "3"])
def test_a_yaml_file_that_is_wrong_is_no_crash(tmp_path, version, value):
    whole = VERSIONS[version]
    for line in whole["yaml"].splitlines():
        if ":" in line:
            changed = whole["yaml"].replace(line, f"{line.partition(':')[0]}: {value}")
            assert attempted(tmp_path, {**whole, "yaml": changed})


@pytest.mark.parametrize(
    ("version", "table", "old", "new", "message"),
    [
        (
            "version 1",
            "parameters",
            "0.5\t1\tpar",
            "half\t1\tpar",
            "'nominalValue' is 'half' and no number in the line",
        ),
        ("version 1", "parameters", "1e-5\t1e5\t0.5", "\t\t0.5", "parameter table is wrong"),
        ("version 1", "parameters", "-0.5;0.2", "-0.5;wide", "Could not parse prior parameters '-0.5;wide'"),
        ("version 1", "conditions", "low\tLow", "other\tLow", "a measurement is of an unknown condition 'low'"),
        (
            "version 1",
            "measurements",
            "0.8\t1\t",
            "0.8\t\t",
            "'time' is empty or missing in the line of observableId a",
        ),
        ("version 1", "measurements", "a\tlow\t1.3", "a\t\t1.3", "'simulationConditionId' is empty or missing"),
        ("version 1", "conditions", "factor", "inf", "inf has no counterpart in problem files"),
        ("version 2", "conditions", "small\tfeed\t0", "small\tfeed\t0\nsmall\tfeed\t1", "changes 'feed' twice"),
        ("version 2", "conditions", "small\tA", "\tA", "'conditionId' is empty or missing"),
        ("version 2", "observables", "times_a*A + offset", "", "'observableFormula' is empty or missing"),
    ],
)
def test_the_refusal_names_the_cell(tmp_path, version, table, old, new, message):
    whole = VERSIONS[version]
    assert old in whole[table]
    assert message in attempted(tmp_path, {**whole, table: whole[table].replace(old, new, 1)})

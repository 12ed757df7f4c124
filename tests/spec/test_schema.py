"""The shipped JSON Schema: current, valid, and satisfied by the whole catalog."""

from __future__ import annotations

import json
import tomllib

import jsonschema
import pytest

from sciml_bench.spec import catalog
from sciml_bench.spec.schema import problem_schema


def test_the_shipped_file_is_what_the_code_generates() -> None:
    shipped = json.loads((catalog.folder() / "problem.schema.json").read_text(encoding="utf-8"))
    assert shipped == problem_schema()


def test_the_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(problem_schema())


@pytest.mark.parametrize("name", catalog.equation_names())
def test_every_problem_satisfies_it(name: str) -> None:
    jsonschema.validate(tomllib.loads(catalog.path(name).read_text(encoding="utf-8")), problem_schema())


def test_a_misspelt_key_does_not() -> None:
    data = tomllib.loads(catalog.path("robertson").read_text(encoding="utf-8"))
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**data, "parameter": {}}, problem_schema())

"""The JSON Schema of models: a schema, satisfied by every model of the catalog, and no wider than the loader."""

from __future__ import annotations

import tomllib
from typing import Any

import jsonschema
import pytest
from stubs.models import TEXTS

from sciml_bench.models.layer import KINDS
from sciml_bench.models.schema import model_schema
from sciml_bench.spec import catalog

NAMES = [name for name in catalog.names() if catalog.header(name).suite == "conventional"]


def test_the_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(model_schema())


@pytest.mark.parametrize("name", NAMES)
def test_every_model_satisfies_it(name: str) -> None:
    jsonschema.validate(tomllib.loads(catalog.path(name).read_text(encoding="utf-8")), model_schema())


@pytest.mark.parametrize("name", TEXTS)
def test_a_layer_of_every_kind_satisfies_it(name: str) -> None:
    jsonschema.validate(tomllib.loads(TEXTS[name]), model_schema())


def test_every_kind_of_layer_is_known() -> None:
    kinds = {layer["properties"]["kind"]["const"] for layer in model_schema()["$defs"]["layer"]["oneOf"]}
    assert kinds == set(KINDS)


@pytest.mark.parametrize(
    "wrong",
    [
        {"layers": [{"kind": "conv3d"}]},
        {"layers": [{"kind": "dense", "widht": 3}]},
        {"layers": [{"kind": "dense"}]},
        {"layers": [{"kind": "residual", "layers": [{"kind": "dense", "width": "3"}]}]},
        {"loss": {"kind": "hinge"}},
        {"data": {"set": "digits", "shape": [3, 8, 8]}},
        {"batches": []},
        {"weights": {"file": "weights.pkl"}},
        {"parameters": {}},
    ],
)
def test_what_the_loader_refuses_does_not(wrong: dict[str, Any]) -> None:
    data = tomllib.loads(catalog.path("lenet-digits").read_text(encoding="utf-8"))
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**data, **wrong}, model_schema())

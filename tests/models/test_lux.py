"""Lux source of models: a real grammar of Julia reads every model's, and some are held against files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from emit.grammar import tree
from stubs.models import TEXTS, model

from sciml_bench.models.emit import source_of
from sciml_bench.models.load import load_model
from sciml_bench.models.model import Model
from sciml_bench.spec import catalog

GOLDEN = Path(__file__).parent / "data" / "lux"
KEPT = ("lenet-digits", "gpt-text", "resnet-digits")
NAMES = [name for name in catalog.names() if catalog.header(name).suite == "conventional"]

# Names that `using Lux` brings, of those that a chain is made of.
OF_LUX = {
    "Chain", "Conv", "CrossEntropyLoss", "Dense", "Embedding", "FlattenLayer", "GlobalMeanPool", "GroupNorm",
    "LayerNorm", "MeanPool", "Parallel", "SkipConnection", "Val", "WrappedFunction",
}  # fmt: skip


def declared(name: str, folder: Path) -> Model:
    return model(folder, name) if name in TEXTS else load_model(catalog.path(name))


def emitted(name: str, folder: Path) -> str:
    return source_of(declared(name, folder), "lux")


@pytest.mark.parametrize("name", [*NAMES, *TEXTS])
def test_the_grammar_reads_every_model(name: str, tmp_path: Path) -> None:
    text = emitted(name, tmp_path)
    assert not tree(text).has_error
    assert text.startswith(f"# {name} for Lux, emitted from its neutral spec ")
    assert text.endswith("\n")
    assert not text.endswith("\n\n")
    assert all(len(line) <= 120 and line == line.rstrip() for line in text.splitlines())


@pytest.mark.parametrize("name", [*NAMES, *TEXTS])
def test_every_name_is_imported_and_every_import_used(name: str, tmp_path: Path) -> None:
    text = emitted(name, tmp_path)
    head, body = text.split("function build_model()")
    imported = {word for line in re.findall(r"using [\w.]+: (.*)", head) for word in line.split(", ")}
    assert all(re.search(rf"\b{word}\b", text.replace(f": {word}", "")) for word in imported)
    called = set(re.findall(r"\b([A-Z]\w+)\(", body))
    own = {"Attention", "ExactMaxPool", "Positions"}
    assert called - OF_LUX <= own
    for layer in own:
        assert (layer in called) == (f"struct {layer}" in head)
    assert ("maxpool" in imported) == ("ExactMaxPool" in called)
    assert ("batched_mul" in imported) == ("Attention" in called)
    assert ("gelu_erf" in body) == ("gelu_erf" in imported)
    assert ("mean(" in body) == ("mean" in imported)


@pytest.mark.parametrize("name", KEPT)
def test_source_is_as_before(golden, name: str, tmp_path: Path) -> None:
    """A change of the emitter shows as a change of these files, to be read before they are replaced."""
    golden(GOLDEN / f"{name}.jl", emitted(name, tmp_path))


def test_layers_apply_the_activations_after_them(tmp_path: Path) -> None:
    text = emitted("every-kind", tmp_path)
    assert "Dense(6 => 16, gelu_erf)" in text
    assert "GroupNorm(4, 2, relu; epsilon = 1e-5)" in text
    # In single precision the number that Lux has itself differs from this one, which would be seen in double.
    assert text.count("epsilon = 1e-5") == 2


def test_an_activation_after_a_layer_that_takes_none_stands_alone(tmp_path: Path) -> None:
    changed = ('kind = "flatten"\n', 'kind = "relu"\n\n[[layers]]\nkind = "flatten"\n')
    text = source_of(model(tmp_path, "flat", changed), "lux")
    alone = "WrappedFunction(x -> relu.(x)),"
    assert text.index("MeanPool((2, 2)),") < text.index(alone) < text.index("FlattenLayer(),")


def test_layers_stand_in_the_order_of_their_weights(tmp_path: Path) -> None:
    for name in [*NAMES, *TEXTS]:
        found = declared(name, tmp_path)
        told = re.findall(r",  # (\w+)$", source_of(found, "lux"), flags=re.MULTILINE)
        assert told == list(dict.fromkeys(slot.layer for slot in found.slots))

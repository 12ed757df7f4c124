"""SimpleChains source of models: Julia's grammar reads it, it is held against files, and what it lacks is named."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from emit.grammar import tree
from stubs.models import SMALL, TEXTS, model

from sciml_bench.errors import UsageError
from sciml_bench.models.emit import source_of
from sciml_bench.models.emit.simplechains import refused_layer
from sciml_bench.models.load import load_model
from sciml_bench.models.model import Model
from sciml_bench.spec import catalog

GOLDEN = Path(__file__).parent / "data" / "simplechains"
NAMES = ("lenet-mnist-synthetic", "matrix-exponential")


def declared(name: str, folder: Path) -> Model:
    return model(folder, name) if name in SMALL else load_model(catalog.path(name))


@pytest.mark.parametrize("name", [*NAMES, *SMALL])
def test_the_grammar_reads_every_model(name: str, tmp_path: Path) -> None:
    text = source_of(declared(name, tmp_path), "simplechains")
    assert not tree(text).has_error
    assert text.startswith(f"# {name} for SimpleChains, emitted from its neutral spec ")
    assert text.endswith("\n")
    assert all(len(line) <= 120 and line == line.rstrip() for line in text.splitlines())


@pytest.mark.parametrize("name", NAMES)
def test_source_is_as_before(golden, name: str, tmp_path: Path) -> None:
    """A change of the emitter shows as a change of these files, to be read before they are replaced."""
    golden(GOLDEN / f"{name}.jl", source_of(declared(name, tmp_path), "simplechains"))


@pytest.mark.parametrize("name", [*NAMES, *SMALL])
def test_layers_stand_in_the_order_of_their_weights(name: str, tmp_path: Path) -> None:
    found = declared(name, tmp_path)
    told = re.findall(r",  # (\w+)$", source_of(found, "simplechains"), flags=re.MULTILINE)
    assert told == list(dict.fromkeys(slot.layer for slot in found.slots))


def test_images_are_turned_and_vectors_come_flattened(tmp_path: Path) -> None:
    images = source_of(declared("small-images", tmp_path), "simplechains")
    # The neutral shape is (channels, height, width).
    assert "(static(10), static(8), static(2))," in images
    assert "Flatten(3)," in images
    vectors = source_of(declared("perceptron", tmp_path), "simplechains")
    assert "(static(4),)," in vectors
    assert "Flatten" not in vectors


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("kernel = 3", "kernel = 3\npadding = 1", "has no padding, and conv1 pads by 1"),
        ("kernel = 2", "kernel = 2\nstride = 2", "has no strides, and conv2 has one of 2"),
        ('kind = "max_pool"', 'kind = "mean_pool"', "has no layer like mean_pool"),
        ('kind = "relu"', 'kind = "gelu"', "has no layer like gelu"),
        ('kind = "relu"', 'kind = "group_norm"\ngroups = 2', "has no layer like norm1"),
        (
            'kind = "flatten"', 'kind = "flatten"\n\n[[layers]]\nkind = "relu"',
            "applies activations in dense layers and convolutions, and relu is separate",
        ),
    ],
)  # fmt: skip
def test_what_it_lacks_is_named(old: str, new: str, reason: str, tmp_path: Path) -> None:
    changed = model(tmp_path, "small-images", (old, new))
    assert (refused_layer(changed.layers) or "").startswith(f"SimpleChains {reason}")
    with pytest.raises(UsageError, match="'small-images' cannot be written for SimpleChains: SimpleChains"):
        source_of(changed, "simplechains")


@pytest.mark.parametrize("name", TEXTS)
def test_models_with_more_are_refused(name: str, tmp_path: Path) -> None:
    assert refused_layer(model(tmp_path, name).layers)


@pytest.mark.parametrize("name", [*NAMES, *SMALL])
def test_models_of_its_own_layers_are_not(name: str, tmp_path: Path) -> None:
    assert refused_layer(declared(name, tmp_path).layers) is None

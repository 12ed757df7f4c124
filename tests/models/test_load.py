"""Files of models: the catalog's load, wrong ones are refused with line and cure."""

from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from stubs.models import model

from sciml_bench.errors import ProblemError
from sciml_bench.models.load import is_model_file, load_model
from sciml_bench.models.load_declared import load_declared
from sciml_bench.models.model import Model
from sciml_bench.spec import catalog

NAMES = [name for name in catalog.names() if catalog.header(name).suite == "conventional"]


@pytest.mark.parametrize("name", NAMES)
def test_every_model_of_the_catalog_loads(name: str) -> None:
    found = load_declared(catalog.path(name))
    assert isinstance(found, Model)
    assert (found.name, found.suite) == (name, "conventional")
    assert sum(slot.size for slot in found.slots) == found.n_weights == len(found.numbers().theta)
    assert np.array_equal(np.asarray(found.weights, np.float32).astype(np.float64), found.weights)
    assert found.source.citation or "fusion" in found.tags


def test_the_catalog_has_networks_transformers_and_fusion() -> None:
    assert {"lenet-digits", "resnet-digits", "gpt-text", "encoder-digits", "fusion-attention"} <= set(NAMES)


def test_an_equation_is_no_model() -> None:
    assert not is_model_file(catalog.path("robertson"))


def test_shapes_are_worked_out(tmp_path: Path) -> None:
    layers = model(tmp_path).layers
    assert [layer.output for layer in layers] == [
        (4, 8, 8), (6, 4, 4), (6, 2, 2), (4, 6), (4, 6), (4, 6), (4, 32), (4, 32), (32,), (5,),
    ]  # fmt: skip


def test_blocks_have_weights_of_their_own(tmp_path: Path) -> None:
    names = [slot.layer for slot in model(tmp_path, "text").slots]
    assert {"attention1", "attention2"} <= set(names)


def test_the_hash_changes_with_layers_and_weights_and_not_with_the_training(tmp_path: Path) -> None:
    first = model(tmp_path).spec_hash
    assert model(tmp_path, "every-kind", ("steps = 6", "steps = 7")).spec_hash == first
    assert model(tmp_path, "every-kind", ("heads = 2", "heads = 4")).spec_hash != first
    assert model(tmp_path, "every-kind", ("[weights]\nseed = 1", "[weights]\nseed = 9")).spec_hash != first


WRONG = {
    "an unknown kind": (('kind = "max_pool"', 'kind = "max_pol"'), "Did you mean 'max_pool'?", "max_pol"),
    "a key of another kind": (("size = 2", "size = 2\nwidth = 3"), "has no 'width'", "width = 3"),
    "groups that do not divide": (("groups = 2", "groups = 3"), "3 groups do not divide 4 channels", "groups = 3"),
    "heads that do not divide": (("heads = 2", "heads = 5"), "5 heads do not divide a width of 32", "heads = 5"),
    "a sum of two shapes": (("shortcut = [", "x = ["), "has no 'x'", "x = ["),
    "a window past the image": (("kernel = 3\npadding = 1", "kernel = 31"), "does not fit into 8 x 8", "kernel = 31"),
    "windows that do not tile": (("size = 2", "size = 3"), "do not tile 4 x 4", "size = 3"),
    "a dense layer on an image": (('"max_pool"\nsize = 2', '"dense"\nwidth = 2'), "flatten, mean", "dense"),
    "logits of another number": (("width = 5", "width = 6"), "needs logits of shape (5,)", 'kind = "cross_entropy"'),
    "a batch larger than the data": (("batches = [3]", "batches = [9]"), "1 to 8", "batches"),
    "batches that fall": (("batches = [3]", "batches = [3, 1]"), "must increase", "batches"),
    "an unknown loss": (('"cross_entropy"', '"hinge"'), "One of cross_entropy", "hinge"),
    "a share above one": (("accuracy = 0.9", "accuracy = 90"), "at most 1", "accuracy"),
    "an unknown optimiser": (('"adam"', '"lion"'), "One of adam", "lion"),
    "a wrong hash": (("[weights]", '[weights]\nsha256 = "00"'), "have the hash", "sha256"),
    "an unknown table": (("[weights]", "[wieghts]"), "Did you mean 'weights'?", "wieghts"),
    "a spec of the future": (("spec = 1", "spec = 2"), "'spec' must be 1", "spec = 2"),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_file_is_refused_with_its_line(tmp_path: Path, what: str) -> None:
    change, message, marked = WRONG[what]
    with pytest.raises(ProblemError) as caught:
        model(tmp_path, "every-kind", change)
    assert message in str(caught.value)
    lines = (tmp_path / "every-kind.toml").read_text().splitlines()
    assert caught.value.line is not None
    assert marked in lines[caught.value.line - 1]


def test_a_residual_sum_of_two_shapes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ProblemError, match="Give the residual layer a 'shortcut'"):
        model(tmp_path, "every-kind", ('shortcut = [{ kind = "conv2d", channels = 6, kernel = 1, stride = 2 }]\n', ""))


def test_an_unknown_data_set_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ProblemError, match="One of digits, python-topics"):
        model(tmp_path, "text", ('"python-topics"', '"imagenet"'))


class TestFileOfWeights:
    """Weights from a file: right ones are taken, wrong ones told."""

    def write(self, folder: Path, **changes: object) -> None:
        found = model(folder, "flat")
        arrays = {f"{slot.layer}.{slot.role}": np.full(slot.shape, 0.5) for slot in found.slots}
        kept: dict[str, Any] = {name: array for name, array in (arrays | changes).items() if array is not None}
        np.savez(folder / "weights.npz", allow_pickle=True, **kept)

    def load(self, folder: Path, name: str = "weights.npz") -> Model:
        return model(folder, "flat", ("[weights]\nseed = 2", f'[weights]\nfile = "{name}"'))

    def test_they_are_taken(self, tmp_path: Path) -> None:
        self.write(tmp_path)
        assert set(self.load(tmp_path).weights) == {0.5}

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"conv1.weight": np.zeros((3, 2, 5, 5))}, r"shape \(3, 2, 5, 5\), the model needs \(3, 2, 2, 2\)"),
            ({"dense1.bias": None}, "has no array 'dense1.bias'"),
            ({"dense1.bias": np.array(["a"] * 4)}, "not one of numbers"),
            ({"dense1.bias": np.full(4, np.nan)}, "not finite"),
            ({"dense1.bias": np.full(4, 1e300)}, "not finite in single precision"),
            ({"dense1.bias": np.array([object()] * 4)}, "of type object, not one of numbers"),
        ],
    )
    def test_wrong_ones_are_told(self, tmp_path: Path, change: dict[str, object], message: str) -> None:
        self.write(tmp_path, **change)
        with pytest.raises(ProblemError, match=message):
            self.load(tmp_path)

    @pytest.mark.parametrize("name", ["../weights.npz", "weights.pkl", "absent.npz"])
    def test_other_files_are_refused(self, tmp_path: Path, name: str) -> None:
        with pytest.raises(ProblemError):
            self.load(tmp_path, name)

    @pytest.mark.parametrize("place", [40, 300, 700, -30, -60])
    @pytest.mark.parametrize("change", ["flipped", "cut"])
    def test_a_damaged_archive_is_refused_or_right(self, tmp_path: Path, change: str, place: int) -> None:
        self.write(tmp_path)
        data = bytearray((tmp_path / "weights.npz").read_bytes())
        data[place] ^= 0xFF
        (tmp_path / "weights.npz").write_bytes(data if change == "flipped" else data[:place])
        try:
            found = self.load(tmp_path)
        except ProblemError:
            return
        assert set(found.weights) == {0.5}

    def rewrite(self, folder: Path, texts: dict[str, bytes], without: str = "") -> None:
        """Put members into the archive as they are."""
        with zipfile.ZipFile(folder / "weights.npz") as archive:
            kept = {name: archive.read(name) for name in archive.namelist() if name != without}
        with zipfile.ZipFile(folder / "weights.npz", "w", zipfile.ZIP_DEFLATED) as archive:
            for name, text in (kept | texts).items():
                archive.writestr(name, text)

    def test_a_member_without_its_ending_is_another_one(self, tmp_path: Path) -> None:
        self.write(tmp_path)
        bomb = bytes(2**24)
        self.rewrite(tmp_path, {"dense1.bias": bomb})
        assert set(self.load(tmp_path).weights) == {0.5}
        self.rewrite(tmp_path, {"dense1.bias": bomb}, without="dense1.bias.npy")
        with pytest.raises(ProblemError, match="has no array"):
            self.load(tmp_path)

    def test_a_member_that_unpacks_to_more_than_its_shape_is_refused(self, tmp_path: Path) -> None:
        self.write(tmp_path)
        with zipfile.ZipFile(tmp_path / "weights.npz") as archive:
            text = archive.read("dense1.bias.npy")
        self.rewrite(tmp_path, {"dense1.bias.npy": text + bytes(2**24)})
        with pytest.raises(ProblemError, match="unpacks to 1677"):
            self.load(tmp_path)

    @pytest.mark.parametrize("kind", ["pipe", "folder", "link"])
    def test_only_a_file_next_to_the_model_is_read(self, tmp_path: Path, kind: str) -> None:
        path = tmp_path / "weights.npz"
        if kind == "pipe":
            os.mkfifo(path)
        elif kind == "folder":
            path.mkdir()
        else:
            elsewhere = tmp_path / "elsewhere"
            elsewhere.mkdir()
            model_folder = tmp_path / "model"
            model_folder.mkdir()
            self.write(elsewhere)
            (model_folder / "weights.npz").symlink_to(elsewhere / "weights.npz")
            tmp_path = model_folder
        with pytest.raises(ProblemError, match=r"regular file|link"):
            self.load(tmp_path)

    def test_a_file_that_says_gigabytes_is_refused_before_it_is_read(self, tmp_path: Path) -> None:
        self.write(tmp_path)
        header = io.BytesIO()
        np.lib.format.write_array_header_1_0(
            header, {"descr": "<f8", "fortran_order": False, "shape": (10**12,)}
        )  # fmt: skip
        with zipfile.ZipFile(tmp_path / "weights.npz") as archive:
            texts = {name: archive.read(name) for name in archive.namelist()}
        with zipfile.ZipFile(tmp_path / "weights.npz", "w") as archive:
            for name, text in (texts | {"dense1.bias.npy": header.getvalue()}).items():
                archive.writestr(name, text)
        with pytest.raises(ProblemError, match=r"shape \(1000000000000,\), the model needs"):
            self.load(tmp_path)

    def test_what_is_no_archive_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "weights.npz").write_bytes(b"not an archive")
        with pytest.raises(ProblemError, match="does not fit the model"):
            self.load(tmp_path)


def test_a_file_is_needed(tmp_path: Path) -> None:
    with pytest.raises(ProblemError):
        load_model(tmp_path / "none.toml")

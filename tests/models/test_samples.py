"""Data sets: the same bytes, split and order everywhere."""

from __future__ import annotations

import dataclasses
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from stubs.models import model

from sciml_bench.models.load import load_model
from sciml_bench.models.samples import load_samples
from sciml_bench.spec import catalog


def test_digits_are_split_without_overlap() -> None:
    data = load_model(catalog.path("lenet-digits")).data
    samples = load_samples(data)
    assert samples.inputs.shape == (1797, 1, 8, 8)
    assert (samples.inputs.min(), samples.inputs.max()) == (0.0, 1.0)
    assert set(samples.labels) == set(range(10))
    assert sorted([*samples.train, *samples.held_out]) == list(range(1797))
    assert len(samples.held_out) == data.held_out == 360
    # Ten rows by hand, so that no reading order changes unseen: the first images of the file are 0 to 9.
    assert samples.labels[:10].tolist() == list(range(10))


def test_labels_of_text_are_the_next_characters(tmp_path: Path) -> None:
    samples = load_samples(model(tmp_path, "text").data)
    flat, labels = samples.inputs.reshape(-1), samples.labels.reshape(-1)
    assert np.array_equal(flat[1:], labels[:-1])
    assert (flat.min(), flat.max()) == (0, 87)
    assert max(samples.train) < min(samples.held_out)


def test_batches_are_drawn_without_replacement_in_an_epoch(tmp_path: Path) -> None:
    samples = load_samples(model(tmp_path).data)
    first = list(islice(samples.batches(3, 7), 4))
    assert [batch.tolist() for batch in islice(samples.batches(3, 7), 4)] == [batch.tolist() for batch in first]
    epoch = np.concatenate(first[:2])
    assert len(set(epoch)) == 6
    assert set(epoch) <= set(samples.train)
    assert first[0].tolist() != first[2].tolist()


def test_other_bytes_are_refused(tmp_path: Path) -> None:
    data = model(tmp_path, "text").data
    changed = tmp_path / "text.txt"
    changed.write_bytes(Path(data.path).read_bytes() + b"!")
    with pytest.raises(ValueError, match="SHA-256"):
        load_samples(dataclasses.replace(data, path=str(changed)))

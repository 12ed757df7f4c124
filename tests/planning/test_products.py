"""Labels as products: none is lost, none is added, and they are short."""

from __future__ import annotations

import json
import random

import pytest

from sciml_bench.planning.labels import count, labels, products


def test_a_product_is_written_once():
    whole = [f"{p}/{a}/{m}" for p in ("beam", "heat") for a in ("scipy",) for m in ("bdf", "radau", "lsoda")]
    assert products(whole) == [[["beam", "heat"], ["scipy"], ["bdf", "radau", "lsoda"]]]


def test_a_single_label_stays_as_it_is():
    assert products(["beam/scipy/bdf"]) == ["beam/scipy/bdf"]


def test_labels_of_earlier_plans_are_read():
    assert list(labels(["a/b/c", "d"])) == ["a/b/c", "d"]
    assert count(["a/b/c", "d"]) == 2


@pytest.mark.parametrize("seed", range(20))
def test_any_labels_come_back(seed):
    generator = random.Random(seed)
    names = ["a", "b", "<i>", "{,}", ""]
    some = {"/".join(generator.choice(names) for _ in range(generator.choice((1, 3, 4)))) for _ in range(60)}
    found = json.loads(json.dumps(products([*some, *some])))
    back = list(labels(found))
    assert sorted(back) == sorted(some)
    assert count(found) == len(some)

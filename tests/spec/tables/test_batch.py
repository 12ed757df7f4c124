"""Batches in problem files: which initial states they have, and which problems can have one."""

from __future__ import annotations

import re

import numpy as np
import pytest

from sciml_bench.errors import ProblemError

BATCH = "\n[batch]\nsize = {}\nspread = 0.1\nseed = 3\n"


def test_the_first_trajectory_is_the_problem_itself(load, decay):
    problem, single = load(decay + BATCH.format(4)), load(decay)
    numbers = problem.numbers()
    assert (numbers.batch, numbers.n_states, len(numbers.y0)) == (4, 2, 8)
    assert numbers.y0[:2] == single.numbers().y0
    assert numbers.atol_scale == (1.0, 0.5) * 4
    assert len(set(numbers.y0)) == 8
    assert problem.spec_hash != single.spec_hash


def test_a_larger_batch_begins_with_a_smaller_one(load, decay):
    small, large = (load(decay + BATCH.format(size)).numbers().y0 for size in (5, 500))
    assert large[:10] == small
    drawn = np.reshape(large[2:], (-1, 2))
    np.testing.assert_allclose(np.std(drawn, axis=0), [0.1, 0.05], rtol=0.1)
    np.testing.assert_allclose(np.mean(drawn, axis=0), [1, 1 / 3], atol=0.02)


def test_a_batch_of_one_is_the_plain_problem(load, decay):
    assert load(decay + BATCH.format(1)).spec_hash == load(decay).spec_hash


@pytest.mark.parametrize(
    ("change", "table", "told"),
    [
        (("", ""), "size = 0", "'size' must be an integer from 1"),
        (("", ""), "size = 1000001", "'size' must be an integer from 1"),
        (("", ""), "size = 3", "the trajectories of the batch are all the same"),
        (("", ""), "size = 3\nspread = -1", "the trajectories of the batch are all the same"),
        (("", ""), "size = 3\nspread = 1\nshape = 2", "unknown key 'shape'"),
        # What stands around the solve is written for the initial state as declared, and would start all alike.
        (("", ""), 'size = 3\nspread = 1\n[loss]\nof = "b"', "trajectories that are drawn have no loss with 'of'"),
        (("", ""), 'size = 3\nspread = 1\n[loss]\npenalty = "k"', "have no loss with 'penalty'"),
        (
            ("[parameters]", "[constants]"),
            "size = 3\nspread = 1",
            "with respect to parameters, but the problem has none",
        ),
        (("a = 1\n", "a = [1, 2]\n"), "size = 3\nspread = 1", "a batch is for problems of scalars, or of vectors"),
    ],
)
def test_what_cannot_be_a_batch_is_refused(load, decay, change, table, told):
    text = decay.replace(*change) if change[0] else decay
    if "a = [1, 2]" in text:
        text = text.replace('b = "k*a - b**2"', 'b = "k*a[0] - b**2"')
    with pytest.raises(ProblemError, match=re.escape(told)):
        load(f"{text}\n[batch]\n{table}\n")

"""A loss that no parameter changes is refused where the file is read."""

from __future__ import annotations

import pytest

from sciml_bench.errors import ProblemError
from sciml_bench.spec import catalog
from sciml_bench.spec.language.dependence import depends_on_theta
from sciml_bench.spec.load import load_problem

TEXT = """
spec = 1
name = "apart"
title = "Apart"
[time]
t1 = 1
[parameters]
k = 1
[states]
x = {{ initial = {start}, scale = 1 }}
y = {{ initial = 1, scale = 1 }}
z = {{ initial = 1, scale = 1 }}
[definitions]
rate = "k*y"
[equations]
x = "-x"
y = "-rate"
z = "{z}"
"""


def load(folder, loss, z="-z", start="1"):
    path = folder / "apart.toml"
    path.write_text(TEXT.format(z=z, start=start) + loss, encoding="utf-8")
    return load_problem(path)


@pytest.mark.parametrize(
    "loss",
    [
        '[loss]\nof = "x + z"',
        '[[observables]]\nof = "x"\ntimes = [1]\nvalues = [1]',
        '[[observables]]\nof = "x**2"\ntimes = [1]\nvalues = [1]',
    ],
)
def test_a_loss_that_no_parameter_changes_is_refused(tmp_path, loss):
    with pytest.raises(ProblemError, match="the loss depends on no parameter") as caught:
        load(tmp_path, loss)
    assert "apart.toml" in str(caught.value)


def test_parameters_reach_it_through_other_states_definitions_starts_and_penalties(tmp_path):
    looks_at_x = '[loss]\nof = "x"'
    assert load(tmp_path, '[loss]\nof = "z"', z="y - z")
    assert load(tmp_path, '[loss]\nof = "z"', z="rate - z")
    assert load(tmp_path, looks_at_x, start='"k"')
    assert load(tmp_path, f'{looks_at_x}\npenalty = "k**2"')
    assert load(tmp_path, '[[observables]]\nof = "x"\ntimes = [0, 1]\nvalues = [1, 1]', start='"2*k"')


@pytest.mark.parametrize("name", ["robertson", "digits-node", "brusselator-1d", "ffjord-moons", "neural-cde", "linear"])
def test_losses_of_the_catalog_depend_on_theta(name):
    assert depends_on_theta(catalog.load(name))

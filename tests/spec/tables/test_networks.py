"""Networks in problem files: what is read, and one clear message for everything that does not fit."""

from __future__ import annotations

import hashlib
import math
import re
import struct

import numpy as np
import pytest

from sciml_bench.errors import ProblemError
from sciml_bench.spec.initial_weights import Draw, draw_weights, hash_of
from sciml_bench.spec.network import Layer

NEURAL = """\
spec = 1
name = "neural"
title = "A network"

[time]
t1 = 2

[parameters]
k = 0.1

[networks.f]
inputs = 2
layers = [3, 2]
activation = "tanh"
seed = 7

[states]
x = 1
y = { initial = "1/3", scale = 0.5 }

[equations]
x = "-k*x + f(x, y)[0]"
y = "f(x, y)[1]"
"""


def test_weights_follow_the_parameters(load):
    problem = load(NEURAL)
    (network,) = problem.networks
    assert network.layers == (Layer(2, 3, "tanh"), Layer(3, 2, "identity"))
    assert (problem.n_named, problem.n_parameters, problem.wrt) == (1, 1 + 9 + 8, "parameters")
    assert problem.theta_labels[0] == "k"
    assert problem.theta_labels[1:4] == ("f.weight1[0,0]", "f.weight1[0,1]", "f.weight1[1,0]")
    assert problem.theta_labels[-1] == "f.bias2[1]"
    numbers = problem.numbers()
    assert numbers.n_weights == 17
    assert numbers.p[1:] == network.weights
    assert numbers.p_scale == (0.1, *[1.0] * 17)


def test_weights_are_the_same_in_both_precisions_and_have_a_hash(load):
    (network,) = load(NEURAL).networks
    weights = np.array(network.weights)
    np.testing.assert_array_equal(weights, weights.astype(np.float32))
    stated = NEURAL.replace("seed = 7", f'seed = 7\nsha256 = "{network.sha256}"')
    assert load(stated).networks == load(NEURAL).networks
    assert load(stated).spec_hash == load(NEURAL).spec_hash != load(NEURAL.replace("seed = 7", "seed = 8")).spec_hash
    with pytest.raises(ProblemError, match=r"have the hash .*, not the one stated"):
        load(stated.replace("seed = 7", "seed = 8"))


def test_draws_have_the_spread_they_promise():
    layers = (Layer(300, 200, "tanh"),)
    for kind, size, deviation in (
        ("normal", 0.1, 0.1),
        ("uniform", 0.3, 0.3 / math.sqrt(3)),
        ("fan_in_uniform", 1.0, 1 / math.sqrt(3 * 300)),
        ("glorot_uniform", 1.0, math.sqrt(2 / 500)),
    ):
        weights = np.array(draw_weights(layers, Draw(kind, size), Draw("zeros"), 1))
        assert np.std(weights[:60_000]) == pytest.approx(deviation, rel=0.02)
        assert abs(np.mean(weights[:60_000])) < 0.02 * deviation * 3
        assert not weights[60_000:].any()


def test_a_draw_is_the_same_for_ever():
    """Stored references belong to these very numbers."""
    weights = draw_weights((Layer(2, 3, "tanh"),), Draw("glorot_uniform"), Draw("normal", 0.5), 7)
    assert weights[:2] == (-0.9282620549201965, 0.6132713556289673)
    assert hash_of((1.0, -0.5)) == hashlib.sha256(struct.pack("<2d", 1.0, -0.5)).hexdigest()


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("f(x, y)[0]", "f(x)[0]", "f has 2 inputs, its arguments have 1 in all"),
        ("f(x, y)[0]", "f(x, y)[2]", "index 2 is outside 0…1"),
        ("f(x, y)[0]", "f(x, y)", "'x' is a scalar, but its expression is a 2"),
        ("f(x, y)[0]", "f()[0]", "takes its inputs in order"),
        ("f(x, y)[0]", "g(x, y)[0]", "unknown function 'g'"),
        ("f(x, y)[0]", "f", "unknown name 'f'"),
        ('activation = "tanh"', 'activation = "mish"', "'mish' is no activation"),
        ('activation = "tanh"\n', "", "'activation' is missing"),
        ("layers = [3, 2]", "layers = []", "'layers' must be a list of widths"),
        ("layers = [3, 2]", "layers = [3, 0]", "must be an integer from 1"),
        ("layers = [3, 2]", "layers = [3.5, 2]", "must be an integer from 1"),
        ("layers = [3, 2]", "layers = [9999, 9999, 2]", "more than 1000000 weights"),
        ("inputs = 2", "inputs = true", "'inputs' must be an integer"),
        ("seed = 7", "seed = -1", "'seed' must be an integer"),
        ("seed = 7", 'weights = { draw = "normal" }', "'size' does not fit the draw 'normal'"),
        ("seed = 7", 'weights = { draw = "zeros", size = 1 }', "'size' does not fit the draw 'zeros'"),
        ("seed = 7", 'weights = { draw = "normal", size = -1 }', "'size' must be positive"),
        ("seed = 7", 'weights = { draw = "normal", size = 1e300 }', "below 1e30"),
        ("seed = 7", 'weights = { draw = "orthogonal" }', "is no way to draw weights"),
        ("seed = 7", 'weights = "normal"', "'weights' must be a table"),
        ("seed = 7", "pointwise = true", "a pointwise network has one output, not 2"),
        ("seed = 7", "pointwise = 1", "'pointwise' must be true or false"),
        ("seed = 7", "depth = 3", "unknown key 'depth'"),
        ("networks.f", "networks.tanh", "'tanh' already means something"),
        ("networks.f", "networks.sum", "'sum' already means something"),
        ("networks.f", "networks.k", "'k' is already declared in [parameters]"),
        ("networks.f", "networks.x", "'x' is already declared in [networks.x]"),
    ],
)
def test_what_does_not_fit_is_told_with_its_line(load, old, new, told):
    assert old in NEURAL
    with pytest.raises(ProblemError, match=re.escape(told)) as raised:
        load(
            NEURAL.replace(old, new, 1) if old != "networks.f" else NEURAL.replace("f(x, y)[0]", "1").replace(old, new)
        )
    assert re.search(r"problem\.toml:\d+", str(raised.value))


def test_a_network_that_nothing_calls_is_refused(load):
    with pytest.raises(ProblemError, match=re.escape("'f' in [networks] is never used")):
        load(NEURAL.replace("f(x, y)[0]", "1").replace("f(x, y)[1]", "2"))


FIELD = """\
spec = 1
name = "field"
title = "A pointwise network"
[time]
t1 = 1
[grids.x]
points = 5
first = 0
last = 1
boundary = "periodic"
[networks.f]
inputs = 1
layers = [3, 1]
activation = "tanh"
pointwise = true
[states]
u = { grid = ["x"], initial = "x" }
[equations]
u = "f(u) + laplacian(u)"
"""


def test_a_pointwise_network_has_the_shape_of_its_arguments(load):
    problem = load(FIELD)
    assert problem.n_parameters == 10
    for wrong, told in (("f(u, x)", "takes 1 arguments, not 2"), ("f(1)", "it takes a vector or a field")):
        with pytest.raises(ProblemError, match=re.escape(told)):
            load(FIELD.replace("f(u)", wrong))


def test_a_network_of_whole_vectors_takes_no_field(load):
    with pytest.raises(ProblemError, match="its arguments have 5 in all"):
        load(FIELD.replace("pointwise = true\n", ""))

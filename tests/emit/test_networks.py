"""Networks say the same in every target as neuron by neuron, alone and in batches; one framework a process."""

from __future__ import annotations

import pytest
from emit import apart, networks
from needs import skip_without

from sciml_bench.emit import source
from sciml_bench.spec.tables.control import INTERPOLATIONS

SINGLE = {"activations", "vector", "scalars", "mixed", "pointwise", "derivatives-tanh", "derivatives-gelu_tanh"}

#: What is computed around a solve, see ``stubs.latents``.
AROUND = {"autoencoder", "classifier", "parameters"}


@pytest.mark.parametrize("target", ["numpy", "jax", "torch", "tensorflow"])
def test_a_target_agrees_with_the_scalar_form(target):
    if target != "numpy":
        skip_without("diffrax" if target == "jax" else target)
    errors = {name: float(error) for name, error in apart.lines("check_networks.py", target)}
    batches = (
        set() if target == "numpy" else {f"{name}-batch" for name in (SINGLE | AROUND) - {"pointwise", "parameters"}}
    )
    batches |= set() if target == "numpy" else {"measured-batch"}
    driven = set(INTERPOLATIONS) if target == "jax" else set()
    assert set(errors) == SINGLE | AROUND | {"measured"} | batches | driven
    assert {name: error for name, error in errors.items() if not error < 1e-13} == {}


def test_equal_layers_are_one_module_of_equinox():
    text = source(networks.problem(networks.VECTOR.replace("[4, 5, 3]", "[5, 5, 3]")), "jax")
    assert "eqx.nn.MLP(3, 3, 5, 2, activation=jnp.tanh, final_activation=jnp.tanh" in text
    assert "eqx.nn.Sequential" in source(networks.problem(networks.VECTOR), "jax")


def test_a_whole_vector_is_neither_sliced_nor_joined():
    text = source(networks.problem(networks.VECTOR), "torch")
    assert "u = y\n" in text
    assert "torch.cat" not in text

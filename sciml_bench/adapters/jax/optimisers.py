"""Optax's optimisers by their pinned formulas (see ``Training``).

Optax's Adam adds ``eps`` to the root of the corrected v, and ``eps_root``, 0 by default, under it. Its RMSprop adds
``eps`` under the root by default.
"""

from __future__ import annotations

import optax

from sciml_bench.record.task import Training


def optimiser_of(training: Training) -> optax.GradientTransformation:
    """The optimiser of a training."""
    rate, number = training.learning_rate, training.number
    match training.optimiser:
        case "adam":
            return optax.adam(rate, b1=number("beta1"), b2=number("beta2"), eps=number("epsilon"))
        case "adamw":
            b1, b2, decay = number("beta1"), number("beta2"), number("weight_decay")
            return optax.adamw(rate, b1=b1, b2=b2, eps=number("epsilon"), weight_decay=decay)
        case "rmsprop":
            return optax.rmsprop(rate, decay=number("decay"), eps=number("epsilon"), eps_in_sqrt=False)
        case "sgd":
            return optax.sgd(rate)
    raise ValueError(f"unknown optimiser '{training.optimiser}'")

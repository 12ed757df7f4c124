"""Loads how a problem is trained: the optimiser with its numbers, the number of steps and the tolerances of the solves.

Each optimiser's formula is pinned, see ``record.task.Training``; its numbers default to its paper's. If no paper gives
a number that libraries agree on, the file must.
"""

from __future__ import annotations

from typing import Any

from sciml_bench.record.task import Training
from sciml_bench.spec.keys import Choice, Table, Whole, number_key
from sciml_bench.spec.model import to_double
from sciml_bench.spec.reader import Reader

MAX_TRAINING_STEPS = 1_000_000

# Adam's from Kingma and Ba, arXiv 1412.6980; the decay of RMSprop from Hinton's lecture 6e of "Neural networks for
# machine learning" (2012), its epsilon from PyTorch and Optax. Libraries differ in AdamW's weight decay (0.01, 1e-4,
# 0.004), so it has no default.
_ADAM: dict[str, float | None] = {"beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8}
OPTIMISERS: dict[str, dict[str, float | None]] = {
    "adam": _ADAM,
    "adamw": {**_ADAM, "weight_decay": None},
    "rmsprop": {"decay": 0.9, "epsilon": 1e-8},
    "sgd": {},
}
"""Each optimiser's numbers other than its learning rate, with their defaults; ``None`` for one that a file must give.
"""


OPTIMISER = Choice("optimiser", tuple(OPTIMISERS), "optimiser", required=True)
OF_OPTIMISERS = ("beta1", "beta2", "epsilon", "decay", "weight_decay")
STEPS = Whole("steps", 1, MAX_TRAINING_STEPS, required=True)
# Its target is one loss; a loss's target has one number or a number for each state.
TRAINING = Table(
    OPTIMISER, number_key("learning_rate", required=True), *map(number_key, OF_OPTIMISERS), STEPS, number_key("target"),
    number_key("rtol", required=True), number_key("atol", required=True),
)  # fmt: skip


def load_training(reader: Reader) -> Training | None:
    """The ``[training]`` table; ``None`` if there is none."""
    document = reader.document
    if "training" not in document.data:
        return None
    data = document.table("training")
    TRAINING.check(document, data, "training")
    return Training(
        steps=STEPS.read(document, data, "training"),
        rtol=_positive(reader, data, "rtol", below=1.0),
        atol=_positive(reader, data, "atol"),
        target=_number(reader, data, "target") if "target" in data else None,
        **load_optimiser(reader, data),
    )


def load_optimiser(reader: Reader, data: dict[str, Any]) -> dict[str, Any]:
    """The optimiser of a ``[training]`` table with its numbers, as arguments of ``Training``."""
    name = OPTIMISER.read(reader.document, data, "training")
    rate = _positive(reader, data, "learning_rate")
    return {"optimiser": name, "learning_rate": rate, **_numbers(reader, data, name)}


def _numbers(reader: Reader, data: dict[str, Any], name: str) -> dict[str, float]:
    """The optimiser's own numbers; other optimisers' numbers are refused."""
    known = OPTIMISERS[name]
    for key in OF_OPTIMISERS:
        if key in data and key not in known:
            cure = f"Remove it; {name} has {', '.join(('learning_rate', *known))}."
            raise reader.document.error(f"'{key}' is not a setting of {name}.", "training", key, cure)
    numbers: dict[str, float] = {}
    for key, default in known.items():
        if key not in data and default is not None:
            numbers[key] = default
        elif key in ("epsilon", "weight_decay"):
            numbers[key] = _positive(reader, data, key)
        else:
            numbers[key] = _share(reader, data, key)
    return numbers


def _share(reader: Reader, data: dict[str, Any], key: str) -> float:
    value = _number(reader, data, key)
    if not 0 <= value < 1:
        raise reader.document.error(f"'{key}' must be at least 0 and below 1.", "training", key)
    return value


def _positive(reader: Reader, data: dict[str, Any], key: str, below: float = 1e30) -> float:
    value = _number(reader, data, key)
    if not 0 < value < below:
        raise reader.document.error(f"'{key}' must be positive and below {below:g}.", "training", key)
    return value


def _number(reader: Reader, data: dict[str, Any], key: str) -> float:
    if key not in data:
        cure = f"Add a line `{key} = …`."
        raise reader.document.error(f"[training] is missing '{key}'.", "training", "optimiser", cure)
    return to_double(reader.constant(data[key], "training", key))

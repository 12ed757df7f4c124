"""A small model with a layer of every kind, as the text of a file, and another of whole numbers."""

from __future__ import annotations

from pathlib import Path

from sciml_bench.models.load import load_model
from sciml_bench.models.model import Model

IMAGES = """
spec = 1
name = "every-kind"
title = "Every kind of layer for images"
suite = "conventional"
batches = [3]

[data]
shape = [2, 8, 8]
classes = 5
size = 12
held_out = 4
seed = 1

[weights]
seed = 1

[[layers]]
kind = "conv2d"
channels = 4
kernel = 3
padding = 1

[[layers]]
kind = "residual"
layers = [
    { kind = "group_norm", groups = 2 },
    { kind = "relu" },
    { kind = "conv2d", channels = 6, kernel = 3, padding = 1, stride = 2 },
]
shortcut = [{ kind = "conv2d", channels = 6, kernel = 1, stride = 2 }]

[[layers]]
kind = "max_pool"
size = 2

[[layers]]
kind = "tokens"

[[layers]]
kind = "positions"

[[layers]]
kind = "residual"
layers = [{ kind = "layer_norm" }, { kind = "dense", width = 16 }, { kind = "gelu" }, { kind = "dense", width = 6 }]

[[layers]]
kind = "dense"
width = 32

[[layers]]
kind = "attention"
heads = 2

[[layers]]
kind = "mean"

[[layers]]
kind = "dense"
width = 5

[loss]
kind = "cross_entropy"

[training]
optimiser = "adam"
learning_rate = 0.01
steps = 6
batch = 3
every = 2
accuracy = 0.9
"""

FLAT = """
spec = 1
name = "flat"
title = "Pools and what is flattened"
suite = "conventional"
batches = [2]

[data]
shape = [2, 8, 8]
size = 8
held_out = 2

[weights]
seed = 2

[[layers]]
kind = "conv2d"
channels = 3
kernel = 2
padding = 1

[[layers]]
kind = "relu"

[[layers]]
kind = "conv2d"
channels = 3
kernel = 2

[[layers]]
kind = "tanh"

[[layers]]
kind = "mean_pool"
size = 2

[[layers]]
kind = "flatten"

[[layers]]
kind = "dense"
width = 4

[loss]
kind = "mean_square"
"""

TEXT = """
spec = 1
name = "text"
title = "A causal decoder of one block"
suite = "conventional"
batches = [2]

[data]
set = "python-topics"
positions = 8
held_out = 4

[weights]
seed = 3

[[layers]]
kind = "embedding"
width = 32

[[layers]]
kind = "positions"

[[layers]]
kind = "blocks"
count = 2
layers = [{ kind = "residual", layers = [{ kind = "layer_norm" }, { kind = "attention", heads = 2, causal = true }] }]

[[layers]]
kind = "dense"
width = 88

[loss]
kind = "cross_entropy"

[training]
optimiser = "adamw"
learning_rate = 0.01
weight_decay = 0.1
steps = 4
batch = 2
every = 2
target = 4
"""

TEXTS = {"every-kind": IMAGES, "flat": FLAT, "text": TEXT}

# SimpleChains 0.4.8 has right gradients of images of this size with vectors of four and of eight numbers of double
# precision. At other sizes its convolutions fail with one or the other: 10 x 18 raises with four, 10 x 12 is wrong with
# eight.
SMALL_IMAGES = """
spec = 1
name = "small-images"
title = "What a library for small networks has of images"
suite = "conventional"
batches = [1, 3]

[data]
shape = [2, 8, 10]
classes = 5
size = 12
held_out = 4
seed = 1

[weights]
seed = 1

[[layers]]
kind = "conv2d"
channels = 4
kernel = 3

[[layers]]
kind = "relu"

[[layers]]
kind = "max_pool"
size = 2

[[layers]]
kind = "conv2d"
channels = 3
kernel = 2

[[layers]]
kind = "flatten"

[[layers]]
kind = "dense"
width = 16

[[layers]]
kind = "relu"

[[layers]]
kind = "dense"
width = 5

[loss]
kind = "cross_entropy"

[training]
optimiser = "adam"
learning_rate = 0.01
steps = 6
batch = 3
every = 2
accuracy = 0.9
"""

PERCEPTRON = """
spec = 1
name = "perceptron"
title = "What it has of vectors"
suite = "conventional"
batches = [3]

[data]
shape = [1, 2, 2]
size = 8
held_out = 2

[weights]
seed = 2

[[layers]]
kind = "flatten"

[[layers]]
kind = "dense"
width = 6

[[layers]]
kind = "tanh"

[[layers]]
kind = "dense"
width = 3

[loss]
kind = "mean_square"
"""

SMALL = {"small-images": SMALL_IMAGES, "perceptron": PERCEPTRON}


def model(folder: Path, name: str = "every-kind", *changes: tuple[str, str]) -> Model:
    """The model of this name, with pieces of its text replaced, loaded from a file in the folder."""
    text = (TEXTS | SMALL)[name]
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new, 1)
    path = folder / f"{name}.toml"
    path.write_text(text.lstrip(), encoding="utf-8")
    return load_model(path)

"""A model by Keras's functional interface, with images in Keras's own layout (height, width, channels)."""

from __future__ import annotations

from sciml_bench.models.emit.lines import header, indented, statements
from sciml_bench.models.layer import EPSILON, Layer, walk
from sciml_bench.models.model import Model

_POSITIONS = """

class Positions(layers.Layer):
    def build(self, shape):
        self.embedding = self.add_weight(shape=shape[1:], name="embedding")

    def call(self, x):
        return x + self.embedding

"""

_LOSSES = {
    "cross_entropy": """
def loss(labels, outputs):
    return ops.mean(keras.losses.sparse_categorical_crossentropy(labels, outputs, from_logits=True))
""",
    "mean_square": """
def loss(labels, outputs):
    return ops.mean(ops.square(outputs))
""",
}


def keras_source(model: Model) -> str:
    """A module with ``build_model()``, whose layers have their neutral names, and ``loss``."""
    found = list(walk(model.layers))
    lines = [
        header(model, "Keras"),
        "",
        *(["import math", ""] if any(layer.kind == "gelu" for layer in found) else []),
        "import keras",
        "from keras import layers, ops",
        _POSITIONS if any(layer.kind == "positions" for layer in found) else "\n",
        "def build_model():",
        *indented(
            [
                _input(model),
                "x = inputs",
                *statements(model.layers, _expression),
                "return keras.Model(inputs, x)",
            ]
        ),
        "",
        _LOSSES[model.loss].rstrip(),
    ]
    return "\n".join(lines) + "\n"


def _input(model: Model) -> str:
    shape = model.data.input_shape
    if len(shape) == 3:
        shape = (*shape[1:], shape[0])
    kind = ', dtype="int32"' if model.data.kind == "text" else ""
    return f"inputs = keras.Input({shape}{kind})"


def _expression(layer: Layer, x: str) -> str:
    n, name = layer.numbers, f'name="{layer.name}"'
    match layer.kind:
        case "conv2d":
            return _conv2d(layer, x)
        case "dense":
            return f"layers.Dense({n['width']}, {name})({x})"
        case "embedding":
            return f"layers.Embedding({n['count']}, {n['width']}, {name})({x})"
        case "positions":
            return f"Positions({name})({x})"
        case "group_norm":
            return f"layers.GroupNormalization({n['groups']}, epsilon={EPSILON}, {name})({x})"
        case "layer_norm":
            return f"layers.LayerNormalization(epsilon={EPSILON}, {name})({x})"
        case "relu":
            return f"ops.relu({x})"
        case "gelu":
            # ops.gelu rounds the root of 2 to single precision, also for doubles.
            return f"0.5 * {x} * (1 + ops.erf({x} / math.sqrt(2)))"
        case "tanh":
            return f"ops.tanh({x})"
        case "max_pool":
            return f"layers.MaxPooling2D({n['size']})({x})"
        case "mean_pool":
            return f"layers.AveragePooling2D({n['size']})({x})"
        case "mean":
            return f"layers.GlobalAveragePooling{'2D' if len(layer.input) == 3 else '1D'}()({x})"
        case "flatten":
            return f"layers.Flatten()({x})"
        case "tokens":
            return f"layers.Reshape({layer.output})({x})"
        case "attention":
            causal = ", use_causal_mask=True" if n["causal"] else ""
            return f"layers.MultiHeadAttention({n['heads']}, {n['width'] // n['heads']}, {name})({x}, {x}{causal})"
    raise ValueError(layer.kind)


def _conv2d(layer: Layer, x: str) -> str:
    n = layer.numbers
    options = [f'name="{layer.name}"']
    if n["stride"] > 1:
        options.insert(0, f"strides={n['stride']}")
    if n["padding"] and n["stride"] == 1 and n["kernel"] == 2 * n["padding"] + 1:
        options.insert(0, 'padding="same"')
    elif n["padding"]:
        # Keras's "same" pads strided convolutions on one side more than on the other; the declared padding is even.
        x = f"layers.ZeroPadding2D({n['padding']})({x})"
    return f"layers.Conv2D({n['channels']}, {n['kernel']}, {', '.join(options)})({x})"

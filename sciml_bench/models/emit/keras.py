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


_EXPRESSIONS = {
    "dense": 'layers.Dense({width}, name="{name}")({x})',
    "embedding": 'layers.Embedding({count}, {width}, name="{name}")({x})',
    "positions": 'Positions(name="{name}")({x})',
    "group_norm": f'layers.GroupNormalization({{groups}}, epsilon={EPSILON}, name="{{name}}")({{x}})',
    "layer_norm": f'layers.LayerNormalization(epsilon={EPSILON}, name="{{name}}")({{x}})',
    "relu": "ops.relu({x})",
    # ops.gelu rounds the root of 2 to single precision, also for doubles.
    "gelu": "0.5 * {x} * (1 + ops.erf({x} / math.sqrt(2)))",
    "tanh": "ops.tanh({x})",
    "max_pool": "layers.MaxPooling2D({size})({x})",
    "mean_pool": "layers.AveragePooling2D({size})({x})",
    "flatten": "layers.Flatten()({x})",
}


def _expression(layer: Layer, x: str) -> str:
    n = layer.numbers
    match layer.kind:
        case "conv2d":
            return _conv2d(layer, x)
        case "mean":
            return f"layers.GlobalAveragePooling{'2D' if len(layer.input) == 3 else '1D'}()({x})"
        case "tokens":
            return f"layers.Reshape({layer.output})({x})"
        case "attention":
            causal, name = ", use_causal_mask=True" if n["causal"] else "", f'name="{layer.name}"'
            return f"layers.MultiHeadAttention({n['heads']}, {n['width'] // n['heads']}, {name})({x}, {x}{causal})"
        case _:
            return _EXPRESSIONS[layer.kind].format(x=x, name=layer.name, **n)


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

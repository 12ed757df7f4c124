"""A model as an ONNX graph, built node by node from the neutral layers; no framework's exporter stands between."""

from __future__ import annotations

from dataclasses import dataclass, field

from sciml_bench.models.emit.lines import header
from sciml_bench.models.layer import EPSILON, Layer
from sciml_bench.models.model import Model

# GELU is an operator since 20, group norm with a scale for each channel since 21.
OPSET = 21

# The file format that belongs to this set; ONNX's own newest is often newer than what ONNX Runtime reads.
IR_VERSION = 10


def onnx_source(model: Model) -> str:
    """A module with ``build_graph(weights, element)``: ``weights`` maps ``layer.role`` to an array, ``element`` is
    ONNX's name of their type. The batch is free."""
    graph = _Graph()
    found = graph.chain(model.layers, "x0")
    kind = "TensorProto.INT64" if model.data.kind == "text" else "number"
    output = ", ".join(map(str, model.layers[-1].output))
    shape = ", ".join(map(str, model.data.input_shape))
    lines = [
        header(model, "ONNX"),
        "",
        "import onnx",
        "from onnx import TensorProto, helper, numpy_helper",
        "",
        "",
        "def build_graph(weights, element):",
        "    nodes = [",
        *(f"        {node}," for node in graph.nodes),
        "    ]",
        "    number = getattr(TensorProto, element)",
        f'    inputs = [helper.make_tensor_value_info("x0", {kind}, ["n", {shape}])]',
        f'    outputs = [helper.make_tensor_value_info("{found}", number, ["n", {output}])]',
        *(f'    weights["{name}"] = weights["{name}"].T.copy()' for name in graph.transposed),
        "    constants = [numpy_helper.from_array(array, name) for name, array in weights.items()]",
        *graph.shape_lines(),
        f'    graph = helper.make_graph(nodes, "{model.name}", inputs, outputs, constants)',
        f'    opset = helper.make_opsetid("", {OPSET})',
        f"    model = helper.make_model(graph, opset_imports=[opset], ir_version={IR_VERSION})",
        "    onnx.checker.check_model(model)",
        "    return model",
    ]
    return "\n".join(lines) + "\n"


@dataclass
class _Graph:
    """Nodes in order, and the constant shapes that some of them take."""

    nodes: list[str] = field(default_factory=list[str])
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])
    scalars: dict[str, float] = field(default_factory=dict[str, float])
    masks: dict[str, int] = field(default_factory=dict[str, int])
    transposed: list[str] = field(default_factory=list[str])
    count: int = 0

    def chain(self, layers: tuple[Layer, ...], x: str) -> str:
        """Apply the layers to a value; the name of what comes out."""
        for layer in layers:
            x = self._layer(layer, x)
        return x

    def shape_lines(self) -> list[str]:
        """Statements that add the constants to the list of this name."""
        lines = [
            f'    constants.append(helper.make_tensor("{name}", TensorProto.INT64, [{len(shape)}], {list(shape)}))'
            for name, shape in self.shapes.items()
        ]
        lines += [
            f'    constants.append(helper.make_tensor("{name}", number, [], [{value!r}]))'
            for name, value in self.scalars.items()
        ]
        lines += [
            f"    mask = [0.0 if j <= i else -1e9 for i in range({size}) for j in range({size})]\n"
            f'    constants.append(helper.make_tensor("{name}", number, [{size}, {size}], mask))'
            for name, size in self.masks.items()
        ]
        return lines

    def add(self, operator: str, inputs: list[str], **attributes: object) -> str:
        """One node with one output."""
        self.count += 1
        output = f"x{self.count}"
        told = "".join(f", {name}={value!r}" for name, value in attributes.items())
        listed = ", ".join(f'"{name}"' for name in inputs)
        self.nodes.append(f'helper.make_node("{operator}", [{listed}], ["{output}"]{told})')
        return output

    def _reshape(self, x: str, shape: tuple[int, ...]) -> str:
        name = "shape_" + "_".join(str(size).replace("-1", "rest") for size in shape)
        self.shapes[name] = shape
        return self.add("Reshape", [x, name])

    def _layer(self, layer: Layer, x: str) -> str:
        n, name = layer.numbers, layer.name
        match layer.kind:
            case "conv2d":
                return self.add(
                    "Conv", [x, f"{name}.weight", f"{name}.bias"], kernel_shape=[n["kernel"]] * 2,
                    strides=[n["stride"]] * 2, pads=[n["padding"]] * 4,
                )  # fmt: skip
            case "dense":
                return self._dense(layer, x)
            case "embedding":
                return self.add("Gather", [f"{name}.weight", x], axis=0)
            case "positions":
                return self.add("Add", [x, f"{name}.weight"])
            case "group_norm":
                inputs = [x, f"{name}.scale", f"{name}.bias"]
                return self.add("GroupNormalization", inputs, num_groups=n["groups"], epsilon=EPSILON)
            case "layer_norm":
                return self.add("LayerNormalization", [x, f"{name}.scale", f"{name}.bias"], axis=-1, epsilon=EPSILON)
            case "relu":
                return self.add("Relu", [x])
            case "gelu":
                return self.add("Gelu", [x])
            case "tanh":
                return self.add("Tanh", [x])
            case "max_pool" | "mean_pool":
                operator = "MaxPool" if layer.kind == "max_pool" else "AveragePool"
                return self.add(operator, [x], kernel_shape=[n["size"]] * 2, strides=[n["size"]] * 2)
            case "mean":
                axes = (2, 3) if len(layer.input) == 3 else (1,)
                self.shapes["axes_" + "_".join(map(str, axes))] = axes
                return self.add("ReduceMean", [x, "axes_" + "_".join(map(str, axes))], keepdims=0)
            case "flatten":
                return self.add("Flatten", [x], axis=1)
            case "tokens":
                channels, height, width = layer.input
                return self.add("Transpose", [self._reshape(x, (-1, channels, height * width))], perm=[0, 2, 1])
            case "attention":
                return self._attention(layer, x)
            case "residual":
                return self.add("Add", [self.chain(layer.shortcut, x), self.chain(layer.body, x)])
        raise ValueError(layer.kind)

    def _dense(self, layer: Layer, x: str) -> str:
        weight, bias = f"{layer.name}.weight", f"{layer.name}.bias"
        if len(layer.input) == 1:
            return self.add("Gemm", [x, weight, bias], transB=1)
        return self._product(x, weight, bias)

    def _attention(self, layer: Layer, x: str) -> str:
        name, heads, width = layer.name, layer.numbers["heads"], layer.numbers["width"]
        positions, part = layer.input[0], width // heads
        qkv = self._product(x, f"{name}.qkv_weight", f"{name}.qkv_bias")
        apart = self.add("Transpose", [self._reshape(qkv, (-1, positions, 3, heads, part))], perm=[2, 0, 3, 1, 4])
        q, k, v = (self._part(apart, number) for number in range(3))
        self.scalars[f"{name}.factor"] = part**-0.5
        scores = self.add("MatMul", [q, self.add("Transpose", [k], perm=[0, 1, 3, 2])])
        scores = self.add("Mul", [scores, f"{name}.factor"])
        if layer.numbers["causal"]:
            self.masks[f"mask_{positions}"] = positions
            scores = self.add("Add", [scores, f"mask_{positions}"])
        found = self.add("MatMul", [self.add("Softmax", [scores], axis=-1), v])
        together = self._reshape(self.add("Transpose", [found], perm=[0, 2, 1, 3]), (-1, positions, width))
        return self._product(together, f"{name}.weight", f"{name}.bias")

    def _product(self, x: str, weight: str, bias: str) -> str:
        """A dense layer on tokens: ``MatMul`` takes its weights as (inputs, outputs)."""
        self.transposed.append(weight)
        return self.add("Add", [self.add("MatMul", [x, weight]), bias])

    def _part(self, x: str, number: int) -> str:
        self.shapes[f"place_{number}"] = (number,)
        taken = self.add("Gather", [x, f"place_{number}"], axis=0)
        self.shapes["axis_0"] = (0,)
        return self.add("Squeeze", [taken, "axis_0"])

"""Networks neuron by neuron, as scalar expressions with a statement for each intermediate."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import product

import sympy
from sympy import Symbol

from sciml_bench.emit.activation import formula
from sciml_bench.spec.language.operators import Node
from sciml_bench.spec.language.shapes import Shape, shape_of
from sciml_bench.spec.model import Problem, symbol
from sciml_bench.spec.network import Layer, Network

Index = tuple[int, ...]


class ScalarNetworks:
    """The networks of a problem. ``components`` has their weights, ``element`` gives a component of an expression, and
    ``state`` the symbol of a new statement.
    """

    def __init__(
        self,
        problem: Problem,
        components: Mapping[Symbol, Mapping[Index, Node]],
        element: Callable[[Node, Index], Node],
        state: Callable[[str, Node], Symbol],
    ):
        self.networks = {network.name: network for network in problem.networks}
        self.shapes, self.components, self.element, self.state = problem.shapes, components, element, state
        self._outputs: dict[tuple[str, tuple[Node, ...]], list[tuple[tuple[Node, ...], tuple[Node, ...]]]] = {}
        self._jacobians: dict[tuple[str, tuple[Node, ...]], list[list[Node]]] = {}

    def output(self, expr: Node, index: Index) -> Node:
        """Component ``index`` of a network's outputs."""
        outputs = self._layers(expr, index)[-1][1]
        return outputs[0 if self.networks[expr.args[0].name].pointwise else index[0]]

    def _layers(self, expr: Node, index: Index) -> list[tuple[tuple[Node, ...], tuple[Node, ...]]]:
        """The inputs and outputs of each layer's activations, after the network's inputs; a statement a neuron."""
        name, *arguments = expr.args
        network = self.networks[name.name]
        inputs = tuple(
            self.element(argument, i)
            for argument in arguments
            for i in ([index] if network.pointwise else indices(shape_of(argument, self.shapes)))
        )
        if (network.name, inputs) not in self._outputs:
            self._outputs[network.name, inputs] = self._forward(network, inputs)
        return self._outputs[network.name, inputs]

    def _forward(self, network: Network, inputs: tuple[Node, ...]) -> list[tuple[tuple[Node, ...], tuple[Node, ...]]]:
        if network.recurrent:
            return [((), inputs), ((), self._recurrent(network, inputs))]
        tag = len(self._outputs)
        found: list[tuple[tuple[Node, ...], tuple[Node, ...]]] = [((), inputs)]
        for number, (layer, weights, biases) in enumerate(self._weights(network)):
            values = found[-1][1]
            sums = (sympy.Add(*map(sympy.Mul, row, values), bias) for row, bias in zip(weights, biases, strict=True))
            z = tuple(self.state(f"net{tag}_z_{number}_{i}", value) for i, value in enumerate(sums))
            y = (self.state(f"net{tag}_y_{number}_{i}", formula(layer.activation, value)) for i, value in enumerate(z))
            found.append((z, tuple(y)))
        return found

    def _recurrent(self, network: Network, inputs: tuple[Node, ...]) -> tuple[Node, ...]:
        """The output of a recurrent network; a statement a neuron and time."""
        ((layer, weights, biases),) = self._weights(network)
        tag, n = len(self._outputs), network.inputs
        times = [inputs[start : start + n] for start in range(0, len(inputs), n)]
        h: tuple[Node, ...] = (sympy.S.Zero,) * network.outputs
        for k, x in enumerate(times[::-1] if network.recurrent == "reverse" else times):
            values = (*x, *h)
            sums = (sympy.Add(*map(sympy.Mul, row, values), bias) for row, bias in zip(weights, biases, strict=True))
            z = [self.state(f"net{tag}_z_{k}_{i}", value) for i, value in enumerate(sums)]
            h = tuple(self.state(f"net{tag}_h_{k}_{i}", formula(layer.activation, value)) for i, value in enumerate(z))
        return h

    def _weights(self, network: Network) -> Iterator[tuple[Layer, list[list[Node]], list[Node]]]:
        """Each layer with the rows of its weights, and its biases."""
        flat, start = self.components[symbol(network.name)], 0
        for layer in network.layers:
            numbers = [flat[k,] for k in range(start, start + layer.size)]
            rows = [numbers[i * layer.inputs : (i + 1) * layer.inputs] for i in range(layer.outputs)]
            yield layer, rows, numbers[layer.outputs * layer.inputs :]
            start += layer.size

    def input_jacobian(self, expr: Node) -> list[list[Node]]:
        """The derivatives of each output of a network with respect to each input, layer by layer."""
        layers, network = self._layers(expr, ()), self.networks[expr.args[0].name]
        key = (network.name, layers[0][1])
        if key not in self._jacobians:
            tag, n = len(self._jacobians), network.inputs
            jacobian: list[list[Node]] = [[sympy.Integer(i == j) for j in range(n)] for i in range(n)]
            for number, ((layer, weights, _), (z, _)) in enumerate(
                zip(self._weights(network), layers[1:], strict=True)
            ):
                slopes = [_slope(layer.activation, value) for value in z]
                jacobian = [
                    [
                        self.state(
                            f"slope{tag}_{number}_{i}_{j}",
                            slopes[i] * sympy.Add(*(w * row[j] for w, row in zip(weights[i], jacobian, strict=True))),
                        )
                        for j in range(n)
                    ]
                    for i in range(layer.outputs)
                ]
            self._jacobians[key] = jacobian
        return self._jacobians[key]


def _slope(activation: str, z: Node) -> Node:
    """The derivative of an activation at z."""
    variable = Symbol("_z", real=True)
    return formula(activation, variable).diff(variable).xreplace({variable: z})


def indices(shape: Shape) -> list[Index]:
    """The places of all components."""
    return list(product(*(range(n) for n in shape)))

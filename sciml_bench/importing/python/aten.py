"""Formulas of a function of PyTorch, from the ATen operations that ``make_fx`` records when it calls it."""

from __future__ import annotations

import importlib
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from sciml_bench.importing.python.array_operations import (
    ELEMENTWISE,
    accumulated,
    affine,
    largest,
    moved,
    number_type,
    reduced,
    shape_of,
    smallest,
    untraced,
)
from sciml_bench.importing.python.further_functions import LINALG, sigmoid, softplus
from sciml_bench.importing.python.refusals import DataDependent, Unsupported
from sciml_bench.importing.python.traced import FUNCTIONS, UFUNCS, is_traced, vector, where

_MOVES = frozenset((
    "view", "reshape", "select", "slice", "unsqueeze", "squeeze", "permute", "t", "transpose", "expand", "cat", "stack",
    "unbind", "split", "split_with_sizes", "flip", "roll", "as_strided", "diagonal", "diag_embed", "index",
    "index_select", "gather", "repeat", "unfold", "copy", "slice_scatter", "select_scatter", "diagonal_scatter",
    "index_put", "scatter", "index_copy", "take_along_dim", "tril", "triu", "expand_copy", "view_copy", "movedim",
))  # fmt: skip
#: The argument of moves that has places.
_INDICES = {
    "index": 1,
    "index_put": 1,
    "take_along_dim": 1,
    "index_select": 2,
    "gather": 2,
    "scatter": 2,
    "index_copy": 2,
}
_SAME = frozenset(("clone", "alias", "detach", "lift_fresh_copy", "contiguous", "view_of", "lift"))
_SHAPES = frozenset(("full_like", "zeros_like", "ones_like", "empty_like", "new_zeros", "new_full", "new_ones",
                     "new_empty"))  # fmt: skip


_CLIP = FUNCTIONS["clip"]


def _sum(x: Any, axes: Any = None, keep: bool = False, **_: Any) -> Any:
    return reduced(UFUNCS["add"], x, axes, keep)


def _mean(x: Any, axes: Any = None, keep: bool = False, **_: Any) -> Any:
    total = _sum(x, axes, keep)
    return total * (float(np.size(total)) / float(np.size(np.array(x, dtype=object))))


def _over(name: str) -> Callable[..., Any]:
    def of(x: Any, axis: Any = None, keep: bool = False, **_: Any) -> Any:
        return reduced(UFUNCS[name], x, [axis] if isinstance(axis, int) else axis, keep)

    return of


def _extreme(over: Callable[..., Any]) -> Callable[..., Any]:
    def of(x: Any, *options: Any) -> Any:
        if options:
            raise Unsupported("max and min along an axis also give a place: write amax or amin")
        return over(x)

    return of


def _div(a: Any, b: Any, rounding_mode: str | None = None) -> Any:
    if rounding_mode == "trunc":
        raise Unsupported("rounding towards zero has no counterpart in problem files: write floor")
    found = UFUNCS["divide"](a, b)
    return UFUNCS["floor"](found) if rounding_mode else found


def _norm(x: Any, order: float = 2, axes: Any = None, keep: bool = False, **_: Any) -> Any:
    if order != 2:
        raise Unsupported("norms other than the root of the sum of squares have no counterpart in problem files")
    return UFUNCS["sqrt"](_sum(UFUNCS["square"](x), axes, keep))


def _softmax(x: Any, axis: int, *_: Any) -> Any:
    powers = UFUNCS["exp"](UFUNCS["subtract"](x, largest(x, [axis], True)))
    return UFUNCS["divide"](powers, _sum(powers, [axis], True))


def _elu(x: Any, alpha: float = 1.0, scale: float = 1.0, of_input: float = 1.0) -> Any:
    below = UFUNCS["expm1"](UFUNCS["minimum"](x * of_input, 0))
    return scale * where(UFUNCS["greater"](x, 0), x, alpha * below)


def _gelu(x: Any, approximate: str = "none") -> Any:
    if approximate != "tanh":
        raise Unsupported("gelu by the error function has no counterpart in problem files: write approximate='tanh'")
    return 0.5 * x * (1 + UFUNCS["tanh"](np.sqrt(2 / np.pi) * (x + 0.044715 * x * x * x)))


def _product(a: Any, b: Any) -> Any:
    return vector(list(np.ravel(found := np.matmul(_objects(a), _objects(b))))).reshape(np.shape(found))[()]


def _with_product(start: Any, a: Any, b: Any, beta: float = 1, alpha: float = 1) -> Any:
    return UFUNCS["add"](beta * start, alpha * _product(a, b))


def _objects(value: Any) -> Any:
    return np.array(value, dtype=object)


_OWN: dict[str, Callable[..., Any]] = {
    **ELEMENTWISE,
    "add": lambda a, b, alpha=1: UFUNCS["add"](a, b if alpha == 1 else UFUNCS["multiply"](alpha, b)),
    "sub": lambda a, b, alpha=1: UFUNCS["subtract"](a, b if alpha == 1 else UFUNCS["multiply"](alpha, b)),
    "rsub": lambda a, b, alpha=1: UFUNCS["subtract"](b, a if alpha == 1 else UFUNCS["multiply"](alpha, a)),
    "div": _div, "sgn": UFUNCS["sign"], "floor_divide": UFUNCS["floor_divide"], "sinc": FUNCTIONS["sinc"],
    "heaviside": UFUNCS["heaviside"], "hypot": UFUNCS["hypot"], "bitwise_and": UFUNCS["logical_and"],
    "bitwise_or": UFUNCS["logical_or"], "bitwise_not": UFUNCS["logical_not"],
    "clamp": _CLIP, "clamp_min": _CLIP, "clamp_max": lambda x, high: _CLIP(x, None, high),
    "masked_fill": lambda x, mask, value: where(mask, value, x),
    "relu": lambda x: _CLIP(x, 0), "hardtanh": lambda x, low=-1, high=1: _CLIP(x, low, high),
    "leaky_relu": lambda x, slope=0.01: where(UFUNCS["greater_equal"](x, 0), x, slope * x), "elu": _elu,
    "silu": lambda x: x * sigmoid(x), "gelu": _gelu, "_softmax": _softmax,
    "softplus": lambda x, beta=1, limit=20: where(UFUNCS["greater"](x * beta, limit), x, softplus(x, beta)),
    "sum": _sum, "mean": _mean, "linalg_vector_norm": _norm, "amax": largest, "amin": smallest,
    "max": _extreme(largest), "min": _extreme(smallest),
    "prod": _over("multiply"), "any": _over("logical_or"), "all": _over("logical_and"),
    "cumsum": lambda x, axis, **_: accumulated(UFUNCS["add"], x, axis),
    "cumprod": lambda x, axis, **_: accumulated(UFUNCS["multiply"], x, axis),
    "mm": _product, "bmm": _product, "mv": _product, "dot": _product, "addmm": _with_product, "addmv": _with_product,
    "_linalg_solve_ex": lambda a, b, **_: [LINALG["solve"](a, b), None, None, 0],
    "linalg_inv_ex": lambda a, **_: [LINALG["inv"](a), 0], "_linalg_det": lambda a: [LINALG["det"](a), None, None],
}  # fmt: skip


class Torch:
    """The PyTorch of a user's file: makes its tensors, and records and differentiates functions."""

    name = "torch"

    def __init__(self) -> None:
        self._torch = sys.modules["torch"]
        #: Tensors of the file are of single precision, PyTorch's default, and so is all that it computes.
        self.single = False

    def precise(self) -> AbstractContextManager[Any]:
        """Nothing: tensors are made with their precision."""
        return nullcontext()

    def array(self, values: Any) -> Any:
        """A tensor of numbers, or of tensors."""
        torch = self._torch
        dtype = torch.float32 if self.single else torch.float64
        if isinstance(values, np.ndarray) and values.dtype == object and values.size:
            return torch.stack([torch.as_tensor(each, dtype=dtype) for each in values.ravel()]).reshape(values.shape)
        return torch.as_tensor(np.array(values, dtype=float) if untraced(values) else values, dtype=dtype)

    def jacobian(self, function: Callable[[Any], Any], at: Any) -> Any:
        """The derivative of a function of a vector."""
        return self._torch.autograd.functional.jacobian(function, at)

    def formulas(self, function: Callable[..., Any], arguments: Sequence[Any]) -> Any:
        """The result of a function of numbers and tensors, with formulas in the place of numbers.

        Raises:
            Refusal: it decides by values, or an operation has no formula.
        """
        examples = [self.array(np.full(shape_of(argument), 0.5)) for argument in arguments]
        try:
            recorded = self._recorded(function, examples)
        except RuntimeError as error:
            if "value out of a tracing tensor" in str(error) or "data-dependent" in str(error):
                stack = traceback.extract_tb(error.__traceback__)
                message = "a tensor becomes a number or decides the way: write torch functions and torch.where"
                raise Unsupported(message, stack) from error
            if "not allocated" in str(error) or "unallocated" in str(error):
                stack = traceback.extract_tb(error.__traceback__)
                raise Unsupported("tensors become numbers: write torch.stack and torch functions", stack) from error
            if self.single or "dtype" not in str(error):
                raise
            self.single = True
            return self.formulas(function, arguments)
        return self._values(recorded, arguments)

    def _recorded(self, function: Callable[..., Any], examples: Sequence[Any]) -> Any:
        torch = self._torch
        make_fx = importlib.import_module("torch.fx.experimental.proxy_tensor").make_fx
        core = importlib.import_module("torch._decomp").core_aten_decompositions()
        rules = {operation: rule for operation, rule in core.items() if _name(operation) not in _KNOWN}
        with _refusing_numbers(torch):
            found = make_fx(torch.func.functionalize(function), rules)(*examples)
        # The rules themselves may change arrays in place.
        return make_fx(torch.func.functionalize(found))(*examples)

    def _values(self, recorded: Any, arguments: Sequence[Any]) -> Any:
        given, known = iter(arguments), dict[Any, Any]()
        for node in recorded.graph.nodes:
            match node.op:
                case "placeholder":
                    known[node] = next(given)
                case "get_attr":
                    known[node] = getattr(recorded, node.target).detach()
                case "output":
                    return self._torch.fx.node.map_arg(node.args[0], known.__getitem__)
                case _:
                    known[node] = self._value(node, known)
        raise Unsupported("it returns nothing")

    def _value(self, node: Any, known: Mapping[Any, Any]) -> Any:
        args, options = self._torch.fx.node.map_arg((node.args, dict(node.kwargs)), known.__getitem__)
        found = self._result(node.target, list(args), dict(options))
        return self._number(found) if untraced(found) else found

    def _result(self, target: Any, args: list[Any], options: dict[str, Any]) -> Any:
        if not hasattr(target, "_schema"):
            return target(*args, **options)
        name = _name(target)
        if name == "_linalg_check_errors":
            return None
        if name in _SHAPES:
            args = [self._torch.zeros(shape_of(args[0])), *args[1:]]
        if not _has_formula((args, options)):
            return target(*args, **options)
        if name == "index_put" and len(args[1]) == 1 and is_traced(args[1][0]):
            return where(args[1][0], _plain(args[2]), args[0])
        if name in _MOVES and not (name == "index_put" and (options.get("accumulate") or args[3:] == [True])):
            return self._moved(target, args, options)
        if name == "constant_pad_nd":
            return self._moved(target, args[:2], options, args[2] if len(args) > 2 else 0)
        if name in _SAME:
            return args[0]
        if name == "_to_copy":
            dtype = options.get("dtype")
            kind = "f" if dtype is None or dtype.is_floating_point else "i"
            return number_type(args[0], kind)
        if name in ("convolution", "index_add", "index_put", "scatter_add"):
            return self._affine(target, args, options)
        if name not in _OWN:
            raise Unsupported(f"the operation '{name}' of PyTorch has no counterpart in problem files")
        return _OWN[name](*(_plain(each) for each in args), **options)

    def _moved(self, target: Any, args: list[Any], options: dict[str, Any], fill: Any = 0) -> Any:
        """An operation that moves entries, to places that are numbers."""
        index = _INDICES.get(_name(target))
        if index is not None and _has_formula(args[index]):
            raise DataDependent(library="torch")
        operands = [
            leaf for i, each in enumerate(args) if i != index for leaf in _leaves(each) if self._is_operand(leaf)
        ]
        several = list[bool]()

        def run(*places: Any) -> Any:
            put = iter(places)

            def replaced(value: Any) -> Any:
                return self._torch.as_tensor(next(put)) if self._is_operand(value) else value

            found = target(*(each if i == index else _mapped(each, replaced) for i, each in enumerate(args)), **options)
            several.append(isinstance(found, (list, tuple)))
            return found if several[0] else [found]

        results = moved(run, [_plain(each) for each in operands], fill)
        results = [each if is_traced(each) else self._number(each) for each in results]
        return results if several[0] else results[0]

    def _number(self, value: Any) -> Any:
        """A tensor of numbers, in double precision if they are not whole."""
        return self._torch.as_tensor(np.array(value.tolist() if isinstance(value, np.ndarray) else value))

    def _is_operand(self, value: Any) -> bool:
        return is_traced(value) or (isinstance(value, self._torch.Tensor) and value.is_floating_point())

    def _affine(self, target: Any, args: list[Any], options: dict[str, Any]) -> Any:
        places = [i for i, value in enumerate(args) if _has_formula(value)]
        if _name(target) == "convolution" and {0, 1} <= {*places}:
            raise Unsupported("a convolution of two values that are not numbers has no counterpart in problem files")
        args = [_plain(value) if i in places else value for i, value in enumerate(args)]

        def run(*operands: Any) -> Any:
            put = {i: self._torch.as_tensor(value) for i, value in zip(places, operands, strict=True)}
            return target(*(put.get(i, value) for i, value in enumerate(args)), **options)

        def jacobian(of: Callable[..., Any]) -> Callable[..., Any]:
            derivative = self._torch.func.jacrev(of, argnums=tuple(range(len(places))))
            return lambda *zeros: derivative(*map(self._torch.as_tensor, zeros))

        return affine(run, jacobian, [args[i] for i in places])


def _refusing_numbers(torch: Any) -> Any:
    """A mode in which no tensor becomes an array of NumPy: while it is recorded it has no numbers."""

    class Refusing(importlib.import_module("torch.overrides").TorchFunctionMode):
        def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if function in (torch.Tensor.numpy, torch.Tensor.__array__):
                raise Unsupported("a tensor becomes an array of NumPy: write torch functions")
            return function(*args, **(kwargs or {}))

    return Refusing()


def _name(operation: Any) -> str:
    """The name of an operation without its library, its variant and its way of changing an argument in place."""
    schema = getattr(operation, "_schema", None)
    name = "" if schema is None else schema.name.rpartition("::")[2]
    return name[:-1] if name.endswith("_") and not name.endswith("__") else name


_KNOWN = frozenset((*_OWN, *_MOVES))


def _plain(value: Any) -> Any:
    """A tensor as an array of NumPy; lists of them too."""
    if isinstance(value, (list, tuple)):
        return type(value)(map(_plain, value))
    return value.detach().numpy() if hasattr(value, "detach") else value


def _has_formula(value: Any) -> bool:
    return any(map(is_traced, _leaves(value)))


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, (list, tuple)):
        return [leaf for each in value for leaf in _leaves(each)]
    return _leaves(list(value.values())) if isinstance(value, dict) else [value]


def _mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    """A nested list with changed leaves."""
    return [_mapped(each, change) for each in value] if isinstance(value, (list, tuple)) else change(value)

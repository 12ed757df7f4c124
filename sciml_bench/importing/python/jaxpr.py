"""Formulas of a function of JAX, from the operations that JAX records when it calls it."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from sciml_bench.importing.python.array_operations import (
    ELEMENTWISE,
    accumulated,
    affine,
    contracted,
    largest,
    moved,
    number_type,
    reduced,
    shape_of,
    smallest,
    untraced,
)
from sciml_bench.importing.python.further_functions import LINALG, interp
from sciml_bench.importing.python.refusals import DataDependent, Refusal, Unsupported
from sciml_bench.importing.python.traced import (
    FUNCTIONS,
    UFUNCS,
    Traced,
    array,
    elementwise,
    is_traced,
    number_of,
    vector,
    where,
)

_MOST_TURNS = 100_000
_OWN = {
    **{name: ELEMENTWISE[name] for name in (
        "add", "sub", "mul", "div", "neg", "pow", "exp", "exp2", "log", "log1p", "expm1", "sqrt", "rsqrt", "sin", "cos",
        "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "sign", "abs", "floor", "ceil", "square", "lt", "le",
        "gt", "ge", "eq", "ne",
    )},
    "add_any": ELEMENTWISE["add"], "logistic": ELEMENTWISE["sigmoid"], "max": ELEMENTWISE["maximum"],
    "min": ELEMENTWISE["minimum"], "and": ELEMENTWISE["logical_and"], "or": ELEMENTWISE["logical_or"],
    "not": ELEMENTWISE["logical_not"],
    # Guards against numbers that no solution has.
    "is_finite": elementwise(lambda _: True),
}  # fmt: skip
_OF_NUMPY = ("remainder", "floor_divide", "heaviside", "hypot")
_SAME = ("copy", "copy_p", "stop_gradient", "optimization_barrier", "reduce_precision", "real")
_CALLS = ("jit", "pjit", "closed_call", "core_call", "remat", "remat2", "checkpoint", "custom_jvp_call",
          "custom_vjp_call", "custom_vjp_call_jaxpr")  # fmt: skip
#: Operations that move entries, with the first and the last of their operands that are indices.
_MOVES: dict[str, tuple[int, int | None]] = {
    **dict.fromkeys(("broadcast_in_dim", "reshape", "squeeze", "expand_dims", "transpose", "slice", "concatenate",
                     "pad", "rev", "split", "stack", "tile"), (0, 0)),
    "gather": (1, 2), "scatter": (1, 2), "dynamic_slice": (1, None), "dynamic_update_slice": (2, None),
}  # fmt: skip


class Jax:
    """The JAX of a user's file: makes its arrays, and records and differentiates functions in double precision."""

    name = "jax"

    def __init__(self) -> None:
        self._jax, self.single = sys.modules["jax"], False

    def precise(self) -> AbstractContextManager[Any]:
        """Double precision, which JAX has only on request."""
        own = self._jax if hasattr(self._jax, "enable_x64") else self._jax.experimental
        return own.enable_x64(True)

    def array(self, values: Any) -> Any:
        """An array of numbers, or of JAX's own values."""
        jnp = self._jax.numpy
        if isinstance(values, np.ndarray) and values.dtype == object and values.size:
            return jnp.stack([jnp.asarray(each) for each in values.ravel()]).reshape(values.shape)
        return jnp.asarray(np.array(values, dtype=float) if untraced(values) else values)

    def jacobian(self, function: Callable[[Any], Any], at: Any) -> Any:
        """The derivative of a function of a vector."""
        return self._jax.jacfwd(function)(at)

    def formulas(self, function: Callable[..., Any], arguments: Sequence[Any]) -> Any:
        """The result of a function of numbers and arrays, with formulas in the place of numbers.

        Raises:
            Refusal: it decides by values, or an operation has no formula.
        """
        jax = self._jax
        examples = [np.zeros(shape_of(argument)) for argument in arguments]
        try:
            recorded, shape = jax.make_jaxpr(function, return_shape=True)(*examples)
        except (jax.errors.ConcretizationTypeError, jax.errors.TracerIntegerConversionError) as error:
            raise DataDependent(traceback.extract_tb(error.__traceback__), "jnp") from error
        values = _Recorded(jax).values(recorded, arguments)
        return jax.tree.unflatten(jax.tree.structure(shape), values)


class _Recorded:
    """Evaluates recorded operations with formulas; what depends on numbers alone is computed by JAX."""

    def __init__(self, jax: Any):
        self._jax = jax
        jnp = jax.numpy
        #: Functions whose operations look at values, or that problem files have a word for.
        self._known: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
            **{name: (getattr(jnp, name), UFUNCS[name]) for name in _OF_NUMPY},
            "sinc": (jnp.sinc, FUNCTIONS["sinc"]), "_interp": (jnp.interp, interp),
            **{name: (getattr(jnp.linalg, name), LINALG[name]) for name in ("det", "inv", "solve")},
        }  # fmt: skip

    def values(self, recorded: Any, arguments: Sequence[Any]) -> list[Any]:
        """The results of a recorded function."""
        jaxpr, constants = (recorded.jaxpr, recorded.consts) if hasattr(recorded, "jaxpr") else (recorded, ())
        known: dict[Any, Any] = dict(zip(jaxpr.constvars, constants, strict=True))
        known.update(zip(jaxpr.invars, arguments, strict=True))
        for step in jaxpr.eqns:
            inputs = [_read(atom, known) for atom in step.invars]
            try:
                results = self._results(step, inputs)
            except Refusal as error:
                frames = getattr(step.source_info.traceback, "frames", None) or ()
                error.stack = traceback.StackSummary.from_list(
                    [(frame.file_name, frame.line_num, frame.function_name, None) for frame in reversed(frames)]
                )
                raise
            for variable, value in zip(step.outvars, results, strict=True):
                if untraced(value):
                    value = np.asarray(value.tolist(), dtype=variable.aval.dtype)
                known[variable] = value
        return [_read(atom, known) for atom in jaxpr.outvars]

    def _results(self, step: Any, inputs: list[Any]) -> Sequence[Any]:
        name, params = step.primitive.name, step.params
        if name == "debug_callback" or name == "debug_print":
            return ()
        if name == "unvmap_any":
            # Equinox's question whether an error is raised.
            return [np.False_]
        has_formula = any(map(is_traced, inputs))
        if name in _CALLS:
            inner = next(params[key] for key in ("jaxpr", "call_jaxpr", "fun_jaxpr") if key in params)
            ours = self._ours(params.get("name", ""), inner, step.invars) if has_formula else None
            return self.values(inner, inputs) if ours is None else [ours(*inputs)]
        if name in _LOOPS:
            return _LOOPS[name](self, params, inputs)
        if not has_formula:
            found = step.primitive.bind(*inputs, **params)
            return found if step.primitive.multiple_results else [found]
        inputs = [value if is_traced(value) else np.asarray(value)[()] for value in inputs]
        if name in _MOVES:
            return self._moved(step, inputs)
        return [self._result(step, name, params, inputs)]

    def _result(self, step: Any, name: str, params: Any, inputs: list[Any]) -> Any:
        if name in _OWN:
            return _OWN[name](*inputs)
        if name in _SAME:
            return inputs[0]
        if name in _REDUCED:
            return _REDUCED[name](inputs[0], params["axes"])
        match name:
            case "clamp":
                return elementwise(_clamped)(*inputs)
            case "argmax":
                return _first_that_holds(inputs[0], *params["axes"])
            case "integer_pow":
                return UFUNCS["power"](inputs[0], params["y"])
            case "convert_element_type":
                return number_type(inputs[0], params["new_dtype"].kind)
            case "select_n":
                return elementwise(_chosen)(*inputs)
            case "dot_general":
                over, batch = params["dimension_numbers"]
                return contracted(inputs[0], inputs[1], over, batch)
            case "cumsum" | "cumprod" | "cummax" | "cummin":
                function = {"cumsum": "add", "cumprod": "multiply", "cummax": "maximum", "cummin": "minimum"}[name]
                return accumulated(UFUNCS[function], inputs[0], params["axis"], params["reverse"])
            case "scatter-add" | "scatter-mul" | "scatter-min" | "scatter-max":
                return self._scattered(_SCATTERED[name], params, *inputs)
            case "conv_general_dilated":
                return self._linear(step, inputs, 0 if is_traced(inputs[0]) else 1)
            case "triangular_solve":
                return self._linear(step, inputs, 1)
            case _:
                raise Unsupported(f"the operation '{name}' of JAX has no counterpart in problem files")

    def _linear(self, step: Any, inputs: list[Any], place: int) -> Any:
        """An operation that is linear in the operand at a place; the others must be numbers."""
        if any(is_traced(value) for i, value in enumerate(inputs) if i != place):
            raise Unsupported(f"the operation '{step.primitive.name}' of JAX takes a matrix of numbers")

        def run(operand: Any) -> Any:
            return step.primitive.bind(*inputs[:place], operand, *inputs[place + 1 :], **step.params)

        return affine(run, lambda function: self._jax.jacfwd(function, argnums=(0,)), [inputs[place]])

    def _scattered(self, function: Callable[..., Any], params: Any, x: Any, indices: Any, updates: Any) -> Any:
        """A copy of x, in which the updates are put to the entries at the indices by a function of two numbers."""
        if is_traced(indices):
            raise DataDependent(library="jnp")
        start, names = np.zeros(shape_of(x)), ("dimension_numbers", "indices_are_sorted", "unique_indices", "mode")
        options = {name: params[name] for name in names}
        add = self._jax.jacfwd(lambda each: self._jax.lax.scatter_add(start, indices, each, **options))
        entries, more = (list(np.array(value, dtype=object).ravel()) for value in (x, updates))
        goes = np.asarray(add(np.zeros(shape_of(updates)))).reshape(len(entries), len(more))
        for i, j in zip(*np.nonzero(goes), strict=True):
            entries[i] = function(entries[i], more[j])
        return vector(entries).reshape(start.shape)[()]

    def _moved(self, step: Any, inputs: list[Any]) -> list[Any]:
        first, last = _MOVES[step.primitive.name]
        indices = inputs[first:last]
        if any(map(is_traced, indices)):
            raise DataDependent(library="jnp")

        def run(*places: Any) -> Any:
            found = step.primitive.bind(*places[:first], *indices, *places[first:], **step.params)
            return found if step.primitive.multiple_results else [found]

        return moved(run, [*inputs[:first], *inputs[first + len(indices) :]])

    def _ours(self, name: str, inner: Any, operands: Sequence[Any]) -> Callable[..., Any] | None:
        """Our function for one of JAX, if a function of the user does not merely have its name."""
        theirs, ours = self._known.get(name, (None, None))
        if theirs is None:
            return None
        shapes = [
            self._jax.ShapeDtypeStruct(each.aval.shape, each.aval.dtype, weak_type=each.aval.weak_type)
            for each in operands
        ]
        recorded = self._jax.make_jaxpr(theirs)(*shapes)
        same = any(str(step.params.get("jaxpr")) == str(inner) for step in recorded.jaxpr.eqns)
        return ours if same else None


def _read(atom: Any, known: dict[Any, Any]) -> Any:
    return atom.val if hasattr(atom, "val") else known[atom]


def _chosen(which: Any, *cases: Any) -> Any:
    """The case of an index, which may follow from conditions."""
    match number_of(which):
        case Traced(op="where", args=(condition, a, b)):
            return where(condition, _chosen(a, *cases), _chosen(b, *cases))
        case Traced():
            raise DataDependent(library="jnp")
        case place:
            return cases[int(place)]


def _clamped(low: Any, x: Any, high: Any) -> Any:
    if isinstance(x, Traced) and x.op == "where" and not is_traced((low, high)):
        condition, a, b = x.args
        return where(condition, _clamped(low, a, high), _clamped(low, b, high))
    return UFUNCS["minimum"](UFUNCS["maximum"](x, low), high)


def _first_that_holds(conditions: Any, axis: int) -> Any:
    """The place of the first condition that holds along an axis, or 0."""
    rows = list(np.moveaxis(np.array(conditions, dtype=object), axis, 0))
    if any(isinstance(each, Traced) for row in rows for each in np.ravel(row)):
        raise Unsupported("the place of the largest value has no counterpart in problem files")
    found: Any = 0
    for place, row in reversed(list(enumerate(rows))):
        found = where(row, place, found)
    return found


def _branch(recorded: _Recorded, params: Any, inputs: list[Any]) -> list[Any]:
    which, *arguments = inputs
    branches = params["branches"]
    if not is_traced(which):
        return recorded.values(branches[int(which)], arguments)
    cases = zip(*(recorded.values(branch, arguments) for branch in branches), strict=True)
    return [elementwise(_chosen)(which, *each) for each in cases]


def _scan(recorded: _Recorded, params: Any, inputs: list[Any]) -> list[Any]:
    constants, carried = params["num_consts"], params["num_carry"]
    fixed, carry, rows = inputs[:constants], inputs[constants : constants + carried], inputs[constants + carried :]
    turns = range(params["length"])
    collected: dict[int, list[Any]] = {}
    for turn in reversed(turns) if params["reverse"] else turns:
        taken = [np.asarray(row) if not is_traced(row) else array(row) for row in rows]
        found = recorded.values(params["jaxpr"], [*fixed, *carry, *(row[turn] for row in taken)])
        carry, collected[turn] = found[:carried], found[carried:]
    stacked = zip(*(collected[turn] for turn in turns), strict=True)
    return [*carry, *(array([np.array(each, dtype=object) for each in column]) for column in stacked)]


def _while(recorded: _Recorded, params: Any, inputs: list[Any]) -> list[Any]:
    tested, fixed = params["cond_nconsts"], params["body_nconsts"]
    of_test, of_body, carry = inputs[:tested], inputs[tested : tested + fixed], inputs[tested + fixed :]
    for _ in range(_MOST_TURNS):
        (goes_on,) = recorded.values(params["cond_jaxpr"], [*of_test, *carry])
        if is_traced(goes_on):
            raise DataDependent(library="jnp")
        if not goes_on:
            return carry
        carry = recorded.values(params["body_jaxpr"], [*of_body, *carry])
    raise Unsupported(f"a loop has more than {_MOST_TURNS} turns")


def _linear_solve(recorded: _Recorded, params: Any, inputs: list[Any]) -> list[Any]:
    """A solve with a matrix of numbers, as JAX writes it."""
    lengths = list(params["const_lengths"])
    names = list(params["const_lengths"]._fields)
    place = names.index("solve")
    first = sum(lengths[:place])
    constants = inputs[first : first + lengths[place]]
    return recorded.values(params["jaxprs"].solve, [*constants, *inputs[sum(lengths) :]])


_LOOPS: dict[str, Callable[[_Recorded, Any, list[Any]], list[Any]]] = {
    "cond": _branch, "scan": _scan, "while": _while, "custom_linear_solve": _linear_solve,
}  # fmt: skip
_SCATTERED = {
    "scatter-add": UFUNCS["add"], "scatter-mul": UFUNCS["multiply"], "scatter-min": UFUNCS["minimum"],
    "scatter-max": UFUNCS["maximum"],
}  # fmt: skip
_REDUCED: dict[str, Callable[[Any, Any], Any]] = {
    "reduce_sum": lambda x, axes: reduced(UFUNCS["add"], x, axes) if axes else x,
    "reduce_prod": lambda x, axes: reduced(UFUNCS["multiply"], x, axes) if axes else x,
    "reduce_max": largest, "reduce_min": smallest,
    "reduce_and": lambda x, axes: reduced(UFUNCS["logical_and"], x, axes),
    "reduce_or": lambda x, axes: reduced(UFUNCS["logical_or"], x, axes),
}  # fmt: skip

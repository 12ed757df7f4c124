"""A right-hand side that is a Python function, as the text of a problem file.

The function is called once with formulas in the place of numbers, and once with numbers to compare. Nothing of it is
run that its user did not name: this is for ``path.py:name`` and for functions of the user's own session.
"""

from __future__ import annotations

import ast
import dataclasses
import importlib.util
import inspect
import keyword
import math
import sys
import textwrap
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np

from sciml_bench.errors import ProblemError
from sciml_bench.importing.standing_in import with_stand_ins
from sciml_bench.importing.traced import Traced, Unsupported, array, is_traced, names_in, number
from sciml_bench.problem.expression import FUNCTION_NAMES
from sciml_bench.problem.reader import NAME

_POINTS, _SEED = 5, 3
_TIME_NAMES = ("t", "time", "x", "_t", "_")
_INITIAL, _PARAMETERS = ("y0", "u0", "x0", "initial"), ("p", "params", "parameters", "theta", "args")
_SPANS = ("t_span", "tspan", "span")


@dataclasses.dataclass(frozen=True)
class Given:
    """A function's initial state, time span, parameters (numbers by name, or in order), and saved times, if any."""

    y0: Mapping[str, float] | Sequence[float]
    t_span: tuple[float, float]
    p: Any = ()
    t_eval: Sequence[float] = ()


@dataclasses.dataclass(frozen=True)
class Formula:
    """A traced function: names and numbers of its states and of the parameters that it uses, and the formula of each
    state's derivative.
    """

    name: str
    states: dict[str, float]
    parameters: dict[str, float]
    derivatives: tuple[Any, ...]
    given: Given


def from_file(path: Path, name: str, **changes: Any) -> tuple[FunctionType, Given]:
    """The function of a Python file, with the file's variables ``y0``, ``p`` and ``t_span``.

    ``changes`` replace these variables. The file is run.

    Raises:
        ProblemError: it cannot be run, or its function, initial state or time span is missing.
    """
    spec = importlib.util.spec_from_file_location(f"_imported_{path.stem}", path)
    if spec is None or spec.loader is None or not path.is_file():
        raise ProblemError(f"not a Python file: {path}.", where=path, cure="Write FILE.py:NAME.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise ProblemError(
            f"it cannot be run: {type(error).__name__}: {error}.", where=path, line=_line(error, path)
        ) from error
    function = getattr(module, name, None)
    function = getattr(function, "py_func", function)
    if not isinstance(function, FunctionType):
        known = [key for key, value in vars(module).items() if isinstance(value, FunctionType)]
        raise ProblemError(f"it has no function '{name}'.", where=path, cure=f"It has {', '.join(known) or 'none'}.")

    def found(key: str, names: Sequence[str], default: Any = None) -> Any:
        if changes.get(key) is not None:
            return changes[key]
        return next((getattr(module, each) for each in names if hasattr(module, each)), default)

    y0, span = found("y0", _INITIAL), found("t_span", _SPANS)
    for what, value, example in (("y0", y0, "y0 = [1.0, 0.0]"), ("t_span", span, "t_span = (0, 10)")):
        if value is None:
            raise ProblemError(f"{what} is missing.", where=path, cure=f"Add '{example}', or give it.")
    try:
        start, end = map(float, span)
    except (TypeError, ValueError):
        raise ProblemError(
            f"t_span is not a pair of numbers: {span!r}.", where=path, cure="Write t_span = (0, 10)."
        ) from None
    return function, Given(y0, (start, end), found("p", _PARAMETERS, ()), found("t_eval", ["t_eval"], ()))


def traced(function: Callable[..., Any], given: Given) -> Formula:
    """Call a function ``f(t, y, p)``, ``f(t, y, a, b)`` or ``f(y, t, …)`` with formulas.

    Raises:
        ProblemError: it decides by values, or uses functions without a formula.
    """
    call = _Call(function, given)
    try:
        result = call.with_formulas()
    except Exception as error:
        raise call.refused(error) from error
    used = names_in(result)
    parameters = {name: value for name, value in call.parameters.items() if name in used}
    return Formula(call.function.__name__, call.states, parameters, result, given)


class _Call:
    """A function with the names of its states and parameters, and the order of its arguments."""

    def __init__(self, function: Callable[..., Any], given: Given):
        function = getattr(function, "py_func", function)
        if not isinstance(function, FunctionType):
            raise ProblemError(f"'{function!r}' is not a function.", cure="Give a function that is written with def.")
        self.function, self.given = function, given
        self.file = Path(function.__code__.co_filename)
        names = list(inspect.signature(function).parameters.values())
        if len(names) < 2:
            raise self.error("it takes fewer than two arguments.", "Write f(t, y) or f(t, y, p).")
        self.time_second = names[1].name in _TIME_NAMES[:2] and names[0].name not in _TIME_NAMES[:2]
        of_state = names[0 if self.time_second else 1].name
        rest = [item for item in names[2:] if item.kind in (item.POSITIONAL_ONLY, item.POSITIONAL_OR_KEYWORD)]
        self.states = self._states(of_state)
        self.parameters, self._build = self._parameters(given.p, rest)
        self.single = False

    def error(self, message: str, cure: str = "", line: int | None = None) -> ProblemError:
        line = line or self.function.__code__.co_firstlineno
        return ProblemError(f"function '{self.function.__name__}': {message}", where=self.file, line=line, cure=cure)

    def refused(self, error: Exception) -> ProblemError:
        """Return why a call with formulas failed, with the line of the user's file."""
        cure = "" if isinstance(error, Unsupported) else "Write it with np.where, np functions and arithmetic."
        return self.error(f"{error}." if str(error) else f"{type(error).__name__}.", cure, _line(error, self.file))

    def _states(self, argument: str) -> dict[str, float]:
        y0 = self.given.y0
        if isinstance(y0, Mapping):
            raise self.error("y0 is a dict, and the state is a vector.", "Give a list, and name it by unpacking it.")
        try:
            values = [float(value) for value in np.asarray(y0, dtype=float).ravel()]
        except (TypeError, ValueError):
            raise self.error(f"y0 is not a list of numbers: {str(y0)[:40]!r}.", "Write y0 = [1.0, 0.0].") from None
        return dict(zip(self._unpacked(argument, len(values), "y"), values, strict=True))

    def _parameters(
        self, p: Any, rest: list[inspect.Parameter]
    ) -> tuple[dict[str, float], Callable[..., tuple[Any, ...]]]:
        """The parameters by name, and the arguments after time and state that hold given values of them."""
        if dataclasses.is_dataclass(p) and not isinstance(p, type):
            named = {field.name: getattr(p, field.name) for field in dataclasses.fields(p)}
            return self._scalars(named), lambda values: (dataclasses.replace(p, **values),)
        if isinstance(p, Mapping):
            if len(rest) > 1 and {item.name for item in rest} <= p.keys():
                return self._scalars(p), lambda values: tuple(values[item.name] for item in rest)
            return self._scalars(p), lambda values: (values,)
        flat: list[Any] = [] if p is None else list(np.asarray(p, dtype=object).ravel())
        shape = np.asarray(p, dtype=object).shape
        if len(rest) == 1 and shape and not (len(flat) == 1 and self._is_scalar(rest[0].name)):
            fields = getattr(p, "_fields", None) or self._unpacked(rest[0].name, len(flat), "p")
            named = self._scalars(dict(zip(fields, flat, strict=True)))
            build: Any = (
                (lambda values: (type(p)(*values.values()),))
                if hasattr(p, "_fields")
                else (lambda values: (array(list(values.values())).reshape(shape),))
            )
            return named, build
        wanted = [item for item in rest if item.default is item.empty]
        if len(flat) > len(rest) or len(flat) < len(wanted):
            takes = ", ".join(item.name for item in rest) or "nothing"
            raise self.error(f"after time and state it takes {takes}, and p has {len(flat)} numbers.", "Give p.")
        values = [*flat, *(item.default for item in rest[len(flat) :])]
        keep = {item.name: value for item, value in zip(rest, values, strict=True) if _is_number(value)}
        others = {item.name: value for item, value in zip(rest, values, strict=True) if not _is_number(value)}
        return self._scalars(keep), lambda given: tuple({**others, **given}[item.name] for item in rest)

    def _is_scalar(self, argument: str) -> bool:
        """Return whether an argument is used as a number: without indices, unpacking, or functions of arrays."""
        try:
            tree = ast.parse(textwrap.dedent(inspect.getsource(self.function)))
        except (OSError, SyntaxError, TypeError):
            return False
        return not any(
            isinstance(part, ast.Name) and part.id == argument
            for node in ast.walk(tree)
            for part in (
                (node.value,) if isinstance(node, ast.Subscript | ast.Starred | ast.Attribute)
                else (node.value,) if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple | ast.List)
                else (node.iter,) if isinstance(node, ast.For | ast.comprehension)
                else node.args if isinstance(node, ast.Call)
                else ()
            )
        )  # fmt: skip

    def _scalars(self, named: Mapping[str, Any]) -> dict[str, float]:
        found: dict[str, float] = {}
        for name, value in named.items():
            if not _is_number(value):
                raise self.error(f"the parameter '{name}' is not a number.", "Make it a constant of the function.")
            found[_usable(str(name))] = float(value)
        return found

    def _unpacked(self, argument: str, count: int, short: str) -> list[str]:
        """The names that a function gives the entries of an argument, by ``S, I = y`` or ``S = y[0]``; or numbers."""
        found = {i: f"{short}{i + 1}" if count > 1 else short for i in range(count)}
        try:
            tree = ast.parse(textwrap.dedent(inspect.getsource(self.function)))
        except (OSError, SyntaxError, TypeError):
            return list(found.values())
        own = {
            place: name
            for node in ast.walk(tree)
            if isinstance(node, ast.Assign)
            for place, name in _entries(node.targets[0], node.value, argument, count)
        }
        named = {**found, **{place: _usable(name) for place, name in own.items() if place in found}}
        return list((named if len({*named.values()}) == count else found).values())

    def with_formulas(self) -> tuple[Any, ...]:
        """The formula of each derivative."""
        t = Traced("name", "t")
        y = array([Traced("name", name) for name in self.states])
        p = self._build({name: Traced("name", name) for name in self.parameters})
        first, second = (y, t) if self.time_second else (t, y)
        return self._flat(with_stand_ins(self.function)(first, second, *p))

    def with_numbers(self, t: float, y: Sequence[float], p: Mapping[str, float]) -> np.ndarray[Any, Any]:
        """The derivatives at a point, by the function itself."""
        torch: Any = next(
            (m for m in self.function.__globals__.values() if getattr(m, "__name__", "") == "torch"), None
        )
        convert: Any = np.asarray if torch is None else torch.as_tensor
        built = (
            convert(np.asarray(item, dtype=float)) if isinstance(item, np.ndarray) else item
            for item in self._build(dict(p))
        )
        state = convert(np.array(y, dtype=float))
        result = self.function(*((state, t) if self.time_second else (t, state)), *built)
        if not np.array_equal(np.asarray(state), np.array(y, dtype=float)):
            raise self.error("it changes y in place.", "Work on a copy, y.copy().")
        self.single |= any(getattr(value, "dtype", None) == np.float32 for value in (result, *self._raw(result)))
        return np.asarray(self._flat(np.asarray(result) if torch is not None else result), dtype=float)

    @staticmethod
    def _raw(result: Any) -> Sequence[Any]:
        return result if isinstance(result, (list, tuple)) else ()

    def _flat(self, result: Any) -> tuple[Any, ...]:
        values = list(result.values()) if isinstance(result, Mapping) else result
        if is_traced(values) and not isinstance(values, (list, tuple, np.ndarray)):
            values = [values]
        flat = tuple(np.asarray(values, dtype=object).ravel())
        if len(flat) != len(self.states):
            raise self.error(f"it returns {len(flat)} numbers for {len(self.states)} states.")
        return tuple(value if is_traced(value) else number(value) for value in flat)


def refused(function: Callable[..., Any], message: str, cure: str) -> ProblemError:
    """Return an error that names a function with its place."""
    code = getattr(function, "__code__", None)
    where, line = (None, None) if code is None else (Path(code.co_filename), code.co_firstlineno)
    return ProblemError(message, where=where, line=line, cure=cure)


def points(formula: Formula) -> list[tuple[float, list[float], dict[str, float]]]:
    """Points at which a formula is compared: around the initial state and the parameters, over the time span."""
    random = np.random.default_rng(_SEED)
    start, end = formula.given.t_span

    def near(value: float) -> float:
        size = abs(value) or 1.0
        return float(value + 0.3 * size * random.uniform(-1, 1)) if value else float(size * random.uniform(0, 1))

    return [
        (
            float(random.uniform(start, end)),
            [near(value) for value in formula.states.values()],
            {name: near(value) for name, value in formula.parameters.items()},
        )
        for _ in range(_POINTS)
    ]


def compared(function: Callable[..., Any], formula: Formula, rhs: Callable[..., Any]) -> None:
    """Compare a function with the right-hand side that was made of its formula, at several points.

    Raises:
        ProblemError: they differ, or the function is not one of its arguments alone.
    """
    call = _Call(function, formula.given)
    for t, y, p in points(formula):
        with np.errstate(all="ignore"):
            try:
                every = {**call.parameters, **p}
                own, again = call.with_numbers(t, y, every), call.with_numbers(t, y, every)
            except ProblemError:
                raise
            except Exception as error:
                raise call.refused(error) from error
            made = np.asarray(rhs(t, np.array(y), np.array(list(p.values()))), dtype=float).ravel()
        if not np.array_equal(own, again, equal_nan=True):
            raise call.error("two calls with the same arguments differ.", "Take random numbers and state out of it.")
        size = np.maximum(np.abs(own), np.abs(made))
        # JAX computes in single precision by default.
        bound = (1e-5 if call.single else 1e-12) * size + 1e-14 * float(
            np.max(size, initial=0.0, where=np.isfinite(size))
        )
        wrong = ~(np.abs(own - made) <= bound) & ~(np.isnan(own) & np.isnan(made))
        if np.any(wrong):
            place = int(np.argmax(wrong))
            name = list(formula.states)[place]
            values = f"{own[place]:.17g} by the function and {made[place]:.17g} by its formula"
            raise call.error(
                f"the derivative of {name} is {values}, at t = {t:g}.", "It may depend on more than its arguments."
            )


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating)) and math.isfinite(value)


def _entries(target: ast.expr, value: ast.expr, argument: str, count: int) -> Iterator[tuple[int, str]]:
    """The entries of an argument that an assignment gives names: their places and names."""
    targets = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
    if isinstance(value, ast.Name) and value.id == argument and len(targets) == count:
        yield from ((i, item.id) for i, item in enumerate(targets) if isinstance(item, ast.Name))
        return
    values = value.elts if isinstance(value, ast.Tuple | ast.List) else [value]
    for item, source in zip(targets, values, strict=False):
        match item, source:
            case ast.Name(), ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=int(place))):
                if name == argument:
                    yield place, item.id
            case _:
                pass


def _usable(name: str) -> str:
    """A name that problem files take."""
    taken = name in ("t", "pi", *FUNCTION_NAMES) or "__" in name or keyword.iskeyword(name)
    if not taken and NAME.fullmatch(name):
        return name
    made = f"v_{name.strip('_').replace('__', '_')}"
    return made if NAME.fullmatch(made) else f"v{abs(hash(name)) % 10**6}"


def _line(error: BaseException, path: Path) -> int | None:
    """The last line of a file that an error came through."""
    frames = traceback.extract_tb(error.__traceback__)
    return next((frame.lineno for frame in reversed(frames) if Path(frame.filename) == path), None)

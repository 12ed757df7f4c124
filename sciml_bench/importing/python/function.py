"""A right-hand side that is a Python function, as formulas.

The function is called once with formulas in the place of numbers, and then with numbers to compare. Nothing is run that
its user did not name: this is for ``path.py:name`` and for functions of the user's own session.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import importlib.util
import inspect
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from sciml_bench.errors import ProblemError
from sciml_bench.importing.equations import Equations
from sciml_bench.importing.formula_text import names_in
from sciml_bench.importing.python.arguments import distinct, entries, numbers_of, parameters, time_is_second
from sciml_bench.importing.python.libraries import LIBRARIES, library_of
from sciml_bench.importing.python.refusals import REFUSALS, Refusal
from sciml_bench.importing.python.standing_in import unwrapped, with_stand_ins
from sciml_bench.importing.python.traced import Traced, array, is_traced, number, number_of, vector
from sciml_bench.importing.python.trees import Key, Tree, Unclear, named, renamed

_INITIAL, _PARAMETERS = ("y0", "u0", "x0", "initial"), ("p", "params", "parameters", "theta", "args")
_SPANS = ("t_span", "tspan", "span")
#: Formulas of more parameters, number by number, take minutes wherever they are used.
_MOST_PARAMETERS = 2000


@dataclasses.dataclass(frozen=True)
class Given:
    """A function's initial state, time span, parameters (numbers by name, or in order), and saved times, if any."""

    y0: Any
    t_span: tuple[float, float]
    p: Any = ()
    t_eval: Sequence[float] = ()


def from_file(path: Path, name: str, **changes: Any) -> tuple[Callable[..., Any], Given]:
    """The function of a Python file, with the file's variables ``y0``, ``p`` and ``t_span``.

    ``changes`` replace these variables. The file is run.

    Raises:
        ProblemError: it cannot be run, or its function, initial state or time span is missing.
    """
    if not path.is_file():
        raise ProblemError("there is no such file.", where=path, cure="Write FILE.py:NAME.")
    module = _module_of(path, path.stat().st_mtime_ns)
    function = getattr(module, name, None)
    if not callable(function):
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
        cure = "Write t_span = (0, 10)."
        raise ProblemError(f"t_span is not a pair of numbers: {span!r}.", where=path, cure=cure) from None
    return function, Given(y0, (start, end), found("p", _PARAMETERS, ()), found("t_eval", ["t_eval"], ()))


@functools.lru_cache(maxsize=1)
def _module_of(path: Path, _changed_ns: int) -> ModuleType:
    """The module of a file, which is run once as long as it does not change."""
    spec = importlib.util.spec_from_file_location(f"_imported_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise ProblemError("not a Python file.", where=path, cure="Write FILE.py:NAME.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        with _running(path.parent):
            spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        line = error.lineno if isinstance(error, SyntaxError) else _line(error, path)
        raise ProblemError(
            f"it cannot be run: {type(error).__name__}: {_said(error)}.", where=path, line=line
        ) from error
    return module


def traced(function: Callable[..., Any], given: Given) -> Equations:
    """Call a function ``f(t, y, p)``, ``f(t, y, a, b)`` or ``f(y, t, …)`` with formulas.

    Raises:
        ProblemError: it decides by values, or uses functions without a formula.
    """
    call = Call(function, given)
    result = call.with_formulas()
    used = names_in(result)
    kept = {name: call.values[key] for key, name in call.names.items() if name in used}
    start, end = map(float, given.t_span)
    saved = [float(time) for time in given.t_eval if time != start]
    return Equations(call.name, call.states, kept, result, (start, end), saved)


class Call:
    """A function with the names of its states and parameters, and the order of its arguments."""

    def __init__(self, function: Callable[..., Any], given: Given):
        # A module of PyTorch is called around its method.
        self.function = function = getattr(function, "forward", function)
        self.given = given
        self.plain, self.library = unwrapped(function), LIBRARIES[library_of(function)]()
        self.name = getattr(function, "__name__", None) or getattr(self.plain, "__name__", "model")
        code = getattr(self.plain, "__code__", None)
        self.file, self.first_line = (Path(code.co_filename), code.co_firstlineno) if code else (None, None)
        try:
            arguments = list(inspect.signature(function).parameters.values())
        except (TypeError, ValueError):
            raise self.error("its arguments are not known.", "Give a function that is written with def.") from None
        if len(arguments) < 2:
            raise self.error("it takes fewer than two arguments.", "Write f(t, y) or f(t, y, p).")
        try:
            self.time_second = time_is_second(arguments)
            found = parameters(given.p, arguments[2:], self.plain)
        except Unclear as error:
            raise self.error(*error.args) from None
        if (count := len(found.names)) > _MOST_PARAMETERS:
            raise self.error(
                f"it has {count} parameters, and formulas take at most {_MOST_PARAMETERS}.",
                "Write a problem file with the layers under [networks].",
            )
        self.arguments, self.values, self._rest = found.arguments, found.arguments.values, arguments[2:]
        self.state = self._state()
        self.states = self._states(arguments[0 if self.time_second else 1].name)
        self.names = distinct(found.names, tuple(self.states))

    def error(self, message: str, cure: str = "", line: int | None = None) -> ProblemError:
        """An error that names the function with its place."""
        return ProblemError(
            f"function '{self.name}': {message}", where=self.file, line=line or self.first_line, cure=cure
        )

    def refused(self, error: BaseException) -> ProblemError:
        """Return why a call failed, with the line of the user's file."""
        if isinstance(error, ProblemError):
            return error
        if isinstance(error, KeyError) and error.args:
            return self.error(f"its arguments have no {error.args[0]!r}.", "", _line(error, self.file))
        short = {"jax": "jnp"}.get(self.library.name, self.library.name)
        cure = "" if isinstance(error, Refusal) else f"Write it with {short} functions, {short}.where and arithmetic."
        kind = "" if isinstance(error, Refusal) else f"{type(error).__name__}: "
        return self.error(f"{kind}{_said(error) or type(error).__name__}.", cure, _line(error, self.file))

    def _state(self) -> Tree:
        """The initial state; a list of numbers is a vector."""
        y0, numbers = self.given.y0, numbers_of(self.given.y0)
        if isinstance(y0, complex) or np.iscomplexobj(numbers):
            raise self.error("y0 is complex.", "Make the real and the imaginary part two states.")
        if isinstance(y0, (int, float)):
            numbers = np.asarray(y0, dtype=float)
        if numbers is not None and self.library.name == "numpy" and not numbers.shape:
            # Solvers of NumPy make one number a vector.
            numbers = numbers.reshape(1)
        try:
            found = Tree(y0 if numbers is None else numbers, "initial value")
        except Unclear as error:
            raise self.error(*error.args) from None
        if not found.values:
            raise self.error("y0 has no number.", "Write y0 = [1.0, 0.0].")
        return found

    def _states(self, argument: str) -> dict[str, float]:
        values = self.state.values
        if self.state.is_one:
            names = entries(self.plain, argument, len(values), "y")
        else:
            own = entries(self.plain, argument, len(self.given.y0), "y") if isinstance(self.given.y0, Sequence) else ()
            names = [named(renamed(key, own)) for key in values]
        return dict(zip(distinct(dict(enumerate(names)), ()).values(), values.values(), strict=True))

    def closed(self, function: Callable[..., Any], given: Mapping[str, Any]) -> Callable[[Any, Any], Any]:
        """A function of its arguments as one of time and state."""
        positional, keywords = list[Any](), dict[str, Any]()
        for item in self._rest:
            if item.name not in given:
                continue
            if item.kind is item.VAR_POSITIONAL:
                positional += given[item.name]
            elif item.kind is item.KEYWORD_ONLY:
                keywords[item.name] = given[item.name]
            else:
                positional.append(given[item.name])
        second = self.time_second
        return lambda t, y: function(*((y, t) if second else (t, y)), *positional, **keywords)

    def _called(self, function: Callable[..., Any], t: Any, y: Any, given: Mapping[str, Any]) -> Any:
        with _running(None if self.file is None else self.file.parent):
            return self.closed(function, given)(t, self.state.of_vector(y))

    def with_formulas(self) -> tuple[Any, ...]:
        """The formula of each derivative.

        Raises:
            ProblemError: there is none.
        """
        leaves = list[Any]()

        def keep(keys: Sequence[Key], shape: tuple[int, ...] | None) -> None:
            made = [Traced("name", self.names[key]) for key in keys]
            leaves.append(made[0] if shape is None else vector(made).reshape(shape))

        self.arguments.filled(keep)
        y = array([Traced("name", name) for name in self.states])

        def recorded(function: Callable[..., Any]) -> tuple[Any, ...]:
            """The formulas by the function's library."""

            def run(t: Any, y: Any, *leaves: Any) -> Any:
                following = iter(leaves)
                return self._called(function, t, y, self.arguments.filled(lambda *_: next(following)))

            REFUSALS.clear()
            try:
                with self.library.precise():
                    result = self._flat(self.library.formulas(run, [Traced("name", "t"), y, *leaves]))
            except (Exception, SystemExit) as error:
                raise self.refused(REFUSALS[0] if REFUSALS else error) from error
            if REFUSALS:
                # The function caught it, and went another way.
                raise self.refused(REFUSALS[0])
            return result

        chosen, first = self.library, None
        # The library is in a neighbouring file, or the file has one that this function does not use.
        others = [name for name in LIBRARIES if name != chosen.name and (name in sys.modules)]
        for library in (chosen, *(LIBRARIES[name]() for name in others)):
            self.library = library
            try:
                return recorded(with_stand_ins(self.function) if library.name == "numpy" else self.function)
            except ProblemError as error:
                first = first or error
                if library is chosen and chosen.name == "numpy" and isinstance(error.__cause__, Refusal):
                    break
        self.library = chosen
        assert first is not None
        raise first

    def with_numbers(self, t: float, y: Any, values: Mapping[Key, float]) -> np.ndarray[Any, Any]:
        """The derivatives at a point, by the function itself; errors are the function's."""
        with self.library.precise():
            try:
                result = self._evaluated(t, y, values)
            except RuntimeError as error:
                if self.library.name != "torch" or self.library.single or "dtype" not in str(error):
                    raise
                self.library.single = True
                result = self._evaluated(t, y, values)
            inner = (each for part in self.parts(result) for each in (part if isinstance(part, list) else [part]))
            if not self.library.single and any("float32" in str(getattr(each, "dtype", "")) for each in inner):
                self.library.single = True
                result = self._evaluated(t, y, values)
            return np.asarray(self._flat(result), dtype=float)

    def jacobian(self, t: float, y: Sequence[float], values: Mapping[Key, float]) -> np.ndarray[Any, Any] | None:
        """The derivatives by the states, then by the parameters, as the function's library takes them, if it does."""
        n = len(y)

        def of(z: Any) -> Any:
            result = self._called(self.function, t, z[:n], self.arguments.of_vector(z[n:]))
            joined = [self.library.array(vector(list(part)) if isinstance(part, (list, tuple)) else part).reshape(-1)
                      for part in self.parts(result)]  # fmt: skip
            entries = joined[0] if len(joined) == 1 else vector([number for part in joined for number in part])
            return self.library.array(entries)

        with self.library.precise():
            at = self.library.array(np.array([*y, *values.values()], dtype=float))
            found = self.library.jacobian(of, at)
            return None if found is None else np.asarray(found, dtype=float)

    def _evaluated(self, t: float, y: Sequence[float], values: Mapping[Key, float]) -> Any:
        """The function's own result, with arrays of its library."""
        make = self.library.array

        def leaf(keys: Sequence[Key], shape: tuple[int, ...] | None) -> Any:
            if shape is not None:
                return make(np.array([values[key] for key in keys]).reshape(shape))
            number = np.float64(values[keys[0]])
            return make(number) if self.library.name == "torch" else number

        state = make(np.array(y, dtype=float))
        before = np.asarray(state).copy()
        result = self._called(
            self.function, make(t) if self.library.name == "torch" else t, state, self.arguments.filled(leaf)
        )
        if not np.array_equal(np.asarray(state), before):
            raise self.error("it changes y in place.", "Work on a copy, y.copy().")
        return result

    def parts(self, result: Any) -> list[Any]:
        """The numbers and arrays that the function returned, in the order of the states.

        Raises:
            ProblemError: their structure is not the state's.
        """
        if not self.state.is_one:
            try:
                return self.state.parts(result)
            except Unclear as error:
                raise self.error(*error.args) from None
        if isinstance(result, Mapping):
            if {*result} != {*self.states}:
                raise self.error("it returns a dict whose keys are not the names of the states.", "Return a list.")
            return [[result[name] for name in self.states]]
        return [list(result) if isinstance(result, Iterator) else result]

    def _flat(self, result: Any) -> tuple[Any, ...]:
        if result is None:
            raise self.error("it returns None.", "Return the derivative of each state.")
        flat = list[Any]()
        for part in self.parts(result):
            made = _as_numpy(part)
            flat += np.asarray([made] if isinstance(made, Traced) else made, dtype=object).ravel().tolist()
        if len(flat) != len(self.states):
            raise self.error(f"it returns {len(flat)} numbers for {len(self.states)} states.")
        return tuple(number_of(value) if is_traced(value) else number(value) for value in flat)


@contextlib.contextmanager
def _running(folder: Path | None) -> Iterator[None]:
    """Run a user's code: its neighbours can be imported, and its prints go to standard error."""
    before = sys.path.copy()
    if folder is not None:
        sys.path.insert(0, str(folder.resolve()))
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        sys.path[:] = before


def _as_numpy(result: Any) -> Any:
    """A result whose arrays are NumPy's."""
    if isinstance(result, (list, tuple)):
        return [_as_numpy(value) for value in result]
    result = result.detach() if hasattr(result, "detach") else result
    return np.asarray(result)[()] if hasattr(result, "__array__") else result


def _said(error: BaseException) -> str:
    """The first line of an error, without its full stop."""
    return next(iter(str(error).strip().splitlines()), "")[:200].rstrip(".")


def _line(error: BaseException, path: Path | None) -> int | None:
    """The last line of a file that an error came through."""
    frames = error.stack if isinstance(error, Refusal) else traceback.extract_tb(error.__traceback__)
    return next((frame.lineno for frame in reversed(frames) if Path(frame.filename) == path), None)

"""Probes a problem: RK45 and Radau or BDF of SciPy at one tolerance, limited by counts of evaluations.

Findings for the catalog are kept in ``probes.json`` next to it, by the hash of the mathematics; findings for other
problems in the user's cache. ``python -m sciml_bench.references.probe`` writes the catalog's again.
"""

from __future__ import annotations

import itertools
import json
import os
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from sciml_bench.record.probe import RTOL, Probed, factor
from sciml_bench.spec import catalog

if TYPE_CHECKING:
    from sciml_bench.spec import Problem


#: Most evaluations of the explicit method, and most numbers that they may compute together.
EXPLICIT, NUMBERS = 100_000, 20_000_000
#: Most evaluations of the implicit method, and up to how many states its dense Jacobians are affordable.
IMPLICIT, DENSE = 10_000, 200
#: Most evaluations of BDF, which takes over where Radau ends early; each is about half of one of Radau's steps.
BDF_EVALUATIONS = 20_000
#: Most factorisations of a large sparse matrix, times its rows; the most of the catalog is 303 000.
FACTORED = 350_000
#: Up to so many trajectories of a batch are looked at, evenly spread over it.
TRAJECTORIES = 256

FILE = "probes.json"
_NAMES = ("explicit", "implicit", "limit", "suits_explicit")


def probed(problem: Problem, first: tuple[Span, ...] | None = None) -> Probed | None:
    """Return the known findings of a problem, or find and keep them; ``None`` if it has nothing to probe.

    ``first`` are the spans of its first trajectory, if they are at hand.

    Of a batch the first trajectory and the one of fastest decay are probed, and the harder one counts.
    """
    key = problem.spec_hash
    known = _kept(catalog.folder() / FILE).get(key)
    if known is not None:
        return known
    path = _cache_path(key)
    try:
        return _read(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError):
        pass
    found = probe(problem, first)
    _keep(path, found)
    return found


def probe(problem: Problem, first: tuple[Span, ...] | None = None) -> Probed:
    """Count the work of both methods; nothing is decided if the equation cannot be evaluated separately."""
    # Imported when something is probed: most plans find all that they need in the file.
    import numpy as np

    cap = min(EXPLICIT, NUMBERS // problem.n_states)
    undecided = Probed(None, None, 0, None)
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return max((_probed(found, problem.n_states, cap) for found in _hardest(problem, first)), key=_hardness)
    except Exception:
        # Whatever a strange equation does in doubles, a plan is made all the same, with both kinds of method.
        return undecided


def _probed(found: tuple[Span, ...], n_states: int, cap: int) -> Probed:
    from scipy.integrate import RK45

    implicit = _implicit_work(found, n_states)
    enough = cap if implicit is None else int(factor(n_states) * implicit)
    limit = min(cap, enough)
    explicit = _work(RK45, found, limit)
    undecided = implicit is None or limit < enough
    return Probed(explicit, implicit, limit, True if explicit is not None else None if undecided else False)


def _hardness(found: Probed) -> tuple[int, int]:
    """Order findings: explicit methods suit, undecided, they do not; of equals the one that takes more."""
    suits = {True: 0, None: 1, False: 2}[found.suits_explicit]
    return suits, found.explicit or found.implicit or 0


def _implicit_work(found: tuple[Span, ...], n_states: int) -> int | None:
    """Evaluations of Radau, or of BDF where Radau ends early; ``None`` where a Jacobian is too large, or both fail."""
    from scipy.integrate import BDF, Radau
    from scipy.sparse import issparse

    if n_states > DENSE:
        first = found[0]
        if first.jacobian is None or not issparse(first.jacobian(first.start, first.start_state)):
            return None
    work = _work(Radau, found, IMPLICIT, jacobian=n_states > DENSE)
    return work if work is not None else _work(BDF, found, BDF_EVALUATIONS, jacobian=n_states > DENSE)


def _hardest(problem: Problem, first: tuple[Span, ...] | None) -> Iterator[tuple[Span, ...]]:
    """The first trajectory, and of a batch the one whose fastest decay at the start is the fastest of all."""
    if problem.batch.size == 1:
        yield first or tuple(spans(next(problem.trajectories())))
        return
    size = problem.batch.size
    places = range(0, size, -(-size // TRAJECTORIES))
    found = [tuple(spans(trajectory)) for trajectory in problem.trajectories(places)]
    yield found[0]
    if len(found) > 1:
        fastest = max(found, key=lambda each: fastest_decay(each[0]))
        if fastest is not found[0]:
            yield fastest


def fastest_decay(span: Span) -> float:
    """Return the largest magnitude of an eigenvalue of negative real part at the start of a span, 0 if unknown."""
    import numpy as np

    y = np.asarray(span.start_state, dtype=float)
    if len(y) > DENSE:
        return 0.0
    matrix = span.jacobian(span.start, y) if span.jacobian is not None else _differenced(span, y)
    matrix = matrix.toarray() if hasattr(matrix, "toarray") else np.asarray(matrix)
    if not np.all(np.isfinite(matrix)):
        return float("inf")
    values = np.linalg.eigvals(matrix)
    return float(np.max(np.abs(values[values.real < 0]), initial=0.0))


def _differenced(span: Span, y: Any) -> Any:
    import numpy as np

    columns: list[Any] = []
    for place, size in enumerate(np.maximum(np.abs(y), np.asarray(span.atol) / RTOL)):
        moved = np.zeros_like(y)
        moved[place] = 1e-6 * size
        change = np.asarray(span.rhs(span.start, y + moved)) - np.asarray(span.rhs(span.start, y - moved))
        columns.append(change / (2e-6 * size))
    return np.array(columns).T


class Span(NamedTuple):
    """A stretch between breakpoints: the right-hand side of t and y, its ends, and of the whole problem the initial
    state and the absolute tolerances. ``jacobian`` is (n_states, n_states), full or sparse; ``None`` if it is not
    emitted.
    """

    rhs: Callable[..., Any]
    jacobian: Callable[..., Any] | None
    start: float
    end: float
    start_state: Any
    atol: Any


def spans(problem: Problem) -> Iterator[Span]:
    """The equations of a single trajectory in doubles, stretch by stretch."""
    import numpy as np

    from sciml_bench.references.double_precision import emitted_numpy

    numbers, functions = problem.numbers(), emitted_numpy(problem, as_written=True)
    p = np.array(numbers.p)
    arguments = tuple(functions["arguments"](p)) if problem.networks else (p,)
    y0 = np.array(numbers.y0)
    if problem.latent:
        given: Any = functions["GIVEN"]
        found: Any = functions["initial_state"](*given, *arguments)
        y0 = found[0] if isinstance(found, tuple) else found
        used = [network in problem.rhs_networks for network in problem.networks]
        arguments = (arguments[0], *(weights for weights, yes in zip(arguments[1:], used, strict=True) if yes))
    ends = (numbers.t0, *numbers.breakpoints, numbers.t1)
    atol = RTOL * np.array(numbers.atol_scale)
    for start, end in itertools.pairwise(ends):
        # A jump belongs to neither side.
        low = np.nextafter(start, np.inf) if start in numbers.breakpoints else start
        high = np.nextafter(end, -np.inf) if end in numbers.breakpoints else end

        def rhs(t: float, y: Any, low: float = low, high: float = high) -> Any:
            return functions["rhs"](min(max(t, low), high), y, *arguments)

        def jacobian(t: float, y: Any, low: float = low, high: float = high) -> Any:
            return functions["jacobian"](min(max(t, low), high), y, *arguments)

        yield Span(rhs, jacobian if "jacobian" in functions else None, start, end, y0, atol)


def is_finite(rhs: Callable[..., Any], t: float, y: Any) -> bool:
    """Return whether the derivative at a start is finite: if it is NaN, SciPy's RK45 tries its first step forever."""
    import numpy as np

    return bool(np.all(np.isfinite(rhs(t, y))))


def _work(method: Any, found: tuple[Span, ...], most: int, *, jacobian: bool = False) -> int | None:
    """Evaluations of a method from the first to the last end; ``None`` if it fails or takes more than ``most``.

    Raises:
        ValueError: the derivative is not finite at the start of a span.
    """
    import numpy as np

    y, work = found[0].start_state, 0
    for span in found:
        if not is_finite(span.rhs, span.start, y):
            raise ValueError(f"the derivative is not finite at t = {span.start:.6g}")
        extra = {"jac": span.jacobian} if jacobian else {}
        solver = method(span.rhs, span.start, y, span.end, rtol=RTOL, atol=span.atol, **extra)
        while solver.status == "running":
            solver.step()
            if work + solver.nfev > most or (solver.n > DENSE and solver.n * solver.nlu > FACTORED):
                return None
        if solver.status != "finished" or not np.all(np.isfinite(solver.y)):
            return None
        y, work = solver.y, work + solver.nfev
    return work


@cache
def _kept(path: Path) -> dict[str, Probed | None]:
    if not path.is_file():
        return {}
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return {item["spec_hash"]: _read(item) for item in content.values()}


def _read(content: dict[str, Any]) -> Probed | None:
    if content["limit"] is None:
        return None
    explicit, implicit, limit, suits = (content[name] for name in _NAMES)
    if not all(type(count) is int or count is None for count in (explicit, implicit)) or type(limit) is not int:
        raise ValueError("a count is a whole number")
    if suits not in (True, False, None) or (explicit is not None) != (suits is True):
        raise ValueError("the finding contradicts the counts")
    return Probed(explicit, implicit, limit, suits)


def _content(found: Probed | None) -> dict[str, int | bool | None]:
    return dict.fromkeys(_NAMES) if found is None else {name: getattr(found, name) for name in _NAMES}


def _cache_path(key: str) -> Path:
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "sciml-bench" / "probes-2" / f"{key}.json"


def _keep(path: Path, found: Probed | None) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_suffix(f".{os.getpid()}")
        temporary.write_text(json.dumps(_content(found)), encoding="utf-8")
        temporary.replace(path)
    except OSError:
        # Without a cache it is found again the next time.
        return


def renew() -> None:
    """Probe every differential equation of the catalog, and write the file next to it."""
    lines: list[str] = []
    for name in catalog.equation_names():
        problem = catalog.load(name)
        if problem.events:
            continue
        found = {"spec_hash": problem.spec_hash, **_content(probe(problem))}
        print(name, found)
        lines.append(f"  {json.dumps(name)}: {json.dumps(found)}")
    text = "{\n" + ",\n".join(lines) + "\n}\n"
    (catalog.folder() / FILE).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    renew()

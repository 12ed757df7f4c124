"""Certified references for programs: solution and gradient of a problem, to more digits than any library reaches."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from sciml_bench.errors import UsageError

if TYPE_CHECKING:
    from sciml_bench.references.check import Check
    from sciml_bench.references.store import StoredReference

Say = Callable[[str], object]


def reference(name: Path | str) -> StoredReference:
    """Return the certified reference of a problem, computed and kept if it is missing.

    Numbers are decimal strings: ``found.solution`` a row for each of ``found.times``, ``found.gradient`` of the loss by
    the parameters named in ``found.theta``; ``found.solution_digits`` and ``found.gradient_digits`` are certified.

    >>> found = api.reference("robertson")
    >>> found.states, found.solution[-1][0][:12]
    (['y1', 'y2', 'y3'], '0.0178659211')

    Raises:
        ReferenceFailure: it cannot be certified, with the reason.
        ProblemError: the problem file is wrong.
    """
    from sciml_bench.references.store import find
    from sciml_bench.spec import catalog

    found = find(catalog.given(name))
    return compute_reference(name) if found is None else found


def compute_reference(
    name: Path | str,
    *,
    gradient: bool = True,
    limit_s: float = float("inf"),
    say: Say = lambda _: None,
) -> StoredReference:
    """Compute and certify the reference of a problem, and keep it next to the problem's file, or in the cache.

    ``limit_s`` is the processor time after which it is given up; ``say`` is called with lines of progress.

    Raises:
        ReferenceFailure: it cannot be certified, with the reason.
    """
    from sciml_bench.references.build import make
    from sciml_bench.references.store import keep
    from sciml_bench.spec import catalog

    problem = catalog.given(name)
    stored, _missing = make(problem, say, limit_s, gradient)
    keep(stored, problem)
    return stored


def check_reference(name: Path | str, *, limit_s: float = float("inf"), say: Say = lambda _: None) -> Check:
    """Compute a problem at other settings and compare every number of its reference: ``found.complaints`` is empty if
    all agree.

    Raises:
        UsageError: no reference is stored.
        ReferenceFailure: the new computation fails.
    """
    from sciml_bench.references.check import check
    from sciml_bench.references.store import find
    from sciml_bench.spec import catalog

    problem = catalog.given(name)
    stored = find(problem)
    if stored is None:
        raise UsageError(f"no reference for '{problem.name}'; `sciml-bench reference compute {name}` makes one")
    return check(problem, stored, say, limit_s)

"""Hand-written idiomatic code, one module a framework, that the adapters are measured against (``adapter_tax.py``).

The neural problems stand in modules of their own, ``FRAMEWORK_neural``; weights are data, and read from the catalog.

Each module has ``CASES: dict[str, Callable[[], Handwritten]]`` from a problem's name to a function that builds the
hand-written program for it. It is what an expert in that framework would write for this one problem: the same method,
sensitivity, mode, tolerances, saved times and loss as the adapter's cell, and nothing of this package.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Handwritten(NamedTuple):
    """One hand-written program, and the adapter's cell and point that it is measured against.

    ``solve()`` integrates at the problem's nominal numbers and returns the states at the saved times,
    ``gradient()`` returns ``(loss, gradient)``; both return the framework's own arrays without waiting for them, and
    ``synchronise(output)`` blocks until ``output`` is computed. Inputs are made before the first call, as
    ``Program.prepare`` does, so neither call converts them. ``gradient`` is ``None`` where the library has none that
    works. A gradient in parts is a tuple of them, in the order of the flat one.
    """

    method: str
    sensitivity: str
    mode: str
    rtol: float
    atol: float
    solve: Callable[[], object]
    gradient: Callable[[], object] | None
    synchronise: Callable[[object], None]

"""Right-hand sides that users write in ten styles, against the code that is emitted for them after the import.

    python benchmarks/imported_functions.py
    python benchmarks/imported_functions.py --library jax "a matrix"

Each function is written once, with a module ``xp`` that is NumPy, ``jax.numpy`` or PyTorch. Both sides are called in
turn, in random order, as in ``adapter_tax.py``, whose rules and table these are: JAX's inside ``jax.jit``, PyTorch's
eagerly. Exit code 1 when a median is above the bound.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER), str(FOLDER.parent)]

import adapter_tax  # noqa: E402

LIBRARIES = {"numpy": "numpy", "jax": "jax.numpy", "torch": "torch"}
# The adapters' own choice for single calls.
TARGETS = {"numpy": "numpy", "jax": "jax", "torch": "torch-arrays"}
ROBERTSON = "y0, p, t_span = [1.0, 0.5, 0.2], [0.04, 3e7, 1e4], (0, 10)\n"
LORENZ = "y0, p, t_span = [1.0, 0.5, 0.2], [10.0, 28.0, 2.5], (0, 1)\n"
STYLES = {
    "a list": ROBERTSON + """
def f(t, y, p):
    return xp.stack([-p[0]*y[0] + p[2]*y[1]*y[2], p[0]*y[0] - p[2]*y[1]*y[2] - p[1]*y[1]**2, p[1]*y[1]**2])
""",
    "unpacking": LORENZ + """
def f(t, y, p):
    a, b, c = p
    x, v, z = y
    return xp.stack([a*(v - x), x*(b - z) - v, x*v - c*z])
""",
    "a helper": LORENZ + """
def saturating(x, k):
    return x/(k + xp.abs(x))
def f(t, y, p):
    return xp.stack([saturating(y[0], p[0]) - y[1], saturating(y[1], p[1]) - y[2], saturating(y[2], p[2]) - y[0]])
""",
    "a forcing": LORENZ + """
def f(t, y, p):
    t = xp.asarray(t)
    return xp.stack([y[1], -p[0]*xp.sin(y[0]) + p[1]*xp.cos(p[2]*t), -y[2]*xp.exp(-t)])
""",
    "a switch": LORENZ + """
def f(t, y, p):
    on = xp.where((y[0] > 0) & (y[1] < 1), p[0], -p[1])
    return xp.stack([on - y[0], xp.where(y[2] > 0, y[2], 0*y[2]) - y[1], p[2] - y[2]])
""",
    "a loop": "y0, p, t_span = [0.1*i for i in range(8)], [1.0]*8, (0, 1)\n" + """
def f(t, y, p):
    out = []
    for i in range(8):
        out.append(p[i]*(y[i - 1] - y[i]) + y[i]*(1 - y[i]))
    return xp.stack(out)
""",
    "whole vectors": LORENZ + """
def f(t, y, p):
    return p*xp.tanh(y) - y*xp.sum(y**2)
""",
    "a matrix": LORENZ + """
K = xp.asarray([[-1.0, 0.5, 0.0], [0.25, -2.0, 1.0], [0.0, 0.75, -3.0]])
def f(t, y, p):
    return p[0]*xp.tanh(K @ y) + p[1:].sum()*y
""",
    "oscillators": "y0, p, t_span = [0.3*i for i in range(10)], [1.0], (0, 1)\n" + """
def f(t, y, p):
    return p[0]*xp.sin(y[None, :] - y[:, None]).sum(1)
""",
    "a row of 100 points": "y0, p, t_span = [0.1*(i % 7) for i in range(100)], [0.5, 0.1], (0, 1)\n" + """
def f(t, y, p):
    return p[0]*(xp.roll(y, 1) - 2*y + xp.roll(y, -1)) + p[1]*y*(1 - y)
""",
}  # fmt: skip


def main() -> int:
    """Print the table; the exit code says whether every median is within the bound."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("styles", nargs="*", help="only these; without them all")
    parser.add_argument("--library", choices=LIBRARIES, action="append", default=[])
    parser.add_argument("--pairs", type=int, default=40)
    parser.add_argument("--row-s", type=float, default=10.0)
    options = parser.parse_args()
    options.clock = "wall"
    if unknown := {*options.styles} - {*STYLES}:
        parser.error(f"unknown: {', '.join(unknown)}; there are {', '.join(STYLES)}")
    print(f"{'library':<12} {'style':<20} {'call':<9} {'emitted µs':>9} {'own µs':>11} {'ratio':>7}  interval")
    rows = (
        {"framework": library, "problem": style, "call": "rhs", **row}
        for library in options.library or LIBRARIES
        for style in options.styles or STYLES
        for row in measure(library, style, options)
    )
    within = [adapter_tax.show(row) for row in rows]
    return 0 if all(within) else 1


def measure(library: str, style: str, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """One row: the emitted function against the user's."""
    import numpy as np

    from sciml_bench.emit import source
    from sciml_bench.errors import SciMLBenchError
    from sciml_bench.importing.importer import of_source
    from sciml_bench.spec import load_problem

    folder = Path(tempfile.mkdtemp())
    path = folder / "model.py"
    path.write_text(f"import {LIBRARIES[library]} as xp\n{STYLES[style]}", encoding="utf-8")
    if library == "jax":
        import jax

        jax.config.update("jax_enable_x64", True)
    if library == "torch":
        import torch

        torch.set_default_dtype(torch.float64)
    try:
        (folder / "model.toml").write_text(of_source(f"{path}:f"), encoding="utf-8")
    except SciMLBenchError as error:
        yield {"error": str(error)}
        return
    problem = load_problem(folder / "model.toml")
    (folder / "emitted.py").write_text(source(problem, TARGETS[library]), encoding="utf-8")
    own, emitted = (_module(folder / f"{name}.py") for name in ("model", "emitted"))
    numbers = problem.numbers()
    p_own = np.array(own.p)
    p_ours = np.array(numbers.p)
    ours, mine = _calls(library, emitted, own.f, np.array(numbers.y0), p_ours, p_own)
    if not np.allclose(np.asarray(ours()), np.asarray(mine()), rtol=1e-12, atol=1e-13):
        yield {"error": "they differ"}
        return
    found = adapter_tax.compare(ours, mine, options)
    # The table's columns hold microseconds here.
    yield {**found, **{key: 1e3 * found[key] for key in ("ours_ms", "hand_ms")}}


def _module(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(f"_{path.stem}_{path.parent.name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _calls(
    library: str, emitted: Any, own: Any, y: Any, p_emitted: Any, p_own: Any
) -> tuple[Callable[[], Any], Callable[[], Any]]:
    if library == "torch":
        import torch

        y, p_emitted, p_own = (torch.as_tensor(value, dtype=torch.float64) for value in (y, p_emitted, p_own))
        # What parameters alone determine is computed once a solve.
        given = emitted.prepared(p_emitted) if hasattr(emitted, "prepared") else p_emitted
        t = torch.tensor(0.3)
        return partial(emitted.rhs, t, y, given), partial(own, t, y, p_own)
    theirs = emitted.rhs
    if library == "jax":
        import jax

        theirs, own = (_waiting(jax.jit(function)) for function in (theirs, own))
    else:
        # The adapter for SciPy gives Python's own numbers.
        p_emitted = p_emitted.tolist()
    return partial(theirs, 0.3, y, p_emitted), partial(own, 0.3, y, p_own)


def _waiting(function: Any) -> Any:
    return lambda *arguments: function(*arguments).block_until_ready()


if __name__ == "__main__":
    sys.exit(main())

"""A cell as a stand-alone script: the model, the solver and the gradient in its framework, without this package.

Parts for all frameworks: the head, the numbers, and the check of the results against the reference.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import io
import math
import re
import tokenize
from collections.abc import Sequence
from typing import Any

from sciml_bench.adapters.base import Adapter
from sciml_bench.adapters.segments import Segment, split
from sciml_bench.errors import UsageError
from sciml_bench.record.task import Point, Task

_PER_LINE = 5


def script_of(adapter: Adapter, task: Task, point: Point) -> str:
    """The script of a cell at a tolerance.

    Raises:
        UsageError: there is none for this adapter, or for this kind of problem.
    """
    if not adapter.script:
        raise UsageError(f"there are no scripts for {adapter.name} yet; `describe --code {adapter.name}` has the model")
    module, _, function = adapter.script.partition(":")
    return getattr(importlib.import_module(module), function)(task, point)


def has(task: Task, name: str) -> bool:
    """Return whether the emitted source defines a function or a constant of this name."""
    return f"\ndef {name}(" in task.source or f"\n{name} = " in task.source


def events(task: Task) -> list[tuple[str, int | None, tuple[float, ...]]]:
    """Name, direction and times of each event of the emitted source."""
    line = next((line for line in task.source.splitlines() if line.startswith("EVENTS = ")), "= ()")
    return list(ast.literal_eval(line.partition("= ")[2]))


def numbers(name: str, values: Sequence[float]) -> str:
    """A vector as a statement, a few numbers to a line."""
    texts = [repr(float(value)) for value in values]
    if len(texts) <= _PER_LINE:
        return f"{name} = np.array([{', '.join(texts)}])"
    rows = [", ".join(texts[start : start + _PER_LINE]) for start in range(0, len(texts), _PER_LINE)]
    return "\n".join([f"{name} = np.array([", *(f"    {row}," for row in rows), "])"])


def head(task: Task, needs: str, calls: str = "gradients") -> str:
    """The docstring; a script is of gradients or of ``solves``."""
    cell = task.cell
    what = "parameters" if task.numbers.wrt == "parameters" else "initial values"
    of = f"gradients of its loss with respect to its {what}" if calls == "gradients" else calls
    first = f"{cell.problem}: {of}, by {cell.solver}."
    return f'"""{first}\n\nNeeds {needs}.\n"""\n'


def model(task: Task) -> str:
    """The emitted source without its own docstring."""
    return task.source.partition('"""\n')[2].strip("\n")


def imports(task: Task, *needed: str, first: Sequence[str] = ()) -> str:
    """The imports of the model and of its solver, sorted; ``first`` are lines that stand before them."""
    text = model(task)
    found = {line for line in text.splitlines() if line.startswith(("import ", "from "))} | set(needed)
    if "math." not in text:
        found.discard("import math")
    found |= {"import time", "import numpy as np"}
    return "\n".join([*first, *sorted(found, key=lambda line: (line.startswith("from "), line))])


def quoted(objects: Sequence[Any]) -> tuple[str, list[str]]:
    """Functions and classes of an adapter as they are in this package, and the imports that they need."""
    texts = [inspect.getsource(item) for item in dict.fromkeys(objects)]
    used = set(re.findall(r"\w+", "\n".join(texts)))
    aliases = [f"{name} = {text}" for name, text in _ALIASES.items() if name in used]
    used |= {word for line in aliases for word in re.findall(r"\w+", line)}
    imports = [f"from {module} import {name}" for name, module in _IMPORTED.items() if name in used]
    return "\n\n\n".join(["\n".join(aliases), *texts] if aliases else texts), imports


_ALIASES = {
    "Vector": "np.ndarray", "Indices": "np.ndarray", "IndexArray": "np.ndarray",
    "Parameters": "Sequence[float] | np.ndarray", "Fill": "Callable[[float, np.ndarray, np.ndarray], None]",
    "Function": "Callable[..., Any]", "DIFFERENCE": "float(np.sqrt(np.finfo(float).eps))",
}  # fmt: skip
_IMPORTED = {
    "Callable": "collections.abc", "Iterator": "collections.abc", "Sequence": "collections.abc", "Any": "typing",
    "NamedTuple": "typing", "NDArray": "numpy.typing", "csc_matrix": "scipy.sparse", "csr_matrix": "scipy.sparse",
    "issparse": "scipy.sparse", "reverse_cuthill_mckee": "scipy.sparse.csgraph",
}  # fmt: skip


class Model(str):
    """The source of a model, whose constants bear the names that its author gave them."""


def body(task: Task) -> Model:
    """The model without its imports."""
    lines = model(task).splitlines()
    return Model("\n".join(line for line in lines if not line.startswith(("import ", "from "))))


def given(task: Task, point: Point) -> str:
    """The numbers of the problem and the tolerances."""
    values = task.numbers
    return "\n".join(
        [
            numbers("P", values.p),
            numbers("Y0", values.y0),
            *([f"BATCH = {values.batch}  # trajectories, one after the other in Y0"] if values.batch > 1 else []),
            f"T0, T1 = {values.t0!r}, {values.t1!r}",
            numbers("SAVED", values.save_times),
            f"RTOL = {point.rtol!r}",
            numbers("SCALE", values.atol_scale[: values.n_states]),
            f"ATOL = {point.atol!r}*SCALE",
        ]
    )


def segments(parts: Sequence[Segment]) -> list[str]:
    """The smooth parts of the time span."""
    lines = [
        f"    ({part.start!r}, np.array({list(part.times)!r}), {part.n_saved}, {_bound_of(part.low)}, "
        f"{_bound_of(part.high)}),"
        for part in parts
    ]
    told = "# Start, times, how many of them are saved, and the bounds of t, of each smooth part of the time span."
    return [told, "PARTS = [", *lines, "]"]


def _bound_of(value: float) -> str:
    return repr(value) if math.isfinite(value) else f'float("{value}")'


def solves(
    task: Task,
    point: Point,
    needs: str,
    imported: Sequence[str],
    *,
    constants: Sequence[str] = (),
    functions: str = "",
    before: Sequence[str] = (),
    data: str = "p",
    parts: Sequence[str],
) -> str:
    """A script of solves. Its ``solve`` begins with ``data`` and ``y`` and goes through ``parts``; ``constants`` stand
    after the numbers of the problem, ``before`` in front of that function.
    """
    theta = "theta, Y0" if task.numbers.wrt == "parameters" else "P, np.asarray(theta, dtype=float)"
    lines = [
        *before, "", "",
        "def solve(theta):", '    """The states at the saved times."""', f"    {data}, y = {theta}", "    saved = []",
        *parts,
        "    return np.concatenate(saved)",
    ]  # fmt: skip
    return joined(
        head(task, needs, "solves"),
        imports(task, *imported),
        "# The model.",
        body(task),
        "# Its numbers, and how it is solved.",
        "\n".join([given(task, point), *segments(split(task.numbers)), *constants]),
        functions,
        "\n".join(lines),
        check_of_solve(task),
    )


def time_within(task: Task) -> str:
    """The time of a right-hand side; if it jumps, between the bounds behind the parameters ``p``."""
    n = len(task.numbers.p)
    return f"min(max(t, p[{n}]), p[{n + 1}])" if any(part.clipped for part in split(task.numbers)) else "t"


def check_of_solve(task: Task) -> str:
    """The printing part of a script of solves: the last state, the time of a call, and its error."""
    reference, n_saved = task.reference, len(task.numbers.save_times)
    end = reference.solution[-1] if reference is not None and reference.rows[-1] == n_saved - 1 else (None,)
    known = [value for value in end if value is not None]
    theta = "P" if task.numbers.wrt == "parameters" else "Y0"
    lines = ['if __name__ == "__main__":', f"    states = solve({theta})"]
    if reference is not None and len(known) == len(end):
        lines[:0] = [f"# The {reference.kind} state at the last saved time.", numbers("REFERENCE", known), "", ""]
    lines += [
        *_timing(theta, "{}", "solve(theta)"),
        '    print(f"last state {states[-1]}")',
        '    print(f"{1e3*np.median(times):.3g} ms per solve")',
    ]
    if len(known) == len(end):
        lines += [
            "    errors = np.abs(states[-1] - REFERENCE)/np.maximum(np.abs(REFERENCE), SCALE)",
            '    print(f"largest relative error of the last state {np.max(errors):.1e}")',
        ]
    return "\n".join(lines) + "\n"


def _timing(theta: str, inputs: str, timed: str) -> list[str]:
    """Lines that collect the times of calls."""
    return [
        "    times = []",
        "    while len(times) < 20 or (sum(times) < 1 and len(times) < 1000):",
        f"        theta = {inputs.format(f'{theta}*(1 + 1e-6*len(times))')}",
        "        start = time.perf_counter()",
        f"        {timed}",
        "        times.append(time.perf_counter() - start)",
    ]


def known_gradient(task: Task) -> tuple[Sequence[float], list[int], Sequence[float]]:
    """The reference's gradient, the places of its certain components, and the sizes of the quantities it is by."""
    reference = task.reference
    gradient = (reference.gradient if reference is not None else None) or ()
    digits = (reference.gradient_digits if reference is not None else ()) or (1.0,) * len(gradient)
    certain = [index for index, good in enumerate(digits[: len(gradient)]) if good > 0]
    return gradient, certain, task.theta.sizes if task.theta is not None else [1.0] * len(task.numbers.theta)


def check(task: Task, inputs: str = "{}", timed: str = "value_and_gradient(theta)") -> str:
    """The printing part: the loss, the gradient, the time of a call, and the error against the reference.

    ``inputs`` is how a framework holds theta before a call, and ``timed`` the call itself, without what brings its
    result to NumPy.
    """
    reference = task.reference
    gradient, certain, sizes = known_gradient(task)
    at = "[CERTAIN]" if len(certain) < len(gradient) else ""
    lines = ['if __name__ == "__main__":']
    if certain and reference is not None:
        lines[:0] = [
            f"# The {reference.kind} gradient, and the sizes of the quantities it is taken with respect to.",
            numbers("REFERENCE", gradient),
            numbers("SIZES", sizes),
            *([f"CERTAIN = {certain}  # the components that the reference has"] if at else []),
            "",
            "",
        ]
    theta = "P" if task.numbers.wrt == "parameters" else "Y0"
    lines += [
        f"    value, slopes = value_and_gradient({theta})",
        *_timing(theta, inputs, timed),
        '    print(f"loss {value:.12g}")',
        '    print(f"gradient {slopes}")',
        '    print(f"{1e3*np.median(times):.3g} ms per gradient")',
    ]
    if certain:
        lines += [
            f"    error = np.linalg.norm((SIZES*(slopes - REFERENCE)){at})/np.linalg.norm((SIZES*REFERENCE){at})",
            '    print(f"relative error of the gradient {error:.1e}")',
        ]
    return "\n".join(lines) + "\n"


def joined(*parts: str) -> str:
    """The parts, two empty lines apart. Constants of the model that have a name of the script's own get another one."""
    taken = _bound("\n".join(part for part in parts if not isinstance(part, Model)))
    texts = [_renamed(part, taken) if isinstance(part, Model) else part for part in parts]
    return "\n\n\n".join(text.strip("\n") for text in texts if text.strip()) + "\n"


def _bound(text: str) -> set[str]:
    """The names that a module of this text binds."""
    names: set[str] = set()
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign | ast.AnnAssign):
            names |= {found.id for found in ast.walk(node) if isinstance(found, ast.Name) and _is_stored(found)}
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names |= {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
    return names


def _is_stored(name: ast.Name) -> bool:
    return isinstance(name.ctx, ast.Store)


def _renamed(text: str, taken: set[str]) -> str:
    clashing = _bound(text) & taken
    if not clashing:
        return text
    tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    used = taken | {token.string for token in tokens}
    new: dict[str, str] = {}
    for name in sorted(clashing):
        new[name] = name + "_"
        while new[name] in used:
            new[name] += "_"
    lines = text.splitlines(keepends=True)
    # From the end, so that earlier places stay the same.
    for before, token in reversed(list(zip([None, *tokens], tokens, strict=False))):
        if token.type == tokenize.NAME and token.string in new and (before is None or before.string != "."):
            (row, start), (_, end) = token.start, token.end
            lines[row - 1] = lines[row - 1][:start] + new[token.string] + lines[row - 1][end:]
    return "".join(lines)

"""Tables for papers: LaTeX with booktabs and siunitx, one for each table of the report.

The number in brackets is half the width of the 95 % interval of the median over processes, in units of the last digit.
The best value is bold only where every other row of the table was judged slower than it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby

from sciml_bench.analysis import quantities
from sciml_bench.analysis.rows import Time
from sciml_bench.charts.chart import clean
from sciml_bench.export.cells import Line, million_gradients_cost
from sciml_bench.stats.centre import Iterations, centre
from sciml_bench.stats.verdict import Verdict

PREAMBLE = (
    r"% In the preamble: \usepackage{booktabs,siunitx}",
    r"% \sisetup{detect-weight = true, mode = text, table-align-uncertainty = true}",
)

_ESCAPES = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': r"{\char34}", "'": r"\textquotesingle{}", "`": r"\textasciigrave{}",
    "-": "{-}", "µ": r"\textmu{}", "×": r"$\times$", "–": "--", "…": r"\dots{}", "≤": r"$\leq$",
}  # fmt: skip
_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, r"\textmu s"), (1e-9, "ns"))
_MIB = 2.0**20

# Two processes have an interval ten times as wide as they lie apart: it says nothing but that there are two.
_FEWEST_FOR_BRACKETS = 3


def escaped(text: str) -> str:
    """One line in which nothing is a command; letters that pdfLaTeX may not know are written as their code."""
    return "".join(_letter(letter) for letter in clean(text, 200))


def _letter(letter: str) -> str:
    if letter in _ESCAPES:
        return _ESCAPES[letter]
    known = letter.isascii() or ("\u00c0" <= letter <= "\u00ff" and letter not in "ÐÞðþ")
    return letter if known else f"U+{ord(letter):04X}"


def latex(lines: Iterable[Line], price_per_hour: float | None = None) -> Iterator[str]:
    """The lines of text, without line feeds."""
    yield from PREAMBLE
    for (_, _), of_table in groupby(lines, key=lambda line: (line.problem, line.table)):
        yield ""
        yield from _table(list(of_table), price_per_hour)


def _table(rows: Sequence[Line], price: float | None) -> Iterator[str]:
    columns = _columns(rows, price)
    yield r"\begin{table}"
    # Six columns of numbers are wide for a page of text.
    yield r"  \centering\footnotesize\setlength{\tabcolsep}{3pt}"
    yield f"  \\caption{{{_caption(rows)}}}"
    yield f"  \\begin{{tabular}}{{l{''.join(f'S[table-format={_format(cells)}]' for _, cells in columns)}}}"
    yield r"    \toprule"
    yield f"    {' & '.join(['cell', *(f'{{{heading}}}' for heading, _ in columns)])} \\\\"
    yield r"    \midrule"
    for number, line in enumerate(rows):
        yield f"    {' & '.join([_name(line), *(cells[number] for _, cells in columns)])} \\\\"
    yield r"    \bottomrule"
    yield r"  \end{tabular}"
    yield r"\end{table}"


def _name(line: Line) -> str:
    which = line.cell.cell
    words = [which.adapter, which.method, which.sensitivity, which.mode]
    words += [value for value in (which.precision, which.device) if value not in {"float64", "cpu"}]
    return escaped(" ".join(words))


def _caption(rows: Sequence[Line]) -> str:
    first = rows[0]
    words = [f"{escaped(first.problem)}, {escaped(first.table)}."]
    if not first.comparable:
        words.append("These times are not for comparison: one process per cell, or all of them disturbed.")
    for name, target in (("solve", first.comparison.solve_target), ("gradient", first.comparison.gradient_target)):
        if target.digits is not None:
            words.append(f"Time per {name} at an error of \\num{{{quantities.error(10.0**-target.digits)}}}.")
        elif target.rtol is not None:
            words.append(f"Time per {name} at a relative tolerance of \\num{{{quantities.tolerance(target.rtol)}}}.")
    words.append(
        r"In brackets half the width of the 95\,\% interval of the median over processes, from "
        f"{_FEWEST_FOR_BRACKETS} processes on. Bold: judged faster than every other row."
    )
    return " ".join(words)


Cells = list[str]


def _columns(rows: Sequence[Line], price: float | None) -> list[tuple[str, Cells]]:
    """The headings and what stands below them."""
    found = [
        _time_column("first gradient", [_first(line) for line in rows], [""] * len(rows)),
        _of_call("solve", rows, lambda line: line.row.solve if line.row else None),
        _of_call("gradient", rows, lambda line: line.row.gradient if line.row else None),
        ("gradient error", [_scientific(line.row.gradient_error if line.row else None) for line in rows]),
        ("memory (MiB)", [_plain(_mib(line)) for line in rows]),
    ]
    if price is not None:
        found.append((r"cost of $10^6$", [_plain(million_gradients_cost(line, price)) for line in rows]))
    return found


def _of_call(name: str, rows: Sequence[Line], get: Callable[[Line], Time | None]) -> tuple[str, Cells]:
    times = [get(line) for line in rows]
    blocks = [[s for s in time.blocks.values() if s is not None] if time else [] for time in times]
    prefixes = [r"\leq" if time is not None and time.seconds and time.at_most else "" for time in times]
    heading, cells = _time_column(name, blocks, prefixes)
    best = _best(rows, name)
    return heading, [rf"\bfseries {cell}" if place == best else cell for place, cell in enumerate(cells)]


def _best(rows: Sequence[Line], quantity: str) -> int | None:
    """The row that every other row with a time was judged slower than; ``None`` when there is none."""
    others = [found for line in rows if (found := line.standings.get(quantity)) is not None]
    fastest = [place for place, line in enumerate(rows) if line.is_fastest.get(quantity)]
    decided = others and all(found.judgement.verdict is Verdict.SLOWER for found in others)
    return fastest[0] if decided and fastest else None


def _first(line: Line) -> list[float]:
    return [seconds for process in line.cell.processes if (seconds := process.first_gradient_process_s) is not None]


def _time_column(name: str, processes: Sequence[Sequence[float]], prefixes: Sequence[str]) -> tuple[str, Cells]:
    """Times in one common unit, that of the middle of the smallest and the largest; their intervals in brackets."""
    centres = [centre(Iterations(1, seconds, None) for seconds in of_cell) for of_cell in processes]
    known = [found.median for found in centres if found is not None and found.median > 0]
    middle = math.sqrt(min(known, default=1.0) * max(known, default=1.0))
    scale, unit = next(((s, u) for s, u in _UNITS if middle >= 0.9995 * s), _UNITS[-1])
    cells: Cells = []
    for found, prefix in zip(centres, prefixes, strict=True):
        if found is None:
            cells.append("{--}")
            continue
        half = (found.high - found.low) / 2 if found.n >= _FEWEST_FOR_BRACKETS else None
        text = with_uncertainty(found.median / scale, None if half is None else half / scale)
        cells.append(f"{{${prefix} {text}$}}" if prefix else text)
    return f"{name} ({unit})", cells


def with_uncertainty(value: float, half: float | None) -> str:
    """A number with its uncertainty in units of its last digit, such as ``12.34(56)``: two digits of it.

    Without one, or with one that is 0, three significant digits; one that is larger than the number stays readable.
    """
    if value <= 0 or not math.isfinite(value):
        return "{--}"
    if half is None or not 0 < half < math.inf:
        decimals = max(0, 2 - math.floor(math.log10(value)))
        return f"{value:.{decimals}f}"
    decimals = max(0, 1 - math.floor(math.log10(half)))
    # No more digits than are read: an uncertainty far below the number does not make it more interesting.
    decimals = min(decimals, max(0, 3 - math.floor(math.log10(value))))
    return f"{value:.{decimals}f}({max(1, round(half * 10**decimals))})"


def _scientific(value: float | None) -> str:
    return "{--}" if not value else f"{value:.1e}".replace("e-0", "e-").replace("e+0", "e")


def _plain(value: float | None) -> str:
    return "{--}" if value is None else with_uncertainty(value, None)


def _mib(line: Line) -> float | None:
    return None if line.cell.peak_rss_bytes is None else line.cell.peak_rss_bytes / _MIB


def _format(cells: Cells) -> str:
    """The format of a column for siunitx: digits before and after the point, of the uncertainty, of the exponent."""
    numbers = [cell.removeprefix(r"\bfseries ") for cell in cells if "{" not in cell]
    mantissas = [number.partition("e")[0].partition("(")[0] for number in numbers]
    whole = max((len(mantissa.partition(".")[0]) for mantissa in mantissas), default=1)
    decimals = max((len(mantissa.partition(".")[2]) for mantissa in mantissas), default=0)
    brackets = max((len(number.partition("(")[2].rstrip(")")) for number in numbers), default=0)
    exponents = [number.partition("e")[2] for number in numbers]
    digits = max((len(exponent.lstrip("-")) for exponent in exponents), default=0)
    sign = "-" if any(exponent.startswith("-") for exponent in exponents) else ""
    return f"{whole}.{decimals}" + (f"({brackets})" if brackets else "") + (f"e{sign}{digits}" if digits else "")

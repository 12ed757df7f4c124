"""Tables for papers: LaTeX with booktabs and siunitx, one for each table of the report.

The number in brackets is half the width of the 95 % interval of the median over processes, in units of the last digit.
The best value is bold only where every other row of the table was judged slower than it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from sciml_bench.analysis.analysis import Analysis
from sciml_bench.analysis.tables.cells import paper_tables
from sciml_bench.analysis.tables.table import Column, Entry, Table, Unit
from sciml_bench.charts.chart import clean

PREAMBLE = (
    r"% In the preamble: \usepackage{booktabs,siunitx}",
    r"% \sisetup{detect-weight = true, mode = text, table-align-uncertainty = true}",
)

_ESCAPES = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': r"{\char34}", "'": r"\textquotesingle{}", "`": r"\textasciigrave{}",
    "-": "{-}", "⁶": r"$^6$", "µ": r"\textmu{}", "×": r"$\times$", "–": "--", "…": r"\dots{}", "≤": r"$\leq$",
}  # fmt: skip
_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, r"\textmu s"), (1e-9, "ns"))
_MIB = 2.0**20

# A page of text holds this many columns of numbers; ``only`` takes them from the table of the report.
_HEADINGS = ("1st gradient", "solve", "gradient", "gradient error", "memory", "cost of 10⁶ gradients")
_LONGEST_NOTE = 400
_READING = (
    r"In brackets half the width of the 95\,\% interval of the median over processes, from 3 processes on. Bold: "
    r"judged faster than every other row."
)


def escaped(text: str, longest: int = 200) -> str:
    """One line in which nothing is a command; letters that pdfLaTeX may not know are written as their code."""
    return "".join(_letter(letter) for letter in clean(text, longest))


def _letter(letter: str) -> str:
    if letter in _ESCAPES:
        return _ESCAPES[letter]
    known = letter.isascii() or ("\u00c0" <= letter <= "\u00ff" and letter not in "ÐÞðþ")
    return letter if known else f"U+{ord(letter):04X}"


def latex(analysis: Analysis, price_per_hour: float | None = None) -> Iterator[str]:
    """The tables of cells as lines of text, without line feeds."""
    yield from PREAMBLE
    for problem, table in paper_tables(analysis, price_per_hour):
        yield ""
        yield from table_lines(f"{problem}, {table.caption}.", table.only(_HEADINGS).named())


def table_lines(caption: str, table: Table) -> Iterator[str]:
    """One table with its caption."""
    numbers = [place for place, column in enumerate(table.columns) if column.number]
    columns = [_column(table.columns[place], [row[place] for row in table.rows]) for place in numbers]
    notes = " ".join(escaped(note, _LONGEST_NOTE) for note in table.notes)
    yield r"\begin{table}"
    # Six columns of numbers are wide for a page of text.
    yield r"  \centering\footnotesize\setlength{\tabcolsep}{3pt}"
    yield f"  \\caption{{{escaped(caption)} {notes} {_READING}}}"
    yield f"  \\begin{{tabular}}{{l{''.join(f'S[table-format={_format(cells)}]' for _, cells in columns)}}}"
    yield r"    \toprule"
    yield f"    {' & '.join([escaped(table.columns[0].text), *(f'{{{heading}}}' for heading, _ in columns)])} \\\\"
    yield r"    \midrule"
    for number, row in enumerate(table.rows):
        yield f"    {' & '.join([escaped(row[0].text), *(cells[number] for _, cells in columns)])} \\\\"
    yield r"    \bottomrule"
    yield r"  \end{tabular}"
    yield r"\end{table}"


def _column(column: Column, entries: Sequence[Entry]) -> tuple[str, list[str]]:
    """The heading of a column of numbers, and the texts below it."""
    heading = escaped(column.text)
    match column.unit:
        case Unit.SECONDS:
            scale, unit = _scale([entry.value for entry in entries])
            return f"{heading} ({unit})", [_number(entry, scale) for entry in entries]
        case Unit.BYTES:
            return f"{heading} (MiB)", [_number(entry, _MIB) for entry in entries]
        case Unit.ERROR:
            return heading, [_scientific(entry.value) for entry in entries]
        case Unit.NONE:
            return heading, [_number(entry, 1.0) for entry in entries]


def _number(entry: Entry, scale: float) -> str:
    if entry.value is None:
        return "{--}"
    text = with_uncertainty(entry.value / scale, None if entry.half is None else entry.half / scale)
    text = f"{{$\\leq {text}$}}" if entry.at_most else text
    return rf"\bfseries {text}" if entry.mark == "best" else text


def _scale(seconds: Sequence[float | None]) -> tuple[float, str]:
    """One unit for a column: the one of the geometric middle of the smallest and the largest."""
    known = [value for value in seconds if value is not None and value > 0]
    middle = math.sqrt(min(known, default=1.0) * max(known, default=1.0))
    return next(((scale, unit) for scale, unit in _UNITS if middle >= 0.9995 * scale), _UNITS[-1])


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


def _format(cells: Sequence[str]) -> str:
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

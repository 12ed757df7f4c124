"""The phases of a process as one stacked line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from sciml_bench.analysis.summary import CellSummary
from sciml_bench.analysis.tables import formatting
from sciml_bench.record.training import PHASES


@dataclass(frozen=True)
class Part:
    """One part of the stack: its name, the letter that draws it, and the phases that it is made of."""

    name: str
    letter: str
    phases: tuple[str, ...]


PARTS = (
    Part("start", "s", ("spawn", "interpreter")),
    Part("import", "i", ("import",)),
    Part("build", "b", ("build",)),
    Part("trace", "t", ("trace",)),
    Part("lower", "l", ("lower",)),
    Part("compile", "c", ("compile",)),
    Part("1st gradient", "G", ("first_gradient",)),
    Part("1st solve", "S", ("first_solve",)),
    Part("other 1st calls", "o", ("points",)),
    Part("warm-up", "w", ("warm_up",)),
    Part("steady", "=", ("steady",)),
    Part("transfer", "x", ("transfer",)),
    Part("training", "T", PHASES),
    Part("stability", "?", ("stability",)),
    Part("check", "d", ("check",)),
)

REST = Part("rest", ".", ())
"""Reading results back, scoring, telling the engine, and ending."""

# Parts below this share of a process are drawn, if they are long enough, but not named.
_NAMED_SHARE = 0.01

_NARROWEST_BAR = 20
_BAR = 32


@dataclass(frozen=True)
class PhaseBreakdown:
    """The phases of one cell in seconds, each the median over its processes, and the median wall time."""

    names: tuple[str, ...]
    total_s: float
    parts_s: dict[str, float]


def stack(cell: CellSummary) -> PhaseBreakdown | None:
    """The stack of a cell; ``None`` if no process reported phases."""
    told = [process for process in cell.processes if process.phases_s and process.wall_s > 0]
    if not told:
        return None
    parts = {
        part.name: median(sum(process.phases_s.get(phase, 0.0) for phase in part.phases) for process in told)
        for part in PARTS
    }
    rest = median(max(0.0, process.wall_s - sum(process.phases_s.values())) for process in told)
    known = {name: seconds for name, seconds in {**parts, REST.name: rest}.items() if seconds > 0}
    return PhaseBreakdown(cell.cell.words, median(process.wall_s for process in told), known)


def legend() -> str:
    """The meaning of the letters."""
    letters = ", ".join(f"{part.letter} {part.name}" for part in (*PARTS, REST))
    return f"Time spent: {letters} (reading, scoring, ending, phases that were cut)."


def lines(stacks: Sequence[PhaseBreakdown], width: int) -> Iterator[str]:
    """A line per cell on a terminal: its name, its total, its bar, and, beside or below it, its longest parts."""
    name_width = max(len(" ".join(item.names)) for item in stacks)
    beside = width >= name_width + _BAR + 50
    bar_width = _BAR if beside else min(_BAR, width - name_width - 12)
    for item in stacks:
        name, told = " ".join(item.names), _told(item)
        total = formatting.duration(item.total_s)
        if beside:
            yield _fitting(f"  {name:<{name_width}} {total:>7} {bar(item, bar_width)} ", told, width)
        elif bar_width >= _NARROWEST_BAR:
            yield f"  {name:<{name_width}} {total:>7} {bar(item, bar_width)}"
            yield _fitting("    ", told, width)
        else:
            yield f"  {name}"
            yield f"  {total:>7} {bar(item, max(_NARROWEST_BAR, width - 11))}"
            yield _fitting("    ", told, width)


def plain(item: PhaseBreakdown) -> str:
    """One line for pipes: every part with its duration."""
    parts = ", ".join(f"{name} {formatting.duration(seconds)}" for name, seconds in item.parts_s.items())
    return f"  {' '.join(item.names)}  {formatting.duration(item.total_s)}: {parts}"


def bar(item: PhaseBreakdown, width: int) -> str:
    """The parts as letters, to scale; a part shorter than half a letter is not drawn."""
    total = sum(item.parts_s.values())
    drawn, ended_s = "", 0.0
    for part in (*PARTS, REST):
        ended_s += item.parts_s.get(part.name, 0.0)
        drawn += part.letter * (round(width * ended_s / total) - len(drawn))
    return drawn


def _told(item: PhaseBreakdown) -> list[tuple[float, str]]:
    """The parts that are worth a name, in order of time, each with its duration."""
    total = sum(item.parts_s.values())
    return [
        (seconds, f"{name} {formatting.duration(seconds)}")
        for name, seconds in item.parts_s.items()
        if seconds >= _NAMED_SHARE * total
    ]


def _fitting(head: str, told: Sequence[tuple[float, str]], width: int) -> str:
    """The longest parts that fit into one line, in order of time."""
    for kept in range(len(told), 0, -1):
        longest = sorted(told, reverse=True)[:kept]
        line = head + ", ".join(text for seconds, text in told if (seconds, text) in longest)
        if len(line) <= width:
            return line
    return head.rstrip()

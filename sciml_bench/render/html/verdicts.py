"""Who wins where: each table of a run in one line, honest about what is not decided."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sciml_bench.analysis import quantities
from sciml_bench.analysis.break_even import Choice, choice
from sciml_bench.analysis.comparable import Disturbed, disturbed
from sciml_bench.analysis.notes import cheapest, more
from sciml_bench.analysis.ranking import Standing
from sciml_bench.analysis.rows import Comparison, Row, RowTable, Target, Time
from sciml_bench.stats.verdict import Verdict

# Names after which a list is cut in a sentence; the table below it has all.
_NAMED = 3


@dataclass(frozen=True)
class Win:
    """What one table says: its fastest row for ``quantity``, and how the others stand against it.

    ``word`` is ``fastest`` (faster than every other row with a time), ``shared`` (some are not told apart from it),
    ``alone`` (no other row has a time) or ``shown`` (the run does not compare). ``beaten`` rows are slower,
    with ``margin`` the smallest of their ratios; ``open`` are undecided, ``same`` within the band, ``silent`` have no
    time at the target.
    """

    table: RowTable
    quantity: str
    at: str
    row: Row
    word: str
    beaten: int
    margin: float | None
    same: tuple[str, ...]
    open: tuple[str, ...]
    silent: tuple[str, ...]
    choice: Choice | None
    disturbed: Disturbed

    @property
    def time(self) -> Time:
        """The winner's time."""
        return time_of(self.row, self.quantity)

    @property
    def others(self) -> int:
        """Rows with a time besides the winner."""
        return self.beaten + len(self.same) + len(self.open)


def win(table: RowTable, found: Sequence[Standing], comparison: Comparison, comparable: bool) -> Win | None:
    """The winner of a table, for gradients where there are times of gradients, else for solves."""
    for quantity in ("gradient", "solve"):
        timed = [row for row in table.rows if time_of(row, quantity).seconds is not None]
        if not timed:
            continue
        fastest = min(timed, key=lambda row: _median(row, quantity))
        against = [item for item in found if item.quantity == quantity]
        by_verdict = {verdict: [i for i in against if i.judgement.verdict is verdict] for verdict in Verdict}
        beaten = by_verdict[Verdict.SLOWER]
        undecided = by_verdict[Verdict.UNDECIDED] + by_verdict[Verdict.FASTER]
        unjudged = len(timed) - 1 - len(against)
        word = "shown" if not comparable else "alone" if len(timed) == 1 else (
            "fastest" if len(beaten) == len(timed) - 1 else "shared"
        )  # fmt: skip
        judged = {fastest.summary.cell_id, *(item.row.summary.cell_id for item in against)}
        return Win(
            table=table,
            quantity=quantity,
            at=target_text(_target(comparison, quantity), quantity),
            row=fastest,
            word=word,
            beaten=len(beaten),
            margin=min((item.judgement.ratio.estimate for item in beaten), default=None),
            same=tuple(item.row.name for item in by_verdict[Verdict.SAME]),
            open=(
                *(f"{item.row.name}{more(item.judgement)}" for item in undecided),
                *(row.name for row in timed if unjudged and row.summary.cell_id not in judged),
            ),
            silent=tuple(row.name for row in table.rows if time_of(row, quantity).seconds is None),
            choice=choice(table.rows) if comparable else None,
            disturbed=disturbed(row.summary for row in timed),
        )
    return None


def standing_text(item: Win) -> str:
    """How sure the win is, in one line."""
    if item.word == "shown":
        return "not compared"
    if item.word == "alone":
        return "the only one with a time at this accuracy" if item.silent else "the only one"
    return f"{_standing(item)}{item.disturbed.mark}"


def _standing(item: Win) -> str:
    least = " or more" if item.beaten > 1 else ""
    by = f", by a factor of {quantities.ratio(item.margin)}{least}" if item.margin else ""
    if item.word == "fastest":
        return f"faster than {_the_other(item.beaten)}{by}"
    parts: list[str] = []
    if item.beaten:
        parts.append(f"faster than {item.beaten} of {item.others}{by}")
    if item.same:
        parts.append(f"the same within 5 % as {_names(item.same)}")
    if item.open:
        parts.append(f"undecided against {_names(item.open)}")
    return "; ".join(parts)


def sentences(item: Win) -> Iterator[str]:
    """The answer that a table gives, for the head of a problem. The first is the winner itself."""
    yield f"{standing_text(item).capitalize()}."
    if item.silent:
        yield f"No time of a {item.quantity} at {item.at}: {_names(item.silent)}."
    found = item.choice
    if found is None:
        return
    by_answer: dict[str, list[str]] = {}
    for best in found.best:
        by_answer.setdefault(cheapest(best), []).append(count_text(best.gradients))
    parts = [f"for {' and '.join(counts)} gradients {answer}" for answer, counts in by_answer.items()]
    if len(parts) == 1:
        parts = [f"whether 10 or 100 000 gradients are wanted {next(iter(by_answer))}"]
    yield f"Cheapest from the start of the process: {'; '.join(parts)}."


def target_text(target: Target, quantity: str) -> str:
    """Where times are compared."""
    if target.digits is not None:
        if quantity == "gradient":
            return f"gradient error {quantities.tolerance(10.0**-target.digits)}"
        return f"{quantities.digits(target.digits)} digits (mescd)"
    if target.batch is not None:
        return f"a batch of {target.batch}"
    if target.rtol is None:
        return "no accuracy: nothing was timed"
    return f"rtol {quantities.tolerance(target.rtol)} (no reference)"


def time_of(row: Row, quantity: str) -> Time:
    """The time of a row for a quantity."""
    return row.gradient if quantity == "gradient" else row.solve


def count_text(number: float) -> str:
    """A count with thin groups, such as ``100 000``."""
    return f"{number:,.0f}".replace(",", " ")


def time_text(time: Time) -> str:
    """A time with its bound."""
    if time.seconds is None:
        return quantities.NOTHING
    return ("≤ " if time.at_most else "") + quantities.duration(time.seconds.median)


def _target(comparison: Comparison, quantity: str) -> Target:
    return comparison.gradient_target if quantity == "gradient" else comparison.solve_target


def _median(row: Row, quantity: str) -> float:
    seconds = time_of(row, quantity).seconds
    assert seconds is not None
    return seconds.median


def _the_other(count: int) -> str:
    return "the other one" if count == 1 else f"all {count} others"


def _names(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_NAMED])
    return f"{shown} and {len(names) - _NAMED} more" if len(names) > _NAMED else shown

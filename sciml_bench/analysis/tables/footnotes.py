"""Conclusions from a table, in sentences: verdicts between its rows, and the best choice."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from sciml_bench.analysis import devices
from sciml_bench.analysis.advice.answer import cheapest, count_text, more
from sciml_bench.analysis.advice.break_even import Best, BreakEven, Overtaking
from sciml_bench.analysis.comparable import disturbed
from sciml_bench.analysis.process_summary import ProcessSummary
from sciml_bench.analysis.ranking import Judged, Lead, Ranking
from sciml_bench.analysis.rows import Row
from sciml_bench.analysis.summary import RunSummary
from sciml_bench.analysis.tables import formatting
from sciml_bench.analysis.tables.scoring_notes import first_names, scoring
from sciml_bench.stats.run_spread import FEWEST_RUNS, RunSpread

# Below this a total is shown to three digits, above it as people say it.
_EXACT_S = 100.0


ONE_BY_ONE = (
    "energy is measured, which takes whole loops: cells run one after the other and not in turns, so that intervals "
    "are wider where the machine changes"
)


def verdicts(rankings: Iterable[Ranking], within: str = "") -> Iterator[str]:
    """Each row against the one with the least time, for gradients and for solves; ``within`` names a group of rows."""
    where = f" within {within}" if within else ""
    for found in rankings:
        if not found.standings:
            continue
        yield f"{found.quantity}{where}: {_LEADS[found.lead]} {found.fastest.name}; against it"
        for item in found.standings:
            ratio = item.judgement.ratio
            interval = f"[{formatting.ratio(ratio.low)}, {formatting.ratio(ratio.high)}]"
            measured = f"{formatting.ratio(ratio.estimate):>5} {interval:<14}"
            reason = more(item.judgement)
            why = f"{f' ({reason})' if reason else ''}{_mark(item.fastest, item.row)}"
            yield f"  {item.judgement.verdict:<9} {measured}  {item.row.name}{why}"


_LEADS = {
    Lead.CLEAR: "fastest is",
    Lead.SAME: "fastest, and the same as others, is",
    Lead.UNDECIDED: "undecided which is fastest; the shortest time is from",
}


def family(judged: Judged) -> Iterator[str]:
    """The rule by which the verdicts were reached."""
    yield ""
    yield (
        "verdicts: time over the time of the fastest, with its 95 % interval, paired by block, with what other "
        "tolerances would change where cells take different steps; p below 5 % by "
        f"Benjamini–Hochberg over all {judged.family} pairs of rows of each problem, below a factor of 2 with what "
        f"neighbouring blocks may have in common; same: within ±5 %. {_scope(judged.runs)}"
    )


def _scope(runs: Mapping[str, RunSpread]) -> str:
    """Return whether the verdicts are about one run or about several."""
    if not runs:
        return (
            "They are about this run: the same cell differs by 2 to 5 % between two runs of one day. Run the same "
            f"command until there are {FEWEST_RUNS} runs, and they include the difference between them"
        )
    count = next(iter(runs.values())).runs
    spread = ", ".join(f"{quantity} {100 * math.expm1(item.sd):.2g} %" for quantity, item in runs.items())
    return f"They include the spread of ratios over {count} runs of this plan: {spread}"


def doubts(summary: RunSummary) -> Iterator[str]:
    """Reasons why times of this run are less certain: disturbed processes, and loops that never settled."""
    processes = [process for cell in summary.cells.values() for process in cell.processes]
    noisy = [process for process in processes if process.noisy]
    points = [point for process in processes for point in process.points]
    unsteady = sum(point.unsteady for point in points)
    scores = list(scoring(summary))
    energy = any(point.solve.joules is not None or point.gradient.joules is not None for point in points)
    moved = [*devices.sentences(summary), *_packages(summary)]
    if noisy or unsteady or scores or energy or moved:
        yield ""
    if energy:
        yield ONE_BY_ONE
    if noisy:
        kinds = Counter(reason.partition(":")[0] for process in noisy for reason in process.noisy)
        listed = ", ".join(f"{kind} {count}" for kind, count in kinds.most_common())
        yield f"disturbed: {len(noisy)} of {len(processes)} processes ({listed}); see `sciml-bench doctor`"
    again = sum(process.attempt > 0 for process in processes)
    if again:
        yield f"measured again after a disturbance: {again} of {len(processes)} processes; the second attempt counts"
    if unsteady:
        yield f"never settled: {unsteady} of {len(points)} points; all their calls count"
    yield from moved
    yield from scores


def _packages(summary: RunSummary) -> Iterator[str]:
    """Sentences on packages compiled while a first call waited, and on libraries that versions do not name."""
    adapters: dict[str, list[ProcessSummary]] = {}
    for cell in summary.cells.values():
        adapters.setdefault(cell.cell.adapter, []).extend(cell.processes)
    for adapter, processes in adapters.items():
        compiled = [process.compiled for process in processes if process.compiled]
        if compiled:
            yield (
                f"{adapter}: {len(compiled)} of {len(processes)} processes compiled packages before their first call "
                f"({_shortened(compiled)}), which counts in its time"
            )
        replaced = [process.replaced for process in processes if process.replaced]
        if replaced:
            yield (
                f"{adapter}: on this machine the libraries of {_shortened(replaced)} are not the registry's, so their "
                "versions do not say which ran"
            )


def _shortened(lists: list[str]) -> str:
    return first_names(sorted({name for text in lists for name in text.split(", ")}))


def bridges(summary: RunSummary) -> Iterator[str]:
    """The cost of crossing the bridge to a framework that runs outside Python, a line for each such adapter."""
    costs: dict[str, dict[str, list[float]]] = {}
    for cell in summary.cells.values():
        for point in (point for process in cell.processes for point in process.points):
            of_adapter = costs.setdefault(cell.cell.adapter, {"solve": [], "gradient": []})
            of_adapter["solve"] += [] if point.solve.bridge_s is None else [point.solve.bridge_s]
            of_adapter["gradient"] += [] if point.gradient.bridge_s is None else [point.gradient.bridge_s]
    for adapter, kinds in costs.items():
        told = [f"{formatting.duration(statistics.median(cost))} a {kind}" for kind, cost in kinds.items() if cost]
        if told:
            yield ""
            yield f"the bridge to {adapter} costs {', '.join(told)}: a call's time less the time inside, medians"


def best_choice(found: BreakEven, rows: Sequence[Row] = ()) -> Iterator[str]:
    """The cheapest of these rows for 10, 1000 and 100 000 gradients from nothing, and who overtakes whom."""
    yield (
        "cheapest from process start, the first gradient and all after it; verdicts by Benjamini–Hochberg over "
        f"{found.family} pairs"
    )
    for item in found.best:
        yield f"  for {count_text(item.gradients):>7} gradients {_total(item):>8}  {cheapest(item)}{_mark(*rows)}"
    for item in found.overtakings:
        yield f"  {overtaking(item)}{_mark(item.early, item.late)}"


def _mark(*rows: Row) -> str:
    return disturbed(row.summary for row in rows).mark


def overtaking(item: Overtaking) -> str:
    """From how many gradients on a row costs less than another, with the range in which that is not certain."""
    text = f"{item.late.name} overtakes {item.early.name} from {count_text(item.gradients)} gradients on"
    if item.low is None or item.high is None:
        return text
    level = f"{100 * item.confidence:g} %"
    if not item.decided:
        return f"undecided whether {text}: no crossover within the interval"
    if math.isinf(item.high):
        return f"{text} ({level}: from {count_text(item.low)}, or never)"
    return f"{text} ({level}: {count_text(item.low)} to {count_text(item.high)})"


def _total(item: Best) -> str:
    return formatting.duration(item.total_s) if item.total_s < _EXACT_S else formatting.rough_duration(item.total_s)

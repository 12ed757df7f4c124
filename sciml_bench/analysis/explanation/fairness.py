"""Fairness of a comparison of two cells: a checklist, every item computed from the records that count.

An item passes, fails, or is unknown. Failing does not make a comparison wrong: two libraries' recommended ways differ
in mode or method on purpose. It says what a reader may not conclude.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import median

from sciml_bench.analysis.loaded_run import RecordEntry
from sciml_bench.analysis.ranking import time_of
from sciml_bench.analysis.rows import Row, Target
from sciml_bench.analysis.tables import formatting


class State(StrEnum):
    """The state of an item."""

    PASS = "pass"
    FAIL = "fail"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Item:
    """One item of the checklist with its evidence in words."""

    what: str
    state: State
    evidence: str


@dataclass(frozen=True)
class Side:
    """One of the two cells: its row and its records that count."""

    row: Row
    traces: Sequence[RecordEntry]

    @property
    def name(self) -> str:
        """Return how it is called in the evidence."""
        cell = self.row.summary.cell
        return f"{cell.adapter} {cell.method}"


def checklist(a: Side, b: Side, target: Target, quantity: str) -> tuple[Item, ...]:
    """The items for the comparison of two cells of one problem at a target."""
    if not a.traces or not b.traces:
        return (Item("records", State.UNKNOWN, "one of the cells has no record"),)
    return (
        _same("same equations", a, b, lambda trace: trace.spec_hash, lambda value: f"specification {value[:12]}"),
        _chosen("same precision", a.row.summary.cell.precision, b.row.summary.cell.precision),
        _tolerances(a, b),
        _accuracy(a, b, target, quantity),
        _truth(a, b),
        _environments(a, b),
        _chosen("same device", a.row.summary.cell.device, b.row.summary.cell.device),
        _threads(a, b),
        _inputs(a, b),
        _blocks(a, b),
        _turns(a, b),
        _methods(a, b),
        _chosen("same sensitivity", a.row.summary.cell.sensitivity, b.row.summary.cell.sensitivity),
        _chosen("same compile mode", a.row.summary.cell.framework_mode, b.row.summary.cell.framework_mode),
        _chosen("same values at saved times", a.row.summary.cell.saving, b.row.summary.cell.saving),
        _caches(a, b),
        _nothing_compiled(a, b),
        _source(a),
        _source(b),
        _noise(a, b),
        _settled(a, b),
    )


def tally(items: Iterable[Item]) -> dict[State, int]:
    """Return the number of items in each state."""
    counts = Counter(item.state for item in items)
    return {state: counts[state] for state in State}


def _chosen(what: str, a: str, b: str) -> Item:
    return Item(what, State.PASS, a) if a == b else Item(what, State.FAIL, f"{a} against {b}")


def _same(what: str, a: Side, b: Side, of: Callable[[RecordEntry], str], text: Callable[[str], str]) -> Item:
    """Return whether all records of both say the same."""
    found = Counter(of(trace) for side in (a, b) for trace in side.traces)
    if "" in found:
        return Item(what, State.UNKNOWN, f"{found['']} of {found.total()} records do not say")
    if len(found) == 1:
        return Item(what, State.PASS, f"{text(next(iter(found)))} in all {found.total()} records")
    listed = ", ".join(f"{text(value)} in {count}" for value, count in found.most_common(3))
    return Item(what, State.FAIL, f"{len(found)} different: {listed}")


def _environments(a: Side, b: Side) -> Item:
    """Return whether both ran on the same machine with the same software, block by block: only pairs within a block
    are compared, and different blocks may lie on different machines.
    """
    what = "same hardware and software"
    found = _same(what, a, b, lambda trace: trace.environment_hash, lambda value: f"environment {value[:12]}")
    if found.state is not State.FAIL:
        return found
    of_block: dict[int, set[str]] = {}
    for trace in (*a.traces, *b.traces):
        of_block.setdefault(trace.block, set()).add(trace.environment_hash)
    mixed = sorted(block for block, hashes in of_block.items() if len(hashes) > 1)
    if mixed:
        return Item(what, State.FAIL, f"{found.evidence}; they differ within block {_listed(mixed)}")
    number = len(set().union(*of_block.values()))
    return Item(what, State.PASS, f"both in one environment in each block; {number} environments over all blocks")


def _tolerances(a: Side, b: Side) -> Item:
    what = "same tolerances tried"
    # A stopped process has fewer points; the longest ladder is the requested one.
    ladders = [max((trace.rtols for trace in side.traces), key=len) for side in (a, b)]
    texts = [", ".join(map(formatting.tolerance, ladder)) or "none" for ladder in ladders]
    adaptive = [side.row.summary.method for side in (a, b)]
    if ladders[0] != ladders[1]:
        return Item(what, State.FAIL, f"{texts[0]} against {texts[1]}")
    fixed = [side.name for side, known in zip((a, b), adaptive, strict=True) if known and not known.adaptive]
    if fixed:
        return Item(what, State.FAIL, f"{', '.join(fixed)} takes fixed steps: a tolerance only sets how many")
    return Item(what, State.PASS, f"rtol {texts[0]}")


def _accuracy(a: Side, b: Side, target: Target, quantity: str) -> Item:
    """Libraries mean different errors by equal tolerances, so errors must be equal."""
    what = "equal accuracy reached"
    times = [time_of(side.row, quantity) for side in (a, b)]
    absent = [side.name for side, time in zip((a, b), times, strict=True) if time.seconds is None]
    if absent:
        return Item(what, State.UNKNOWN, f"{' and '.join(absent)}: no time at the target")
    if target.digits is None:
        return Item(what, State.UNKNOWN, "no reference: compared at equal tolerance, the errors are not known")
    digits = f"{formatting.digits(target.digits)} digits"
    bounds = [side.name for side, time in zip((a, b), times, strict=True) if time.at_most]
    if bounds:
        return Item(what, State.FAIL, f"{' and '.join(bounds)} is more accurate than {digits} at its loosest tolerance")
    return Item(what, State.PASS, f"both times are read at {digits}, between measured tolerances")


_TRUSTED = ("certified", "exact", "published", "extended")


def _truth(a: Side, b: Side) -> Item:
    what = "errors measured against a trusted reference"
    kinds = {trace.reference_kind for side in (a, b) for trace in side.traces}
    listed = ", ".join(sorted(str(kind or "none") for kind in kinds))
    if kinds <= set(_TRUSTED):
        return Item(what, State.PASS, f"reference: {listed}")
    state = State.UNKNOWN if None in kinds else State.FAIL
    return Item(what, state, f"reference: {listed}")


def _threads(a: Side, b: Side) -> Item:
    """Settings that workers read back; the processors they may use are the one limit that all frameworks obey."""
    what = "same number of threads, read back"
    found = [Counter(trace.threads.get("affinity", "") for trace in side.traces) for side in (a, b)]
    if any("" in counter for counter in found):
        return Item(what, State.UNKNOWN, "some records do not list their CPUs")
    # A worker's processors may change from block to block; their number may not.
    sizes = {value.count(",") + 1 for counter in found for value in counter}
    listed = " against ".join(str(size) for size in sorted(sizes))
    return Item(what, State.PASS if len(sizes) == 1 else State.FAIL, f"processors a worker may use: {listed}")


def _inputs(a: Side, b: Side) -> Item:
    what = "same inputs"
    seeds = [{trace.block: trace.seed for trace in side.traces} for side in (a, b)]
    shared = seeds[0].keys() & seeds[1].keys()
    if not shared:
        return Item(what, State.UNKNOWN, "no block in common")
    other = sorted(block for block in shared if seeds[0][block] != seeds[1][block])
    if other:
        return Item(what, State.FAIL, f"other seeds in block {_listed(other)}")
    return Item(what, State.PASS, f"the same seed in each of {len(shared)} blocks")


def _blocks(a: Side, b: Side) -> Item:
    what = "measured in the same blocks"
    mine, theirs = ({trace.block for trace in side.traces} for side in (a, b))
    alone = sorted(mine ^ theirs)
    if alone:
        return Item(what, State.FAIL, f"only one of them was measured in block {_listed(alone)}")
    first = sum(x.order < y.order for x, y in zip(_by_block(a), _by_block(b), strict=True))
    return Item(what, State.PASS, f"{len(mine)} blocks, in random order: {a.name} came first in {first}")


def _turns(a: Side, b: Side) -> Item:
    """Return whether both saw the same moments of the machine; a worker that gave no turns did not wait either."""
    what = "steady loops in turns"
    pairs = list(zip(_by_block(a), _by_block(b), strict=False))
    alone = [x.block for x, y in pairs if not (x.waited_s > 0 and y.waited_s > 0)]
    if alone:
        return Item(what, State.FAIL, f"one after the other in block {_listed(alone)}")
    waited_s = median(x.waited_s + y.waited_s for x, y in pairs) / 2
    return Item(what, State.PASS, f"each waited for others, {waited_s:.3g} s in the median block")


def _by_block(side: Side) -> list[RecordEntry]:
    return sorted(side.traces, key=lambda trace: trace.block)


def _methods(a: Side, b: Side) -> Item:
    what = "same family and order of the method"
    known = [side.row.summary.method for side in (a, b)]
    if known[0] is None or known[1] is None:
        return Item(what, State.UNKNOWN, "the run does not say what an adapter declared of its method")
    texts = [f"{method.family.replace('_', ' ')} of order {method.order}" for method in known if method]
    return _chosen(what, *texts)


def _caches(a: Side, b: Side) -> Item:
    """A cold cell must not have found anything; a warm one must."""
    what = "compile caches as stated"
    stated = [side.row.summary.cell.caches for side in (a, b)]
    for side, caches in zip((a, b), stated, strict=True):
        hits = sum(bool(trace.cache_hits) for trace in side.traces)
        filled = sum(bool(trace.cache_files_before) for trace in side.traces)
        if caches == "cold" and (hits or filled):
            return Item(
                what, State.FAIL, f"{side.name} is cold, but {max(hits, filled)} processes found a filled cache"
            )
    text = stated[0] if stated[0] == stated[1] else " against ".join(stated)
    return Item(
        what, State.PASS if stated[0] == stated[1] else State.FAIL, f"{text}; files counted before each process"
    )


def _nothing_compiled(a: Side, b: Side) -> Item:
    what = "nothing compiled inside timed loops"
    found = [(side.name, sum(trace.recompiled for trace in side.traces)) for side in (a, b)]
    bad = [f"{name} in {count} processes" for name, count in found if count]
    if bad:
        return Item(what, State.FAIL, f"compiled again: {', '.join(bad)}; those points have no time")
    return Item(what, State.PASS, "no process traced or compiled again")


def _source(side: Side) -> Item:
    what = f"one source for {side.name}"
    found = Counter(trace.source_hash for trace in side.traces)
    if "" in found:
        return Item(what, State.UNKNOWN, "a record has no source")
    text = ", ".join(f"{value[:12]} in {count}" for value, count in found.most_common(3))
    return Item(what, State.PASS if len(found) == 1 else State.FAIL, f"source {text} records")


def _noise(a: Side, b: Side) -> Item:
    what = "no process was disturbed"
    told: list[str] = []
    for side in (a, b):
        noisy = [trace for trace in side.traces if trace.noisy]
        if noisy:
            kinds = Counter(reason.partition(":")[0] for trace in noisy for reason in trace.noisy)
            listed = ", ".join(f"{kind} {count}" for kind, count in kinds.most_common())
            told.append(f"{side.name}: {len(noisy)} of {len(side.traces)} ({listed})")
    return Item(what, State.FAIL, "; ".join(told)) if told else Item(what, State.PASS, "neither has any")


def _settled(a: Side, b: Side) -> Item:
    what = "timed loops settled"
    told: list[str] = []
    for side in (a, b):
        points = side.row.summary.points
        unsteady = sum(point.unsteady for point in points)
        if unsteady:
            told.append(f"{side.name}: {unsteady} of {len(points)} points never did")
    return Item(what, State.FAIL, "; ".join(told)) if told else Item(what, State.PASS, "no loop failed to settle")


def _listed(blocks: Sequence[int]) -> str:
    shown = ", ".join(map(str, blocks[:5]))
    return f"{shown} and {len(blocks) - 5} more" if len(blocks) > 5 else shown

"""A self-test in words: whole, and as the lines that head a report."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping
from typing import Any

from sciml_bench import __version__
from sciml_bench.analysis.machine_hash import machine_hash
from sciml_bench.analysis.selftest.blocks import JUDGED, SLOW_DOWNS
from sciml_bench.analysis.selftest.figures import (
    BAND,
    EXCLUDED,
    LEAST_FOUND,
    MOST_FALSE_POSITIVES,
    NOMINAL,
    SEEN,
    Doubt,
    Series,
    calibrated,
    excluded,
)
from sciml_bench.analysis.selftest.store import STALE_DAYS, SelfTest, document, newest
from sciml_bench.errors import StoreError
from sciml_bench.planning.written_plan import written_plan
from sciml_bench.record.run_folder import Run
from sciml_bench.stats.power import smallest_named
from sciml_bench.stats.proportion import Proportion

# From this share of disturbed processes on, the figures describe a busy machine.
_MANY_NOISY = 0.25

_DOUBTS = {
    Doubt.FALSE_POSITIVES: "too many false positives: the noise here is not what the verdicts allow for",
    Doubt.POWER: "a slowdown of 10 % is found too seldom: the machine is too noisy",
    Doubt.CALIBRATION: "the slowdown of 10 % that was made lies outside the interval that was read",
    Doubt.BIAS: f"a cell differs from itself by more than {100 * SEEN:g} %, by its label or its place in the block",
    Doubt.DRIFT: f"the ratio of a cell to itself drifted by more than {100 * SEEN:g} % during the test",
    Doubt.NOISE: f"a bias of {100 * EXCLUDED:g} % cannot be excluded",
}


def selftest_line(run: Run) -> str:
    """One line: the quality of the harness on the machine of this run, by the newest self-test next to it."""
    processes = written_plan(run).profile.processes
    environment = _environment(run)
    test = newest(run.folder.parent, machine_hash(environment))
    return head(test, environment, datetime.datetime.now(datetime.UTC), processes)


def selftest_document(run: Run) -> dict[str, Any] | None:
    """Return the self-test as JSON values, and whether it is of the run's machine; ``None`` without one."""
    machine = machine_hash(_environment(run))
    test = newest(run.folder.parent, machine)
    return None if test is None else {**document(test), "same_machine": test.machine == machine}


def _environment(run: Run) -> Mapping[str, Any]:
    try:
        return run.environment
    except StoreError:
        # A run without its environment is shown all the same; no machine is then the same.
        return {}


def head(test: SelfTest | None, environment: Mapping[str, Any], now: datetime.datetime, processes: int) -> str:
    """The line above a report: what verdicts of this number of processes see on the machine of this run, or why that
    is not known.
    """
    if test is None:
        return (
            "self-test: none here yet; `sciml-bench selftest` measures how often verdicts are wrong on this machine, "
            "and narrows their intervals"
        )
    when = f"self-test of {test.made_at:%Y-%m-%d}"
    if test.machine != machine_hash(environment):
        return f"{when}: made on another machine, so it says nothing of this run; `sciml-bench selftest` repeats it"
    return f"{when}: {_summary(test, processes)}{_doubts(test, now)}"


def lines(test: SelfTest) -> Iterator[str]:
    """Everything that a self-test found."""
    found = test.figures
    yield f"{'PASSED' if found.passed else 'NOT PASSED'}{', but interrupted' if test.interrupted else ''}"
    for doubt in found.doubts:
        yield f"  {_DOUBTS[doubt]}"
    if not found.passed:
        yield (
            "  do not trust verdicts of this machine today; measure longer, or when `sciml-bench doctor` finds it quiet"
        )
    yield (
        f"  same cell on both sides: {_percent(found.false_positives)} false positives at a nominal "
        f"{100 * NOMINAL:g} % (at most {100 * MOST_FALSE_POSITIVES:g} % is allowed)"
    )
    yield f"    false winners, which also leave the band of {100 * BAND:g} %: {_percent(found.false_winners)}"
    yield f"    with the labels as they are, which bias of a label would raise: {_percent(found.labelled)}"
    yield (
        f"    with the autocorrelation found below a plain t-test would err in {100 * found.level:.1f} %; "
        "verdicts allow for it"
    )
    for role, share in SLOW_DOWNS.items():
        asked = f" (at least {100 * LEAST_FOUND:g} % is required)" if role == JUDGED else ""
        yield f"  slowdown of {100 * share:g} %: found in {_percent(found.found(role))}{asked}"
        yield f"    called slower, which needs an estimate outside the band: {_percent(found.named(role))}"
    changes = ", ".join(f"{_change(change)} with {n}" for n, change in found.smallest_change.items())
    yield f"  smallest change that a test of processes finds here, four times of five: {changes}"
    if found.sd_log:
        named = ", ".join(f"{_change(smallest_named(found.sd_log, n))} with {n}" for n in found.smallest_change)
        yield f"    that a verdict names: {named}"
    needed = ", ".join(f"{100 * by:g} % takes {n}" for by, n in found.processes_needed.items())
    yield f"  processes a side that find a slowdown here, nine times of ten: {needed}"
    yield (
        f"  trials of {found.blocks_per_trial} blocks each, drawn from {test.processes} measured processes, "
        f"{test.noisy_processes} of them disturbed"
    )
    if test.noisy_processes > _MANY_NOISY * test.processes:
        yield "  the machine was busy with other work: these figures hold for such times; see `sciml-bench doctor`"
    yield ""
    yield "ratios over all blocks, with 95 % intervals; spread: of the ratio of a cell to itself in one block"
    for item in found.series:
        yield from _of_series(item)
    yield f"kept in: {test.folder}"


def _of_series(item: Series) -> Iterator[str]:
    yield f"  {item.name}: {item.blocks} blocks, spread {100 * item.sd_log:.1f} %"
    yield f"    the same cell again        {_interval(item.again)}"
    for order, ratio in item.bias.orders.items():
        yield f"      in {f'{order} order':<20}  {_interval(ratio)}"
    if not excluded(item):
        yield f"    bias of its label          {_interval(item.bias.label)}"
    yield f"    later in a block / earlier {_interval(item.bias.position)}"
    yield f"    drift of this ratio        {_interval(item.bias.drift)}"
    yield f"    drift of the cell's time   {_interval(item.bias.own_drift)}"
    rho, error = item.bias.serial
    yield f"    neighbouring blocks        autocorrelation {rho:.2f} ± {error:.2f}"
    for role, share in SLOW_DOWNS.items():
        wrong = "" if role != JUDGED or calibrated(item) else f"  does not hold {1 + share:.2f}"
        yield f"    slowed down by {100 * share:>2g} %        {_interval(item.slower[role])}{wrong}"


def _summary(test: SelfTest, processes: int) -> str:
    found = test.figures
    slow = ", ".join(
        f"{100 * share:g} % slower called so in {_short(found.named(role))}" for role, share in SLOW_DOWNS.items()
    )
    positives = f"{_short(found.false_positives)} false positives (nominal {100 * NOMINAL:g} %)"
    blocks = f"with {found.blocks_per_trial} processes {slow}"
    if processes < 2 or not found.sd_log:
        return f"{positives}, {blocks}"
    named = smallest_named(found.sd_log, processes)
    return f"{positives}, {blocks}; with {processes}, as here, a slowdown of {_change(named)} or more is called so"


def _doubts(test: SelfTest, now: datetime.datetime) -> str:
    doubts: list[str] = []
    if test.age_days(now) > STALE_DAYS:
        doubts.append(f"{test.age_days(now):.0f} days old")
    if test.version != __version__:
        doubts.append(f"made by version {test.version}")
    if test.interrupted:
        doubts.append("interrupted")
    if not test.figures.passed:
        doubts.append(f"NOT PASSED: {', '.join(test.figures.doubts)}")
    return f" ({', '.join(doubts)}: repeat it)" if doubts else ""


def _short(share: Proportion) -> str:
    return f"{100 * share.share:.1f} %" if share.share < 0.995 else "100 %"


def _percent(share: Proportion) -> str:
    return f"{_short(share)} of {share.total} trials [{100 * share.low:.1f}, {100 * share.high:.1f}]"


def _interval(ratio: tuple[float, float, float]) -> str:
    estimate, low, high = ratio
    return f"{estimate:.3f} [{low:.3f}, {high:.3f}]"


def _change(change: float) -> str:
    return f"{100 * change:.2g} %" if change < 0.995 else f"factor {1 + change:.2g}"

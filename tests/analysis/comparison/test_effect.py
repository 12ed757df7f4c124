"""How far runs of one program differ: from repeated runs, in the intervals, and what is not said without them."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from stubs import compared as stub

from sciml_bench.analysis.comparison.compare import Comparison, compare_runs
from sciml_bench.analysis.comparison.series import Quantity
from sciml_bench.analysis.comparison.sides import Side, read_side
from sciml_bench.record.run_folder import Run
from sciml_bench.render.comparison import comparison_head, comparison_table
from sciml_bench.stats.verdict import Held, Verdict

FAST, _ = stub.CELLS


def side(run: Run) -> Side:
    return read_side(run, lambda line: pytest.fail(str(line)))


def compared(base: Run, new: Run) -> Comparison:
    return compare_runs(side(base), side(new), band=0.05)


def verdicts(comparison: Comparison) -> set[Verdict]:
    return {line.judgement.verdict for line in comparison.lines}


def whole(comparison: Comparison, width: int) -> str:
    return "\n".join([*comparison_head(comparison, width), *comparison_table(comparison, width)])


def test_between_two_runs_alone_a_winner_needs_a_factor_of_two(tmp_path: Path):
    comparison = compared(stub.run(tmp_path, "a"), stub.run(tmp_path, "b", seed=2, factors=1.5))
    assert verdicts(comparison) == {Verdict.UNDECIDED}
    assert {line.judgement.held for line in comparison.lines} == {Held.RUN}
    assert "how far runs of the same program differ is not known" in whole(comparison, 400)
    assert not comparison.worse


def shifted(tmp_path: Path, count: int, sd: float, seed: int, **options: Any) -> list[Side]:
    """Runs that differ by a run effect."""
    generator = random.Random(seed)
    return [
        side(
            stub.run(tmp_path, f"s{seed}-{k}", seed=1000 * seed + k, factors=generator.lognormvariate(0, sd), **options)
        )
        for k in range(count)
    ]


@pytest.mark.parametrize("sd", [0.0, 0.08])
def test_a_run_effect_that_is_known_is_in_the_interval(tmp_path: Path, sd: float):
    """Runs of one program that differ by 8 % each: without repeated ones 4 of 5 would be told apart."""
    outside = winners = 0
    effect = None
    for seed in range(12):
        base, new, *again = shifted(tmp_path, 6, sd, seed, cells=(FAST,), blocks=5)
        comparison = compare_runs(base, new, band=0.05, repeated=again)
        line = next(line for line in comparison.lines if line.series.quantity is Quantity.SOLVE)
        winners += line.judgement.verdict in (Verdict.FASTER, Verdict.SLOWER)
        outside += not line.judgement.ratio.low <= 1 <= line.judgement.ratio.high
        effect = comparison.effect
    assert winners <= 1
    assert outside <= 2
    assert effect is not None
    assert (effect.runs, effect.df) == (5, 4)
    assert (effect.sd[Quantity.SOLVE] > 0.02) is bool(sd)


def test_repeated_runs_of_either_software_count(tmp_path: Path):
    newer = {**stub.MACHINE, "packages": {"diffrax": "0.8.0"}}
    runs = [stub.run(tmp_path, f"old{k}", seed=k) for k in range(3)]
    runs += [stub.run(tmp_path, f"new{k}", seed=10 + k, environment=newer, factors=1.3) for k in range(3)]
    sides = [side(run) for run in runs]
    comparison = compare_runs(sides[0], sides[3], band=0.05, repeated=[sides[1], sides[2], sides[4], sides[5]])
    assert comparison.effect is not None
    assert (comparison.effect.runs, comparison.effect.df) == (6, 4)
    assert verdicts(comparison) == {Verdict.SLOWER}


def test_a_single_repetition_is_in_the_interval_and_names_no_winner_below_a_factor_of_two(tmp_path: Path):
    """It may be as quick as its run by chance: equal runs with an effect on all cells were told apart in 10 %."""
    base, again = stub.run(tmp_path, "a"), stub.run(tmp_path, "again", seed=5, factors=1.02)
    new, far = stub.run(tmp_path, "b", seed=2, factors=1.8), stub.run(tmp_path, "c", seed=3, factors=4.0)
    comparison = compare_runs(side(base), side(new), band=0.05, repeated=[side(again)])
    assert comparison.effect is not None
    assert not comparison.effect.known
    assert verdicts(comparison) == {Verdict.UNDECIDED}
    assert "one repetition tells too little" in whole(comparison, 400)
    assert min(line.judgement.ratio.fixed_sd for line in comparison.lines) > 0
    twice = [side(again), side(stub.run(tmp_path, "again2", seed=6, factors=0.99))]
    assert verdicts(compare_runs(side(base), side(far), band=0.05, repeated=twice)) == {Verdict.SLOWER}

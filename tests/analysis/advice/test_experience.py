"""What was measured on other problems, and what it lets expect of a new one."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sciml_bench.analysis.advice.experience import WORST, Features, Known, Measured, expected
from sciml_bench.analysis.advice.experience_file import of_run, read, shipped, write
from sciml_bench.errors import StoreError
from sciml_bench.planning.problems import entry_named
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.run_folder import Run

STIFF = Features(3, 3, 1, None, 1500, 15000)
EASY = Features(3, 3, 1, 300, 900, 9000)
EXPLICIT, IMPLICIT = ("lib", "tsit5", "forward", "jit"), ("lib", "kvaerno5", "forward", "jit")
OTHER = ("other", "bdf", "forward", "jit")

sizes = st.integers(1, 10**6)
features = st.builds(Features, sizes, sizes, sizes, st.none() | sizes, st.none() | sizes, sizes)


def measured(way, each_s, first_s=1.0):
    """A way that gets to 8 digits."""
    return Measured(way, Outcome.OK, first_s, ((4.0, each_s / 2), (8.0, each_s * 2)))


def known(name, of, *ways):
    return Known(name, name, of, ways)


FAILED = Measured(EXPLICIT, Outcome.TIMEOUT, None)
TABLE = [
    known("stiff", STIFF, FAILED, measured(IMPLICIT, 1e-3), measured(OTHER, 3e-3)),
    known("easy", EASY, measured(EXPLICIT, 1e-4), measured(IMPLICIT, 1e-3), measured(OTHER, 1e-2)),
]


def order(of, gradients=10**9):
    ways = [EXPLICIT, IMPLICIT, OTHER]
    return [item.way for item in expected(of, ways, TABLE, digits=6, gradients=gradients)]


def test_the_ways_of_the_most_similar_problem_come_first():
    assert order(STIFF) == [IMPLICIT, OTHER, EXPLICIT]
    assert order(EASY) == [EXPLICIT, IMPLICIT, OTHER]


def test_for_a_few_gradients_whoever_starts_fast_comes_first():
    table = [known("p", EASY, measured(EXPLICIT, 1e-4, first_s=10.0), measured(OTHER, 1e-2, first_s=0.5))]
    for gradients, first in ((1, OTHER), (10**6, EXPLICIT)):
        found = expected(EASY, [EXPLICIT, OTHER], table, digits=6, gradients=gradients)
        assert found[0].way == first
        assert found[0].factor == pytest.approx(1.0)
        assert found[0].problems == ("p",)


def test_a_failure_counts_as_the_worst_and_so_does_too_little_accuracy():
    factors = TABLE[0].factors(6.0, 10**9)
    assert factors[EXPLICIT] == WORST
    assert factors[IMPLICIT] == 1.0
    assert factors[OTHER] == pytest.approx(3.0)
    assert TABLE[0].factors(9.0, 100) == {}, "nobody gets there"


def test_what_was_never_measured_is_taken_to_be_as_its_method():
    new = ("lib", "kvaerno5", "checkpointed", "jit")
    unknown = ("new", "a", "b", "c")
    found = {item.way: item for item in expected(STIFF, [new, unknown], TABLE, digits=6, gradients=10**9)}
    assert found[new].factor < 2
    assert found[new].problems == ()
    assert found[unknown].factor == pytest.approx(math.sqrt(WORST))


def test_without_experience_nobody_is_left_out():
    found = expected(STIFF, [EXPLICIT, IMPLICIT], [], digits=6, gradients=1)
    assert {item.way for item in found} == {EXPLICIT, IMPLICIT}


@given(features, features)
def test_a_distance_is_one(a, b):
    assert a.distance(b) == b.distance(a) >= 0
    assert a.distance(a) == 0


def test_a_file_keeps_what_was_written_and_the_newest_of_each_problem(tmp_path):
    path = tmp_path / "experience.jsonl"
    newer = known("stiff", STIFF, measured(OTHER, 1.0))
    write(path, [*TABLE, newer])
    assert read(path) == [TABLE[1], newer]


@pytest.mark.parametrize("line", ["{}", "nonsense", '{"problem": 1}', '{"problem": NaN}'])
def test_a_damaged_line_is_named(tmp_path, line):
    path = tmp_path / "experience.jsonl"
    write(path, TABLE)
    path.write_text(path.read_text(encoding="utf-8") + line + "\n", encoding="utf-8")
    with pytest.raises(StoreError, match=r"experience\.jsonl:3: "):
        read(path)


def test_a_run_is_experience():
    """The stored run of the stiff suite: every problem with its features and ways."""
    run = Run(Path(__file__).parents[3] / "results" / "stiff-quick")
    found = {item.problem: item for item in of_run(run)}
    assert "robertson" in found
    ways = {item.way: item for item in found["robertson"].ways}
    assert any(item.points and item.cost(4.0) is not None for item in ways.values())
    assert found["robertson"].features.n_states == 3


def test_the_package_has_experience():
    found = {item.problem: item for item in shipped()}
    assert "robertson" in found
    for item in found.values():
        assert item.spec_hash == entry_named(item.problem).spec_hash, "measure it again, or leave it out"
        assert min(item.factors(6.0, 1000).values()) == 1.0

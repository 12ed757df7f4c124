"""Races: who leaves, who wins, and how often that is wrong."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from cases import others_slow

from sciml_bench.stats.race import Beaten, Race

Noise = Callable[[np.random.Generator, int], float]


def run(factors: dict[str, float], noise: Noise, seed: int, blocks: int = 25) -> tuple[Race[str], int]:
    """A race of candidates that cost so much, and how many processes it took."""
    random, race, processes = np.random.default_rng(seed), Race(tuple(factors)), 0
    for block in range(blocks):
        together = random.normal(scale=0.2)
        costs = {key: factors[key] * math.exp(together + noise(random, block)) for key in race.running}
        processes += len(costs)
        race.keep(block, costs)
        if race.standing.decided:
            break
    return race, processes


def quiet(random: np.random.Generator, _block: int) -> float:
    return random.normal(scale=0.04)


def busy(random: np.random.Generator, _block: int) -> float:
    return random.normal(scale=0.2)


def held_up(random: np.random.Generator, _block: int) -> float:
    """A tenth of the processes is held up, up to tenfold."""
    return random.normal(scale=0.03) + (random.uniform(0, math.log(10)) if random.random() < 0.1 else 0.0)


def two_speeds(random: np.random.Generator, _block: int) -> float:
    """Processes come in two speeds, as memory happens to be laid out."""
    return random.normal(scale=0.02) + (math.log(1.4) if random.random() < 0.5 else 0.0)


def long_tailed(random: np.random.Generator, _block: int) -> float:
    return abs(0.05 * random.standard_t(2))


ALL = (quiet, busy, held_up, two_speeds, long_tailed)


@pytest.mark.parametrize(
    ("noise", "n"),
    others_slow(
        [(noise, n) for noise in ALL for n in (2, 5, 12)],
        [*((noise, 2) for noise in ALL), (quiet, 12), (held_up, 5), (two_speeds, 5)],
    ),
)
def test_where_all_are_alike_a_winner_is_named_in_at_most_a_twentieth_of_races(noise, n):
    trials = 60
    won = 0
    for seed in range(trials):
        race, _ = run({f"c{i}": 1.0 for i in range(n)}, noise, seed)
        standing = race.standing
        won += standing.decided and not standing.even
    assert won <= 0.05 * trials


@pytest.mark.parametrize("noise", ALL)
def test_the_best_leaves_in_at_most_a_twentieth_of_races(noise):
    trials = 60
    factors = {"best": 1.0, "close": 1.1, "near": 1.2, "far": 2.0, "slow": 5.0, "hopeless": 50.0}
    lost = sum("best" in run(factors, noise, seed)[0].left for seed in range(trials))
    assert lost <= 0.05 * trials


def test_a_winner_is_found_in_a_fifth_of_the_time_of_ten_processes_each():
    """Of thirty candidates, each 35 % slower than the one before: those that leave first take the longest."""
    factors = {f"c{i}": 1.35**i for i in range(30)}
    taken: list[float] = []
    for seed in range(20):
        race, _ = run(factors, quiet, seed, blocks=80)
        assert race.standing.leads == "c0"
        assert race.standing.decided
        blocks = {key: len(race.differences(key, key)) for key in factors}
        taken.append(sum(factors[key] * blocks[key] for key in factors))
    assert np.median(taken) <= 10 * sum(factors.values()) / 5


def test_those_that_cost_the_same_end_as_a_group():
    """Twins whose blocks hardly scatter: the race ends, and names no winner."""
    random, race = np.random.default_rng(0), Race(("a", "b", "slow"))
    for block in range(40):
        costs = {key: (3.0 if key == "slow" else 1.0) * math.exp(random.normal(scale=0.005)) for key in race.running}
        race.keep(block, costs)
        if race.standing.decided:
            break
    standing = race.standing
    assert standing.decided
    assert {standing.leads, *standing.even} == {"a", "b"}
    assert race.left["slow"].by in ("a", "b")


def test_who_fails_leaves_and_whoever_is_left_wins():
    race = Race(("a", "b"))
    assert race.keep(0, {"a": 1.0, "b": None}) == ("b",)
    assert race.left == {"b": Beaten(0)}
    assert race.left["b"].failed
    assert race.standing.leads == "a"
    assert race.standing.decided


def test_where_all_fail_nobody_leads():
    race = Race(("a", "b"))
    race.keep(0, {"a": None, "b": None})
    assert race.standing.leads is None
    assert not race.standing.decided


def test_whom_only_a_later_failure_had_beaten_is_back():
    race = Race(("a", "b", "c"))
    for block in range(30):
        race.keep(block, {key: cost for key, cost in {"a": 1.0, "b": 2.0, "c": 2.0}.items() if key in race.running})
    assert set(race.left) == {"b", "c"}
    assert race.keep(30, {"a": None}) == ("a",)
    assert set(race.running) == {"b", "c"}
    assert not race.standing.decided or race.standing.even
    assert race.keep(31, {"b": 2.0, "c": 2.0}) == ()


def test_a_race_with_somebody_untried_is_not_decided():
    race = Race(("a", "b", "late"))
    race.keep(0, {"a": 1.0, "b": 100.0})
    assert race.standing.leads == "a"
    assert race.standing.even == ()
    assert not race.standing.decided
    assert race.tried == ("a", "b")
    race.keep(1, {"a": 1.0, "late": 100.0})
    assert race.standing.decided


def test_late_comers_are_ordered_by_common_blocks_only():
    """A block in which everything was slow does not put back who came in it."""
    race = Race(("a", "late"))
    race.keep(0, {"a": 1.0})
    race.keep(1, {"a": 3.0, "late": 2.7})
    assert race.standing.leads == "late"


def test_the_order_of_candidates_decides_nothing():
    factors = {"a": 1.0, "b": 1.3, "c": 4.0, "d": 4.1}
    random = np.random.default_rng(3)
    blocks = [{key: value * math.exp(random.normal(scale=0.05)) for key, value in factors.items()} for _ in range(8)]
    races = [Race(tuple(factors)), Race(tuple(reversed(factors)))]
    for race in races:
        for number, costs in enumerate(blocks):
            race.keep(number, {key: costs[key] for key in race.running})
    assert races[0].left == races[1].left
    assert races[0].standing == races[1].standing


@pytest.mark.parametrize(
    ("block", "costs", "message"),
    [
        (1, {"x": 1.0}, "does not run"),
        (1, {"gone": 1.0}, "does not run"),
        (0, {"a": 1.0}, "already"),
        (1, {"a": 0.0}, "positive"),
        (1, {"a": math.inf}, "positive"),
        (1, {"a": math.nan}, "positive"),
    ],
)
def test_what_cannot_be_kept_is_refused(block, costs, message):
    race = Race(("a", "gone"))
    race.keep(0, {"a": 1.0, "gone": None})
    with pytest.raises(ValueError, match=message):
        race.keep(block, costs)


def test_a_race_needs_candidates_and_a_rate():
    with pytest.raises(ValueError, match="candidates"):
        Race(())
    with pytest.raises(ValueError, match="once"):
        Race(("a", "a"))
    with pytest.raises(ValueError, match="error rate"):
        Race(("a",), error_rate=0.0)


def drifting(rho: float, scale: float, seed: int, blocks: int, n: int = 2) -> Race[int]:
    """A race of equal candidates whose costs each drift as a first-order autoregression, until one is left."""
    random, race = np.random.default_rng(seed), Race(tuple(range(n)))
    state = random.normal(scale=scale, size=n)
    for block in range(blocks):
        state = rho * state + math.sqrt(1 - rho**2) * random.normal(scale=scale, size=n)
        race.keep(block, {key: math.exp(state[key]) for key in race.running})
        if len(race.running) == 1:
            break
    return race


@pytest.mark.parametrize(("n", "scale"), [(2, 0.05), (2, 0.2), (5, 0.1)])
def test_slow_drifts_name_a_winner_in_at_most_a_twentieth_of_races(n, scale):
    """Two hundred blocks, neighbours with an autocorrelation of a half: without a guard a quarter of races has one."""
    trials = 80
    won = sum(len(drifting(0.5, scale, seed, 200 if n == 2 else 60, n).running) == 1 for seed in range(trials))
    assert won <= 0.05 * trials


def test_less_than_a_factor_of_two_is_never_decided_before_the_fifth_block():
    race = Race(("a", "b"))
    for block in range(5):
        assert not race.left
        race.keep(block, {"a": 1.0, "b": 1.9 + 0.01 * (-1) ** block})
    assert race.left["b"] == Beaten(4, "a", 5)

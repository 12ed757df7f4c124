"""Events of references against closed forms."""

from __future__ import annotations

from collections.abc import Sequence

import mpmath
import pytest
from adapters.stone import stone, two_stones
from flint import arb
from references.engine.event_cases import AT_ONE_TIME, OSCILLATOR, Real, certified, oscillator, times
from stubs.small_problems import Load

from sciml_bench.references import batch_certificate
from sciml_bench.spec import catalog

DIGITS = 15


def agree(found: Real, exact: Real, digits: float = DIGITS) -> None:
    assert abs(found - exact) <= mpmath.mpf(10) ** -digits * max(abs(exact), mpmath.mpf(10) ** -3), (found, exact)


def decimal(value: arb) -> Real:
    """The middle of a ball."""
    return mpmath.mpf(value.str(40, radius=False))


def replaced(values: Sequence[Real], place: int, value: Real) -> list[Real]:
    return [*values[:place], value, *values[place + 1 :]]


def bouncing(g: Real, e: Real, at: Sequence[Real]) -> tuple[list[Real], Real]:
    """Times of the impacts until 2.5, and the sum of the squares of all states at these times."""
    impacts, t, speed = [mpmath.sqrt(2 / g)], mpmath.sqrt(2 / g), mpmath.sqrt(2 * g) * e
    while t + 2 * speed / g < mpmath.mpf("2.5"):
        t, speed = t + 2 * speed / g, speed * e
        impacts.append(t)
    total = mpmath.mpf(0)
    for time in at:
        before = [k for k, impact in enumerate(impacts) if impact < time]
        if not before:
            height, velocity = 1 - g * time**2 / 2, -g * time
        else:
            start, up = impacts[before[-1]], mpmath.sqrt(2 * g) * e ** (before[-1] + 1)
            since = time - start
            height, velocity = up * since - g * since**2 / 2, up - g * since
        total += height**2 + velocity**2
    return impacts, total


@pytest.fixture(autouse=True)
def precise() -> None:
    mpmath.mp.dps = 40


def test_bouncing_ball_agrees_with_its_closed_form():
    problem = catalog.load("bouncing-ball")
    found = certified(problem)
    saved = [mpmath.mpf(t.p) / t.q for t in problem.save_times]
    g, e = mpmath.mpf("9.81"), mpmath.mpf("0.8")
    impacts, loss = bouncing(g, e, saved)
    assert len(times(found)) == len(impacts) == 4
    for a, b in zip(times(found), impacts, strict=True):
        agree(a, b, 20)
    agree(decimal(found.loss), loss, 20)
    by_g = mpmath.diff(lambda x: bouncing(x, e, saved)[1], g)
    by_e = mpmath.diff(lambda x: bouncing(g, x, saved)[1], e)
    for value, exact in zip(found.gradient, (by_g, by_e), strict=True):
        agree(decimal(value), exact)
    assert min(found.gradient_digits) >= DIGITS


def heated(k: Real, q: Real, low: Real, high: Real) -> tuple[list[Real], Real]:
    """Times at which the thermostat of the catalog switches, and its loss: between them T' = -k (T - 10) + q on."""
    t, start, on, switched = mpmath.mpf(0), mpmath.mpf(20), 1, list[Real]()
    parts = []
    while t < 10:
        limit, goal = 10 + q * on / k, high if on else low
        parts.append((t, start, limit, on))
        t += mpmath.log((start - limit) / (goal - limit)) / k
        switched += [t] if t < 10 else []
        start, on = goal, 1 - on
    total = mpmath.mpf(0)
    for i in range(1, 21):
        time = mpmath.mpf(i) / 2
        begin, start, limit, on = next(part for part in reversed(parts) if part[0] < time)
        total += (limit + (start - limit) * mpmath.exp(-k * (time - begin))) ** 2 + on
    return switched, total


def test_thermostat_agrees_with_its_closed_form():
    found = certified(catalog.load("thermostat"))
    values = [mpmath.mpf(x) for x in ("0.5", "8", "18", "22")]
    switched, loss = heated(*values)
    assert len(switched) == len(times(found)) >= 5
    for a, b in zip(times(found), switched, strict=True):
        agree(a, b, 20)
    agree(decimal(found.loss), loss, 20)
    for i, value in enumerate(found.gradient):
        exact = mpmath.diff(lambda x, i=i: heated(*replaced(values, i, x))[1], values[i])
        agree(decimal(value), exact)


def test_doses_agree_with_their_sum():
    problem = catalog.load("oral-doses")
    found = certified(problem)

    def loss(ka: Real, ke: Real, dose: Real) -> Real:
        total = mpmath.mpf(0)
        for t in map(int, problem.save_times):
            amounts = [(100, 0), *((dose, at) for at in (12, 24, 36, 48))]
            gut = sum(d * mpmath.exp(-ka * (t - at)) for d, at in amounts if at < t)
            blood = sum(
                d * ka / (ka - ke) * (mpmath.exp(-ke * (t - at)) - mpmath.exp(-ka * (t - at)))
                for d, at in amounts
                if at < t
            )
            total += gut**2 + blood**2
        return total

    values = [mpmath.mpf(x) for x in ("0.9", "0.12", "100")]
    agree(decimal(found.loss), loss(*values), 20)
    for i, value in enumerate(found.gradient):
        agree(decimal(value), mpmath.diff(lambda x, i=i: loss(*replaced(values, i, x)), values[i]))


def test_two_crossings_within_a_step_are_both_seen(load: Load):
    """x = sin t is above the level for 2.8e-5 only."""
    level = "0.9999999999"
    rising = certified(oscillator(load, level=level), gradients=False)
    first = mpmath.asin(mpmath.mpf(level))
    assert len(times(rising)) == 2
    agree(times(rising)[0], first, 18)
    both = certified(oscillator(load, level=level, direction="both"), gradients=False)
    assert len(times(both)) == 4
    agree(times(both)[1], mpmath.pi - first, 18)
    # n counts them.
    assert decimal(rising.rows[-1][2]) == mpmath.mpf("0.5")


def test_a_condition_that_passes_zero_in_the_other_direction_does_nothing(load: Load):
    found = certified(oscillator(load, direction="falling", t1="2.5", times="1, 2.5"))
    assert len(times(found)) == 0


def test_a_reset_moves_the_time_into_the_gradient(load: Load):
    """At sin t = level the velocity is multiplied: the state after it depends on the level through the time."""
    found = certified(oscillator(load, reset='v = "v + kick"', t1="2", times="2"))

    def loss(level: Real, kick: Real) -> Real:
        t = mpmath.asin(level)
        x, v, left = level, mpmath.cos(t) + kick, 2 - t
        return (x * mpmath.cos(left) + v * mpmath.sin(left)) ** 2 + (v * mpmath.cos(left) - x * mpmath.sin(left)) ** 2

    level, kick = mpmath.mpf("0.5"), mpmath.mpf("0.25")
    agree(decimal(found.loss), loss(level, kick), 20)
    agree(decimal(found.gradient[0]), mpmath.diff(lambda x: loss(x, kick), level))
    agree(decimal(found.gradient[1]), mpmath.diff(lambda x: loss(level, x), kick))


def test_an_event_that_depends_on_the_time_alone(load: Load):
    found = certified(oscillator(load, when="t - 6*level", reset='v = "v*(1 + t)"', t1="5", times="5"))
    agree(times(found)[0], mpmath.mpf(3), 20)

    def loss(level: Real) -> Real:
        t = 6 * level
        x, v, left = mpmath.sin(t), mpmath.cos(t) * (1 + t), 5 - t
        return (x * mpmath.cos(left) + v * mpmath.sin(left)) ** 2 + (v * mpmath.cos(left) - x * mpmath.sin(left)) ** 2

    agree(decimal(found.gradient[0]), mpmath.diff(loss, mpmath.mpf("0.5")))


def test_an_event_ends_the_solve_and_its_time_is_in_the_loss():
    """The stone lands at t = √(2h/g) = 2.02 with v = -√(2hg); nothing changes from then on, also not at t = 2.75."""
    found = certified(stone())
    g, h = mpmath.mpf("9.81"), mpmath.mpf(20)
    agree(times(found)[0], mpmath.sqrt(2 * h / g), 20)

    def loss(g: Real, h: Real) -> Real:
        return h - 5 * g / 8 + 2 * (mpmath.sqrt(2 * h / g) - mpmath.sqrt(2 * h * g))

    agree(decimal(found.loss), loss(g, h), 20)
    agree(decimal(found.gradient[0]), mpmath.diff(lambda x: loss(x, h), g))
    agree(decimal(found.gradient[1]), mpmath.diff(lambda x: loss(g, x), h))
    assert [float(value) for value in found.rows[-1][:2]] == pytest.approx([0, -float(mpmath.sqrt(2 * h * g))])


def test_conditions_have_events_of_their_own():
    """One stone lands, the other is kicked in the air: the sums that :mod:`adapters.stone` has in double precision."""
    found = batch_certificate.certified(two_stones())
    g, h = mpmath.mpf("9.81"), mpmath.mpf(20)
    agree(times(found)[0], mpmath.sqrt(2 * h / g), 20)

    def loss(g: Real, h: Real) -> Real:
        landing = h - 5 * g / 8 + 2 * (mpmath.sqrt(2 * h / g) - mpmath.sqrt(2 * h * g))
        return landing + 6 * h - g * mpmath.mpf(165) / 16 + mpmath.mpf(15) / 8

    agree(decimal(found.loss), loss(g, h), 20)
    agree(decimal(found.gradient[0]), mpmath.diff(lambda x: loss(x, h), g))
    agree(decimal(found.gradient[1]), mpmath.diff(lambda x: loss(g, x), h))
    assert found.evidence["trajectories"] == 2
    assert float(str(found.evidence["event_digits"])) > 20


def test_an_event_where_the_first_guess_of_its_place_is_exact(load: Load):
    """Between two steps x is a straight line, whose zero is the place at which regula falsi looks first."""
    text = OSCILLATOR.replace('x = "v"', "x = 1").format(
        level="0.5",
        when="x - 5.25*2*level",
        direction="rising",
        reset='v = "v + level"',
        t1="7",
        times="1, 2, 3, 4, 5, 6, 7",
    )
    agree(times(certified(load(text)))[0], mpmath.mpf("5.25"), 20)


def test_gradients_by_the_initial_state(load: Load):
    text = OSCILLATOR.format(level="0.5", when="x - 0.5", direction="rising", reset='v = "v + 0.25"', t1="2", times="2")
    head, _, rest = text.replace("0*level*kick", "0").partition("[parameters]")
    found = certified(load(head + "[states]" + rest.partition("[states]")[2]))

    def loss(x0: Real, v0: Real) -> Real:
        t = mpmath.findroot(lambda t: x0 * mpmath.cos(t) + v0 * mpmath.sin(t) - mpmath.mpf("0.5"), mpmath.pi / 6)
        x, v = mpmath.mpf("0.5"), v0 * mpmath.cos(t) - x0 * mpmath.sin(t) + mpmath.mpf("0.25")
        left = 2 - t
        return (x * mpmath.cos(left) + v * mpmath.sin(left)) ** 2 + (v * mpmath.cos(left) - x * mpmath.sin(left)) ** 2

    agree(decimal(found.gradient[0]), mpmath.diff(lambda x: loss(x, mpmath.mpf(1)), mpmath.mpf(0)), 12)
    agree(decimal(found.gradient[1]), mpmath.diff(lambda v: loss(mpmath.mpf(0), v), mpmath.mpf(1)), 12)


def test_two_events_of_one_condition_are_followed_in_their_order(load: Load):
    def text(events: str) -> str:
        whole = OSCILLATOR.format(
            level="0.5", when="x - level", direction="rising", reset="n = 0", t1="3", times="1, 3"
        )
        return whole.partition("[events")[0] + events

    two = """
[events.count]
when = "x - level"
direction = "rising"
reset = { n = "n + v**2" }
[events.slow]
when = "level - x"
direction = "falling"
priority = 3
reset = { v = "v - kick" }
"""
    one = """
[events.both]
when = "x - level"
direction = "rising"
reset = { v = "v - kick", n = "n + (v - kick)**2" }
"""
    found, written = certified(load(text(two))), certified(load(text(one)))
    for a, b in zip(found.gradient, written.gradient, strict=True):
        agree(decimal(a), decimal(b), DIGITS)
    assert float(found.gradient[1]) != 0


@pytest.mark.parametrize("level", ["0.9", "0.8", "0.75", "0.7"])
def test_events_at_one_time_and_one_condition_in_both_directions(load: Load, level: str):
    """At the event itself the other direction's condition is zero, whatever the sign of its rounding."""
    found = certified(load(AT_ONE_TIME.format(first="2*x", level=level)))
    k, h = mpmath.mpf("0.37"), mpmath.mpf(level)

    def loss(k: Real) -> Real:
        def at(x: Real, t: Real, end: Real) -> Real:
            while (falls := mpmath.log(x / h) / k) < end - t:
                x, t = h + 1, t + falls
            return x * mpmath.exp(-k * (end - t))

        return (
            at(mpmath.mpf(1), mpmath.mpf(0), mpmath.mpf("0.5")) ** 2
            + at(2 * at(mpmath.mpf(1), mpmath.mpf(0), mpmath.mpf(1)) + 1, mpmath.mpf(1), mpmath.mpf(3)) ** 2
        )

    agree(decimal(found.loss), loss(k), DIGITS)
    agree(decimal(found.gradient[0]), mpmath.diff(loss, k), 12)

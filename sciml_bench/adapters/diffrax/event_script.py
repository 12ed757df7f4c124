"""The part of a Diffrax script that solves from event to event, as ``events.py`` does it, written out."""

from __future__ import annotations

from sciml_bench.adapters import script
from sciml_bench.record.task import Task

_FUNCTIONS = '''
CROSSINGS = [(name, direction) for name, direction, _ in EVENTS if direction is not None]
TIMES = sorted({t for _, _, times in EVENTS for t in times})
LEGS = 0  # of a solve, a few to spare; counted by the first call


def leg(now, p):
    """Solve up to the next event or the end; the time, the state after it, and the states at the saved times before."""
    start, y, ys = now
    args = ARGUMENTS
    saved, times = jnp.asarray(SAVED), jnp.asarray([*TIMES, T1])
    place = jnp.searchsorted(times, start, side="right")
    end = times[jnp.minimum(place, len(times) - 1)]
    solution = diffrax.diffeqsolve(
        diffrax.ODETerm(lambda t, y, args: rhs(t, y, *args)), SOLVER, start, end, None, y,
        args=args,
        saveat=diffrax.SaveAt(subs=(diffrax.SubSaveAt(ts=jnp.clip(saved, start, end)), diffrax.SubSaveAt(t1=True))),
        stepsize_controller=CONTROLLER,
        adjoint=ADJOINT,
        max_steps=MAX_STEPS,
        throw=False,
        event=event(start, y, args),
    )
    t, y = solution.ts[1][-1], solution.ys[1][-1]
    ys = jnp.where(((saved > start) & (saved <= t))[:, None], solution.ys[0], ys)
    fired = solution.result == diffrax.RESULTS.event_occurred
    failed = ~fired & (solution.result != diffrax.RESULTS.successful)
    after = y
    for i, time_ in enumerate(TIMES):
        new = y
        for name, _, at in EVENTS:
            if time_ in at:
                new = globals()[f"reset__{name}"](jnp.asarray(time_), new, args[0])
        after = jnp.where((place == i) & ~fired, new, after)
    for j, (name, _) in reversed(list(enumerate(CROSSINGS))):
        new = globals()[f"reset__{name}"](t, y, args[0])
        after = jnp.where(fired & solution.event_mask[j], new, after)
    return jnp.where(failed, jnp.inf, t), after, jnp.where(failed, jnp.nan, ys)


def event(start, y, args):
    """What passes zero; right after an event rounding gives a condition either sign, and its slope counts."""
    if not CROSSINGS:
        return None
    t0, y0, fixed = jax.lax.stop_gradient((start, y, args))
    f = rhs(t0, y0, *fixed)
    values, slopes = jax.jvp(lambda t, y: events(t, y, *fixed), (t0, y0), (jnp.ones_like(t0), f))
    sizes = jnp.abs(jax.jacfwd(lambda y: events(t0, y, *fixed))(y0)) @ jnp.maximum(jnp.abs(y0), jnp.asarray(SCALE))
    at_start = jnp.where((t0 > T0) & (jnp.abs(values) <= 1e-9*sizes), slopes, values)

    def condition(j):
        return lambda t, y, args, **_: jnp.where(t == start, at_start[j], events(t, y, *args)[j])

    finder = optimistix.Newton(1e-3*RTOL, 1e-3*RTOL)
    ways = [{1: True, -1: False, 0: None}[direction] for _, direction in CROSSINGS]
    return diffrax.Event([condition(j) for j in range(len(CROSSINGS))], finder, ways)


def first(y0):
    """The start of the first leg."""
    return jnp.asarray(T0), y0, jnp.zeros((len(SAVED), N_STATES))


def counted(y0, p):
    """The number of legs of a solve."""
    taken = jax.lax.while_loop(
        lambda now: (now[0][0] < T1) & (now[1] < 10_000), lambda now: (leg(now[0], p), now[1] + 1), (first(y0), 0)
    )
    return taken[1]


def solved(y0, p):
    """The states at the saved times, from one initial state."""

    def step(now, _):
        return jax.lax.cond(now[0] < T1, lambda now: leg(now, p), lambda now: now, now), None

    (t, _, ys), _ = jax.lax.scan(step, first(y0), None, length=LEGS)
    return jnp.where(t < T1, jnp.nan, ys)
'''


def functions(task: Task, adjoint: str) -> list[str]:
    """The functions that follow a solution through its events."""
    arguments = "arguments(p)" if script.has(task, "arguments") else "(p,)"
    return _FUNCTIONS.strip("\n").replace("ARGUMENTS", arguments).replace("ADJOINT", adjoint).splitlines()


COUNT = """\
    global LEGS
    if not LEGS:
        LEGS = 2 + int(jax.jit(legs_of)(jnp.asarray(theta)))"""
"""The first lines of a gradient."""


def legs(start: list[str], *, alone: bool) -> list[str]:
    """The function of theta that counts the legs; ``start`` are the lines that compute initial values."""
    value = "counted(y0, p)" if alone else "jnp.max(jax.lax.map(lambda y0: counted(y0, p), y0))"
    return ["def legs_of(theta):", *start, f"    return {value}"]

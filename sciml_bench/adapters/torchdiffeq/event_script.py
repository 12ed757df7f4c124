"""The part of a torchdiffeq script that solves from event to event, as ``events.py`` does it, written out."""

from __future__ import annotations

from sciml_bench.adapters import script
from sciml_bench.record.task import Task

_FUNCTIONS = '''
CROSSINGS = [(name, direction) for name, direction, _ in EVENTS if direction is not None]


def slopes_of(f, t, y, p):
    """The derivatives of the conditions along the solution."""
    with torch.no_grad():
        return torch.func.jvp(lambda t, y: events(t, y, p), (t, y), (torch.ones_like(t), f(t, y)))[1]


def next_event(f, t, end, y, p, options):
    """The time of the next event before the end and its number, which is ``None`` if it passes in the other direction.

    Right after an event rounding gives its condition either sign, and its slope counts.
    """
    if not CROSSINGS:
        return None, None
    start, y0, fixed = t.detach(), y.detach(), p.detach()
    at_start = events(start, y0, fixed).detach()
    sizes = torch.func.jacrev(lambda y: events(start, y, fixed))(y0).abs() @ y0.abs().maximum(torch.tensor(SCALE))
    least, slopes = float(torch.min(ATOL)), slopes_of(f, start, y0, fixed)
    is_rounding = (at_start.abs() <= (1e-9*sizes).maximum(10*least*slopes.abs())) & (start > T0)
    at_start = torch.where(is_rounding, slopes, at_start)

    def conditions(t, y):
        found = at_start if t == start else events(t, y, p)
        return torch.cat([found, (end - t).reshape(1)])

    at, states = odeint_event(
        f, y, t, event_fn=conditions, odeint_interface=SOLVER, **{**options, "atol": least}
    )
    if float((end - at).detach()) <= least:
        return None, None
    with torch.no_grad():
        # The condition nearest to zero, in time.
        speeds = slopes_of(f, at, states[-1], p)
        j = int(torch.argmin(torch.abs(events(at, states[-1], p)/speeds)))
    return at, j if CROSSINGS[j][1] in (0, 1 if speeds[j] > 0 else -1) else None


def followed(f, y, times, p, options):
    """The states at the start and the times of a smooth part."""
    t, rows = times[0], [y[None]]
    for _ in range(10_000):
        at, j = next_event(f, t, times[-1], y, p, options)
        left = times[times > t.detach()]
        ends = left if at is None else torch.cat([left[left < at.detach()], at.reshape(1)])
        ys = SOLVER(f, y, torch.cat([t.reshape(1), ends]), **options)[1:]
        if at is None:
            return torch.cat([*rows, ys])
        rows.append(ys[:-1])
        t, y = at, ys[-1]
        if j is not None:
            y = globals()[f"reset__{CROSSINGS[j][0]}"](t, y, p)
    raise RuntimeError("more than 10 000 events")
'''


def functions(solver: str) -> str:
    """The functions that follow a solution through its events."""
    return _FUNCTIONS.strip("\n").replace("SOLVER", solver)


def scheduled(task: Task) -> list[str]:
    """The jumps at the end of a smooth part."""
    if not any(times for _, _, times in script.events(task)):
        return []
    return [
        "        for name, _, at in EVENTS:",
        "            if float(times[-1]) in at:",
        '                y = globals()[f"reset__{name}"](times[-1], y, p)',
    ]

"""The part of a SciPy script that solves from event to event, as ``events.py`` does it, written out."""

from __future__ import annotations

from sciml_bench.record.task import Task

_FUNCTIONS = '''
CONDITIONS = [(name, direction) for name, direction, _ in EVENTS if direction is not None]


def watched(j, start, z, p):
    """A condition as ``solve_ivp`` takes it; right after an event rounding gives it either sign: its slope counts."""
    value = events(start, z[:N], p)[j]
    by_state, by_time, _ = event_slopes(start, z[:N], p)
    is_rounding = abs(value) <= 1e-9*np.abs(by_state[j]) @ np.maximum(np.abs(z[:N]), SCALE)
    slope = by_state[j] @ np.asarray(rhs(start, z[:N], p)) + by_time[j, 0]
    at_start = slope if start > T0 and is_rounding else value

    def condition(t, z):
        return at_start if t == start else events(t, z[:N], p)[j]

    condition.terminal, condition.direction = True, CONDITIONS[j][1]
    return condition


def jumped(name, t, z, p, columns, j=None):
    """The state and its sensitivities after an event, whose time depends on them if condition ``j`` decides it."""
    before, s = z[:N], z[N:].reshape(-1, N).T
    after = np.asarray(globals()[f"reset__{name}"](t, before, p), dtype=float)
    by_state, by_time, by_parameters = globals()[f"reset_slopes__{name}"](t, before, p)
    new = by_state @ s + by_parameters[:, columns]
    if j is not None:
        g_state, g_time, g_parameters = (part[j] for part in event_slopes(t, before, p))
        left, right = (np.asarray(rhs(t, y, p)) for y in (before, after))
        moved = (g_state @ s + g_parameters[columns])/(g_state @ left + g_time[0])
        new -= np.outer(by_state @ left + by_time[:, 0] - right, moved)
    return np.concatenate([after, new.T.ravel()])


def followed(f, start, times, z, p, columns, options):
    """The values at the times of a smooth part, and the last one."""
    t, rows = start, []
    for _ in range(10_000):
        conditions = [watched(j, t, z, p) for j in range(len(CONDITIONS))]
        found = solve_ivp(f, (t, times[-1]), z, t_eval=times[times > t], events=conditions, **options)
        if found.status < 0:
            raise RuntimeError(found.message)
        rows.append(np.reshape(np.transpose(found.y), (-1, len(z))))
        if found.status == 0:
            return np.concatenate(rows), found.y[:, -1]
        j = next(j for j, at in enumerate(found.t_events) if len(at))
        t = found.t_events[j][0]
        z = jumped(CONDITIONS[j][0], t, found.y_events[j][0], p, columns, j)
    raise RuntimeError("more than 10 000 events")
'''


def functions(task: Task) -> str:
    """The functions that follow a solution through its events."""
    text = _FUNCTIONS.strip("\n")
    if task.numbers.wrt != "parameters":
        text = text.replace(" + by_parameters[:, columns]", "").replace(" + g_parameters[columns]", "")
    return text


def integration(f: str, method: str, jacobian: str, band: str) -> list[str]:
    """The loop over the smooth parts of the time span."""
    jac = f', "jac": {jacobian}' if jacobian else ""
    return [
        "    saved, columns = [], slice(first, first + m)",
        "    for start, times, n_saved, low, high in PARTS:",
        f'        options = {{"method": {method}, "rtol": RTOL, "atol": atols{jac}{band}}}',
        f"        values, z = followed({f}, start, times, z, p, columns, options)",
        "        saved.append(values[:n_saved])",
        "        for name, _, at in EVENTS:",
        "            if times[-1] in at:",
        "                z = jumped(name, times[-1], z, p, columns)",
    ]

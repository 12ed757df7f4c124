"""Solves and gradients of emitted equations as CasADi's functions. Scripts quote these functions as they are."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from sciml_bench.adapters.casadi import LOOKS


def solution(
    rhs: Any, residual: Any, parts: Any, n_states: int, n_parameters: int, plugin: str, options: dict[str, Any],
    resets: Any, conditions: Any = None, crossings: Any = (),
) -> Any:  # fmt: skip
    """A function of the initial state and the parameters that gives the states at the saved times as columns.

    Tolerances are options of an integrator. Each part of the time span has one, which sees ``t`` between its bounds.
    ``residual`` is zero along a solution, which determines the last states; ``None`` where all have derivatives.
    ``resets`` are functions of time, state and parameters by the time at which the state changes to their values;
    ``crossings`` the direction and the reset of each of the ``conditions``.

    CasADi looks for events in the last step before each output time, and one in an earlier step ends the solve with
    CV_ILL_INPUT. Many output times make steps that are this short.
    """
    t, p = ca.SX.sym("t"), ca.SX.sym("p", n_parameters)
    n = n_states
    if residual is not None:
        n -= residual(t, ca.SX.sym("y", n_states), p).numel()
    x, z = ca.SX.sym("x", n), ca.SX.sym("z", n_states - n)
    y = ca.vertcat(x, z)
    start_state, parameters = ca.MX.sym("y0", n_states), ca.MX.sym("p", n_parameters)
    state, saved = start_state, []
    for number, (start, times, n_saved, low, high) in enumerate(parts):
        inside = t
        if np.isfinite(low) or np.isfinite(high):
            inside = ca.fmin(ca.fmax(t, low), high)
        equations = {"x": x, "t": t, "p": p, "ode": ca.densify(rhs(inside, y, p)[:n])}
        if residual is not None:
            equations |= {"z": z, "alg": ca.densify(residual(inside, y, p))}
        output = np.asarray(times)
        if crossings:
            share = (times[-1] - start) / (parts[-1][1][-1] - parts[0][0])
            looks = np.linspace(start, times[-1], 2 + int(LOOKS * share))[1:]
            is_saved = np.isclose(looks[:, None], times, rtol=0, atol=1e-3 * (looks[0] - start)).any(axis=1)
            output = np.sort([*times, *looks[~is_saved]])
            equations["zero"], after = passing(conditions, crossings, t, inside, x, p)
            options = {**options, "transition": after}
        integrator = ca.integrator(f"part_{number}", plugin, equations, start, output, options)
        if residual is None:
            states = integrator(x0=state, p=parameters)["xf"]
        else:
            ends = integrator(x0=state[:n], z0=state[n:], p=parameters)
            states = ca.vertcat(ends["xf"], ends["zf"])
        if crossings:
            states = states[:, np.searchsorted(output, times).tolist()]
        saved.append(states[:, :n_saved])
        state = states[:, -1]
        for reset in resets.get(times[-1], ()):
            state = reset(times[-1], state, parameters)
    return ca.Function("solution", [start_state, parameters], [ca.horzcat(*saved)])


def passing(conditions: Any, crossings: Any, t: Any, inside: Any, x: Any, p: Any) -> Any:
    """Expressions that become negative at events, and a function that gives the state after each."""
    index, none = ca.SX.sym("index"), ca.SX(0, 1)
    becoming, after = [], x
    for value, (direction, reset) in zip(ca.vertsplit(conditions(inside, x, p)), crossings, strict=True):
        after = ca.if_else(index == len(becoming), reset(inside, x, p), after)
        becoming.append(-direction * value)
    names = ["index", "t", "x", "z", "p", "u"], ["post_x", "post_z"]
    transition = ca.Function("after", [index, t, x, none, p, none], [ca.densify(after), none], *names)
    return ca.vertcat(*becoming), transition


def in_turn(
    rhs: Any, residual: Any, parts: Any, n_states: int, n_parameters: int, plugin: str, options: dict[str, Any]
) -> Any:
    """``solution`` with an integration from each time to the next, which adjoints through IDAS need.

    In CasADi 3.8.2 they fail for an integrator with several times, and are wrong where a loss reads the algebraic
    variables of one. Those are roots of their equations at the other states here.
    """
    n = n_states - residual(ca.SX.sym("t"), ca.SX.sym("y", n_states), ca.SX.sym("p", n_parameters)).numel()
    x, z, p = ca.SX.sym("x", n), ca.SX.sym("z", n_states - n), ca.SX.sym("p", n_parameters)
    start, length, low, high = ca.SX.sym("start"), ca.SX.sym("length"), ca.SX.sym("low"), ca.SX.sym("high")
    share, y, given = ca.SX.sym("share"), ca.vertcat(x, z), ca.vertcat(p, start, length, low, high)
    t = ca.fmin(ca.fmax(start + share * length, low), high)
    zero = ca.densify(residual(t, y, p))
    equations = {"x": x, "z": z, "t": share, "p": given, "ode": length * ca.densify(rhs(t, y, p)[:n]), "alg": zero}
    leg = ca.integrator("leg", plugin, equations, 0.0, 1.0, options)
    at_end = ca.substitute(zero, share, ca.SX(1))
    root = ca.rootfinder("root", "newton", {"x": z, "p": ca.vertcat(x, given), "g": at_end})
    start_state, parameters = ca.MX.sym("y0", n_states), ca.MX.sym("p", n_parameters)
    state, saved = start_state, []
    for begin, times, n_saved, low_t, high_t in parts:
        for place, (a, b) in enumerate(zip((begin, *times[:-1]), times, strict=True)):
            numbers = ca.vertcat(parameters, a, b - a, low_t, high_t)
            ends = leg(x0=state[:n], z0=state[n:], p=numbers)
            algebraic = root(x0=ends["zf"], p=ca.vertcat(ends["xf"], numbers))["x"]
            state = ca.vertcat(ends["xf"], algebraic)
            if place < n_saved:
                saved.append(state)
    return ca.Function("solution", [start_state, parameters], [ca.horzcat(*saved)])


def slopes(solve: Any, by_parameters: bool) -> Any:
    """A function of the initial state and the parameters: the states, and their derivatives side by side."""
    y0, p = ca.MX.sym("y0", solve.size1_in(0)), ca.MX.sym("p", solve.size1_in(1))
    states, theta = solve(y0, p), p if by_parameters else y0
    along = ca.jtimes(ca.vec(states), theta, ca.DM.eye(theta.numel()))
    return ca.Function("slopes", [y0, p], [states, along])


def adjoint(solve: Any, by_parameters: bool) -> Any:
    """A function of the initial state, the parameters, and the slopes of a loss at the saved states: its gradient."""
    y0, p = ca.MX.sym("y0", solve.size1_in(0)), ca.MX.sym("p", solve.size1_in(1))
    states = solve(y0, p)
    seeds = ca.MX.sym("seeds", states.shape[0], states.shape[1])
    return ca.Function("adjoint", [y0, p, seeds], [ca.jtimes(states, p if by_parameters else y0, seeds, True)])

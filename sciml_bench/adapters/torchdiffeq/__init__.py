"""torchdiffeq in PyTorch, with gradients by back-propagation through the steps or by its adjoint equation."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from sciml_bench.adapters.base import Adapter, Cost, Method, PlotStyle, ProblemTraits, Recipe
from sciml_bench.adapters.recipes import contradicted, default, distinct, other_kind, takes_explicit
from sciml_bench.record.task import LANDING, Cell

__all__ = ["ADAPTER"]


SEMINORM = "backsolve-seminorm"
"""The adjoint equation whose steps do not obey the errors of the parameters' gradients, which nothing else depends on
(Kidger, Chen and Lyons, arXiv 2009.09457)."""

ADAPTIVE = (
    Method("dopri5", family="explicit_rk", order=5, implicit=False, lands=True, interpolant=4),
    Method("dopri8", family="explicit_rk", order=8, implicit=False, lands=True, interpolant=4),
    Method("tsit5", family="explicit_rk", order=5, implicit=False, lands=True, interpolant=4),
    Method("bosh3", family="explicit_rk", order=3, implicit=False, lands=True),
    Method("fehlberg2", family="explicit_rk", order=2, implicit=False, lands=True),
    Method("adaptive_heun", family="explicit_rk", order=2, implicit=False, lands=True),
)
FIXED = (
    Method("rk4", family="explicit_rk", order=4, implicit=False, adaptive=False),
    # Raises its order up to 12 as it goes; its corrector is a fixed-point iteration.
    Method("implicit_adams", family="multistep", order=4, implicit=True, adaptive=False),
    Method("implicit_euler", family="implicit_rk", order=1, implicit=True, adaptive=False, stiff=True),
    Method("implicit_midpoint", family="implicit_rk", order=2, implicit=True, adaptive=False),
    Method("trapezoid", family="implicit_rk", order=2, implicit=True, adaptive=False),
    Method("radauIIA3", family="radau", order=3, implicit=True, adaptive=False, stiff=True),
    Method("radauIIA5", family="radau", order=5, implicit=True, adaptive=False, stiff=True),
    Method("gl4", family="implicit_rk", order=4, implicit=True, adaptive=False),
    Method("gl6", family="implicit_rk", order=6, implicit=True, adaptive=False),
    Method("sdirk2", family="sdirk", order=2, implicit=True, adaptive=False, stiff=True),
    Method("trbdf2", family="esdirk", order=2, implicit=True, adaptive=False, stiff=True),
)

# Methods that are in torchdiffeq's repository but not in every release on PyPI that has the same version number
# (0.2.5), and the file of the library that has them.
_FILES = {
    "tsit5": "tsit5.py",
    **dict.fromkeys(
        (method.name for method in FIXED if method.name not in ("rk4", "implicit_adams")), "fixed_grid_implicit.py"
    ),
}
REPOSITORY = "git+https://github.com/rtqichen/torchdiffeq"


def not_released(method: str) -> str | None:
    """Return why the installed torchdiffeq does not have this method; ``None`` if it has it, or is not installed at
    all.
    """
    spec = importlib.util.find_spec("torchdiffeq")
    if method not in _FILES or spec is None:
        return None
    if any((Path(folder) / "_impl" / _FILES[method]).exists() for folder in spec.submodule_search_locations or ()):
        return None
    return f"the installed torchdiffeq has no method '{method}', its repository has; run: pip install {REPOSITORY}"


def _refusal(cell: Cell, facts: ProblemTraits) -> str | None:
    if facts.events and (why := _no_events(cell, facts)):
        return why
    if facts.stochastic:
        return "torchdiffeq takes no Brownian motion that drives an equation (torchsde, another library, does)"
    if facts.controlled:
        return "torchdiffeq has no paths through data that drive an equation (torchcde, another library, has)"
    if facts.input_derivatives and cell.framework_mode == "compiled":
        return "torch.compile does not trace torch.autograd.grad, by which the right-hand side differentiates a network"
    if cell.sensitivity == SEMINORM and not _has_error_control(cell.method):
        return f"a seminorm changes how errors decide on steps; the steps of '{cell.method}' are fixed"
    if cell.sensitivity == SEMINORM and facts.wrt == "initial_state":
        return "a seminorm leaves out the gradients of parameters, which this problem does not ask for"
    return not_released(cell.method)


def _no_events(cell: Cell, facts: ProblemTraits) -> str | None:
    """Return why a cell cannot run on a problem with events."""
    if not _has_error_control(cell.method):
        return "odeint_event needs a method that chooses its steps"
    if cell.framework_mode == "compiled":
        return "where an event is, torch.compile does not know beforehand"
    if cell.saving == LANDING:
        return "steps end at events, and are solved again with the saved times between them"
    if facts.n_weights:
        return "events beside networks are not emitted for PyTorch"
    return None


def _has_error_control(method: str) -> bool:
    return any(item.name == method for item in ADAPTIVE)


def recipes(facts: ProblemTraits) -> tuple[Recipe, ...]:
    """dopri8 where an explicit method succeeds, dopri5 where stability limits its steps, and for networks.

    Its guide lists dopri8 first and has dopri5 as default. An operation costs microseconds there whatever it computes,
    and a step some twenty of them plus the evaluations, so that larger steps win: on Lotka-Volterra solves by dopri8
    take 0.64 of the time at four and six digits and 0.75 at eight, gradients the same. On the spiral's network, which
    is observed at many times, dopri5 wins: between them dopri8 has only a fourth-order interpolant.

    The guide shows ``odeint`` and ``odeint_adjoint`` side by side, and names no method for stiff problems: the
    implicit method of highest stiff order is first there, followed by dopri5, the only one in releases without
    implicit methods. It has no forward sensitivities.
    """
    usual = default("dopri5", "discrete", "eager")
    implicit, accurate = Recipe("radauIIA5", "discrete", "eager"), Recipe("dopri8", "discrete", "eager")
    if not takes_explicit(facts):
        return distinct(implicit, usual)
    limited = contradicted(facts) or facts.n_weights > 0
    return distinct(
        *((usual, accurate) if limited else (accurate, usual)),
        Recipe("dopri5", "discrete", "compiled"),
        Recipe("dopri5", "backsolve", "eager"),
        Recipe("dopri5", "backsolve", "compiled"),
        *other_kind(facts, accurate, implicit),
    )


ADAPTER = Adapter(
    name="torchdiffeq",
    title="torchdiffeq (PyTorch)",
    packages={"torch": "torch", "torchdiffeq": "torchdiffeq"},
    extra="torch",
    target="torch-arrays",
    # TorchInductor fuses scalar code, and calls a library for each product with a matrix.
    mode_targets={"compiled": "torch"},
    program="sciml_bench.adapters.torchdiffeq.program:TorchdiffeqProgram",
    event_program="sciml_bench.adapters.torchdiffeq.events:EventProgram",
    script="sciml_bench.adapters.torchdiffeq.script:script_of",
    methods=(*ADAPTIVE, *FIXED),
    sensitivities=("discrete", "backsolve", SEMINORM),
    modes=("eager", "compiled"),
    precisions=("float64", "float32"),
    devices=("cpu", "gpu"),
    recipes=recipes,
    refusal=_refusal,
    cached_modes=("compiled",),
    # All methods call one right-hand side, which TorchInductor compiles once.
    reusing_modes=("compiled",),
    cost=Cost(startup_s=3.0, call_s=0.1, long_startup_s={"compiled": 25.0}),
    look=PlotStyle("#d55e00", "^v"),
)

"""torchode in PyTorch: every trajectory of a batch takes its own steps, through which gradients are taken."""

from __future__ import annotations

from sciml_bench.adapters.base import Adapter, Cost, Method, ProblemTraits, Recipe
from sciml_bench.adapters.recipes import always
from sciml_bench.record.task import Cell

__all__ = ["ADAPTER"]


def refusal(_cell: Cell, facts: ProblemTraits) -> str | None:
    """Return why a cell cannot run on a problem with these facts."""
    if facts.controlled:
        return "torchode has no paths that drive an equation, through data or of Brownian motions"
    if facts.n_weights or facts.latent:
        return "networks are not handed to torchode by this adapter"
    return None


# Its guide takes Dopri5 and Tsit5 with the controller that is used here. It has nothing for stiff problems, and no
# forward sensitivities.
ADAPTER = Adapter(
    name="torchode",
    title="torchode (PyTorch)",
    packages={"torch": "torch", "torchode": "torchode"},
    extra="torchode",
    target="torch-arrays",
    program="sciml_bench.adapters.torchode.program:TorchodeProgram",
    script="sciml_bench.adapters.torchode.script:script_of",
    methods=(
        Method("tsit5", family="explicit_rk", order=5, implicit=False),
        Method("dopri5", family="explicit_rk", order=5, implicit=False),
    ),
    sensitivities=("discrete",),
    modes=("eager",),
    devices=("cpu", "gpu"),
    recipes=always(Recipe("tsit5", "discrete", "eager"), Recipe("dopri5", "discrete", "eager")),
    refusal=refusal,
    cost=Cost(startup_s=3.0, call_s=0.2),
)

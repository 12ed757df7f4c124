"""SimpleChains in Julia, through juliacall, for the small models of the conventional track that it can express."""

from __future__ import annotations

from sciml_bench.adapters.base import NETWORK, Adapter, Cost, ProblemTraits, Recipe
from sciml_bench.adapters.julia import installation
from sciml_bench.adapters.julia.optional_parts import lacking_part
from sciml_bench.adapters.recipes import always
from sciml_bench.record.task import CONVENTIONAL, Cell

PART = "simplechains"


def refusal(cell: Cell, facts: ProblemTraits) -> str | None:
    """Return why a cell of a model cannot run here; ``None`` when it can."""
    # The emitter is imported when a plan is made, not when adapters are listed.
    from sciml_bench.models.emit.simplechains import refused_layer

    if cell.device == "gpu":
        return "SimpleChains computes on the CPU only: device cpu"
    if cell.precision == "bfloat16":
        return "SimpleChains has no mixed precision: float32 or float64"
    return refused_layer(facts.layers) or installation.refused_part(PART)


def lacking() -> str | None:
    """Return why it cannot run here, with the fix; ``None`` when it can."""
    return installation.lacking() or lacking_part(PART)


ADAPTER = Adapter(
    name="simplechains",
    title="SimpleChains (Julia)",
    packages={"juliacall": "juliacall"},
    extra="julia",
    target="simplechains",
    program="sciml_bench.adapters.simplechains.program:SimpleChainsProgram",
    methods=(NETWORK,),
    sensitivities=("reverse",),
    modes=("compiled",),
    precisions=("float32", "float64", "bfloat16"),
    devices=("cpu", "gpu"),
    recipes=always(Recipe("network", "reverse", "compiled")),
    refusal=refusal,
    variables=installation.variables,
    lacking=lacking,
    track=CONVENTIONAL,
    locks=installation.locks,
    cost=Cost(startup_s=30.0, call_s=0.005),
)

"""Lux in Julia, through juliacall, for the models of the conventional track."""

from __future__ import annotations

import os
from collections.abc import Mapping

from sciml_bench.adapters.base import NETWORK, Adapter, Cost, ProblemTraits, Recipe
from sciml_bench.adapters.julia import installation
from sciml_bench.adapters.julia.environments import in_environment, unmet
from sciml_bench.adapters.recipes import always
from sciml_bench.record.task import CONVENTIONAL, Cell


def refusal(cell: Cell, _facts: ProblemTraits, environment: Mapping[str, str] = os.environ) -> str | None:
    """Return why a cell of a model cannot run in the installation that ``environment`` names."""
    if cell.device == "gpu":
        return "on a GPU Lux needs LuxCUDA or Reactant, which `sciml-bench julia setup` does not install: device cpu"
    if cell.precision == "bfloat16":
        return "Lux has no mixed precision, and Julia computes with bfloat16 in software on a CPU: float32 or float64"
    return installation.refused_part("enzyme", environment) if cell.sensitivity == "reverse-enzyme" else None


ADAPTER = Adapter(
    name="lux",
    title="Lux (Julia)",
    packages={"juliacall": "juliacall"},
    extra="julia",
    target="lux",
    program="sciml_bench.adapters.lux.program:LuxProgram",
    methods=(NETWORK,),
    sensitivities=("reverse", "reverse-enzyme"),
    modes=("compiled",),
    precisions=("float32", "float64", "bfloat16"),
    devices=("cpu", "gpu"),
    recipes=always(Recipe("network", "reverse", "compiled")),
    refusal=refusal,
    variables=installation.variables,
    lacking=installation.lacking,
    track=CONVENTIONAL,
    locks=installation.locks,
    cost=Cost(startup_s=60.0, call_s=0.02),
    environment=lambda name: in_environment(ADAPTER, name, refusal),
    unmet=unmet,
)

"""Run in a process of its own: every problem's PyTorch modules on the device ``meta``, which computes no values."""

from __future__ import annotations

import json
import sys
from types import ModuleType
from typing import Any

import torch
from torch import Tensor

from sciml_bench.emit import source
from sciml_bench.errors import SciMLBenchError
from sciml_bench.spec import Problem, catalog

DEVICE = torch.device("meta")
PLANTED = """
import torch
def rhs(t, y, p): return y*torch.tensor([1.0, 2.0, 3.0])
def loss(ys): return torch.sum(ys)
"""


def moved(text: str) -> Any:
    """The module with its constants on the device, as the adapters move them."""
    module: Any = ModuleType("emitted")
    exec(compile(text, "<emitted>", "exec"), module.__dict__)
    for name, value in list(vars(module).items()):
        if isinstance(value, Tensor):
            setattr(module, name, value.to(DEVICE))
    return module


def run(module: Any, problem: Problem) -> None:
    """Call all of its functions with inputs on the device."""
    given = tuple(values.to(DEVICE) for values in getattr(module, "GIVEN", ()))
    named = torch.zeros(problem.n_named, dtype=torch.float64, device=DEVICE)
    networks = tuple(network.to(DEVICE, torch.float64) for network in getattr(module, "networks", tuple)())
    p = getattr(module, "prepared", lambda p: p)(named)
    used = getattr(module, "RHS_NETWORKS", range(len(networks)))
    states = (problem.n_states,) if problem.batch.size == 1 else (problem.batch.size, problem.n_states)
    y = torch.zeros(states, dtype=torch.float64, device=DEVICE)
    slope = module.rhs(torch.zeros((), dtype=torch.float64, device=DEVICE), y, p, *(networks[i] for i in used))
    assert slope.device == DEVICE, "the slope is on another device"
    ys = torch.zeros((len(problem.save_times), *states), dtype=torch.float64, device=DEVICE)
    loss = module.loss(ys, *given, named, *networks) if problem.latent else module.loss(ys)
    assert loss.device == DEVICE, "the loss is on another device"
    if hasattr(module, "initial_state"):
        module.initial_state(*given, named, *networks)


def reasons(name: str, text: str, problem: Problem) -> list[str]:
    """Why a module cannot run there; empty if it can."""
    try:
        run(moved(text), problem)
    except (AssertionError, RuntimeError, NotImplementedError) as error:
        return [f"{name}: {type(error).__name__}: {error}"]
    return []


def main() -> None:
    """Print the findings."""
    found: dict[str, list[str]] = {"run": [], "mixed": [], "planted": []}
    for name in catalog.names():
        try:
            problem = catalog.load(name)
        except (SciMLBenchError, TypeError):
            continue
        for target in ("torch", "torch-arrays"):
            try:
                text = source(problem, target)
            except SciMLBenchError:
                continue
            found["run"].append(f"{name} {target}")
            found["mixed"] += reasons(f"{name} {target}", text, problem)
    found["planted"] = reasons("planted", PLANTED, catalog.load("lorenz"))
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()

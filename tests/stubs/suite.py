"""A small suite of its own: three problems whose exact solution the stub programs know, and two stub adapters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from stubs.dispatch import METHODS

from sciml_bench.adapters.base import Adapter, Method, Recipe, Recipes
from sciml_bench.spec import catalog

PROBLEM = """\
spec = 1
name = "{name}"
title = "{title}"
suite = "{suite}"
tags = ["linear"]
tier = "{tier}"
description = "Two decays."

[source]
citation = "Any textbook"

[time]
t0 = 0
t1 = 2
save = {{ times = [0.5, 1, 2] }}

[parameters]
a = {a}
b = 2

[states]
y = 1
z = 1

[equations]
y = "-a*y"
z = "-b*z"

[exact]
y = "exp(-a*t)"
z = "exp(-b*t)"
"""


def problem_text(name: str, *, suite: str = "stiff", tier: str = "smoke", title: str = "Decay", a: str = "0.5") -> str:
    """A problem file that loads."""
    return PROBLEM.format(name=name, title=title, suite=suite, tier=tier, a=a)


def write_catalog(folder: Path) -> Path:
    """Three problems in two suites; returns the folder."""
    for name, suite, tier in (
        ("decay", "stiff", "smoke"),
        ("fade", "stiff", "standard"),
        ("calm", "nonstiff", "smoke"),
    ):
        path = folder / suite / f"{name}.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(problem_text(name, suite=suite, tier=tier, title=f"Decay of {name}"), encoding="utf-8")
    return folder


def use_catalog(folder: Path, monkeypatch: Any) -> None:
    """Let the catalog read this folder instead of its own."""
    monkeypatch.setattr(catalog, "folder", lambda: folder)
    catalog.paths.cache_clear()


def _refusal(cell: Any, facts: Any) -> str | None:
    if cell.mode == "compiled" and cell.sensitivity == "backsolve":
        return f"cannot compile the backward solve of {facts.n_states} states"
    return None


FINE, FINER = (Recipe(method, "discrete", "eager") for method in ("fine", "finer"))


def labelled(*stiff: Recipe, nonstiff: tuple[Recipe, ...] = (FINE,)) -> Recipes:
    """Recipes by the label of a problem: its decays are none too stiff for anything."""
    return lambda facts: stiff if facts.stiff else nonstiff


def stub_adapter(name: str, **changes: Any) -> Adapter:
    """An adapter whose methods are the stub programs; those called fine and finer are recommended."""
    declared: dict[str, Any] = {
        "title": f"Stub {name}",
        "packages": {},
        "extra": "",
        "target": "numpy",
        "program": "stubs.dispatch:build",
        "methods": tuple(
            Method(method, family="esdirk", order=index, implicit=True, stiff=True)
            for index, method in enumerate(METHODS, start=1)
        ),
        "sensitivities": ("discrete", "backsolve"),
        "modes": ("eager", "compiled"),
        "recipes": labelled(FINE, FINER),
        "refusal": _refusal,
    }
    return Adapter(name=name, **(declared | changes))


def stub_adapters() -> dict[str, Adapter]:
    """Two adapters: ``alpha`` recommends fine and finer, ``beta`` only fine."""
    beta = stub_adapter("beta", recipes=labelled(FINE))
    return {"alpha": stub_adapter("alpha"), "beta": beta}

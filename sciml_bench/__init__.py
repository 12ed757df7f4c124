"""Benchmarks of differentiable solvers for differential equations, from one neutral problem file.

The functions of :mod:`sciml_bench.api` are here, too, and are imported when they are first used:

>>> import sciml_bench as sb
>>> plan = sb.plan("robertson", adapters=["scipy"], profile="smoke")
"""

import importlib
from typing import Any

__version__ = "0.1.0"

_API = "sciml_bench.api"


def __getattr__(name: str) -> Any:
    # Submodules are found by the import system; a dunder is a question of a tool.
    if not name.startswith("_"):
        api = importlib.import_module(_API)
        if name in api.__all__:
            return getattr(api, name)
    raise AttributeError(f"module 'sciml_bench' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *importlib.import_module(_API).__all__})

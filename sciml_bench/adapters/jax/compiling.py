"""What JAX tells of its compiling: its own monitoring events, as for Diffrax, whose adapter shares them."""

from __future__ import annotations

from sciml_bench.adapters.diffrax.compiling import CacheHits as CacheHits
from sciml_bench.adapters.diffrax.compiling import CompileTimes as CompileTimes

"""Emitters: a problem as readable source text for each target."""

from sciml_bench.emit.source import invariants_source as invariants_source
from sciml_bench.emit.source import source as source

"""Emits Julia: static out-of-place code for small systems, loops in place for vectors and fields."""

from sciml_bench.emit.julia.module import julia_source as julia_source

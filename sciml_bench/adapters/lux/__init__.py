"""Lux in Julia, through juliacall, for the models of the conventional track."""

from sciml_bench.adapters.lux.declaration import ADAPTER as ADAPTER

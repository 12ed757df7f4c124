"""SimpleChains in Julia, through juliacall, for the small models of the conventional track that it can express."""

from sciml_bench.adapters.simplechains.declaration import ADAPTER as ADAPTER

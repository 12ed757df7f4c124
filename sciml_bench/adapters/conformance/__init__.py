"""The conformance suite: whether an adapter does what its declaration says, checked in fresh processes."""

from sciml_bench.adapters.conformance.suite import cells, check
from sciml_bench.adapters.conformance.verdict import Check

__all__ = ["Check", "cells", "check"]

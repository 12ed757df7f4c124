"""The conformance suite: whether an adapter does what its declaration says, checked in fresh processes."""

from sciml_bench.adapters.conformance.checks import Check
from sciml_bench.adapters.conformance.suite import cells, check

__all__ = ["Check", "cells", "check"]

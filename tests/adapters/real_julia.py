"""What the tests in a real Julia share: when they run, and how their processes start."""

from __future__ import annotations

import pytest

from sciml_bench.adapters.julia import installation

NEEDED = [
    pytest.mark.julia,
    pytest.mark.skipif(installation.lacking() is not None, reason=str(installation.lacking())),
]
#: Nearly all of the time goes into Julia's compiling of every cell, which takes half as long without optimisations. The
#: code of the packages is the one that is measured, precompiled with them.
QUICKLY_COMPILED = {"PYTHON_JULIACALL_OPTIMIZE": "0"}
#: Ten times what a process takes on a quiet machine: it ends one that hangs, not one that waits its turn.
LIMIT_S = 3600.0

"""Cases of a test of which a few run by default, and all of them with ``-m "slow or not slow"``."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import pytest


def others_slow(cases: Iterable[Any], quick: Collection[Any]) -> list[Any]:
    """The cases, of which all but the ``quick`` ones are marked slow: they show again what a quick one shows."""
    known = list(cases)
    assert set(quick) <= set(known), set(quick) - set(known)
    return [
        case if case in quick else pytest.param(*(case if isinstance(case, tuple) else [case]), marks=pytest.mark.slow)
        for case in known
    ]

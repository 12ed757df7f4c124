"""The folder of a user in which the suite installs environments and a Julia."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path


def data_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """``sciml-bench`` in ``XDG_DATA_HOME``, or in the usual place of a user's data."""
    base = environment.get("XDG_DATA_HOME")
    return (Path(base) if base else Path.home() / ".local" / "share") / "sciml-bench"

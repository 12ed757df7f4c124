"""An adapter's program whose framework is not installed."""

from __future__ import annotations

import a_framework_that_is_not_installed  # pyright: ignore[reportMissingImports]  # noqa: F401

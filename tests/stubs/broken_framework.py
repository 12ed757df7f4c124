"""An adapter's program whose framework is installed, but fails while it is imported."""

from __future__ import annotations

raise RuntimeError("compiled against another version of NumPy")

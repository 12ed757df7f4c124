"""The rules by which a worker accepts a point, numbered, so that a record says by which it was judged.

1: a gradient has one error, of all components of the raw gradient as one vector; no component is named.
2: it is the worst error of one component of d loss / d log p, and the component has a name.
3: a gradient without a reference is ok only if differences of the loss checked it.
"""

from __future__ import annotations

SCORING_RULES = 3
"""The rules of this version."""

BY_COMPONENT = 2
"""The first rules that compare every component with its bound."""

CHECKED_WITHOUT_REFERENCE = 3
"""The first rules by which a gradient is ok only if something checked it."""

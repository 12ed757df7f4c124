"""DuckDB's answers as plain values: for JSON, and as text."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from typing import Any


def plain(value: Any) -> Any:
    """JSON form of a DuckDB value: exact if possible, otherwise text; non-finite numbers become null."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, Decimal):
        value = int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    return value if isinstance(value, int) else str(value)


def text(value: Any) -> str:
    """One cell of a table: numbers as short as they are exact, empty if missing."""
    value = plain(value)
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.6g}"
    return ("true" if value else "false") if isinstance(value, bool) else str(value)

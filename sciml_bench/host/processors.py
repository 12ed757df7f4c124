"""The processor's capabilities, found without any framework."""

from __future__ import annotations

from functools import cache
from pathlib import Path

_BFLOAT16 = {"avx512_bf16", "amx_bf16", "bf16"}
"""Flags of Intel's, AMD's and ARM's processors."""


@cache
def lacks_bfloat16() -> str | None:
    """Return why bfloat16 cannot be measured on this processor, which would emulate it; ``None`` if it can."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return "whether this processor computes in bfloat16 is unknown without /proc/cpuinfo"
    flags = {word for line in text.splitlines() if line.startswith(("flags", "Features")) for word in line.split()}
    if flags & _BFLOAT16:
        return None
    return "this processor has no bfloat16 instructions (avx512_bf16, amx_bf16); they would be emulated"

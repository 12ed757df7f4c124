"""Runs scripts one after the other in one process, which imports their framework once, and prints what each printed."""

from __future__ import annotations

import contextlib
import io
import json
import runpy
import sys
import traceback


def printed(path: str) -> str:
    """What a script prints, or how it fails."""
    out = io.StringIO()
    try:
        with contextlib.redirect_stdout(out):
            runpy.run_path(path, run_name="__main__")
    except Exception:
        return traceback.format_exc()
    return out.getvalue()


print(json.dumps({path: printed(path) for path in sys.argv[1:]}))

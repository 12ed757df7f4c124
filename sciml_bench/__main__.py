"""``python -m sciml_bench`` is the command ``sciml-bench``."""

from __future__ import annotations

import sys

from sciml_bench.cli.main import main

if __name__ == "__main__":
    sys.exit(main())

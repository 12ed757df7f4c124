"""``python -m sciml_bench`` is the command ``sciml-bench``, which starts here."""

from __future__ import annotations

import signal
import sys


def main() -> int:
    """Run the command line; Ctrl-C while it is imported ends the process without a traceback."""
    handler = signal.signal(signal.SIGINT, signal.SIG_DFL)
    from sciml_bench.cli.main import main as command_line

    signal.signal(signal.SIGINT, handler)
    return command_line()


if __name__ == "__main__":
    sys.exit(main())

"""``python -m sciml_bench`` is the command ``sciml-bench``, which starts here."""

from __future__ import annotations

import signal
import sys
import threading


def main() -> int:
    """Run the command line; Ctrl-C while it is imported ends the process without a traceback."""
    # Whoever started it may have it ignore Ctrl-C, and only the main thread may choose.
    silent = (
        signal.getsignal(signal.SIGINT) is signal.default_int_handler
        and threading.current_thread() is threading.main_thread()
    )
    if silent:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from sciml_bench.cli.main import main as command_line

    if silent:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    return command_line()


if __name__ == "__main__":
    sys.exit(main())
